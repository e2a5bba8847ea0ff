from .definition import (
    Study as Study,
    builtin_studies as builtin_studies,
    load_study as load_study,
    parse_study as parse_study,
)
from .protocol import Bench as Bench, Choice as Choice, choose as choose
from .records import Record as Record, Run as Run, read_run as read_run
from .runner import run_study as run_study
