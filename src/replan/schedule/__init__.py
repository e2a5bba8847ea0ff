"""When to spend an update."""

from replan.schedule.best_offset import BestOffset, offset_candidates, offset_times
from replan.schedule.budget import (
    check_budget,
    check_times,
    decide,
    next_update,
    next_update_law,
    pacing_limit,
    planned_decision,
)
from replan.schedule.drift_threshold import DriftThreshold
from replan.schedule.fixed import FixedTimes
from replan.schedule.lazy_value import LazyValue, lazy_score
from replan.schedule.loaded import BackLoaded, FrontLoaded
from replan.schedule.local_drift import LocalDrift
from replan.schedule.lookahead import Lookahead
from replan.schedule.periodic import Periodic, periodic_times
from replan.schedule.random import DrawnTimes, Random
from replan.schedule.registry import RULES, make_rule, parse_parameters, rule_parameters
from replan.schedule.regret_guided import THRESHOLDS, WEIGHTS, RegretGuided
from replan.schedule.rule import Context, Decision, Explains, PlansAhead, PlansManyAhead, RandomRule, Rule
from replan.schedule.score import ScoreTerms, proxy_terms, stale_drift, theorem_terms
from replan.schedule.self_triggered import SelfTriggered

__all__ = [
    "RULES",
    "THRESHOLDS",
    "WEIGHTS",
    "BackLoaded",
    "BestOffset",
    "Context",
    "Decision",
    "DrawnTimes",
    "DriftThreshold",
    "Explains",
    "FixedTimes",
    "FrontLoaded",
    "LazyValue",
    "LocalDrift",
    "Lookahead",
    "Periodic",
    "PlansAhead",
    "PlansManyAhead",
    "Random",
    "RandomRule",
    "RegretGuided",
    "Rule",
    "ScoreTerms",
    "SelfTriggered",
    "check_budget",
    "check_times",
    "decide",
    "lazy_score",
    "make_rule",
    "next_update",
    "next_update_law",
    "offset_candidates",
    "offset_times",
    "pacing_limit",
    "parse_parameters",
    "periodic_times",
    "planned_decision",
    "proxy_terms",
    "rule_parameters",
    "stale_drift",
    "theorem_terms",
]
