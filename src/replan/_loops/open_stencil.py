"""The loops behind `SlipKernel` where no cell is blocked, row by row: neighbours are the rows beside."""

import numpy as np

from replan._loops.compiler import jit


@jit
def expect(first, last, slip, law, values, out):
    """(rows, columns, A) expectation of values, for rows first to last; slip (rows, columns) or one row."""
    rows, columns = values.shape
    field = 0 if slip.shape[0] == 1 else 1
    for i in range(first, last):
        above, row, below, rho = (
            values[max(i - 1, 0)],
            values[i],
            values[min(i + 1, rows - 1)],
            slip[i * field],
        )
        for j in range(columns):
            r, l, d, u, c = row[min(j + 1, columns - 1)], row[max(j - 1, 0)], below[j], above[j], row[j]
            keep = 1.0 - rho[j]
            slipped = rho[j] * (law[0] * r + law[1] * l + law[2] * d + law[3] * u + law[4] * c)
            q = out[i, j]
            q[0] = keep * r + slipped
            q[1] = keep * l + slipped
            q[2] = keep * d + slipped
            q[3] = keep * u + slipped
            q[4] = keep * c + slipped


@jit
def _hold_at_border(law, slipped, kept, action, out):
    """Add what the border of the grid holds back; slipped and kept have a rim of one empty cell."""
    rows, columns = out.shape
    for i in range(rows):
        right, left = slipped[i + 1, columns], slipped[i + 1, 1]
        out[i, columns - 1] += law[0] * right + (kept[i + 1, columns] if action == 0 else 0.0)
        out[i, 0] += law[1] * left + (kept[i + 1, 1] if action == 1 else 0.0)
    for j in range(columns):
        bottom, top = slipped[rows, j + 1], slipped[1, j + 1]
        out[rows - 1, j] += law[2] * bottom + (kept[rows, j + 1] if action == 2 else 0.0)
        out[0, j] += law[3] * top + (kept[1, j + 1] if action == 3 else 0.0)


@jit
def push(slip, law, distributions, actions, out):
    """Move each (rows, columns) distribution; slip is one row that serves for all, or (rows, columns)."""
    count, rows, columns = distributions.shape
    field = 0 if slip.shape[0] == 1 else 1
    slipped, kept = np.zeros((rows + 2, columns + 2)), np.zeros((rows + 2, columns + 2))
    for k in range(count):
        action = actions[k]
        for i in range(rows):
            for j in range(columns):
                slipped[i + 1, j + 1] = slip[i * field, j] * distributions[k, i, j]
                kept[i + 1, j + 1] = distributions[k, i, j] - slipped[i + 1, j + 1]
        di = 1 if action == 3 else (-1 if action == 2 else 0)
        dj = 1 if action == 1 else (-1 if action == 0 else 0)
        for i in range(rows):
            above, row, below = slipped[i], slipped[i + 1], slipped[i + 2]
            commanded, to = kept[i + 1 + di], out[k, i]
            for j in range(columns):
                sideways = law[0] * row[j] + law[1] * row[j + 2] + law[4] * row[j + 1]
                to[j] = sideways + law[2] * above[j + 1] + law[3] * below[j + 1] + commanded[j + 1 + dj]
        _hold_at_border(law, slipped, kept, action, out[k])
