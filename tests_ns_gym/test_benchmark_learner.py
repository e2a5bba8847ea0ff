"""The learner of the example: it runs, spends its looks, and loses what exact evaluation says."""

import runpy
from pathlib import Path

import numpy as np
import pytest

from replan.evaluation.exact import regret
from replan.schedule.periodic import Periodic

EXAMPLE = runpy.run_path(str(Path(__file__).parents[1] / "examples" / "benchmark_learner.py"))


def test_it_prints_a_line_for_the_learner_and_every_card(capsys):
    EXAMPLE["main"](decisions=512, episodes=2, each=1)
    _, *lines = capsys.readouterr().out.splitlines()
    names = [line.strip().split("  ")[0] for line in lines]
    assert "learner, 512 decisions" in names and "periodic" in names
    values = [float(line.rsplit("[", 1)[0].split()[-1]) for line in lines]
    assert values == sorted(values, reverse=True)


def test_its_losses_add_up_to_the_regret_of_the_looks_that_it_makes():
    (world, *_) = EXAMPLE["drawn"]("test", 1)
    env, losses = EXAMPLE["WhenToLook"]([world]), []
    even = list(EXAMPLE["INTERVALS"]).index(1.0)
    for episode in range(400):
        env.reset(seed=episode)
        over, lost = False, 0.0
        while not over:
            _, _, over, _, info = env.step(even)
            lost += info["lost"]
        losses.append(lost)
        assert env.shown["budget_left"] == 0
    # Even spacing by steps of the looks left is not `periodic` to the step, so the two are only close.
    error = np.std(losses) / len(losses) ** 0.5
    assert np.mean(losses) == pytest.approx(regret(world.mission("belief"), Periodic()), abs=4 * error + 0.05)
