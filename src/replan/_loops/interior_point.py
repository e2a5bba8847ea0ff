"""The loops of a primal-dual interior-point method for a chain of drift-bounded distributions.

The problem, with N nodes in time, m coordinates and counts n_ij of what was seen:

    minimise   - sum_ij n_ij log p_ij
    subject to sum_j p_ij = 1,  p_ij >= 0,  |p_{i+1,j} - p_ij| <= e_ij.

Stationarity is  w_ij = nu_i + y_{i-1,j} - y_ij  with  p_ij w_ij = n_ij  and  y = y_up - y_down. So the
likelihood looks like a complementarity condition whose target is n_ij instead of 0, and one Newton system
serves both. It is block-tridiagonal once the last coordinate of every node is written as one minus the
rest: a banded Cholesky factor of N (m - 1) rows, O(N m^3).

`replan.estimate.pair` calls `solve`, `replan.estimate.pair` calls `reduce` and `build`. Arrays are flat
(entry i, j at i m + j) and nothing is allocated, which keeps the time to compile low. These three functions
state their types: loading this module compiles them or reads them from the cache, and no later call waits.
"""

import math
from functools import partial

from replan._loops.compiler import jit

_jit = partial(jit, error_model="numpy")  # without a check of each division: half the time to compile
_FLOATS, _INTEGERS = "f8[::1], ", "i8[::1], "

STEP = 0.9995  # of the way to the boundary
ITERATIONS = 200
SAME = 1e-12  # drift below this is no drift
PATIENCE = 8  # iterations without a better certificate before rounding is taken to have won


@_jit
def factorise(h, link, band, nodes, m):
    """Cholesky factor of the chain's matrix from the curvatures h of nodes and `link` of links (the last: 0).

    band holds 2 r numbers a row, r = m - 1, from the diagonal leftwards: at 2 r k + q is entry (k, k - q).
    """
    r = m - 1
    width = 2 * r
    for i in range(nodes):
        here = i * m
        back = link[here - m + r] if i else 0.0
        common = h[here + r] + link[here + r] + back
        for j in range(r):
            row = (i * r + j) * width
            for q in range(width):
                band[row + q] = common if q <= j else -back if q <= j + r else 0.0
            band[row] += h[here + j] + link[here + j]
            if i:
                band[row] += link[here - m + j]
                band[row + r] -= link[here - m + j]
    for k in range(nodes * r):
        row = k * width
        for q in range(min(width - 1, k), -1, -1):
            column = (k - q) * width
            total = band[row + q]
            for l in range(1, width - q):
                total -= band[row + q + l] * band[column + l]
            if q:
                band[row + q] = total * band[column]
            else:
                band[row] = 1.0 / math.sqrt(total) if total > 0.0 else 0.0  # the inverse; 0: rounding has won


@_jit
def substitute(band, rhs, dp, nodes, m):
    """Solve for dp, whose rows sum to 0, given rhs, which is used up."""
    r = m - 1
    width = 2 * r
    for k in range(nodes * r):
        here = k + k // r
        total = rhs[here] - rhs[k // r * m + r]
        for q in range(1, min(width - 1, k) + 1):
            total -= band[k * width + q] * dp[k - q + (k - q) // r]
        dp[here] = total * band[k * width]
    for k in range(nodes * r - 1, -1, -1):
        here = k + k // r
        dp[here] *= band[k * width]
        for q in range(1, min(width - 1, k) + 1):
            dp[k - q + (k - q) // r] -= band[k * width + q] * dp[here]
    for i in range(nodes):
        last = i * m + r
        dp[last] = 0.0
        for j in range(r):
            dp[last] -= dp[i * m + j]


@_jit
def newton(x, z, dx, dz, aim, n, lean, band, rhs, dp, pull, wanted, share, target, second, nodes, m):
    """One Newton direction dx, dz towards x z = target (n where something was seen).

    x is p, then the slacks of the upper and of the lower bounds; z their multipliers. `second` weighs the
    second-order term dx dz of the direction before.
    """
    size = nodes * m
    links = size - m
    for k in range(x.size):
        goal = n[k] if k < size and n[k] > 0.0 else target
        aim[k] = (goal - second * dx[k] * dz[k]) / x[k]
    for k in range(links):
        lean[k + m] = aim[size + k] - aim[size + links + k]
    for k in range(size):
        gradient = pull * (x[k] - wanted[k]) / share[k] if pull >= 0.0 else -pull * math.log(x[k] / share[k])
        rhs[k] = aim[k] - gradient + lean[k + m] - lean[k]
    substitute(band, rhs, dp, nodes, m)
    for k in range(x.size):
        if k < size:
            dx[k] = dp[k]
        elif k < size + links:
            dx[k] = dp[k - size] - dp[k - size + m]
        else:
            dx[k] = -dx[k - links]
        dz[k] = aim[k] - z[k] - z[k] * dx[k] / x[k]


@_jit
def step_length(x, dx):
    """Return the greatest step along dx, at most 1, that keeps x positive."""
    length = 1.0 / STEP
    for k in range(x.size):
        if x[k] + length * dx[k] < 0.0:
            length = -x[k] / dx[k]
    return STEP * length


@_jit
def mismatch(x, z, dx, dz, primal, dual, n):
    """Sum of x z where its target is 0, after steps of lengths `primal` and `dual`."""
    total = 0.0
    for k in range(x.size):
        if k >= n.size or n[k] == 0.0:
            total += (x[k] + primal * dx[k]) * (z[k] + dual * dz[k])
    return total


@_jit
def dual_bound(n, e, y, m):
    """A lower bound on the optimum from any y whose first and last rows are 0, by weak duality.

    For a node with c = y_{i-1} - y_i and any nu >= -min c, the least of sum (c p - n log p) over the
    simplex is at least sum n (1 + log(c + nu) - log n) - nu; the best nu is found by Newton's method.
    """
    bound = 0.0
    for first in range(0, n.size, m):
        nu = -math.inf
        for k in range(first, first + m):
            bound -= e[k] * abs(y[k + m])
            nu = max(nu, n[k] - y[k] + y[k + m])
        value = 0.0
        for _ in range(50):
            excess, slope, value = -1.0, 0.0, -nu
            for k in range(first, first + m):
                if n[k] > 0.0:
                    c = y[k] - y[k + m] + nu
                    excess += n[k] / c
                    slope += n[k] / (c * c)
                    value += n[k] * (1.0 + (math.log(c / n[k]) if c > 0.0 else -math.inf))
            if not excess > 1e-15:
                break
            nu += excess / slope
        bound += value
    return bound


@partial(_jit, signature=f"({17 * _FLOATS} i8, f8, f8, f8)")
def solve(n, e, p, y, wanted, share, x, z, dx, dz, aim, lean, h, link, rhs, dp, band, m, mu, tolerance, pull):
    """Improve p and y in place until the certified gap is at most `tolerance`; see `chain.solve_chain`."""
    size = n.size
    nodes, links = size // m, size - m
    free = 2 * links
    for k in range(size):
        x[k] = p[k]
        z[k] = max(n[k], mu) / x[k]
        free += n[k] == 0.0
    for k in range(links):
        up, down = size + k, size + links + k
        x[up] = e[k] - p[k + m] + p[k]
        x[down] = e[k] + p[k + m] - p[k]
        z[up] = mu / x[up] + max(y[k + m], 0.0)
        z[down] = mu / x[down] + max(-y[k + m], 0.0)
    least, best, patience = math.inf, -math.inf, PATIENCE
    for _ in range(ITERATIONS):
        mu = mismatch(x, z, dx, dz, 0.0, 0.0, n) / free
        for k in range(size):
            h[k] = z[k] / x[k] + (pull / share[k] if pull >= 0.0 else -pull / x[k])
        for k in range(links):
            up, down = size + k, size + links + k
            link[k] = z[up] / x[up] + z[down] / x[down]
        factorise(h, link, band, nodes, m)
        target, primal, dual, ahead = 0.0, 0.0, 0.0, 0.0
        for _ in range(2):  # predictor, then corrector with the second-order term of the predictor's step
            second = primal * dual
            newton(x, z, dx, dz, aim, n, lean, band, rhs, dp, pull, wanted, share, target, second, nodes, m)
            primal, dual = step_length(x, dx), step_length(z, dz)
            if pull != 0.0:
                primal = dual = min(primal, dual)
            ahead = mismatch(x, z, dx, dz, primal, dual, n) / free
            kept = ahead / mu
            target = max(ahead * kept * kept, 0.3 * tolerance / free)
        objective = 0.0
        for k in range(x.size):
            x[k] += primal * dx[k]
            z[k] += dual * dz[k]
            if k < size and n[k] > 0.0:
                objective -= n[k] * math.log(x[k])
        if ahead * free < 10.0 * tolerance:
            for k in range(links):
                lean[k + m] = z[size + k] - z[size + links + k]
            bound = dual_bound(n, e, lean, m)
            patience -= 1
            if pull != 0.0 or objective - bound < least - best:
                least, best = objective, bound
                patience = PATIENCE if pull == 0.0 else patience
                for k in range(size):
                    p[k] = x[k]
                    y[k] = lean[k]
            if patience == 0 or (least - best if pull == 0.0 else ahead * free) <= tolerance:
                break
    return least, best


@partial(_jit, signature=f"({2 * _INTEGERS}{_FLOATS}{_INTEGERS}i8[::1])")
def reduce(times, outcomes, cumulative, node, coordinate):
    """Number the nodes and the coordinates of one pair's observations, the seen successors first.

    Observations between which nothing can drift share a node. Returns the number of nodes and of seen
    successors; the first is negative, minus the row minus 1, where a time or an outcome is out of order or
    out of range.
    """
    seen = 0
    for k in range(times.size):
        if times[k] < 0 or times[k] >= cumulative.size or outcomes[k] < 0 or outcomes[k] >= coordinate.size:
            return -k - 1, 0
        node[k] = 0
        if k:
            if times[k] < times[k - 1]:
                return -k - 1, 0
            node[k] = node[k - 1] + (cumulative[times[k]] - cumulative[times[k - 1]] > SAME)
        if coordinate[outcomes[k]] < 0:
            coordinate[outcomes[k]] = seen
            seen += 1
    return node[times.size - 1] + 1, seen


@partial(_jit, signature=f"({_INTEGERS}{_FLOATS}{2 * _INTEGERS}i8, i8, {5 * _FLOATS}f8[::1])")
def build(times, cumulative, node, chosen, unseen, m, n, e, p, y, start, start_y):
    """Fill counts n, drifts e and a strictly feasible start p, y; chosen (K,) is each outcome's coordinate.

    start, start_y are an earlier solution of fewer or as many nodes, or empty: 0.9 of it is kept.
    """
    warm = 0.9 if start.size else 0.0
    for k in range(times.size):
        n[node[k] * m + chosen[k]] += 1.0
        if k and node[k] > node[k - 1]:
            drift = cumulative[times[k]] - cumulative[times[k - 1]]
            for j in range(m):
                wide = drift * (unseen if unseen and j == m - 1 else 1)
                e[node[k - 1] * m + j] = (
                    wide if wide < 1.0 else 2.0
                )  # a bound of 1 binds nothing: keep it slack
    for j in range(m):
        share = 0.5
        for k in range(j, n.size, m):
            share += n[k]
        for k in range(j, n.size, m):
            p[k] = (1.0 - warm) * share / (times.size + 0.5 * m)
            if start.size:
                p[k] += warm * start[k if k < start.size else start.size - m + j]
                y[k] = start_y[k] if k < start.size else 0.0
