"""The loops behind certificates for kernels whose rows lie between bounds."""

import numpy as np

from replan._loops.compiler import jit

LONG = 24  # lists from here on are sorted by numpy


@jit
def fill(lower, upper, gains, order):
    """Greatest sum of p * gains over the simplex between the bounds; `order` sorts the gains ascending."""
    total, left = 0.0, 1.0
    for k in range(gains.size):
        total += lower[k] * gains[k]
        left -= lower[k]
    for i in range(gains.size - 1, -1, -1):
        if left <= 0.0:
            break
        k = order[i]
        more = min(left, upper[k] - lower[k])
        total += more * gains[k]
        left -= more
    return total


@jit
def ascending(gains, order):
    """Indices in ascending order of gains; insertion sort, since the lists are mostly short."""
    if gains.size > LONG:
        order[:] = np.argsort(gains)
        return
    for i in range(gains.size):
        k = i
        while k > 0 and gains[order[k - 1]] > gains[i]:
            order[k] = order[k - 1]
            k -= 1
        order[k] = i


@jit
def spread_places(successors, where, states):
    """(X, S') the places that one step can lead to, of `states` places."""
    out = np.zeros((where.shape[0], states), dtype=np.bool_)
    for x in range(where.shape[0]):
        for s in range(where.shape[1]):
            if where[x, s]:
                for k in range(successors.shape[1]):
                    out[x, successors[s, k]] = True
    return out


@jit
def best_rows(successors, lower, upper, values):
    """(S, A) greatest expectation of values."""
    states, actions, width = lower.shape
    out = np.empty((states, actions))
    gains, order = np.empty(width), np.empty(width, dtype=np.int64)
    for s in range(states):
        for k in range(width):
            gains[k] = values[successors[s, k]]
        ascending(gains, order)
        for a in range(actions):
            out[s, a] = fill(lower[s, a], upper[s, a], gains, order)
    return out


@jit
def row_step(successors, lower, upper, cost, actions, ahead, where):
    """(X, S) cost[s, a] plus the greatest expectation of ahead[x], with a = actions[x]."""
    states, _, width = lower.shape
    out = np.zeros(where.shape)
    gains, order = np.empty(width), np.empty(width, dtype=np.int64)
    for x in range(ahead.shape[0]):
        a = actions[x]
        for s in range(states):
            if where[x, s]:
                for k in range(width):
                    gains[k] = ahead[x, successors[s, k]]
                ascending(gains, order)
                out[x, s] = cost[s, a] + fill(lower[s, a], upper[s, a], gains, order)
    return out


@jit
def row_shifts(successors, lower, centre, upper, apart):
    """(2, S, A) the most that p V - c V and c V - p V can be, for rows p between the bounds, c the centre.

    Nothing is known of V but V(i) - V(j) <= apart[i, j]. Mass moves by way of the likeliest successor; the
    gain of each entry is convex in how far it moves, so that its chord bounds it, and chords are filled
    sorted.
    """
    states, actions, width = lower.shape
    out = np.zeros((2, states, actions))
    gains, order = np.empty(width), np.empty(width, dtype=np.int64)
    for s in range(states):
        for a in range(actions):
            middle = successors[s, np.argmax(centre[s, a])]
            for side in range(2):
                constant = 0.0
                for k in range(width):
                    i = successors[s, k]
                    down, up = centre[s, a, k] - lower[s, a, k], upper[s, a, k] - centre[s, a, k]
                    gain = apart[i, middle] if side == 0 else apart[middle, i]
                    loss = apart[middle, i] if side == 0 else apart[i, middle]
                    at_low, at_high = down * loss, up * gain
                    gains[k] = (at_high - at_low) / (down + up) if down + up > 0.0 else 0.0
                    constant += at_low + down * gains[k] - centre[s, a, k] * gains[k]
                ascending(gains, order)
                out[side, s, a] = max(0.0, constant + fill(lower[s, a], upper[s, a], gains, order))
    return out


@jit
def coupled(successors, centre, s, a, other, b, apart):
    """Cost of moving the row (other, b) onto the row (s, a), matched in the order of their successors."""
    width = successors.shape[1]
    total = 0.0
    i, j = 0, 0
    here, there = centre[s, a, 0], centre[other, b, 0]
    while True:
        mass = min(here, there)
        if mass > 0.0:
            total += mass * apart[successors[s, i], successors[other, j]]
        here -= mass
        there -= mass
        if here <= there:
            i += 1
            if i == width:
                break
            here += centre[s, a, i]
        else:
            j += 1
            if j == width:
                break
            there += centre[other, b, j]
    return total


@jit
def row_pairs(successors, centre, shifts, reward, answer, apart):
    """(S, S) bound on V_t(s) - V_t(s'), where the robot in s' takes answer[s']."""
    states, actions, _ = centre.shape
    out = np.zeros((states, states))
    for s in range(states):
        for other in range(states):
            if s != other:
                b = answer[other]
                best = -np.inf
                for a in range(actions):
                    value = (
                        reward[s, a] - reward[other, b] + coupled(successors, centre, s, a, other, b, apart)
                    )
                    best = max(best, value + shifts[0, s, a] + shifts[1, other, b])
                out[s, other] = best
    return out


@jit
def row_advantages(successors, centre, shifts, reward, apart):
    """(1, S, A, A) bound on Q_t(s, b) - Q_t(s, a), b first."""
    states, actions, _ = centre.shape
    out = np.zeros((1, states, actions, actions))
    for s in range(states):
        for b in range(actions):
            for a in range(actions):
                if a != b:
                    moved = coupled(successors, centre, s, b, s, a, apart)
                    out[0, s, b, a] = reward[s, b] - reward[s, a] + moved + shifts[0, s, b] + shifts[1, s, a]
    return out
