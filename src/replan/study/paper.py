"""The figures that the paper prints, to be shown beside ours: Tables 1 to 3."""

METHODS = {  # our names -> the paper's
    "regret-guided": "Adapt",
    "periodic": "Per.",
    "best-offset": "Per.-BO",
    "random": "Rand.",
    "front-loaded": "Front",
    "back-loaded": "Back",
    "drift-threshold": "Drift",
    "self-triggered": "Self",
    "lazy-value": "Lazy",
}


def _by_method(*figures):
    return dict(zip(METHODS, figures, strict=True))


TABLE_1 = {  # empirical mean dynamic regret over 1000 held-out seeds
    "late-burst": _by_method(1.91, 4.93, 2.78, 4.45, 5.48, 4.93, 3.87, 3.87, 3.45),
    "two-burst": _by_method(0.60, 1.09, 0.86, 1.06, 2.56, 2.32, 0.94, 1.01, 0.83),
    "alternating": _by_method(0.58, 0.87, 0.79, 1.01, 2.51, 2.26, 0.89, 0.81, 0.90),
    "sinusoidal-medium": _by_method(0.23, 0.57, 0.61, 0.65, 1.92, 2.13, 0.41, 0.41, 1.28),
    "narrow-late": _by_method(0.83, 2.24, 0.92, 2.04, 2.59, 2.24, 0.92, 0.92, 1.10),
    "sparse-late-60": _by_method(0.51, 0.78, 0.78, 0.79, 2.08, 1.82, 0.58, 0.65, 0.74),
    "sparse-late-50": _by_method(0.34, 0.40, 0.44, 0.53, 1.68, 1.41, 0.42, 0.54, 0.58),
    "three-short": _by_method(0.56, 0.61, 0.89, 1.19, 3.50, 3.30, 0.68, 0.74, 1.21),
}

TABLE_2 = _by_method(  # precision, coverage, mean and max stale drift
    (0.455, 0.417, 0.069, 0.198),
    (0.364, 0.296, 0.095, 0.240),
    (0.364, 0.294, 0.074, 0.208),
    (0.484, 0.328, 0.091, 0.250),
    (0.045, 0.013, 0.177, 0.400),
    (0.182, 0.054, 0.168, 0.401),
    (0.636, 0.533, 0.067, 0.190),
    (0.636, 0.471, 0.070, 0.187),
    (0.636, 0.494, 0.096, 0.252),
)

TABLE_3 = {  # success, collisions per layout, normalised cost
    "none": _by_method(
        (0.93, 0.00, 1.07),
        (0.93, 0.00, 1.08),
        (1.00, 0.00, 1.05),
        (0.87, 0.00, 1.13),
        (0.87, 0.00, 1.18),
        (0.87, 0.00, 1.17),
        (0.93, 0.00, 1.09),
        (0.93, 0.00, 1.10),
        (0.93, 0.00, 1.11),
    ),
    "sparse": _by_method(
        (0.87, 0.20, 1.42),
        (0.73, 0.40, 1.72),
        (0.80, 0.33, 1.58),
        (0.67, 0.53, 1.84),
        (0.60, 0.67, 2.05),
        (0.60, 0.73, 2.12),
        (0.80, 0.27, 1.53),
        (0.80, 0.33, 1.56),
        (0.73, 0.40, 1.69),
    ),
    "dense": _by_method(
        (0.73, 0.47, 2.05),
        (0.53, 0.87, 2.70),
        (0.60, 0.73, 2.42),
        (0.47, 1.00, 2.85),
        (0.40, 1.27, 3.22),
        (0.40, 1.33, 3.35),
        (0.67, 0.60, 2.20),
        (0.67, 0.60, 2.25),
        (0.60, 0.73, 2.38),
    ),
}
