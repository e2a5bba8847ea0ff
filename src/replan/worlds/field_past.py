"""The past of a vector field: how far a drifting vehicle was carried in the steps before a mission."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from replan import FlowKernel, Kernel, Past, RecordedKernels
from replan.typing import Array
from replan.worlds.vehicle_in_field import VehicleInField
from replan.worlds.wind import KernelsOnDemand

DAY = 86_400.0


@dataclass(frozen=True, eq=False)
class RecordedDrift(Past):
    """Displacements of drifting, cell by cell. Their changes are added to those of all actions.

    Nothing of the field later than the start of the mission is used.
    """

    vehicle: VehicleInField
    """The vehicle in the field as it is known at the start of the mission."""

    @classmethod
    def of(cls, vehicle: VehicleInField) -> RecordedDrift | None:
        """Return the past of a vehicle; None where the field has no two maps before the mission."""
        flow = vehicle.flow
        if np.count_nonzero(flow.times <= vehicle.start_time) < 2:
            return None
        return cls(replace(vehicle, flow=flow.known_at(vehicle.start_time)))

    @property
    def period(self) -> int:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Steps of a day."""
        return max(1, round(DAY / self.vehicle.step))

    @property
    def length(self) -> int:
        """Number of steps that the field covers before the mission."""
        return int((self.vehicle.start_time - self.vehicle.flow.times[0]) // self.vehicle.step)

    @cached_property
    def drift(self) -> Array:
        """(n, S, 2) rows and columns by which drifting moved the vehicle in each step."""
        drifting = np.array([len(self.vehicle.sailing) - 1])
        return np.stack([self.vehicle.moves(t, drifting)[:, 0] for t in range(-self.length, 0)])

    def distance(self, kernel: Kernel, start: int) -> float:
        """Return the root of the summed squared differences of the displacements, on water."""
        if not isinstance(kernel, FlowKernel):
            return self._kernels.distance(kernel, start)
        return float(np.linalg.norm((self.drift[start] - kernel.drift)[~kernel.land]))

    def changed(self, kernel: Kernel, start: int, steps: int) -> Kernel:
        """Return the kernel of changed displacements; one of another kind is changed by its probabilities."""
        if not isinstance(kernel, FlowKernel):
            return self._kernels.changed(kernel, start, steps)
        change = self.drift[start + steps] - self.drift[start]
        return self.vehicle.kernel_of(kernel.moves + change[:, None]) if steps else kernel

    @cached_property
    def _kernels(self) -> RecordedKernels:
        return RecordedKernels(KernelsOnDemand(range(-self.length, 0), self.vehicle.kernel), self.period)
