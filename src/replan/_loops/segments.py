"""Loops behind `replan.skip.segments`, distributions as lists of occupied states, and `update_programme`."""

import numpy as np

from replan._loops.compiler import jit

PLACE = np.uint64  # of a state: indices that cannot be negative spare the loops a test


@jit
def _push(successors, probabilities, action, mass, here, count, ahead, there):
    """Move the `count` masses at `here` to `ahead`; list occupied states in `there`, return their number.

    `successors` and `probabilities` are (S, A, k), those of each action, in ascending order. Where masses can
    be nearly everywhere, all places between the first and the last are listed: that is quicker than to tell
    which are new. `there` has room for one more, since a place is written before it is known to be new.
    """
    width, size = successors.shape[2], ahead.size
    if count * width > size:
        lowest, highest = size, 0
        for i in range(count):
            s = here[i]
            moved, to, chance = mass[s], successors[s, action], probabilities[s, action]
            mass[s] = 0.0
            for k in range(width):
                ahead[PLACE(to[k])] += moved * chance[k]
            lowest, highest = min(lowest, to[0]), max(highest, to[width - 1])
        for place in range(highest - lowest + 1):
            there[place] = lowest + place
        return PLACE(highest - lowest + 1)
    found = PLACE(0)
    for i in range(count):
        s = here[i]
        moved = mass[s]
        mass[s] = 0.0
        for k in range(width):
            gain = moved * probabilities[s, action, k]
            if gain > 0.0:
                to = PLACE(successors[s, action, k])
                before = ahead[to]
                there[found] = to
                found += PLACE(before == 0.0)
                ahead[to] = before + gain
    return found


@jit
def _prune(tolerance, reward, mass, here, count):
    """Drop masses below the tolerance, unless all are, and scale up the rest.

    Return the number of states kept, and the mean `reward` before (0 for an empty reward).
    """
    if count * tolerance > 0.5:
        largest = 0.0
        for i in range(count):
            largest = max(largest, mass[here[i]])
        if largest < tolerance:
            tolerance = 0.0
    dropped, total, paid, kept = 0.0, 0.0, reward.size > 0, PLACE(0)
    for i in range(count):
        s = here[i]
        now = mass[s]
        if paid:
            total += now * reward[s]
        here[kept] = s
        stays = (now > 0.0) & (now >= tolerance)
        gone = 0.0 if stays else now
        kept += PLACE(stays)
        dropped += gone
        mass[s] = now - gone
    if dropped > 0.0:
        scale = 1.0 / (1.0 - dropped)
        for i in range(kept):
            mass[here[i]] *= scale
    return kept, total


@jit
def belief_commands(
    successors,
    probabilities,
    kernel_of,
    q_values,
    preference,
    plan_of,
    tie_tolerance,
    tolerance,
    states,
    given,
):
    """(R, L) actions of robots that act on their belief; of tied actions the first in `preference`.

    Step k follows row plan_of[k] of `q_values` and `preference`, under the kernel kernel_of[k]. The first
    steps take the (R, d) `given` actions instead.
    """
    steps = plan_of.size
    size, actions = q_values.shape[1:]
    mass, ahead = np.zeros(size), np.zeros(size)
    here, there = np.empty(size + 1, dtype=PLACE), np.empty(size + 1, dtype=PLACE)
    value, nothing = np.empty(actions), np.empty(0)
    out = np.empty((states.size, steps), dtype=np.int64)
    for row in range(states.size):
        here[0], count = states[row], PLACE(1)
        mass[states[row]] = 1.0
        for k in range(steps):
            plan = plan_of[k]
            kernel = kernel_of[k]
            if k < given.shape[1]:
                out[row, k] = given[row, k]
            else:
                value[:] = 0.0
                for i in range(count):
                    now, q = mass[here[i]], q_values[plan, here[i]]
                    for a in range(value.size):
                        value[a] += now * q[a]
                best = value.max()
                for a in preference[plan]:
                    if value[a] >= best - tie_tolerance:
                        out[row, k] = a
                        break
            if k + 1 == steps:
                break
            count = _push(
                successors[kernel], probabilities[kernel], out[row, k], mass, here, count, ahead, there
            )
            count, _ = _prune(tolerance, nothing, ahead, there, count)
            mass, ahead = ahead, mass
            here, there = there, here
        for i in range(count):
            mass[here[i]] = 0.0
    return out


@jit
def push_rows(
    successors,
    probabilities,
    kernel_of,
    state_action,
    next_state,
    reward_of,
    begin,
    states,
    actions,
    keep,
    tolerance,
):
    """Push every row through its actions; see `replan.skip.segments.Segments` for what comes back.

    Distribution r * (L + 1) + k is that of row r after k steps.
    """
    rows, steps = actions.shape
    size = successors.shape[1]
    with_action = state_action.shape[1] > 0
    mass, ahead = np.zeros(size), np.zeros(size)
    here, there = np.empty(size + 1, dtype=PLACE), np.empty(size + 1, dtype=PLACE)
    gained = np.zeros((rows, steps + 1))
    offsets = np.zeros(rows * (steps + 1) + 1, dtype=np.int64)
    guess = min(rows * steps * min(size, 64) + 1024, 1 << 22)  # room that is not used costs no memory
    cells, masses = np.empty(guess, dtype=np.int32), np.empty(guess)
    used = 0
    for row in range(rows):
        here[0], count = states[row], PLACE(1)
        mass[states[row]] = 1.0
        offsets[row * (steps + 1) + 1] = used
        for k in range(1, steps + 1):
            kernel, reward = kernel_of[begin + k - 1], reward_of[begin + k - 1]
            a = actions[row, k - 1]
            total = 0.0
            if with_action:
                for i in range(count):
                    total += mass[here[i]] * state_action[reward, here[i], a]
            count = _push(successors[kernel], probabilities[kernel], a, mass, here, count, ahead, there)
            count, paid = _prune(tolerance, next_state[reward], ahead, there, count)
            mass, ahead = ahead, mass
            here, there = there, here
            gained[row, k] = gained[row, k - 1] + total + paid
            if keep[k]:
                if used + count > cells.size:
                    cells = np.concatenate((cells, np.empty(cells.size + count, dtype=np.int32)))
                    masses = np.concatenate((masses, np.empty(masses.size + count)))
                for i in range(count):
                    cells[used] = here[i]
                    masses[used] = mass[here[i]]
                    used += 1
            offsets[row * (steps + 1) + k + 1] = used
        for i in range(count):
            mass[here[i]] = 0.0
    return gained, offsets, cells[:used], masses[:used]


@jit
def reach(begin, rows, weights, nodes, offsets, cells, masses, candidate, out):
    """Add weighted distributions of some rows of segments to (T + 1, S) `out`, at every candidate time."""
    length = candidate.size - begin
    for i in range(rows.size):
        for k in range(1, length):
            if candidate[begin + k]:
                first = nodes[rows[i], k]
                for e in range(offsets[first], offsets[first + 1]):
                    out[begin + k, cells[e]] += weights[i] * masses[e]


@jit
def _expect_ahead(u, first, last, cells, masses, values, total):
    """Add up what the masses find at u, by column, into `total`; return their weight on known states."""
    weight, known, there = 0.0, values.shape[2] - 1, values[u]
    for e in range(first, last):
        weight += masses[e] * there[PLACE(cells[e]), known]
    for c in range(0, total.size, 3):  # three sums at a time are kept in registers
        one, two, three = 0.0, 0.0, 0.0
        if c + 3 <= total.size:
            for e in range(first, last):
                ahead, mass = there[PLACE(cells[e])], masses[e]
                one += mass * ahead[c]
                two += mass * ahead[c + 1]
                three += mass * ahead[c + 2]
            total[c], total[c + 1], total[c + 2] = one, two, three
        else:
            for rest in range(c, total.size):
                one = 0.0
                for e in range(first, last):
                    one += masses[e] * there[PLACE(cells[e]), rest]
                total[rest] = one
    return weight


@jit
def fill_in(first, last, stride, values):
    """Interpolate (T + 1, S, C) `values` between every `stride`-th time from first to last.

    Their last column is 1 if values are known; if only one of two neighbours is known, it is copied.
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
def candidate_values(
    begin, rows, gained, nodes, offsets, cells, masses, candidate, latest, price, values, out
):
    """Fill (R, T + 1, C) `out` with the value of each candidate for the next update, by updates left."""
    columns, length = out.shape[2], candidate.size - begin
    total = np.empty(columns)
    for i in range(rows.size):
        for k in range(1, length):
            u = begin + k
            if not candidate[u] or u > latest[0]:
                continue
            first = nodes[rows[i], k]
            weight = _expect_ahead(u, offsets[first], offsets[first + 1], cells, masses, values, total)
            if weight <= 0.0:
                continue
            for c in range(columns):
                if u <= latest[c]:
                    out[i, u, c] = gained[rows[i], k] + total[c] / weight - price


@jit
def best_next(
    begin, rows, gained, nodes, offsets, cells, masses, candidate, latest, price, values, best, chosen
):
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
            first = nodes[rows[i], k]
            weight = _expect_ahead(u, offsets[first], offsets[first + 1], cells, masses, values, total)
            if weight <= 0.0:
                continue
            for c in range(columns):
                if u <= latest[c]:
                    value = gained[rows[i], k] - price + total[c] / weight
                    if value > best[i, c] + 1e-12:
                        best[i, c] = value
                        chosen[i, c] = u
