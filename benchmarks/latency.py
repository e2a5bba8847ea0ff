"""Updates that take 4 steps against updates that take none, at the paper's size, exact evaluation.

The peer is the same mission with updates that take no time.
"""

from __future__ import annotations

from dataclasses import replace

from benchmarks.timing import Row, compare
from replan.evaluation.exact import regret
from replan.evaluation.optimal_schedule import feedback_regrets
from replan.execute.mission import Mission
from replan.schedule.lookahead import Lookahead
from replan.schedule.periodic import Periodic
from replan.worlds.settings import load_setting, make_mission

PEER = "updates that take no time"


def rows() -> list[Row]:
    found = []
    for execution in ("map", "belief"):
        prompt = make_mission(load_setting("two-burst"), execution=execution)
        late = replace(prompt, robot=replace(prompt.robot, update_steps=4))
        for what, work in (
            ("periodic", lambda on: regret(on, Periodic())),
            ("look-ahead", lambda on: regret(on, Lookahead())),
            ("floor", lambda on: feedback_regrets(on, on.limit)),
        ):
            found.append(
                compare(
                    f"{what} of two-burst, {execution}, updates of 4 steps",
                    lambda work=work, late=late: work(_fresh(late)),
                    PEER,
                    lambda work=work, prompt=prompt: work(_fresh(prompt)),
                    repeat=3,
                )
            )
    return found


def _fresh(mission: Mission) -> Mission:
    """The same mission without what it has kept."""
    return replace(mission)


if __name__ == "__main__":
    for row in rows():
        assert row["peer_seconds"] is not None
        print(f"{row['what']}: {row['ours_seconds'] / row['peer_seconds']:.1f} times that of {PEER}")
