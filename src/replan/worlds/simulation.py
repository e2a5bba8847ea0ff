"""A continuous simulator behind a world on cells, and the loss that the cells bring.

Rollouts in the simulator keep the position inside the cell, which kernels forget. The robot sees its cell,
plans on kernels and acts as ever; only the motion is the simulator's.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike

from replan.errors import InputError
from replan.execute.mission import Mission
from replan.model.kernel import Array, Indices
from replan.model.streams import WORLD, uniforms
from replan.model.world import World
from replan.planning.optimal_values import oracle
from replan.schedule.rule import Rule

if TYPE_CHECKING:
    from replan.evaluation.rollouts import SampledRegret

Step = Callable[[Array, Indices, int, Array], Array]
"""(N, d) positions, (N,) actions, the time and (N, k) standard normal numbers -> (N, d) next positions."""


def to_normal(uniform: Array) -> Array:
    """Return standard normal numbers for uniform ones above 0 and below 1."""
    from scipy.special import ndtri

    return ndtri(uniform)


@dataclass(frozen=True, eq=False)
class Simulation:
    """A continuous simulator and the cells of its space."""

    step: Step = field(repr=False)
    """One step: (N, d) positions, (N,) actions, time, (N, k) standard normal numbers -> (N, d) positions."""
    centres: Array = field(repr=False)
    """(S, d) middle of each cell."""
    sides: Array = field(repr=False)
    """(d,) sides of a cell."""
    find: Callable[[Array], Indices] = field(repr=False)
    """(N, d) positions -> (N,) their cells."""
    reward: Callable[[Array], Array] = field(repr=False)
    """(N, d) positions that a step has led to -> (N,) its reward."""
    numbers: int
    """Standard normal numbers that a step takes for each position, k."""

    def draws(self, seeds: Indices, time: int) -> Array:
        """(N, k) standard normal numbers of seeds at a time."""
        counters = time * self.numbers + np.arange(self.numbers)
        return to_normal(np.clip(uniforms(seeds[:, None], counters[None, :], WORLD), 2.0**-53, None))


@dataclass(frozen=True)
class SimulatedWorld(World):
    """A world on cells of a continuous simulator."""

    simulation: Simulation = field(kw_only=True, repr=False)
    """The simulator."""

    @classmethod
    def of(
        cls,
        step: Step,
        *,
        centres: Array,
        sides: Array,
        find: Callable[[Array], Indices],
        position_reward: Callable[[Array], Array],
        numbers: int,
        **world: Any,
    ) -> Self:
        """Return the world with these arguments of `World` and the simulator behind it.

        Parameters
        ----------
        step : callable
            (N, d) positions, (N,) actions, the time and (N, k) standard normal numbers -> (N, d) positions.
        centres : array of shape (S, d)
            Middle of each cell.
        sides : array of shape (d,)
            Sides of a cell.
        find : callable
            (N, d) positions -> (N,) their cells.
        position_reward : callable
            (N, d) positions that a step has led to -> (N,) its reward.
        numbers : int
            Standard normal numbers that a step takes for each position, k.
        **world
            Arguments of `World`.

        Returns
        -------
        SimulatedWorld
            The world.
        """
        return cls(simulation=Simulation(step, centres, sides, find, position_reward, numbers), **world)

    def particles(self, seeds: ArrayLike) -> Particles:
        """Return the motion of robots in the simulator, one for each seed, for `rollout`."""
        return Particles(self, np.atleast_1d(np.asarray(seeds, dtype=np.int64)))

    def simulated_regret(self, mission: Mission, rule: Rule, seeds: ArrayLike) -> SampledRegret:
        """Return the regret of a rule in the simulator, sampled once per seed, in a mission in this world."""
        return simulated_regret(mission, rule, seeds)

    def discretisation_loss(
        self, *, steps: int = 200, samples: int = 400, missions: int = 400, seed: int = 0
    ) -> DiscretisationLoss:
        """Compare the world with its simulator: random steps, and missions of a robot that knows all."""
        return discretisation_loss(self, steps=steps, samples=samples, missions=missions, seed=seed)


class Particles:
    """Robots in a continuous simulator. They begin in the middle of the start cell."""

    def __init__(self, world: SimulatedWorld, seeds: Indices) -> None:
        self.simulation, self.seeds = world.simulation, seeds
        self.positions = np.repeat(self.simulation.centres[[world.start]], len(seeds), axis=0)
        self.path = np.full((world.horizon + 1, *self.positions.shape), np.nan)
        """(T + 1, N, d) positions so far."""
        self.path[0] = self.positions

    def step(self, time: int, rows: Indices, states: Indices, actions: Indices) -> tuple[Indices, Array]:
        """Return (R,) next cells and (R,) rewards of the robots `rows`."""
        draws = self.simulation.draws(self.seeds[rows], time)
        reached = self.simulation.step(self.positions[rows], actions, time, draws)
        self.positions[rows] = self.path[time + 1, rows] = reached
        return self.simulation.find(reached), self.simulation.reward(reached)


def simulated_regret(mission: Mission, rule: Rule, seeds: ArrayLike) -> SampledRegret:
    """Return the regret in the simulator behind a mission's world, sampled once per seed.

    The oracle knows all kernels and sees its cell at every step; it moves in the simulator too.
    """
    from replan.evaluation.rollouts import rollout, sampled_regret

    world = mission.world
    if not isinstance(world, SimulatedWorld):
        raise InputError("this world has no simulator: field_world and from_simulator make worlds with one")
    best = rollout(mission, None, seeds, motion=world.particles(seeds)).returns
    found = rollout(mission, rule, seeds, motion=world.particles(seeds))
    return sampled_regret(best, found.returns)


@dataclass(frozen=True)
class DiscretisationLoss:
    """The difference that cells make, in one step and in a whole mission of the oracle."""

    steps: int
    """Random cells, times and actions that were compared."""
    mean_error: float
    """Root mean square difference of the mean displacement along an axis, in cells: the kernel's less that of
    particles that begin anywhere in the cell. The sampling error is taken off."""
    extra_spread: float
    """Root of the mean variance along an axis that the kernel has beyond that of the particles, in cells."""
    return_on_cells: float
    """Expected return of the robot that knows and sees everything, on cells."""
    return_simulated: float
    """Its mean return in the simulator."""
    standard_error: float
    """Standard error of `return_simulated`."""


def discretisation_loss(
    world: SimulatedWorld, *, steps: int = 200, samples: int = 400, missions: int = 400, seed: int = 0
) -> DiscretisationLoss:
    """Compare a world on cells with its simulator."""
    from replan.evaluation.rollouts import oracle_rollout

    simulation, rng = world.simulation, np.random.default_rng(seed)
    begin = np.arange(world.states) if world.start_states is None else np.asarray(world.start_states)
    cells, actions = rng.choice(begin, steps), rng.integers(world.actions, size=steps)
    times = rng.integers(world.horizon, size=steps)
    errors, spreads = [], []
    for t in np.unique(times).tolist():
        chosen = np.flatnonzero(times == t)
        mean, variance = step_moments(world, t, cells[chosen], actions[chosen])
        found = _sampled_moves(simulation, t, cells[chosen], actions[chosen], samples, rng)
        sampled = found.var(axis=1, ddof=1)
        errors.append((mean - found.mean(axis=1)) ** 2 - sampled / samples)
        spreads.append(variance - sampled)
    best = oracle(world)
    seeds = np.arange(missions) + seed
    returns = oracle_rollout(world, seeds, best=best, motion=world.particles(seeds))
    return DiscretisationLoss(
        steps,
        float(max(np.concatenate(errors).mean(), 0.0) ** 0.5),
        float(max(np.concatenate(spreads).mean(), 0.0) ** 0.5),
        float(best.values[0][world.start]),
        float(returns.mean()),
        float(returns.std(ddof=1) / missions**0.5),
    )


def step_moments(world: SimulatedWorld, t: int, cells: Indices, actions: Indices) -> tuple[Array, Array]:
    """(n, d) mean and (n, d) variance of the kernel's displacement from cells, in cells."""
    kernel, places = world.kernel(t), world.simulation.centres / world.simulation.sides
    first, second = (
        np.stack(
            [kernel.expect(places[:, k] ** power)[cells, actions] for k in range(places.shape[1])], axis=1
        )
        for power in (1, 2)
    )
    return first - places[cells], second - first**2


def _sampled_moves(
    simulation: Simulation, t: int, cells: Indices, actions: Indices, samples: int, rng: np.random.Generator
) -> Array:
    """(n, samples, d) displacements in cells of particles that begin anywhere in their cell."""
    sides, begin = simulation.sides, np.repeat(simulation.centres[cells], samples, axis=0)
    begin += sides * rng.uniform(-0.5, 0.5, begin.shape)
    noise = rng.standard_normal((len(begin), simulation.numbers))
    reached = simulation.step(begin, np.repeat(actions, samples), t, noise)
    return ((reached - begin) / sides).reshape(len(cells), samples, -1)
