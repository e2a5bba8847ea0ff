"""`replan estimate`: the paper's drift-bounded maximum likelihood from a file of transitions."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from replan.commands.common import JsonOption
from replan.commands.output import emit


def command(
    observations: Annotated[Path, typer.Argument(help="A CSV file with the columns t,s,a,next.")],
    states: Annotated[int, typer.Option(help="Number of states S.")],
    actions: Annotated[int, typer.Option(help="Number of actions A.")],
    drift_bound: Annotated[float, typer.Option(help="How much a probability can change in one step.")],
    as_json: JsonOption = False,
) -> None:
    """Print the most likely kernels at the times observed; any state may follow any other."""
    from replan.estimate import estimate_file

    answer = estimate_file(observations, states=states, actions=actions, drift_bound=drift_bound)
    lines = [
        f"log-likelihood {answer['log_likelihood']:.9g},"
        f" certified to within {answer['gap']:.2g} of the greatest"
    ]
    for kernel in answer["kernels"]:
        likely = zip(kernel["next"], kernel["probabilities"], strict=True)
        shown = ", ".join(f"{s}: {p:.4f}" for s, p in likely)
        lines.append(f"t={kernel['t']} s={kernel['s']} a={kernel['a']}  {shown}")
    emit(answer, as_json=as_json, lines=lines)
