"""Rules that decide when to spend an update."""

from replan.schedule.ask import decision_at, named_update, next_updates
from replan.schedule.best_offset import BestOffset, offset_candidates, offset_times
from replan.schedule.budget import FIRST_UPDATE, Prices, check_budget, check_times
from replan.schedule.drift_threshold import DriftThreshold
from replan.schedule.fixed import FixedTimes
from replan.schedule.lazy_value import LazyValue, lazy_score
from replan.schedule.loaded import BackLoaded, FrontLoaded
from replan.schedule.local_drift import LocalDrift
from replan.schedule.lookahead import Lookahead
from replan.schedule.measuring_value import AccumulatedValue, MeasuringValue
from replan.schedule.navigation_triggers import DistanceTravelled, FixedRate, PathExpired
from replan.schedule.periodic import Periodic, periodic_times
from replan.schedule.random import Random
from replan.schedule.registry import RULES, make_rule, parse_parameters, register, rule_parameters
from replan.schedule.regret_guided import THRESHOLDS, WEIGHTS, RegretGuided
from replan.schedule.rule import Context, Decision, Need, Rule
from replan.schedule.score import ScoreTerms, paced, pacing_limit, proxy_terms, stale_drift, theorem_terms
from replan.schedule.self_triggered import SelfTriggered

__all__ = [
    "FIRST_UPDATE",
    "RULES",
    "THRESHOLDS",
    "WEIGHTS",
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
    "Prices",
    "Random",
    "RegretGuided",
    "Rule",
    "ScoreTerms",
    "SelfTriggered",
    "check_budget",
    "check_times",
    "decision_at",
    "lazy_score",
    "make_rule",
    "named_update",
    "next_updates",
    "offset_candidates",
    "offset_times",
    "paced",
    "pacing_limit",
    "parse_parameters",
    "periodic_times",
    "proxy_terms",
    "register",
    "rule_parameters",
    "stale_drift",
    "theorem_terms",
]
