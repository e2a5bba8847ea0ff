from .certificates.certificate import certify as certify
from .certificates.in_advance import certify_ahead as certify_ahead
from .certificates.regret_bound import theorem as theorem
from .errors import InputError as InputError
from .estimate.drift_bounded_mle import DriftBoundedMLE as DriftBoundedMLE
from .estimate.drift_bounds import OnlineDriftBounds as OnlineDriftBounds
from .estimate.estimator import Estimator as Estimator, Observation as Observation, TrueKernel as TrueKernel
from .estimate.family_filter import FamilyFilter as FamilyFilter
from .estimate.observations import Transitions as Transitions
from .estimate.slip_mle import PooledSlip as PooledSlip
from .evaluation.agent_runs import SimulatedRobot as SimulatedRobot
from .evaluation.decomposition import decompose as decompose
from .evaluation.exact import (
    Evaluation as Evaluation,
    evaluate as evaluate,
    evaluate_times as evaluate_times,
    regret as regret,
)
from .evaluation.optimal_schedule import Optimum as Optimum, optimum as optimum
from .evaluation.rollouts import rollout as rollout
from .evaluation.rule_checks import check_rule as check_rule
from .execute.agent import Agent as Agent, Event as Event
from .execute.mission import Mission as Mission
from .execute.robot import Robot as Robot, plan_by_induction as plan_by_induction
from .forecast.archive import Archive as Archive
from .forecast.base import (
    Evidence as Evidence,
    Forecast as Forecast,
    Frozen as Frozen,
    Future as Future,
)
from .forecast.given import ForecastFault as ForecastFault, Given as Given
from .forecast.mixture import Mixture as Mixture
from .forecast.trend import Trend as Trend
from .model.array_worlds import from_arrays as from_arrays, load_npz as load_npz
from .model.checks import check_world as check_world
from .model.drift import linear as linear, piecewise as piecewise, sinusoidal as sinusoidal
from .model.family import Family as Family
from .model.flow_kernel import FlowKernel as FlowKernel
from .model.general_kernel import GeneralKernel as GeneralKernel
from .model.kernel import Kernel as Kernel, constant as constant
from .model.past import Past as Past, RecordedKernels as RecordedKernels
from .model.reward import Reward as Reward
from .model.sizes import Sizes as Sizes
from .model.slip import ACTIONS as ACTIONS, SlipKernel as SlipKernel
from .model.streams import uniforms as uniforms
from .model.world import (
    Knowledge as Knowledge,
    World as World,
    local_drift_bounds as local_drift_bounds,
)
from .planning.backward_induction import Plan as Plan, plan as plan
from .planning.optimal_values import oracle as oracle
from .planning.ties import Ties as Ties
from .schedule.drift_threshold import DriftThreshold as DriftThreshold
from .schedule.fixed import FixedTimes as FixedTimes
from .schedule.lookahead import Lookahead as Lookahead
from .schedule.navigation_triggers import (
    DistanceTravelled as DistanceTravelled,
    FixedRate as FixedRate,
    PathExpired as PathExpired,
)
from .schedule.periodic import Periodic as Periodic
from .schedule.rule import register as register
from .schedule.regret_guided import RegretGuided as RegretGuided
from .schedule.rule import Context as Context, Decision as Decision, Need as Need, Rule as Rule
from .skip.spending import Spending as Spending
from .schedule.registry import make_rule as make_rule
from .worlds.from_simulator import from_simulator as from_simulator
from .worlds.gymnasium_adapter import from_gymnasium as from_gymnasium, from_ns_gym as from_ns_gym
from .worlds.mars_rover import SlipDrift as SlipDrift
from .worlds.parameters import (
    Parameters as Parameters,
    WorldParameters as WorldParameters,
    register_world as register_world,
)
from .worlds.settings import (
    Setting as Setting,
    list_names as list_names,
    load_setting as load_setting,
    make_mission as make_mission,
)
from .worlds.simulation import SimulatedWorld as SimulatedWorld
from .worlds.slip_grid import rover as rover
from .certificates.certificate import Tightening as Tightening
from .evaluation.agent_runs import run_agent as run_agent
from .evaluation.scale import budget_curve as budget_curve, regret_scale as regret_scale
from .schedule.registry import find_rule as find_rule

__version__: str
