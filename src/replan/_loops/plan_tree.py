"""Loop behind `replan.skip.plan_tree`: the walks of several plans through one kernel that stays."""

import numpy as np

from replan._loops.compiler import jit
from replan._loops.segments import PLACE, _prune, _push


@jit
def _choose(values, preference, tie_tolerance):
    """Return the first action in `preference` that is within the tolerance of the best."""
    best = values.max()
    for a in preference:
        if values[a] >= best - tie_tolerance:
            return a
    return preference[0]


@jit
def _decide(first, last, cells, masses, q_values, lowest, highest, values):
    """Fill (P, A) `values` of the plans lowest to highest: mean Q-values of a distribution."""
    actions = values.shape[1]
    begin, end = lowest * actions, (highest + 1) * actions
    totals = values.reshape(-1)[begin:end]
    totals[:] = 0.0
    for e in range(first, last):
        mass, q = masses[e], q_values[PLACE(cells[e]), begin:end]
        for j in range(totals.size):
            totals[j] += mass * q[j]


@jit
def walk(
    first_state, last_state, successors, probabilities, state_action, next_state, actions, q_values,
    preference, lengths, tie_tolerance, tolerance, most,
):  # fmt: skip
    """Walk all plans from the states first_state to last_state.

    Plans that have taken the same actions share their distributions. `actions` are (P, S, L), or empty where
    they follow from (S, P * A) `q_values` of the belief. Plan p takes lengths[p] steps. Return (P, R, L + 1)
    nodes and, by node, gained, offsets, cells and masses; empty nodes if there would be more than
    `most` masses.
    """
    states, count_actions = successors.shape[0], successors.shape[1]
    plans, steps = lengths.size, lengths.max()
    given = actions.size > 0
    nodes = np.zeros((plans, last_state - first_state, steps + 1), dtype=np.int64)
    mass, ahead = np.zeros(states), np.zeros(states)
    here, there = np.empty(states + 1, dtype=PLACE), np.empty(states + 1, dtype=PLACE)
    values, chosen = np.empty((plans, count_actions)), np.empty(plans, dtype=np.int64)
    gained = np.zeros(1024)
    offsets = np.zeros(1025, dtype=np.int64)
    cells, masses = np.empty(1 << 16, dtype=np.int32), np.empty(1 << 16)
    made, used = 0, 0
    for s in range(last_state - first_state):
        cells[used], masses[used] = first_state + s, 1.0
        used += 1
        nodes[:, s, 0] = made
        if made + 2 > gained.size:
            gained, offsets = np.concatenate((gained, gained)), np.concatenate((offsets, offsets))
        gained[made] = 0.0
        made += 1
        offsets[made] = used
        for k in range(steps):
            for p in range(plans):
                chosen[p] = -1
            for p in range(plans):
                node = nodes[p, s, k]
                if lengths[p] <= k:
                    continue
                if given:
                    chosen[p] = actions[p, first_state + s, k]
                elif chosen[p] < 0:
                    highest = p
                    for q in range(p + 1, plans):
                        if nodes[q, s, k] == node and lengths[q] > k:
                            highest = q
                    _decide(offsets[node], offsets[node + 1], cells, masses, q_values, p, highest, values)
                    for q in range(p, highest + 1):
                        if nodes[q, s, k] == node and lengths[q] > k:
                            chosen[q] = _choose(values[q], preference[q], tie_tolerance)
                a, same = chosen[p], -1
                for q in range(p - 1, -1, -1):
                    if nodes[q, s, k] == node and chosen[q] == a and lengths[q] > k:
                        same = q
                        break
                if same >= 0:
                    nodes[p, s, k + 1] = nodes[same, s, k + 1]
                    continue
                first, count = offsets[node], PLACE(offsets[node + 1] - offsets[node])
                total = 0.0
                for i in range(count):
                    place, now = PLACE(cells[first + i]), masses[first + i]
                    here[i] = place
                    mass[place] = now
                    if state_action.size:
                        total += now * state_action[place, a]
                count = _push(successors, probabilities, a, mass, here, count, ahead, there)
                count, paid = _prune(tolerance, next_state, ahead, there, count)
                if used + count > most:
                    return np.zeros((0, 0, 0), dtype=np.int64), gained, offsets, cells, masses
                while used + count + 1 > cells.size:
                    cells, masses = np.concatenate((cells, cells)), np.concatenate((masses, masses))
                if made + 2 > gained.size:
                    gained = np.concatenate((gained, gained))
                    offsets = np.concatenate((offsets, offsets))
                gained[made] = gained[node] + total + paid
                for i in range(count):
                    cells[used], masses[used] = there[i], ahead[there[i]]
                    ahead[there[i]] = 0.0
                    used += 1
                nodes[p, s, k + 1] = made
                made += 1
                offsets[made] = used
    return nodes, gained[:made], offsets[: made + 1], cells[:used], masses[:used]
