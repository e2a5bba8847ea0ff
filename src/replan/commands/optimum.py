"""`replan optimum`: the best update times, and so the least regret of any rule."""

from __future__ import annotations

from replan.commands.common import ExecutionOption, JsonOption, SettingArgument, check_execution
from replan.commands.output import emit


def command(
    setting: SettingArgument, execution: ExecutionOption = "map", as_json: JsonOption = False
) -> None:
    """Print the best fixed schedule, and the best one that may depend on the states seen."""
    from replan.evaluation.optimal_schedule import optimum as find
    from replan.worlds.settings import load_setting, make_mission

    mission = make_mission(load_setting(setting), execution=check_execution(execution))
    best = find(mission)
    times = ", ".join(str(t) for t in best.fixed_times)
    answer = {
        "setting": setting,
        "execution": execution,
        "ties": str(mission.ties),
        "oracle_return": best.oracle_return,
        "fixed": {"times": best.fixed_times, "regret": best.fixed_regret, "label": best.fixed_label},
        "feedback": {"regret": best.feedback_regret},
    }
    lines = [
        f"fixed     {best.fixed_regret:z.4f}   at {times} ({best.fixed_label})",
        f"feedback  {best.feedback_regret:z.4f}   each next time chosen by the state just seen",
        f"execution {execution}, ties {mission.ties}",
    ]
    emit(answer, as_json=as_json, lines=lines)
