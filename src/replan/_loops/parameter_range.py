"""The loops behind certificates for kernels that depend on one parameter, such as a slip."""

import numpy as np

from replan._loops.compiler import jit

BLOCK = 64  # states whose rows are compared with all others at once


@jit
def slip_pairs(moves, law, low, high, apart):
    """(S, S) bound on V_t(s) - V_t(s') for one slip between low and high, the same in both states.

    The best move against the best move, then against each other the moves that slips make.
    """
    states, actions = moves.shape
    answered, out = np.empty((apart.shape[0], states)), np.empty((states, states))
    slipped = np.empty(states)
    for i in range(apart.shape[0]):
        for other in range(states):
            least = apart[i, moves[other, 0]]
            for b in range(1, actions):
                least = min(least, apart[i, moves[other, b]])
            answered[i, other] = least
    for s in range(states):
        slipped[:] = 0.0
        made = out[s]
        made[:] = answered[moves[s, 0]]
        for c in range(actions):
            row, follow = apart[moves[s, c]], answered[moves[s, c]]
            for other in range(states):
                slipped[other] += law[c] * row[moves[other, c]]
                made[other] = max(made[other], follow[other])
        for other in range(states):
            rho = low if made[other] > slipped[other] else high
            made[other] = (1.0 - rho) * made[other] + rho * slipped[other]
        made[s] = 0.0
    return out


@jit
def slip_pairs_with_reward(moves, law, low, high, reward, apart):
    """As `slip_pairs`, with a reward (S, A) of the action: the answer is fixed before the slip is."""
    states, actions = moves.shape
    out = np.zeros((states, states))
    for s in range(states):
        for other in range(states):
            if s == other:
                continue
            slipped = 0.0
            for c in range(actions):
                slipped += law[c] * apart[moves[s, c], moves[other, c]]
            best = -np.inf
            for a in range(actions):
                worst = np.inf
                for b in range(actions):
                    gain, base = apart[moves[s, a], moves[other, b]], reward[s, a] - reward[other, b]
                    rho = low if gain > slipped else high
                    worst = min(worst, base + (1.0 - rho) * gain + rho * slipped)
                best = max(best, worst)
            out[s, other] = best
    return out


@jit
def slip_advantages(moves, slips, reward, apart):
    """(V, S, A, A) bound on Q_t(s, b) - Q_t(s, a) at each slip, b first."""
    states, actions = moves.shape
    out = np.zeros((slips.size, states, actions, actions))
    for v in range(slips.size):
        for s in range(states):
            for b in range(actions):
                for a in range(actions):
                    gap = (1.0 - slips[v]) * apart[moves[s, b], moves[s, a]]
                    out[v, s, b, a] = reward[s, b] - reward[s, a] + gap
    return out


@jit
def slip_step(moves, law, slips, cost, actions, ahead, where):
    """(X, S) the greater, over the slips, of cost[v, s, a] plus the expectation of ahead[x]."""
    states, kinds = moves.shape
    out = np.zeros(where.shape)
    for x in range(ahead.shape[0]):
        a = actions[x]
        for s in range(states):
            if where[x, s]:
                slipped = 0.0
                for c in range(kinds):
                    slipped += law[c] * ahead[x, moves[s, c]]
                made = ahead[x, moves[s, a]]
                best = -np.inf
                for v in range(slips.size):
                    best = max(best, cost[v, s, a] + (1.0 - slips[v]) * made + slips[v] * slipped)
                out[x, s] = best
    return out


@jit
def matched(first, second, left, right, mass):
    """Move one row of probabilities onto another: equal places first, then the rest in order.

    Fills places `left`, `right` and the `mass` that goes between them, and returns how many there are.
    """
    width, count = first.size, 0
    for k in range(width):
        if min(first[k], second[k]) > 0.0:
            left[count], right[count], mass[count] = k, k, min(first[k], second[k])
            count += 1
    i, j = 0, 0
    here, there = max(0.0, first[0] - second[0]), max(0.0, second[0] - first[0])
    while True:
        if min(here, there) > 0.0:
            left[count], right[count], mass[count] = i, j, min(here, there)
            count += 1
        if here <= there:
            there -= here
            i += 1
            if i == width:
                return count
            here = max(0.0, first[i] - second[i])
        else:
            here -= there
            j += 1
            if j == width:
                return count
            there = max(0.0, second[j] - first[j])


@jit
def mixture_advantages(successors, tables, reward, apart):
    """(V, S, A, A) bound on Q_t(s, b) - Q_t(s, a) at each end, b first."""
    ends, states, actions, width = tables.shape
    out = np.zeros((ends, states, actions, actions))
    left, right = np.empty(2 * width, dtype=np.int64), np.empty(2 * width, dtype=np.int64)
    mass = np.empty(2 * width)
    for v in range(ends):
        for s in range(states):
            for b in range(actions):
                for a in range(actions):
                    if a != b:
                        total = reward[s, b] - reward[s, a]
                        for m in range(matched(tables[v, s, b], tables[v, s, a], left, right, mass)):
                            total += mass[m] * apart[successors[s, left[m]], successors[s, right[m]]]
                        out[v, s, b, a] = total
    return out


@jit
def mixture_pairs(successors, tables, rows, begins, reward, apart):
    """(S, S) bound on V_t(s) - V_t(s'): the best action in s, the best answer in s', the worst end.

    Rows of equal probabilities are matched together: `rows` are those of each kind in turn, from `begins` on,
    row s * A + a being that of (s, a).
    """
    _, states, actions, _ = tables.shape
    worst = np.empty((min(BLOCK, states) * actions, states * actions))
    out = np.zeros((states, states))
    for first in range(0, states, BLOCK):
        last = min(first + BLOCK, states)
        mixture_rows(successors, tables, rows, begins, apart, first, last, worst)
        for s in range(first, last):
            for other in range(states):
                if s != other:
                    most = -np.inf
                    for a in range(actions):
                        least = np.inf
                        for b in range(actions):
                            moved = worst[(s - first) * actions + a, other * actions + b]
                            least = min(least, reward[s, a] - reward[other, b] + moved)
                        most = max(most, least)
                    out[s, other] = most
    return out


@jit
def mixture_rows(successors, tables, rows, begins, apart, first, last, worst):
    """Fill `worst` with bounds on p V - q V for rows p of the states from first to last and all rows q."""
    ends, _, actions, width = tables.shape
    left, right = np.empty(2 * width, dtype=np.int64), np.empty(2 * width, dtype=np.int64)
    mass = np.empty(2 * width)
    worst[:] = -np.inf
    for v in range(ends):
        flat = tables[v].reshape(-1, width)
        for p in range(begins.size - 1):
            here = rows[begins[p] : begins[p + 1]]
            here = here[(here >= first * actions) & (here < last * actions)]
            for q in range(begins.size - 1 if here.size else 0):
                count = matched(flat[here[0]], flat[rows[begins[q]]], left, right, mass)
                for x in here:
                    for y in rows[begins[q] : begins[q + 1]]:
                        total = 0.0
                        for m in range(count):
                            ahead = apart[
                                successors[x // actions, left[m]], successors[y // actions, right[m]]
                            ]
                            total += mass[m] * ahead
                        place = x - first * actions
                        worst[place, y] = max(worst[place, y], total)


@jit
def mixture_step(successors, tables, cost, actions, ahead, where):
    """(X, S) the greater, over the ends, of cost[v, s, a] plus the expectation of ahead[x]."""
    ends, states, _, width = tables.shape
    out = np.zeros(where.shape)
    for x in range(ahead.shape[0]):
        a = actions[x]
        for s in range(states):
            if where[x, s]:
                best = -np.inf
                for v in range(ends):
                    total = cost[v, s, a]
                    for k in range(width):
                        total += tables[v, s, a, k] * ahead[x, successors[s, k]]
                    best = max(best, total)
                out[x, s] = best
    return out
