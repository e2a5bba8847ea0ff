"""What two agents must have in common for one to go on from what the other saved."""

from __future__ import annotations

import hashlib
import re

import numpy as np

from replan.execute.snapshot import kernel_arrays
from replan.model.kernel import Array, Kernel
from replan.model.reward import Reward
from replan.schedule.rule import Rule

ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")
DIGITS = 9  # two machines may compute the same world with other last digits


def rule_text(rule: Rule) -> str:
    """The rule and its parameters. A function counts by its name: its address differs in every process."""
    return ADDRESS.sub("", repr(rule))


def world_text(nominal: Kernel, reward: Reward, drift_bounds: Array) -> str:
    """Size and fingerprint of a world: its nominal kernel, the reward of the first step, the drift bounds."""
    digest = hashlib.sha256()
    arrays = {**kernel_arrays(nominal), **vars(reward), "drift_bounds": drift_bounds}
    for name, array in arrays.items():
        if array is not None:
            digest.update(f"{name} {array.shape}".encode())
            digest.update((np.round(array.astype(float), DIGITS) + 0.0).tobytes())  # -0.0 is 0.0
    return f"{nominal.states} states, {nominal.actions} actions, fingerprint {digest.hexdigest()[:12]}"
