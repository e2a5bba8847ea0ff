from .certificates import (
    certify as certify,
    certify_ahead as certify_ahead,
    promise as promise,
    theorem as theorem,
)
from .errors import InputError as InputError
from .estimate import (
    DriftBoundedMLE as DriftBoundedMLE,
    Estimator as Estimator,
    Observation as Observation,
    OnlineDriftBounds as OnlineDriftBounds,
    PooledSlip as PooledSlip,
    TrueKernel as TrueKernel,
)
from .evaluation import (
    Evaluation as Evaluation,
    SimulatedRobot as SimulatedRobot,
    check_rule as check_rule,
    decompose as decompose,
    evaluate as evaluate,
    evaluate_times as evaluate_times,
    optimum as optimum,
    regret as regret,
    rollout as rollout,
)
from .execute import (
    Agent as Agent,
    Event as Event,
    Mission as Mission,
    Robot as Robot,
)
from .forecast import (
    Forecast as Forecast,
    ForecastFault as ForecastFault,
    Frozen as Frozen,
    Given as Given,
    Mixture as Mixture,
    Trend as Trend,
)
from .model import (
    ACTIONS as ACTIONS,
    GeneralKernel as GeneralKernel,
    Knowledge as Knowledge,
    Kernel as Kernel,
    Reward as Reward,
    SlipKernel as SlipKernel,
    World as World,
    check_world as check_world,
    constant as constant,
    from_arrays as from_arrays,
    linear as linear,
    load_npz as load_npz,
    piecewise as piecewise,
    sinusoidal as sinusoidal,
)
from .planning import Oracle as Oracle, Plan as Plan, Ties as Ties, oracle as oracle, plan as plan
from .schedule import (
    Context as Context,
    Decision as Decision,
    FixedTimes as FixedTimes,
    Lookahead as Lookahead,
    Need as Need,
    Periodic as Periodic,
    RegretGuided as RegretGuided,
    Rule as Rule,
    Spending as Spending,
    register as register,
)
from .study.rule_source import find_rule as find_rule, make_rule as make_rule
from .worlds import rover as rover
from .worlds.settings import (
    builtin_settings as builtin_settings,
    load_setting as load_setting,
    make_mission as make_mission,
    parse_setting as parse_setting,
)

__version__: str
