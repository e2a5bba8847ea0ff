"""A change of which nothing can be foretold: each action comes to do what another one does.

Where no family of models is declared, a kernel may move to one that is like none that was seen. In this
future the robot can steer as well as before, but what it knows of its actions becomes wrong, as far as the
drift bounds allow. No plan is made for it; look-ahead spends updates where there is much to learn anew. (In a
world that becomes more random, an update is worth less and less.)
"""

from __future__ import annotations

import numpy as np

from replan.forecast.trend import Moved, towards
from replan.model.general_kernel import GeneralKernel
from replan.model.kernel import Kernel


def swapped_actions(kernel: Kernel) -> Moved:
    """Towards the kernel in which each action does what the one before it does now."""
    lists = kernel.general()
    return towards(lists, GeneralKernel.of_merged(lists.successors, np.roll(lists.probabilities, 1, axis=1)))
