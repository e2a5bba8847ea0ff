"""Walks of blind robots: distributions as lists of occupied states, plans that share their steps, groups."""

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

    Return the number of states kept and the mean `reward` before (0 for an empty reward).
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
    """Push every row through its actions; see `replan.skip.walks.BlindWalk` for what comes back.

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
def reach(begin, weights, nodes, offsets, cells, masses, candidate, out):
    """Add the distributions of (R,) weighted robots to (T + 1, S) `out`, at every candidate time."""
    for i in range(weights.size):
        for k in range(1, candidate.size - begin):
            if candidate[begin + k]:
                first = nodes[i, k]
                for e in range(offsets[first], offsets[first + 1]):
                    out[begin + k, cells[e]] += weights[i] * masses[e]


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
    preference, lengths, tie_tolerance, tolerance,
):  # fmt: skip
    """Walk all plans from the states first_state to last_state.

    Plans that have taken the same actions share their distributions. `actions` are (P, S, L), or empty where
    they follow from (S, P * A) `q_values` of the belief. Plan p takes lengths[p] steps. Return (P, R, L + 1)
    nodes and, by node, gained, offsets, cells and masses.
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
                while used + count + 1 > cells.size:
                    cells, masses = np.concatenate((cells, cells)), np.concatenate((masses, masses))
                if made + 2 > gained.size:
                    gained, offsets = np.concatenate((gained, gained)), np.concatenate((offsets, offsets))
                gained[made] = gained[node] + total + paid
                for i in range(count):
                    cells[used], masses[used] = there[i], ahead[there[i]]
                    ahead[there[i]] = 0.0
                    used += 1
                nodes[p, s, k + 1] = made
                made += 1
                offsets[made] = used
    return nodes, gained[:made], offsets[: made + 1], cells[:used], masses[:used]


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
def weigh_candidates(
    begin, gained, nodes, offsets, cells, masses, candidate, latest, table, known, best, times, equal, out
):
    """Weigh leaving for an update at each candidate time.

    Raise (R, C) `best` to the greatest worth and put its time into `times`, earlier ones first; with an `out`
    (R, T + 1, C) that is not empty, put the worth of each time there instead. `gained` is that of every node.
    `table` (T + 1, S, C + 1) is what the update is worth, its last column 1 where that is known, which is
    everywhere at `known` times; elsewhere the mean is over the states known.
    """
    columns, weighed = best.shape[1], table.shape[2] - 1
    total = np.empty(columns)
    for u in range(begin + 1, candidate.size):
        if not candidate[u] or u > latest[0]:
            continue
        there = table[u]
        for i in range(nodes.shape[0]):
            node = nodes[i, u - begin]
            first, last, weight = offsets[node], offsets[node + 1], 1.0
            if not known[u]:
                weight = 0.0
                for e in range(first, last):
                    weight += masses[e] * there[PLACE(cells[e]), weighed]
                if weight <= 0.0:
                    continue
            for c in range(0, columns - 1, 2):  # two sums at a time are kept in registers
                one, two = 0.0, 0.0
                for e in range(first, last):
                    ahead = there[PLACE(cells[e])]
                    one += masses[e] * ahead[c]
                    two += masses[e] * ahead[c + 1]
                total[c], total[c + 1] = one, two
            if columns % 2:
                one = 0.0
                for e in range(first, last):
                    one += masses[e] * there[PLACE(cells[e]), columns - 1]
                total[columns - 1] = one
            for c in range(columns):
                if u <= latest[c]:
                    worth = gained[node] + total[c] / weight
                    if out.size:
                        out[i, u, c] = worth
                    elif worth > best[i, c] + equal:
                        best[i, c], times[i, c] = worth, u


@jit
def merge(actions, chances):
    """Group R robots with the same remaining (R, L) actions and (R, L + 1) chances to leave after k steps.

    Return (R,) the first group of each robot (-1: none) and, by step and group, the action, the chance to
    leave right after it and the group that follows (-1: all have left); (L,) tells how many groups there are.
    """
    robots, steps = actions.shape
    group = np.full(robots, -1)
    action, leaving = np.empty((steps, robots), dtype=np.int64), np.empty((steps, robots))
    following, counts = np.full((steps, robots), -1), np.zeros(steps, dtype=np.int64)
    slots = 1
    while slots < 4 * robots:
        slots *= 2
    remaining, left = np.zeros(robots), np.zeros(robots)
    bits = left.view(np.int64)
    after = np.empty(robots, dtype=np.int64)
    for k in range(steps - 1, -1, -1):
        for r in range(robots):
            remaining[r] += chances[r, k + 1]
            left[r] = chances[r, k + 1] / remaining[r] if remaining[r] > 0.0 else 0.0
            after[r] = group[r] if left[r] < 1.0 else -1
        slot_of, count = np.full(slots, -1), 0
        for r in range(robots):
            group[r] = -1
            if remaining[r] <= 0.0:
                continue
            a = actions[r, k]
            place = (a * 31 + after[r] * 1000003 + (bits[r] >> 20) * 7919) & (slots - 1)
            while group[r] < 0:
                g = slot_of[place]
                if g < 0:
                    g = slot_of[place] = count
                    action[k, g], leaving[k, g], following[k, g] = a, left[r], after[r]
                    count += 1
                if action[k, g] == a and following[k, g] == after[r] and leaving[k, g] == left[r]:
                    group[r] = g
                place = (place + 1) & (slots - 1)
        counts[k] = count
    return group, action, leaving, following, counts


@jit
def push_groups(
    successors, probabilities, kernel_of, state_action, next_state, reward_of, losses, begin, states, mass,
    group, action, leaving, following, counts,
):  # fmt: skip
    """Push the groups of `merge`, of robots in (R,) `states` with (R,) `mass`, to their last step.

    Return (L,) gains, (L,) losses by (T, S, A) `losses`, and (L + 1, S) who leaves where after k steps.
    """
    steps, size = counts.size, successors.shape[1]
    gained, lost, left = np.zeros(steps), np.zeros(steps), np.zeros((steps + 1, size))
    most = 0
    for count in counts:
        most = max(most, count)
    before, ahead = np.zeros((most, size)), np.zeros((most, size))
    for r in range(states.size):
        if group[r] >= 0:
            before[group[r], states[r]] += mass[r]
    for k in range(steps):
        kernel, reward = kernel_of[begin + k], reward_of[begin + k]
        P, to = probabilities[kernel], successors[kernel]
        if k + 1 < steps:
            ahead[: counts[k + 1]] = 0.0
        for g in range(counts[k]):
            a, leave, then = action[k, g], leaving[k, g], following[k, g]
            for s in range(size):
                here = before[g, s]
                if here == 0.0:
                    continue
                if losses.size:
                    lost[k] += here * losses[begin + k, s, a]
                if state_action.size:
                    gained[k] += here * state_action[reward, s, a]
                for j in range(to.shape[2]):
                    moved = here * P[s, a, j]
                    if moved != 0.0:
                        place = to[s, a, j]
                        if next_state.size:
                            gained[k] += moved * next_state[reward, place]
                        if then >= 0:
                            ahead[then, place] += (1.0 - leave) * moved
                        if leave > 0.0:
                            left[k + 1, place] += leave * moved
        before, ahead = ahead, before
    return gained, lost, left


@jit
def back_up_groups(
    successors, probabilities, kernel_of, state_action, next_state, reward_of, begin, action, leaving,
    following, counts, worth,
):  # fmt: skip
    """(G, S) value of the first groups of `merge` in every state; who leaves gets (L + 1, S) `worth`."""
    size = successors.shape[1]
    later, mean = np.zeros((1, size)), np.empty(size)
    for k in range(counts.size - 1, -1, -1):
        kernel, reward = kernel_of[begin + k], reward_of[begin + k]
        P, to = probabilities[kernel], successors[kernel]
        here = np.empty((counts[k], size))
        for g in range(counts[k]):
            a, leave, then = action[k, g], leaving[k, g], following[k, g]
            for s in range(size):
                mean[s] = leave * worth[k + 1, s] if leave > 0.0 else 0.0
                if then >= 0:
                    mean[s] += (1.0 - leave) * later[then, s]
                if next_state.size:
                    mean[s] += next_state[reward, s]
            for s in range(size):
                total = state_action[reward, s, a] if state_action.size else 0.0
                for j in range(to.shape[2]):
                    total += P[s, a, j] * mean[to[s, a, j]]
                here[g, s] = total
        later = here
    return later
