"""The loops behind `SlipKernel` that plan on a grid and act on the plan.

They go row by row, so that neighbours are the rows beside. `induction` makes several steps in one pass over
the grid: each follows one row behind the one that it needs, whose rows are still in the cache. `expect` and
`push` are for grids without blocked cells. Only `most_likely_of` goes robot by robot.
"""

import numpy as np

from replan._loops.compiler import jit

ACTIONS = 5


@jit
def _best(right, left, down, up, stay):
    """The greatest, in a form that compiles to vector instructions."""
    best = right if right > left else left
    best = down if down > best else best
    best = up if up > best else best
    return stay if stay > best else best


@jit
def _backup_cell(rho, law, right, left, down, up, stay):
    mean = law[0] * right + law[1] * left + law[2] * down + law[3] * up + law[4] * stay
    return (1.0 - rho) * _best(right, left, down, up, stay) + rho * mean


@jit
def _backup_row(rho, law, above, row, below, out):
    """One row of a grid without blocked cells."""
    last = row.size - 1
    for j in range(1, last):
        out[j] = _backup_cell(rho[j], law, row[j + 1], row[j - 1], below[j], above[j], row[j])
    for j in (0, last):
        right, left = row[min(j + 1, last)], row[max(j - 1, 0)]
        out[j] = _backup_cell(rho[j], law, right, left, below[j], above[j], row[j])


@jit
def _backup_walled_row(rho, law, wall_above, wall, wall_below, above, row, below, out):
    """One row of a grid with blocked cells: a move into one stays."""
    last = row.size - 1
    for j in range(1, last):
        stay = row[j]
        right = stay if wall[j + 1] else row[j + 1]
        left = stay if wall[j - 1] else row[j - 1]
        down = stay if wall_below[j] else below[j]
        up = stay if wall_above[j] else above[j]
        out[j] = _backup_cell(rho[j], law, right, left, down, up, stay)
    for j in (0, last):
        right, left = _beside(row, j, wall, min(j + 1, last)), _beside(row, j, wall, max(j - 1, 0))
        down, up = row[j] if wall_below[j] else below[j], row[j] if wall_above[j] else above[j]
        out[j] = _backup_cell(rho[j], law, right, left, down, up, row[j])


@jit
def _beside(row, j, wall, to):
    """The value of the cell that a move from j to `to` within a row leads to."""
    return row[j] if wall[to] else row[to]


@jit
def _greedy_cell(keep, right, left, down, up, stay, tolerance):
    """The first action within the tolerance of the best.

    All actions of a cell share the slipped part, so the moves themselves decide, weighted with 1 - rho.
    """
    least = keep * _best(right, left, down, up, stay) - tolerance
    chosen = 3 if keep * up >= least else 4
    chosen = 2 if keep * down >= least else chosen
    chosen = 1 if keep * left >= least else chosen
    return 0 if keep * right >= least else chosen


@jit
def _greedy_row(rho, tolerance, above, row, below, out):
    last = row.size - 1
    for j in range(1, last):
        out[j] = _greedy_cell(1.0 - rho[j], row[j + 1], row[j - 1], below[j], above[j], row[j], tolerance)
    for j in (0, last):
        right, left = row[min(j + 1, last)], row[max(j - 1, 0)]
        out[j] = _greedy_cell(1.0 - rho[j], right, left, below[j], above[j], row[j], tolerance)


@jit
def _greedy_walled_row(rho, tolerance, wall_above, wall, wall_below, above, row, below, out):
    last = row.size - 1
    for j in range(1, last):
        right, left = row[j] if wall[j + 1] else row[j + 1], row[j] if wall[j - 1] else row[j - 1]
        down, up = row[j] if wall_below[j] else below[j], row[j] if wall_above[j] else above[j]
        out[j] = _greedy_cell(1.0 - rho[j], right, left, down, up, row[j], tolerance)
    for j in (0, last):
        right, left = _beside(row, j, wall, min(j + 1, last)), _beside(row, j, wall, max(j - 1, 0))
        down, up = row[j] if wall_below[j] else below[j], row[j] if wall_above[j] else above[j]
        out[j] = _greedy_cell(1.0 - rho[j], right, left, down, up, row[j], tolerance)


@jit
def _add(value, more, out):
    for j in range(out.size):
        out[j] = value[j] + more[j]


@jit
def induction(first, last, steps, slip, law, blocked, values, plus, tolerance, out, chosen):
    """K = `steps` backups of `values` + `plus`, then the first action within the tolerance of the best.

    For rows first to last. `slip` (K, S) and `law` (K, A) are in the order of time; one row serves for all
    times, one column for all cells. `blocked` is (S,), or (1,) where no cell is; `values` and `plus` are
    (rows, columns), or one row that serves for all. `out` (K, rows, columns) takes the values of every time,
    (1, rows, columns) only those of the first, `chosen` (rows, columns) the actions one step before it; an
    empty array stands for what is not asked.
    """
    rows, columns = max(out.shape[1], chosen.shape[0]), values.shape[1]
    valued, added = 0 if values.shape[0] == 1 else 1, 0 if plus.shape[0] == 1 else 1
    timed, lawed = 0 if slip.shape[0] == 1 else 1, 0 if law.shape[0] == 1 else 1
    field, walls = slip.shape[1] > 1, blocked.size > 1
    choosing = 1 if chosen.shape[0] > 0 else 0
    kept, beside, rhos = (
        np.empty((steps + 1, 3, columns)),
        np.empty(columns),
        np.empty((slip.shape[0], columns)),
    )
    for k in range(slip.shape[0]):
        rhos[k] = slip[k, 0]
    margin = steps + choosing
    for i in range(max(first - margin, 0), min(last + margin, rows) + margin):
        if i < rows:
            _add(values[i * valued], plus[i * added], kept[steps, i % 3])
        for k in range(steps - 1, -1 - choosing, -1):  # -1: the choice of actions
            row, spare = i - (steps - k), k + choosing
            if row < max(first - spare, 0) or row >= min(last + spare, rows):
                continue
            up, down, now = max(row - 1, 0), min(row + 1, rows - 1), max(k, 0) * timed
            above, here, below = kept[k + 1, up % 3], kept[k + 1, row % 3], kept[k + 1, down % 3]
            rho = slip[now, row * columns : (row + 1) * columns] if field else rhos[now]
            if walls:
                wall = blocked[row * columns : (row + 1) * columns]
                wall_above, wall_below = blocked[up * columns :], blocked[down * columns :]
            if k < 0:
                if walls:
                    _greedy_walled_row(
                        rho, tolerance, wall_above, wall, wall_below, above, here, below, chosen[row]
                    )
                else:
                    _greedy_row(rho, tolerance, above, here, below, chosen[row])
                continue
            at = k * lawed
            weights = law[at, 0], law[at, 1], law[at, 2], law[at, 3], law[at, 4]
            to = out[k, row] if first <= row < last and k < out.shape[0] else beside
            if walls:
                _backup_walled_row(rho, weights, wall_above, wall, wall_below, above, here, below, to)
            else:
                _backup_row(rho, weights, above, here, below, to)
            _add(to, plus[row * added], kept[k, row % 3])


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


@jit
def neighbours(rows, columns, blocked, i, j):
    """The cells that right, left, down, up and stay lead to from (i, j)."""
    s = i * columns + j
    right = s + 1 if j + 1 < columns else s
    left = s - 1 if j > 0 else s
    down = s + columns if i + 1 < rows else s
    up = s - columns if i > 0 else s
    if blocked.size > 1:
        right = s if blocked[right] else right
        left = s if blocked[left] else left
        down = s if blocked[down] else down
        up = s if blocked[up] else up
    return right, left, down, up, s


@jit
def merged_law(around, law, cells, weights):
    """Fill the distinct cells around one, ascending, and the law's mass on each; return their number."""
    count = 0
    for a in (3, 1, 4, 0, 2):  # up, left, stay, right, down: ascending state index
        to = around[a]
        found = -1
        for k in range(count):
            if cells[k] == to:
                found = k
        if found < 0:
            found = count
            while found > 0 and cells[found - 1] > to:
                cells[found] = cells[found - 1]
                weights[found] = weights[found - 1]
                found -= 1
            cells[found] = to
            weights[found] = 0.0
            count += 1
        weights[found] += law[a]
    return count


@jit
def _likeliest(rho, commanded, cells, weights, count):
    """The likeliest of the cells, ties within 1e-9 to the first."""
    best = 0.0
    for k in range(count):
        best = max(best, rho * weights[k] + (1.0 - rho if cells[k] == commanded else 0.0))
    for k in range(count):
        if rho * weights[k] + (1.0 - rho if cells[k] == commanded else 0.0) >= best - 1e-9:
            return cells[k]
    return commanded


@jit
def most_likely_of(rows, columns, blocked, slip, law, states, actions):
    """(R,) MAP successors of states under actions, ties within 1e-9 to the lowest index."""
    field = 0 if slip.size == 1 else 1
    cells, weights = np.empty(ACTIONS, dtype=np.int64), np.empty(ACTIONS)
    out = np.empty(states.size, dtype=np.int64)
    for row in range(states.size):
        s = states[row]
        around = neighbours(rows, columns, blocked, s // columns, s % columns)
        count = merged_law(around, law, cells, weights)
        out[row] = _likeliest(slip[s * field], around[actions[row]], cells, weights, count)
    return out
