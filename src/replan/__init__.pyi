from replan.certificates import (
    certify as certify,
    certify_ahead as certify_ahead,
    promise as promise,
    theorem as theorem,
)
from replan.errors import InputError as InputError
from replan.estimate import (
    DriftBoundedMLE as DriftBoundedMLE,
    Estimator as Estimator,
    Observation as Observation,
    OnlineDriftBounds as OnlineDriftBounds,
    PooledSlip as PooledSlip,
    TrueKernel as TrueKernel,
)
from replan.evaluation import (
    Evaluation as Evaluation,
    check_rule as check_rule,
    decompose as decompose,
    evaluate as evaluate,
    evaluate_times as evaluate_times,
    optimum as optimum,
    regret as regret,
    rollout as rollout,
)
from replan.execute import (
    Agent as Agent,
    Event as Event,
    Mission as Mission,
    SimulatedRobot as SimulatedRobot,
)
from replan.forecast import (
    Forecast as Forecast,
    ForecastFault as ForecastFault,
    Frozen as Frozen,
    Given as Given,
    Mixture as Mixture,
    Trend as Trend,
)
from replan.model import (
    ACTIONS as ACTIONS,
    World as World,
    GeneralKernel as GeneralKernel,
    Kernel as Kernel,
    Reward as Reward,
    SlipKernel as SlipKernel,
    check_world as check_world,
    constant as constant,
    from_arrays as from_arrays,
    linear as linear,
    load_npz as load_npz,
    piecewise as piecewise,
    sinusoidal as sinusoidal,
)
from replan.planning import Oracle as Oracle, Plan as Plan, Ties as Ties, oracle as oracle, plan as plan
from replan.schedule import (
    Context as Context,
    Decision as Decision,
    FixedTimes as FixedTimes,
    Lookahead as Lookahead,
    Need as Need,
    Periodic as Periodic,
    Prices as Prices,
    RegretGuided as RegretGuided,
    Rule as Rule,
    register as register,
)
from replan.study.rule_source import find_rule as find_rule, make_rule as make_rule
from replan.worlds import rover as rover
from replan.worlds.settings import (
    builtin_settings as builtin_settings,
    load_setting as load_setting,
    make_mission as make_mission,
    parse_setting as parse_setting,
)

__version__: str
