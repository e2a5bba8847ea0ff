"""Options that say where cells are computed."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from replan.study.definition import Study
    from replan.study.engine import Engine

EngineOption = Annotated[str, typer.Option(help="Where cells are computed: local or ray.")]
AddressOption = Annotated[str | None, typer.Option(help="The Ray cluster to use; else one is started.")]
WorkersOption = Annotated[int | None, typer.Option(help="Processes, or cores of the Ray cluster.")]
WorkingDirOption = Annotated[
    Path | None, typer.Option(help="Folder sent to the Ray cluster, for rules that import its files.")
]


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
