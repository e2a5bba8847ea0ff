from .definition import load_study as load_study
from .protocol import Bench as Bench, choose as choose
from .runner import run_study as run_study
