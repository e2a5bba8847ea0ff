"""Loops over the cells of a slippery grid with walls, and robots that walk on it."""

import numpy as np

from replan._loops import random_bits
from replan._loops.compiler import jit
from replan._loops.grid_passes import ACTIONS, merged_law, neighbours
from replan._loops.random_bits import GOLDEN, PURPOSES, S11, TRANSITION

PURPOSE = np.uint64(TRANSITION)

_mix = jit(random_bits.mix)


@jit
def expect(rows, columns, blocked, slip, law, values):
    """(S, A) expectation of values, with blocked cells."""
    field = 0 if slip.size == 1 else 1
    out = np.empty((rows * columns, ACTIONS))
    for i in range(rows):
        for j in range(columns):
            to = neighbours(rows, columns, blocked, i, j)
            s = to[4]
            r, l, d, u, c = values[to[0]], values[to[1]], values[to[2]], values[to[3]], values[s]
            rho = slip[s * field]
            slipped = rho * (law[0] * r + law[1] * l + law[2] * d + law[3] * u + law[4] * c)
            out[s, 0] = (1.0 - rho) * r + slipped
            out[s, 1] = (1.0 - rho) * l + slipped
            out[s, 2] = (1.0 - rho) * d + slipped
            out[s, 3] = (1.0 - rho) * u + slipped
            out[s, 4] = (1.0 - rho) * c + slipped
    return out


@jit
def expect_at(rows, columns, blocked, slip, law, values, plus, cells):
    """(C, A) expectation of values + plus for a subset of cells; an empty `plus` is zero."""
    field = 0 if slip.size == 1 else 1
    out, ahead = np.empty((cells.size, ACTIONS)), np.empty(ACTIONS)
    for i in range(cells.size):
        s = cells[i]
        to = neighbours(rows, columns, blocked, s // columns, s % columns)
        rho, mean = slip[s * field], 0.0
        for a in range(ACTIONS):
            ahead[a] = values[to[a]] + plus[to[a]] if plus.size else values[to[a]]
            mean += law[a] * ahead[a]
        for a in range(ACTIONS):
            out[i, a] = (1.0 - rho) * ahead[a] + rho * mean
    return out


@jit
def follow(rows, columns, blocked, slip, law, policy, reward, steps, values):
    """(S,) values `steps` steps before, under (S,) actions that earn (S,) reward."""
    field, walls = 0 if slip.size == 1 else 1, blocked.size > 1
    ahead, here = values.copy(), np.empty_like(values)
    for _ in range(steps):
        for i in range(rows):
            above, below = max(i - 1, 0) * columns, min(i + 1, rows - 1) * columns
            for j in range(columns):
                s = i * columns + j
                if walls:
                    to = neighbours(rows, columns, blocked, i, j)
                    r, l, d, u = ahead[to[0]], ahead[to[1]], ahead[to[2]], ahead[to[3]]
                else:
                    r, l = ahead[s + 1 if j + 1 < columns else s], ahead[s - 1 if j else s]
                    d, u = ahead[below + j], ahead[above + j]
                c, a, rho = ahead[s], policy[s], slip[s * field]
                meant = r if a == 0 else l if a == 1 else d if a == 2 else u if a == 3 else c
                slipped = law[0] * r + law[1] * l + law[2] * d + law[3] * u + law[4] * c
                here[s] = reward[s] + (1.0 - rho) * meant + rho * slipped
        ahead, here = here, ahead
    return ahead


@jit
def push(rows, columns, blocked, slip, law, distributions, actions):
    """Move each row's mass, 1 - rho of it as commanded, rho of it by the law, with blocked cells."""
    field = 0 if slip.size == 1 else 1
    out = np.zeros(distributions.shape)
    for row in range(distributions.shape[0]):
        for i in range(rows):
            for j in range(columns):
                mass = distributions[row, i * columns + j]
                if mass != 0.0:
                    to = neighbours(rows, columns, blocked, i, j)
                    rho = slip[to[4] * field]
                    out[row, to[actions[row]]] += (1.0 - rho) * mass
                    for a in range(ACTIONS):
                        out[row, to[a]] += rho * law[a] * mass
    return out


@jit
def push_lists(rows, columns, blocked, slip, law, offsets, cells, masses, actions):
    """`push` for rows as lists of occupied cells, compressed as in a sparse matrix."""
    field = 0 if slip.size == 1 else 1
    ahead, touched = np.zeros(rows * columns), np.empty(rows * columns, dtype=np.int32)
    out_offsets = np.zeros(actions.size + 1, dtype=np.int32)
    out_cells = np.empty(2 * cells.size + ACTIONS, dtype=np.int32)
    out_masses = np.empty(out_cells.size)
    used = 0
    for row in range(actions.size):
        count = 0
        for e in range(offsets[row], offsets[row + 1]):
            s = cells[e]
            to = neighbours(rows, columns, blocked, s // columns, s % columns)
            rho = slip[s * field]
            for a in range(ACTIONS):
                gain = masses[e] * (rho * law[a] + (1.0 - rho if a == actions[row] else 0.0))
                if gain > 0.0:
                    if ahead[to[a]] == 0.0:
                        touched[count] = to[a]
                        count += 1
                    ahead[to[a]] += gain
        if used + count > out_cells.size:
            more = out_cells.size + count
            out_cells = np.concatenate((out_cells, np.empty(more, dtype=np.int32)))
            out_masses = np.concatenate((out_masses, np.empty(more)))
        for i in range(count):
            out_cells[used + i] = touched[i]
            out_masses[used + i] = ahead[touched[i]]
            ahead[touched[i]] = 0.0
        used += count
        out_offsets[row + 1] = used
    return out_masses[:used], out_cells[:used], out_offsets


@jit
def made_move(commanded, uniform, rho, reach, last):
    """The move that is made: as commanded for a uniform number below 1 - rho, else by the law.

    `reach` (A,) is the cumulative law, `last` its last possible move. Without branches, since half of them
    would be guessed wrong.
    """
    beyond = uniform - (1.0 - rho)
    drawn = 0
    for a in range(ACTIONS - 1):
        drawn += 1 if beyond >= rho * reach[a] else 0
    drawn = min(drawn, last)
    return drawn if beyond >= 0.0 else commanded


@jit
def sample(rows, columns, blocked, slip, law, states, actions, uniforms):
    """Next states."""
    field = 0 if slip.size == 1 else 1
    reach, last = np.cumsum(law), np.flatnonzero(law)[-1]
    out = np.empty(states.size, dtype=np.int64)
    for row in range(states.size):
        s = states[row]
        made = made_move(actions[row], uniforms[row], slip[s * field], reach, last)
        out[row] = neighbours(rows, columns, blocked, s // columns, s % columns)[made]
    return out


@jit
def distance(rows, columns, blocked, slip, law, other_slip, other_law):
    """(S, A) entrywise and total-variation distance between two slip kernels of one grid."""
    states = rows * columns
    field = 0 if slip.size == 1 else 1
    other_field = 0 if other_slip.size == 1 else 1
    cells, weights, other_weights = np.empty(ACTIONS, dtype=np.int64), np.empty(ACTIONS), np.empty(ACTIONS)
    entry, variation = np.empty((states, ACTIONS)), np.empty((states, ACTIONS))
    for s in range(states):
        around = neighbours(rows, columns, blocked, s // columns, s % columns)
        count = merged_law(around, law, cells, weights)
        merged_law(around, other_law, cells, other_weights)
        rho, other_rho = slip[s * field], other_slip[s * other_field]
        for a in range(ACTIONS):
            commanded = around[a]
            largest, total = 0.0, 0.0
            for k in range(count):
                change = other_rho * other_weights[k] - rho * weights[k]
                if cells[k] == commanded:
                    change += rho - other_rho
                largest = max(largest, abs(change))
                total += abs(change)
            entry[s, a] = largest
            variation[s, a] = 0.5 * total
    return entry, variation


@jit
def slip_walk(
    rows, columns, blocked, slip, law, reward, policies, following, plan, looks, seeds, begin, states, gained
):
    """Move every robot L steps; slip (L, 1) or (L, S), law (L, A), reward (1, S) or (L, S).

    Step t follows row plan[t] of the policies (K, S) and MAP successors (K, S); where looks[t] is true, the
    robots see their states.

    All robots are in the inner loop: they do not wait for each other, so the processor overlaps them.
    """
    field = 0 if slip.shape[1] == 1 else 1
    varying = 0 if reward.shape[0] == 1 else 1
    count = states.size
    keys, estimates = np.empty(count, dtype=np.uint64), states.copy()
    for k in range(count):
        keys[k] = _mix(np.uint64(seeds[k]) + GOLDEN)
    to = np.empty((rows * columns, law.shape[1]), dtype=np.int64)
    for s in range(rows * columns):
        for a, cell in enumerate(neighbours(rows, columns, blocked, s // columns, s % columns)):
            to[s, a] = cell
    for step in range(slip.shape[0]):
        reach, last = np.cumsum(law[step]), np.flatnonzero(law[step])[-1]
        if looks[step]:
            estimates[:] = states
        policy, ahead = policies[plan[step]], following[plan[step]]
        counter = (np.uint64(begin + step) * PURPOSES + PURPOSE) * GOLDEN
        for k in range(count):
            uniform = (_mix(keys[k] ^ counter) >> S11) * 2.0**-53
            rho = slip[step, states[k] * field]
            made = made_move(policy[estimates[k]], uniform, rho, reach, last)
            estimates[k] = ahead[estimates[k]]
            states[k] = to[states[k], made]
            gained[k] += reward[step * varying, states[k]]
