"""Options of commands that compute studies."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import typer

from replan.study.cells import require_alone
from replan.study.definition import Study
from replan.study.engine import Engine, make_engine


@dataclass(frozen=True)
class EngineOptions:
    """Options that say where cells are computed."""

    engine: Annotated[Literal["local", "ray"], typer.Option(help="Where cells are computed.")] = "local"
    address: Annotated[str | None, typer.Option(help="The Ray cluster to use; else one is started.")] = None
    workers: Annotated[int | None, typer.Option(help="Processes, or cores of the Ray cluster.")] = None
    working_dir: Annotated[
        Path | None, typer.Option(help="Folder sent to the Ray cluster, for rules that import its files.")
    ] = None

    def make(self) -> Engine:
        """Return the engine."""
        folder = None if self.working_dir is None else str(self.working_dir)
        return make_engine(self.engine, workers=self.workers, address=self.address, working_dir=folder)

    def require_alone(self, study: Study) -> None:
        """Raise `InputError` if a rule imports files beside it that would not reach the workers."""
        if self.engine == "ray" and self.working_dir is None:
            require_alone(study)

    def words(self) -> list[str]:
        """Return the options as they are typed."""
        return [
            word
            for name, value in vars(self).items()
            if value not in (None, "local")
            for word in (f"--{name.replace('_', '-')}", str(value))
        ]
