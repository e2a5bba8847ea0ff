"""The loops behind `SlipKernel` where no cell is blocked, row by row: neighbours are the rows beside."""

import numpy as np

from replan._loops.compiler import jit


@jit
def _backup_row(rho, law, above, row, below, out):
    """One row of a grid without blocked cells, in a form that compiles to vector instructions."""
    last = row.size - 1
    for j in range(1, last):
        right, left, down, up, stay = row[j + 1], row[j - 1], below[j], above[j], row[j]
        mean = law[0] * right + law[1] * left + law[2] * down + law[3] * up + law[4] * stay
        best = right if right > left else left
        best = down if down > best else best
        best = up if up > best else best
        best = stay if stay > best else best
        out[j] = (1.0 - rho[j]) * best + rho[j] * mean
    for j in (0, last):
        right, left = row[min(j + 1, last)], row[max(j - 1, 0)]
        mean = law[0] * right + law[1] * left + law[2] * below[j] + law[3] * above[j] + law[4] * row[j]
        best = max(right, left, below[j], above[j], row[j])
        out[j] = (1.0 - rho[j]) * best + rho[j] * mean


@jit
def backup(first, last, slip, law, values, plus, out):
    """(rows, columns) max over actions of the expectation of values + plus, for rows first to last.

    `slip` and `plus` are (rows, columns), or one row that serves for all. Three rows of the sum are kept at a
    time, so that it is never written to memory as a whole.
    """
    rows, columns = values.shape
    field, varying = 0 if slip.shape[0] == 1 else 1, 0 if plus.shape[0] == 1 else 1
    kept = np.empty((3, columns))
    for i in range(max(first - 1, 0), min(first + 1, rows)):
        kept[i % 3] = values[i] + plus[i * varying]
    for i in range(first, last):
        if i + 1 < rows:
            following, value, more = kept[(i + 1) % 3], values[i + 1], plus[(i + 1) * varying]
            for j in range(columns):
                following[j] = value[j] + more[j]
        above, below = kept[max(i - 1, 0) % 3], kept[min(i + 1, rows - 1) % 3]
        _backup_row(slip[i * field], law, above, kept[i % 3], below, out[i])


@jit
def backups(first, last, slip, law, values, plus, out):
    """K backups in one pass over the grid, for rows first to last, with slip (K, columns) and law (K, A).

    They are in the order of time, so the last is made first, and each follows one row behind the one that it
    needs, whose rows are still in the cache. `out` (K, rows, columns) takes the values of every time,
    (1, rows, columns) those of the first alone.
    """
    rows, columns = values.shape
    steps = law.shape[0]
    kept, beside = np.empty((steps + 1, 3, columns)), np.empty(columns)
    for i in range(max(first - steps, 0), min(last + steps, rows) + steps):
        if i < rows:
            _add(values[i], plus[i], kept[steps, i % 3])
        for k in range(steps - 1, -1, -1):
            row = i - (steps - k)
            if row < max(first - k, 0) or row >= min(last + k, rows):
                continue
            to = out[k, row] if first <= row < last and k < out.shape[0] else beside
            ahead = kept[k + 1]
            above, below = ahead[max(row - 1, 0) % 3], ahead[min(row + 1, rows - 1) % 3]
            _backup_row(slip[k], law[k], above, ahead[row % 3], below, to)
            _add(to, plus[row], kept[k, row % 3])


@jit
def _add(value, more, out):
    for j in range(out.size):
        out[j] = value[j] + more[j]


@jit
def expect(first, last, slip, law, values, out):
    """(rows, columns, A) expectation of values, as `backup`."""
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
def _greedy_cell(keep, r, l, d, u, c, tolerance):
    """The first action within the tolerance of the best.

    All actions of a cell share the slipped part, so the moves themselves decide, weighted with 1 - rho.
    """
    best = r if r > l else l
    best = d if d > best else best
    best = u if u > best else best
    best = c if c > best else best
    least = keep * best - tolerance
    chosen = 3 if keep * u >= least else 4
    chosen = 2 if keep * d >= least else chosen
    chosen = 1 if keep * l >= least else chosen
    return 0 if keep * r >= least else chosen


@jit
def greedy(first, last, slip, law, values, out, tolerance):
    """(rows, columns) the first action within the tolerance of the best, as `backup`."""
    rows, columns = values.shape
    field = 0 if slip.shape[0] == 1 else 1
    for i in range(first, last):
        above, row, below, rho = (
            values[max(i - 1, 0)],
            values[i],
            values[min(i + 1, rows - 1)],
            slip[i * field],
        )
        to = out[i]
        for j in range(1, columns - 1):
            to[j] = _greedy_cell(1.0 - rho[j], row[j + 1], row[j - 1], below[j], above[j], row[j], tolerance)
        for j in (0, columns - 1):
            r, l = row[min(j + 1, columns - 1)], row[max(j - 1, 0)]
            to[j] = _greedy_cell(1.0 - rho[j], r, l, below[j], above[j], row[j], tolerance)


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
