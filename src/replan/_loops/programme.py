"""The loops behind `replan.schedule.update_programme`."""

import numpy as np

from replan._loops.compiler import jit


@jit
def reach(begin, rows, weights, steps, offsets, cells, masses, candidate, out):
    """Add weighted distributions of some rows of segments to (T + 1, S) `out`, at every candidate time."""
    length = candidate.size - begin
    for i in range(rows.size):
        for k in range(1, length):
            if candidate[begin + k]:
                first = rows[i] * (steps + 1) + k
                for e in range(offsets[first], offsets[first + 1]):
                    out[begin + k, cells[e]] += weights[i] * masses[e]


@jit
def _expect_ahead(u, first, last, cells, masses, values, total):
    """Add up what the masses find at u, by column, into `total`; return their weight on known states."""
    total[:] = 0.0
    weight, known = 0.0, values.shape[2] - 1
    for e in range(first, last):
        ahead = values[u, cells[e]]
        weight += masses[e] * ahead[known]
        for c in range(total.size):
            total[c] += masses[e] * ahead[c]
    return weight


@jit
def fill_in(first, last, stride, values):
    """Interpolate (T + 1, S, C) `values` between every `stride`-th time from first to last.

    Their last column is 1 where values are known; where one of two is, that one is taken.
    """
    states, columns = values.shape[1:]
    for before in range(first, last, stride):
        for steps in range(1, stride):
            share = steps / stride
            for s in range(states):
                one, other = values[before, s], values[before + stride, s]
                weight = (1 - share) * one[columns - 1] + share * other[columns - 1]
                if weight > 0.0:
                    for c in range(columns):
                        values[before + steps, s, c] = ((1 - share) * one[c] + share * other[c]) / weight


@jit
def candidate_values(begin, rows, gained, offsets, cells, masses, candidate, latest, price, values, out):
    """Fill (R, T + 1, C) `out` with the value of each candidate for the next update, by updates left."""
    columns, length = out.shape[2], candidate.size - begin
    total = np.empty(columns)
    for i in range(rows.size):
        for k in range(1, length):
            u = begin + k
            if not candidate[u] or u > latest[0]:
                continue
            first = rows[i] * gained.shape[1] + k
            weight = _expect_ahead(u, offsets[first], offsets[first + 1], cells, masses, values, total)
            if weight <= 0.0:
                continue
            for c in range(columns):
                if u <= latest[c]:
                    out[i, u, c] = gained[rows[i], k] + total[c] / weight - price


@jit
def best_next(begin, rows, gained, offsets, cells, masses, candidate, latest, price, values, best, chosen):
    """Fill (R, C) `best` and `chosen`: the best next update time and its value, by updates left.

    Column c of `values` (T + 1, S, ...) is what going on is worth with c updates after the next one; the last
    column is 1 for states whose value is known, and rows are scaled up to these. The next update costs
    `price`. Earlier times win ties.
    """
    columns, length = best.shape[1], candidate.size - begin
    total = np.empty(columns)
    for i in range(rows.size):
        for k in range(1, length):
            u = begin + k
            if not candidate[u] or u > latest[0]:
                continue
            first = rows[i] * gained.shape[1] + k
            weight = _expect_ahead(u, offsets[first], offsets[first + 1], cells, masses, values, total)
            if weight <= 0.0:
                continue
            for c in range(columns):
                if u <= latest[c]:
                    value = gained[rows[i], k] - price + total[c] / weight
                    if value > best[i, c] + 1e-12:
                        best[i, c] = value
                        chosen[i, c] = u
