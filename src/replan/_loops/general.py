"""Loops over kernels that are lists of successors: backups, distributions, hypotheses, overlaps.

A filter over H hypotheses, each with a distribution over S states, has an (H, S + 1) table; its last column
holds each hypothesis's weight without the evidence of the steps.
"""

import numpy as np

from replan._loops.compiler import jit


@jit
def expect(first, last, successors, probabilities, values, out):
    """(S, A) expectation of values over the successors, for states first to last."""
    actions, width = probabilities.shape[1:]
    ahead = np.empty(width)
    for s in range(first, last):
        for k in range(width):
            ahead[k] = values[successors[s, k]]
        for a in range(actions):
            total = 0.0
            for k in range(width):
                total += probabilities[s, a, k] * ahead[k]
            out[s, a] = total


@jit
def backup(first, last, successors, probabilities, values, out):
    """(S,) max over actions of the expectation, for states first to last."""
    actions, width = probabilities.shape[1:]
    ahead = np.empty(width)
    for s in range(first, last):
        for k in range(width):
            ahead[k] = values[successors[s, k]]
        best = -np.inf
        for a in range(actions):
            total = 0.0
            for k in range(width):
                total += probabilities[s, a, k] * ahead[k]
            best = max(best, total)
        out[s] = best


@jit
def follow(first, last, successors, probabilities, reward, values, out):
    """(S, C) the (S,) reward plus the expectation of values under one action for each state."""
    width, columns = successors.shape[1], values.shape[1]
    for s in range(first, last):
        for c in range(columns):
            out[s, c] = reward[s]
        for k in range(width):
            p = probabilities[s, k]
            if p != 0.0:
                for c in range(columns):
                    out[s, c] += p * values[successors[s, k], c]


@jit
def induction(steps, successors, probabilities, reward, plus, tolerance, values, chosen):
    """`steps` backups from zero into `values`, then the first action within the tolerance of the best.

    Each step adds `reward` (S, A) and `plus` (S,) of the next state; an empty array stands for none.
    """
    states, actions, width = probabilities.shape
    ahead, around, q = np.zeros(states), np.empty(width), np.empty(actions)
    values[:] = 0.0
    for step in range(steps, -1, -1):
        for s in range(states):
            ahead[s] = values[s] + plus[s] if plus.size else values[s]
        for s in range(states):
            for k in range(width):
                around[k] = ahead[successors[s, k]]
            best = -np.inf
            for a in range(actions):
                q[a] = 0.0
                for k in range(width):
                    q[a] += probabilities[s, a, k] * around[k]
                if reward.size:
                    q[a] += reward[s, a]
                best = max(best, q[a])
            if step > 0:
                values[s] = best
                continue
            chosen[s] = actions - 1
            for a in range(actions - 2, -1, -1):
                chosen[s] = a if q[a] >= best - tolerance else chosen[s]


@jit
def push(successors, probabilities, distributions, actions):
    """Move each row's mass along its successors."""
    rows, states = distributions.shape
    width = successors.shape[1]
    out = np.zeros((rows, states))
    for row in range(rows):
        a = actions[row]
        for s in range(states):
            mass = distributions[row, s]
            if mass != 0.0:
                for k in range(width):
                    out[row, successors[s, k]] += mass * probabilities[s, a, k]
    return out


@jit
def sample(successors, probabilities, states, actions, uniforms):
    """Inverse of the cumulative distribution; rounding can only reach a successor that is possible."""
    out = np.empty(states.size, dtype=np.int64)
    width = successors.shape[1]
    for row in range(states.size):
        s, a = states[row], actions[row]
        remaining = uniforms[row]
        chosen = 0
        for k in range(width):
            p = probabilities[s, a, k]
            if p > 0.0:
                chosen = k
                if remaining < p:
                    break
                remaining -= p
        out[row] = successors[s, chosen]
    return out


@jit
def first_best(first, last, values, tolerance, out):
    """(R,) the first action within the tolerance of the row's best, for rows first to last."""
    actions = values.shape[1]
    for row in range(first, last):
        best = values[row, 0]
        for a in range(1, actions):
            best = max(best, values[row, a])
        chosen = actions - 1
        for a in range(actions - 2, -1, -1):
            chosen = a if values[row, a] >= best - tolerance else chosen
        out[row] = chosen


@jit
def push_hypotheses(successors, probabilities, action, joint):
    """(H, S + 1) after one step under an action; hypothesis h has the kernel h modulo G of (G, S, A, k)."""
    hypotheses, states = joint.shape[0], joint.shape[1] - 1
    kernels, width = probabilities.shape[0], successors.shape[1]
    out = np.zeros((hypotheses, states + 1))
    for h in range(hypotheses):
        out[h, states] = joint[h, states]
        if joint[h, states] == 0.0:
            continue
        g = h % kernels
        for s in range(states):
            mass = joint[h, s]
            if mass != 0.0:
                for k in range(width):
                    out[h, successors[s, k]] += mass * probabilities[g, s, action, k]
    return out


@jit
def move_hypotheses(targets, shares, joint):
    """(H, C) with (H, m) shares of each row's mass moved to (H, m) target rows."""
    hypotheses, columns = joint.shape
    out = np.zeros((hypotheses, columns))
    for h in range(hypotheses):
        if joint[h, columns - 1] == 0.0:
            continue
        for i in range(targets.shape[1]):
            share = shares[h, i]
            if share != 0.0:
                row = targets[h, i]
                for c in range(columns):
                    out[row, c] += share * joint[h, c]
    return out


@jit
def chain_step(successors, probabilities, matrix):
    """(S, S) matrix times the sparse rows."""
    states, width = successors.shape
    out = np.zeros(matrix.shape)
    for row in range(matrix.shape[0]):
        for s in range(states):
            mass = matrix[row, s]
            if mass != 0.0:
                for k in range(width):
                    out[row, successors[s, k]] += mass * probabilities[s, k]
    return out


@jit
def least_overlap(first, second, at_most):
    """Least shared mass of a row of one and a row of the other; a pair is left once it shares `at_most`.

    Put the states with the most mass first: most pairs are then left early.
    """
    least = at_most
    for i in range(first.shape[0]):
        for j in range(second.shape[0]):
            shared = 0.0
            for s in range(first.shape[1]):
                shared += min(first[i, s], second[j, s])
                if shared >= least:
                    break
            least = min(least, shared)
            if least == 0.0:
                return 0.0
    return least


@jit
def by_action(successors, probabilities, lists, chances):
    """Fill (S, A, w) `lists` and `chances` with the successors of each action; the last one is repeated."""
    states, actions, width = probabilities.shape
    for s in range(states):
        for a in range(actions):
            used = 0
            for k in range(width):
                if probabilities[s, a, k] != 0.0:
                    lists[s, a, used] = successors[s, k]
                    chances[s, a, used] = probabilities[s, a, k]
                    used += 1
            for k in range(used, lists.shape[2]):
                lists[s, a, k] = lists[s, a, max(used, 1) - 1]
                chances[s, a, k] = 0.0


@jit
def add_by_slot(slots, weights, out):
    """Add (S, A, k) weights to (S, A, w) `out`, where (S, k) slots say."""
    states, actions, width = weights.shape
    for s in range(states):
        for a in range(actions):
            for k in range(width):
                out[s, a, slots[s, k]] += weights[s, a, k]
