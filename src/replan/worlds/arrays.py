"""A world of the user's own, from arrays in an .npz file."""

from __future__ import annotations

from dataclasses import replace

from replan.model import World, load_npz, require_valid
from replan.worlds.parameters import Horizon, Parameters


class Arrays(Parameters):
    """A world whose kernels and rewards are arrays (see `replan.load_npz`)."""

    file: str
    """Path of the .npz file, beside the setting's file or from the working directory."""
    horizon: Horizon | None = None
    """Steps, T; needed where the file holds one kernel."""

    def build(self) -> World:
        """Return the checked world. Drift bounds that it states are used even where they are wrong."""
        world = load_npz(self.file, horizon=self.horizon)
        require_valid(replace(world, stated_bounds=None))
        return world
