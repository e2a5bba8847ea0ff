"""A primal-dual interior-point method for one chain of drift-bounded distributions. Imported on first use.

The problem, with N nodes in time, m coordinates and counts n_ij of what was seen:

    minimise   - sum_ij n_ij log p_ij
    subject to sum_j p_ij = 1,  p_ij >= 0,  |p_{i+1,j} - p_ij| <= e_ij.

Stationarity is  w_ij = nu_i + y_{i-1,j} - y_ij  with  p_ij w_ij = n_ij  and  y = y_up - y_down. The likelihood
thus looks like a complementarity condition whose target is n_ij instead of 0, and one Newton system serves
both: x holds p and the slacks of the bounds above and below, one after the other, and z their multipliers.
The system is a chain. It is solved like a Kalman smoother, by two r x r inversions a node (r = m - 1, the last
coordinate being one minus the rest), which adds up positive terms only and so stays accurate when bounds
become active.
"""

from functools import partial

import numpy as np

from replan.model.jit import jit

compiled = partial(jit, error_model="numpy")  # no check of each division: half the time to compile

STEP = 0.9995  # of the way to the boundary
ITERATIONS = 200
PATIENCE = 8  # iterations without a better certificate before rounding is taken to have won
SAME = 1e-12  # drift below this is no drift


@compiled
def factorise(h, link, band):
    """Cholesky factor of the chain's matrix: h (N, m) curvatures of nodes, link (N, m) of links; the last is 0.

    band (N r, 2 r) holds row k of the lower triangle from the diagonal leftwards: band[k, q] is entry (k, k - q).
    """
    nodes, m = h.shape
    r = m - 1
    for i in range(nodes):
        common = h[i, r] + link[i, r] + (link[i - 1, r] if i else 0.0)
        for j in range(r):
            row = band[i * r + j]
            row[:] = 0.0
            for l in range(j + 1):
                row[j - l] = common
            row[0] += h[i, j] + link[i, j]
            if i:
                row[0] += link[i - 1, j]
                for l in range(r):
                    row[j + r - l] = -link[i - 1, r]
                row[r] -= link[i - 1, j]
    width = band.shape[1]
    for k in range(nodes * r):
        row = band[k]
        for q in range(min(width - 1, k), -1, -1):
            column = band[k - q]
            total = row[q]
            for l in range(1, width - q):
                total -= row[q + l] * column[l]
            if q:
                row[q] = total * column[0]
            else:
                row[0] = 1.0 / np.sqrt(total) if total > 0.0 else 0.0  # the inverse; 0 where rounding has won


@compiled
def substitute(band, rhs, dp):
    """Solve for dp (N, m), whose rows sum to 0, given rhs (N, m)."""
    nodes, m = rhs.shape
    r = m - 1
    width = band.shape[1]
    x = np.empty(nodes * r)
    for k in range(nodes * r):
        i, j = divmod(k, r)
        total = rhs[i, j] - rhs[i, r]
        for q in range(1, min(width - 1, k) + 1):
            total -= band[k, q] * x[k - q]
        x[k] = total * band[k, 0]
    dp[:] = 0.0
    for k in range(nodes * r - 1, -1, -1):
        i, j = divmod(k, r)
        x[k] *= band[k, 0]
        for q in range(1, min(width - 1, k) + 1):
            x[k - q] -= band[k, q] * x[k]
        dp[i, j] = x[k]
        dp[i, r] -= x[k]


@compiled
def dual_bound(counts, e, y):
    """A lower bound on the optimum from any y (N + 1, m) whose first and last rows are 0, by weak duality.

    For a node with c = y_{i-1} - y_i and any nu >= -min c, the least of sum (c p - n log p) over the simplex is at
    least sum n (1 + log(c + nu) - log n) - nu; the best nu is found by Newton's method.
    """
    nodes, m = counts.shape
    bound = 0.0
    for i in range(nodes):
        nu = -np.inf
        for j in range(m):
            bound -= e[i, j] * abs(y[i + 1, j])
            nu = max(nu, counts[i, j] - y[i, j] + y[i + 1, j])
        excess, value = 1.0, 0.0
        for _ in range(50):
            excess, slope, value = -1.0, 0.0, 0.0
            for j in range(m):
                n = counts[i, j]
                if n > 0.0:
                    c = y[i, j] - y[i + 1, j] + nu
                    excess += n / c
                    slope += n / (c * c)
                    value += n * (1.0 + np.log(c / n))
            value -= nu
            if not excess > 1e-15:
                break
            nu += excess / slope
        bound += value
    return bound


@compiled
def solve_chain(counts, e, p, y, mu, tolerance, pull, wanted):
    """Improve p (N, m) and y (N + 1, m) in place until the certified gap is at most `tolerance`.

    p must be strictly feasible; of y only the rows 1..N-1 count, and they may be anything. A positive `pull` adds
    pull |p - wanted|^2 / 2, a negative one -pull sum p log p, to choose among optima; the iteration then ends
    when mu is below the tolerance. Returns the objective, the best lower bound and the number of iterations.
    """
    nodes, m = counts.shape
    size, links = nodes * m, (nodes - 1) * m
    x, z = np.empty(size + 2 * links), np.empty(size + 2 * links)
    dx, dz, aim = np.zeros_like(x), np.zeros_like(x), np.zeros_like(x)
    h, rhs, dp = np.empty((nodes, m)), np.empty((nodes, m)), np.empty((nodes, m))
    link, lean, band = (
        np.zeros((nodes, m)),
        np.zeros((nodes + 1, m)),
        np.empty((nodes * (m - 1), 2 * (m - 1))),
    )
    n, flat_p, flat_y, flat_e, flat_wanted = counts.ravel(), p.ravel(), y.ravel(), e.ravel(), wanted.ravel()
    flat_h, flat_rhs, flat_dp = h.ravel(), rhs.ravel(), dp.ravel()
    flat_link, flat_lean = link.ravel(), lean.ravel()

    free = 2 * links
    for k in range(size):
        x[k] = flat_p[k]
        z[k] = max(n[k], mu) / x[k]
        free += n[k] == 0.0
    for k in range(links):
        up, down = size + k, size + links + k
        x[up] = flat_e[k] - flat_p[k + m] + flat_p[k]
        x[down] = flat_e[k] + flat_p[k + m] - flat_p[k]
        z[up] = mu / x[up] + max(flat_y[k + m], 0.0)
        z[down] = mu / x[down] + max(-flat_y[k + m], 0.0)
    least, best, iteration, patience = np.inf, -np.inf, 0, PATIENCE
    while iteration < ITERATIONS and patience > 0:
        iteration += 1
        mu = 0.0
        for k in range(x.size):
            if k >= size or n[k] == 0.0:
                mu += x[k] * z[k] / free
        for k in range(size):
            flat_h[k] = z[k] / x[k] + (pull if pull >= 0.0 else -pull / x[k])
        for k in range(links):
            up, down = size + k, size + links + k
            flat_link[k] = z[up] / x[up] + z[down] / x[down]
        factorise(h, link, band)
        target, primal, dual = 0.0, 1.0, 1.0
        for stage in range(2):
            for k in range(x.size):
                goal = n[k] if k < size and n[k] > 0.0 else target
                aim[k] = (goal - stage * dx[k] * dz[k]) / x[k]
            for k in range(links):
                flat_lean[k + m] = aim[size + k] - aim[size + links + k]
            for k in range(size):
                gradient = pull * (x[k] - flat_wanted[k]) if pull >= 0.0 else -pull * (np.log(x[k]) + 1.0)
                flat_rhs[k] = aim[k] - gradient + flat_lean[k + m] - flat_lean[k]
            substitute(band, rhs, dp)
            dx[:size] = flat_dp
            for k in range(links):
                dx[size + links + k] = flat_dp[k + m] - flat_dp[k]
                dx[size + k] = -dx[size + links + k]
            primal, dual = 1.0 / STEP, 1.0 / STEP
            for k in range(x.size):
                dz[k] = aim[k] - z[k] - z[k] * dx[k] / x[k]
                if x[k] + primal * dx[k] < 0.0:
                    primal = -x[k] / dx[k]
                if z[k] + dual * dz[k] < 0.0:
                    dual = -z[k] / dz[k]
            primal, dual = STEP * primal, STEP * dual
            if pull != 0.0:
                primal = dual = min(primal, dual)
            if stage == 0:
                ahead = 0.0
                for k in range(x.size):
                    if k >= size or n[k] == 0.0:
                        ahead += (x[k] + primal * dx[k]) * (z[k] + dual * dz[k]) / free
                target = max(ahead * (ahead / mu) ** 2, 0.3 * tolerance / free)
        for k in range(x.size):
            x[k] += primal * dx[k]
            z[k] += dual * dz[k]
        if target * free < 10.0 * tolerance:
            for k in range(links):
                flat_lean[k + m] = z[size + k] - z[size + links + k]
            bound = dual_bound(counts, e, lean)
            objective = 0.0
            for k in range(size):
                if n[k] > 0.0:
                    objective -= n[k] * np.log(x[k])
            patience -= 1
            if objective - bound < least - best:
                patience = PATIENCE
                least, best = objective, bound
                flat_p[:] = x[:size]
                flat_y[:] = flat_lean
            if least - best <= tolerance and (pull == 0.0 or mu * free < tolerance):
                break
    return least, best, iteration


@compiled
def solve_pair(times, outcomes, cumulative, width, tolerance, start, start_y):
    """One state and action: `outcomes` (K,) out of `width` successors seen at the sorted `times` (K,).

    cumulative (T,) adds up the drift bounds. Observations between which nothing can drift are one node; successors
    never seen are alike, so one coordinate stands for all. `start` (n, width) and `start_y` (n + 1, width) are an
    earlier solution for the first n nodes (n = 0: none). Returns p (N, width), y (N + 1, width), the node of each
    observation, the objective and its lower bound.
    """
    node = np.zeros(times.size, np.int64)
    for k in range(1, times.size):
        node[k] = node[k - 1] + (cumulative[times[k]] - cumulative[times[k - 1]] > SAME)
    nodes = node[-1] + 1
    coordinate = np.full(width, -1)
    seen = 0
    for k in range(times.size):
        if coordinate[outcomes[k]] < 0:
            coordinate[outcomes[k]] = seen
            seen += 1
    unseen = width - seen
    m = seen + (unseen > 0)
    full, full_y = np.zeros((nodes, width)), np.zeros((nodes + 1, width))
    if nodes == 1 or seen == 1:
        objective = 0.0
        for k in range(times.size):
            full[:, outcomes[k]] += 1.0 / times.size
        for k in range(times.size):
            objective -= np.log(full[0, outcomes[k]])
        return full, full_y, node, objective, objective
    counts, e = np.zeros((nodes, m)), np.zeros((nodes, m))
    p, y = np.zeros((nodes, m)), np.zeros((nodes + 1, m))
    for k in range(times.size):
        counts[node[k], coordinate[outcomes[k]]] += 1.0
        if k and node[k] > node[k - 1]:
            drift = cumulative[times[k]] - cumulative[times[k - 1]]
            for j in range(m):
                drift_j = drift * (1 if j < seen else unseen)
                e[node[k - 1], j] = (
                    drift_j if drift_j < 1.0 else 2.0
                )  # a bound of 1 binds nothing: keep it slack
    warm = 0.9 if start.shape[0] else 0.0
    for j in range(m):
        share = (counts[:, j].sum() + 0.5) / (times.size + 0.5 * m)
        p[:, j] = (1.0 - warm) * share
    for i in range(nodes if warm else 0):
        for j in range(width):
            c = coordinate[j] if coordinate[j] >= 0 else seen
            p[i, c] += warm * start[min(i, start.shape[0] - 1), j]
            if 0 < i < start.shape[0]:
                y[i, c] = start_y[i, j]
    mu = 0.01 if warm else 0.1
    objective, bound, _ = solve_chain(counts, e, p, y, mu, tolerance, 0.0, p)
    for j in range(width):
        c = coordinate[j] if coordinate[j] >= 0 else seen
        full_y[:, j] = y[:, c]
        full[:, j] = p[:, c] / (1 if c < seen else unseen)
    return full, full_y, node, objective, bound
