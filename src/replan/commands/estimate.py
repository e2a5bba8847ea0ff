"""`replan estimate`: the paper's drift-bounded maximum likelihood from a file of transitions."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from replan.commands.common import JsonOption
from replan.commands.output import emit
from replan.errors import InputError


def estimate(
    observations: Annotated[Path, typer.Argument(help="A CSV file with the columns t,s,a,next.")],
    states: Annotated[int, typer.Option(help="Number of states S.")],
    actions: Annotated[int, typer.Option(help="Number of actions A.")],
    drift_bound: Annotated[float, typer.Option(help="How much a probability can change in one step.")],
    as_json: JsonOption = False,
) -> None:
    """The most likely kernels at the times observed; any state may follow any other."""
    import numpy as np

    from replan.estimate import DriftBoundedMLE, read_transitions
    from replan.model import GeneralKernel

    if states < 1 or actions < 1:
        raise InputError("--states and --actions must be at least 1")
    if not drift_bound >= 0:
        raise InputError(f"--drift-bound must not be negative, not {drift_bound}")
    seen = read_transitions(observations)
    nominal = GeneralKernel.from_dense(np.full((states, actions, states), 1 / states))
    estimator = DriftBoundedMLE(nominal, drift_bound)
    estimator.learn(seen)
    pairs = sorted(estimator.pairs(), key=lambda pair: (pair.state, pair.action))
    answer = {
        "observations": len(seen),
        "log_likelihood": sum(pair.log_likelihood for pair in pairs),
        "gap": sum(pair.gap for pair in pairs),
        "filling": estimator.filling,
        "kernels": [
            {
                "s": pair.state,
                "a": pair.action,
                "t": pair.times,
                "successors": pair.successors,
                "probabilities": pair.probabilities,
            }
            for pair in pairs
        ],
    }
    lines = [
        f"log-likelihood {answer['log_likelihood']:.9g} of {len(seen)} transitions,"
        f" certified to within {answer['gap']:.2g} of the greatest"
    ]
    for pair in pairs:
        for t, row in zip(pair.times, pair.probabilities, strict=True):
            likely = ", ".join(f"{s}: {p:.4f}" for s, p in zip(pair.successors, row, strict=True) if p > 5e-5)
            lines.append(f"t={t} s={pair.state} a={pair.action}  {likely}")
    emit(answer, as_json=as_json, lines=lines)
