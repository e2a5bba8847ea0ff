"""Import paths of before: importing one raises an `ImportError` that names the new path."""

from __future__ import annotations

from collections.abc import Sequence
from types import ModuleType

MOVED = {
    "replan.certify": "replan.certificates",
    "replan.estimate.true_kernel": "replan.estimate",
    "replan.evaluate": "replan.evaluation",
    "replan.execute.validation": "replan.estimate.estimator",
    "replan.forecast.frozen": "replan.forecast",
    "replan.plan": "replan.planning",
    "replan.planning.optimal_values": "replan.planning",
    "replan.schedule.pacing": "replan.schedule",
    "replan.skip.interval": "replan.skip",
    "replan.skip.propagate": "replan.skip",
    "replan.study.settings": "replan.worlds.settings",
    "replan.study.world_settings": "replan.worlds.settings",
    "replan.worlds.built_in": "replan.worlds.settings",
    "replan.worlds.from_gymnasium": "replan.worlds",
    "replan.worlds.from_ns_gym": "replan.worlds",
    "replan.worlds.rover": "replan.worlds",
}


class MovedFinder:
    """Last finder of the import system, asked only for modules that do not exist."""

    def find_spec(self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None) -> None:
        """Raise `ImportError` for a module that has moved, or that was part of a package that has."""
        for old, new in MOVED.items():
            if fullname == old or fullname.startswith(f"{old}."):
                raise ImportError(f"{fullname} has moved: import from {new}", name=fullname)
