"""The loops behind `FamilyFilter`: H hypotheses, each with a distribution over S states.

The last of S + 1 columns holds each hypothesis's weight without the evidence of the steps.
"""

import numpy as np

from replan._loops.compiler import jit


@jit
def push(successors, probabilities, action, joint):
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
def move(targets, shares, joint):
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
