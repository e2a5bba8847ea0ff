"""Regrets and ways of acting in plain words, the same in commands, page and explorer."""

from __future__ import annotations

from replan.evaluation.scale import RegretScale
from replan.execute.mission import Mission
from replan.planning.ties import Ties
from replan.results.table import SAME
from replan.skip.propagation import Execution

ACTING: dict[Execution, str] = {
    "map": "by the likeliest cell",
    "belief": "by weighing all cells it may be in",
}
"""A robot's way of acting between updates, by the name of the execution."""
WORDS: dict[Execution, str] = {"map": "likeliest cell", "belief": "belief"}
"""The same in a word or two, for tables."""


def scale_words(regret: float, scale: RegretScale) -> str:
    """Return one line that compares a regret with never updating, the best possible and even spacing."""
    share = scale.share(regret)
    if share is None:
        first = "a robot that never updates loses nothing here"
    else:
        first = f"{share:.0%} of what a robot that never updates loses"
    others = {"best possible": scale.best_possible, "evenly spaced": scale.even}
    compared = ", ".join(
        f"{name} {value:z.4f}"
        for name, value in others.items()
        if value is not None and abs(value - regret) > SAME
    )
    return f"{first} ({compared})" if compared else first


def acting_words(mission: Mission) -> str:
    """Return how the robot acts between updates and which of equally good actions it takes."""
    way = ACTING[mission.robot.execution]
    forecast = mission.robot.forecast
    expects = f"it expects the dynamics by {forecast.name}; " if forecast.moves else ""
    taken = ties_words(mission.robot.ties)
    return f"{expects}between updates it acts {way}; of equally good actions it takes {taken}"


def ties_words(ties: Ties) -> str:
    """Return the tie rule in words."""
    if ties.kind == "random":
        return f"one at random (seed {ties.seed})"
    return f"the {ties.kind}"
