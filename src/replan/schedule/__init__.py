"""When to spend an update."""

from replan.schedule.budget import (
    check_budget,
    check_times,
    decide,
    next_update,
    next_update_law,
    pacing_limit,
)
from replan.schedule.fixed import FixedTimes
from replan.schedule.periodic import Periodic, periodic_times
from replan.schedule.rule import Context, Decision, PlansAhead, RandomRule, Rule

__all__ = [
    "Context",
    "Decision",
    "FixedTimes",
    "Periodic",
    "PlansAhead",
    "RandomRule",
    "Rule",
    "check_budget",
    "check_times",
    "decide",
    "next_update",
    "next_update_law",
    "pacing_limit",
    "periodic_times",
]
