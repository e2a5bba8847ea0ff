"""The loops behind `SlipKernel`. Imported on first use, so that `import replan` stays light."""

import numpy as np

from replan.model.jit import jit

ACTIONS = 5


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
def slip_expect(rows, columns, blocked, slip, law, values):
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
def slip_backup(rows, columns, blocked, slip, law, values, out):
    """(S,) max over actions of the expectation, with blocked cells."""
    field = 0 if slip.size == 1 else 1
    for i in range(rows):
        for j in range(columns):
            to = neighbours(rows, columns, blocked, i, j)
            s = to[4]
            r, l, d, u, c = values[to[0]], values[to[1]], values[to[2]], values[to[3]], values[s]
            rho = slip[s * field]
            mean = law[0] * r + law[1] * l + law[2] * d + law[3] * u + law[4] * c
            out[s] = (1.0 - rho) * max(r, l, d, u, c) + rho * mean


@jit
def _open_row(rho, law, above, row, below, out):
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
def open_backup(first, last, slip, law, values, plus, out):
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
        _open_row(slip[i * field], law, above, kept[i % 3], below, out[i])


@jit
def open_backups(first, last, slip, law, values, plus, out):
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
            _open_row(slip[k], law[k], above, ahead[row % 3], below, to)
            _add(to, plus[row], kept[k, row % 3])


@jit
def _add(value, more, out):
    for j in range(out.size):
        out[j] = value[j] + more[j]


@jit
def open_expect(first, last, slip, law, values, out):
    """(rows, columns, A) expectation of values, as `open_backup`."""
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
def open_greedy(first, last, slip, law, values, out, tolerance):
    """(rows, columns) the first action within the tolerance of the best, as `open_backup`."""
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
def open_push(slip, law, distributions, actions, out):
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
def slip_push(rows, columns, blocked, slip, law, distributions, actions):
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
def slip_sample(rows, columns, blocked, slip, law, states, actions, uniforms):
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
def _merged_law(around, law, cells, weights):
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
def slip_most_likely(rows, columns, blocked, slip, law):
    """(S, A) MAP successors, ties within 1e-9 to the lowest index."""
    states = rows * columns
    field = 0 if slip.size == 1 else 1
    cells, weights = np.empty(ACTIONS, dtype=np.int64), np.empty(ACTIONS)
    out = np.empty((states, ACTIONS), dtype=np.int64)
    for s in range(states):
        around = neighbours(rows, columns, blocked, s // columns, s % columns)
        count = _merged_law(around, law, cells, weights)
        rho = slip[s * field]
        for a in range(ACTIONS):
            commanded = around[a]
            best = 0.0
            for k in range(count):
                best = max(best, rho * weights[k] + (1.0 - rho if cells[k] == commanded else 0.0))
            for k in range(count):
                if rho * weights[k] + (1.0 - rho if cells[k] == commanded else 0.0) >= best - 1e-9:
                    out[s, a] = cells[k]
                    break
    return out


@jit
def slip_distance(rows, columns, blocked, slip, law, other_slip, other_law):
    """(S, A) entrywise and total-variation distance between two slip kernels of one grid."""
    states = rows * columns
    field = 0 if slip.size == 1 else 1
    other_field = 0 if other_slip.size == 1 else 1
    cells, weights, other_weights = np.empty(ACTIONS, dtype=np.int64), np.empty(ACTIONS), np.empty(ACTIONS)
    entry, variation = np.empty((states, ACTIONS)), np.empty((states, ACTIONS))
    for s in range(states):
        around = neighbours(rows, columns, blocked, s // columns, s % columns)
        count = _merged_law(around, law, cells, weights)
        _merged_law(around, other_law, cells, other_weights)
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
