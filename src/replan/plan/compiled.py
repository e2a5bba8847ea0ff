"""The loop behind the tie rule `first`. Imported on first use."""

from replan.model.jit import jit


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
