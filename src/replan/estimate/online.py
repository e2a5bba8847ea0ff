"""Estimators whose drift bounds are not stated but found online."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from replan.estimate.drift_bounds import OnlineDriftBounds
from replan.estimate.estimator import Estimator, Observation
from replan.model.kernel import Array, Kernel


class WithOnlineBounds:
    """An estimator that is made anew at every update with the bounds found by then, and learns from all.

    `make` takes (T-1,) drift bounds.
    """

    def __init__(self, make: Callable[[Array], Estimator], online: OnlineDriftBounds) -> None:
        self.make, self.online = make, online
        self._seen: list[Observation] = []
        make(online.bounds())  # compiles or loads what updates need

    def estimate(self, observation: Observation) -> Kernel:
        """Learn the bounds, then the kernel."""
        self._seen.append(observation)
        estimator = self.make(self.online.observe(observation))
        return [estimator.estimate(seen) for seen in self._seen][-1]

    def save(self) -> dict[str, np.ndarray]:
        """Return the observations, and what is known of the bounds."""
        rows = [
            (
                seen.time,
                seen.state,
                _number(seen.previous_state),
                _number(seen.previous_action),
                len(seen.commanded),
            )
            for seen in self._seen
        ]
        return {
            "observations": np.array(rows, dtype=np.int64).reshape(-1, 5),
            "commanded": np.array([a for seen in self._seen for a in seen.commanded], dtype=np.int64),
            **{f"online_{name}": array for name, array in self.online.save().items()},
        }

    def restore(self, arrays: dict[str, np.ndarray]) -> None:
        """Continue from the arrays of `save`."""
        self._seen, commanded = [], arrays["commanded"].tolist()
        for time, state, before, action, steps in arrays["observations"].tolist():
            commands, commanded = tuple(commanded[:steps]), commanded[steps:]
            self._seen.append(Observation(time, state, _known(before), _known(action), commands))
        prefix = "online_"
        self.online.restore(
            {name.removeprefix(prefix): a for name, a in arrays.items() if name.startswith(prefix)}
        )


def _number(value: int | None) -> int:
    return -1 if value is None else value


def _known(number: int) -> int | None:
    return None if number < 0 else number
