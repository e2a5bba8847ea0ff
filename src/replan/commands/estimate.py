"""`replan estimate`: kernels by drift-bounded maximum likelihood."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from replan.commands import PlainAnswer
from replan.errors import InputError
from replan.estimate.drift_bounded_mle import estimate_file


def estimate(
    observations: Annotated[Path, typer.Argument(help="A CSV file with the columns t,s,a,next.")],
    states: Annotated[int | None, typer.Option(help="Number of states S.")] = None,
    actions: Annotated[int | None, typer.Option(help="Number of actions A.")] = None,
    drift_bound: Annotated[
        float | None, typer.Option(help="How much a probability can change in one step.")
    ] = None,
) -> PlainAnswer:
    """Print the most likely kernels at the times observed; any state may follow any other."""
    if states is None or actions is None or drift_bound is None:
        raise InputError(
            "give --states, --actions and --drift-bound; `replan log` makes a world of a log without them"
        )
    found = estimate_file(observations, states=states, actions=actions, drift_bound=drift_bound)
    return PlainAnswer(found, _kernel_lines(found))


def _kernel_lines(found: dict[str, Any]) -> list[str]:
    likelihood = f"log-likelihood {found['log_likelihood']:.9g}"
    lines = [f"{likelihood}, certified to within {found['gap']:.2g} of the greatest"]
    for kernel in found["kernels"]:
        likely = zip(kernel["next"], kernel["probabilities"], strict=True)
        shown = ", ".join(f"{s}: {p:.4f}" for s, p in likely)
        lines.append(f"t={kernel['t']} s={kernel['s']} a={kernel['a']}  {shown}")
    return lines
