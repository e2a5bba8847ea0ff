"""Result cards: the exact regret of one rule on every world of the test part, and all that made it.

A card is a JSON file. It has the executions in which its rule was measured. Regrets are rounded to 8
decimals. Its `hash` covers everything but times, so that a card which was changed by accident says so; that
it is true is shown by recomputing it. Statements that cannot be recomputed stand apart, as
`stated_by_author`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from importlib import resources
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, ValidationError, model_validator

from replan.errors import InputError
from replan.results.measure import canonical
from replan.study.axes import StrictModel
from replan.suite.catalogue import VERSION, VERSIONS, SuiteRobot, suite_hash, worlds_with_room
from replan.suite.score import Regrets
from replan.typing import Execution, Meanwhile
from replan.worlds.forecasts import ForecastKind
from replan.worlds.parameters import one_line

DECIMALS = 8
TOLERANCE = 2e-8
"""Greatest difference of a regret on a card from the recomputed one."""
OWN_WORLD = "own world"
TIMES = {"stated_by_author": {"decision_seconds"}}
"""Fields that differ between two runs, as pydantic excludes them."""


class SuiteName(StrictModel):
    """The suite that a card is about."""

    version: str = VERSION
    hash: str = Field(default_factory=suite_hash)


class Tuning(StrictModel):
    """The choice of a card's parameters."""

    on: Literal["tune", "tune of v1", "own world"]
    """`tune`: one set for all worlds, on the tune part; `own world`: a set for each world, on that world."""
    candidates: int | None = None
    mean_score: float | None = None
    """Mean score of the chosen set on the tune part."""


class AuthorStatement(StrictModel):
    """Statements of the author of a card, which verification does not recompute."""

    tuning: Tuning | None = None
    """None: the parameters are the class's defaults, or were given."""
    versions: dict[str, str]
    decision_seconds: float
    """Median time in which the rule names its next update, over one world of each family."""


class WorldRegret(StrictModel):
    """The exact regret on one world."""

    name: str
    execution: Execution
    regret: float


class Card(StrictModel):
    """The result of one rule on the test part of the suite."""

    name: str
    """Shown in tables."""
    suite: SuiteName = Field(default_factory=SuiteName)
    rule: str
    """A registered name, file.py:Class without the folder, or package.module:Class."""
    source: str | None = None
    """Text of the file that defines a rule of the user's own."""
    source_sha256: str | None = None
    needs: list[str]
    """Names of the needs that the rule declares."""
    parameters: dict[str, Any]
    forecast: ForecastKind = "frozen"
    """Forecast of the steps ahead."""
    update_steps: int | dict[str, float] = 0
    """Steps that an update takes, or their probabilities; a card leaves it out where it is 0."""
    meanwhile: Meanwhile = "go-on"
    """Acting while an update runs; a card leaves it out where it is go-on."""
    worlds: list[WorldRegret]
    stated_by_author: AuthorStatement
    hash: str = ""
    """SHA-256 of everything above but times."""

    @model_validator(mode="after")
    def _is_a_robot(self) -> Card:
        _ = self.robot
        return self

    @property
    def robot(self) -> SuiteRobot:
        """The robot on which the rule was measured."""
        return SuiteRobot(self.forecast, self.update_steps, self.meanwhile)

    @property
    def own_world(self) -> bool:
        """Whether the rule was tuned on the worlds that it is scored on."""
        tuning = self.stated_by_author.tuning
        return tuning is not None and tuning.on == OWN_WORLD

    @property
    def executions(self) -> tuple[Execution, ...]:
        """The executions of the card's suite in which the rule was measured."""
        listed = {world.execution for world in self.worlds}
        return tuple(kind for kind in VERSIONS[self.suite.version] if kind in listed)

    @property
    def regrets(self) -> Regrets:
        """The regret by world and execution."""
        return {(world.name, world.execution): world.regret for world in self.worlds}

    def content_hash(self) -> str:
        """Return the hash that the card should state."""
        content = self.model_dump(mode="json", exclude={"hash": True, **TIMES, **self._usual_latency})
        return hashlib.sha256(canonical(content).encode()).hexdigest()

    @property
    def _usual_latency(self) -> dict[str, bool]:
        """Fields that are left out, as pydantic excludes them; cards made before they existed stay whole."""
        usual = SuiteRobot()
        return {
            name: True
            for name in ("update_steps", "meanwhile")
            if self.__dict__[name] == usual.__dict__[name]
        }

    def sealed(self) -> Card:
        """Return the card with its hash."""
        return self.model_copy(update={"hash": self.content_hash()})

    def text(self) -> str:
        """Return the card as JSON, one line for each world."""
        data = self.model_dump(mode="json", exclude=self._usual_latency)
        worlds = ",\n".join(f"  {json.dumps(world)}" for world in data.pop("worlds"))
        lines = [f" {json.dumps(key)}: {json.dumps(value)}" for key, value in data.items()]
        return "{\n" + ",\n".join([*lines, f' "worlds": [\n{worlds}\n ]']) + "\n}\n"


def world_regrets(regrets: Regrets, executions: Sequence[Execution], robot: SuiteRobot) -> list[WorldRegret]:
    """Return the entries of a card, in the order of the suite."""
    return [
        WorldRegret(name=name, execution=kind, regret=round(regrets[name, kind], DECIMALS) + 0.0)
        for name, kind in expected_entries(VERSION, executions, robot)
    ]


def expected_entries(
    version: str, executions: Sequence[Execution], robot: SuiteRobot
) -> list[tuple[str, Execution]]:
    """Return world and execution of every entry that a card with these executions and robot must have."""
    worlds = worlds_with_room("test", robot, version)
    return [(world.name, kind) for world in worlds for kind in executions]


def read_card(path: Path) -> Card:
    """Return the card in a file; any fault is one line that names it."""
    try:
        return parse_card(path.read_text(encoding="utf-8"), where=str(path))
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not text"
        raise InputError(f"{path}: cannot be read ({reason})") from None


def parse_card(text: str, *, where: str) -> Card:
    """Return the card in a text."""
    try:
        return Card.model_validate_json(text)
    except ValidationError as error:
        raise InputError(f"{where}: not a card: {one_line(error)}") from None


def reference_cards() -> list[Card]:
    """Read the cards that come with replan, in the order of their names.

    Returns
    -------
    list of Card
        The cards.
    """
    folder = resources.files("replan.suite") / "cards"
    files = sorted((file for file in folder.iterdir() if file.name.endswith(".json")), key=lambda f: f.name)
    return [parse_card(file.read_text(encoding="utf-8"), where=file.name) for file in files]
