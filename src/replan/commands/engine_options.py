"""Options that say where cells are computed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from replan.commands.common import with_options

if TYPE_CHECKING:
    from replan.study.definition import Study
    from replan.study.engine import Engine

ENGINE_OPTIONS = {
    "engine": Annotated[str | None, typer.Option(help="Where cells are computed: local (default) or ray.")],
    "address": Annotated[str | None, typer.Option(help="The Ray cluster to use; else one is started.")],
    "workers": Annotated[int | None, typer.Option(help="Processes, or cores of the Ray cluster.")],
    "working_dir": Annotated[
        Path | None, typer.Option(help="Folder sent to the Ray cluster, for rules that import its files.")
    ],
}


def computing_options(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of `ENGINE_OPTIONS`; those that are given reach it as `computing`."""
    return with_options(command, "computing", ENGINE_OPTIONS)


@dataclass(frozen=True)
class EngineOptions:
    """Options that say where cells are computed."""

    engine: str = "local"
    address: str | None = None
    workers: int | None = None
    working_dir: Path | None = None

    def make(self) -> Engine:
        """Return the engine."""
        from replan.study.engine import make_engine

        folder = None if self.working_dir is None else str(self.working_dir)
        return make_engine(self.engine, workers=self.workers, address=self.address, working_dir=folder)

    def require_alone(self, study: Study) -> None:
        """Refuse rules that import files beside them where those would not travel to the workers."""
        from replan.study.cells import require_alone

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
