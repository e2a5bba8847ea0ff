"""The loops behind overlap coefficients."""

import numpy as np

from replan._loops.compiler import jit


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
