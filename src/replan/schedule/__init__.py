"""Rules that decide when to spend an update."""

from replan.schedule.best_offset import BestOffset
from replan.schedule.drift_threshold import DriftThreshold
from replan.schedule.fixed import FixedTimes
from replan.schedule.lazy_value import LazyValue
from replan.schedule.loaded import BackLoaded, FrontLoaded
from replan.schedule.local_drift import LocalDrift
from replan.schedule.lookahead import Lookahead
from replan.schedule.measuring_value import AccumulatedValue, MeasuringValue
from replan.schedule.navigation_triggers import DistanceTravelled, FixedRate, PathExpired
from replan.schedule.periodic import Periodic
from replan.schedule.random import Random
from replan.schedule.registry import make_rule, register
from replan.schedule.regret_guided import RegretGuided
from replan.schedule.rule import Context, Decision, Need, Rule
from replan.schedule.self_triggered import SelfTriggered
from replan.schedule.spending import Spending

__all__ = [
    "AccumulatedValue",
    "BackLoaded",
    "BestOffset",
    "Context",
    "Decision",
    "DistanceTravelled",
    "DriftThreshold",
    "FixedRate",
    "FixedTimes",
    "FrontLoaded",
    "LazyValue",
    "LocalDrift",
    "Lookahead",
    "MeasuringValue",
    "Need",
    "PathExpired",
    "Periodic",
    "Random",
    "RegretGuided",
    "Rule",
    "SelfTriggered",
    "Spending",
    "make_rule",
    "register",
]
