"""A small setting, and what a page holds."""

import json
import re

SMALL = """
world = "rover"
n = 4
horizon = 10
planning_horizon = 4
budget = 3
[drift]
kind = "linear"
slip = 0.1
rate = 0.02
"""


def data_of(page) -> dict:
    """The settings in a page."""
    (found,) = re.findall(r'id="report-data">(.*?)</script>', page.read_text(), re.DOTALL)
    return {view["name"]: view for view in json.loads(found)["settings"]}


def record(setting="a", rule="periodic", regret: float | None = 0.5, **more) -> dict:
    """A record as a store holds it."""
    usual = {"execution": "map", "estimator": "true-kernel", "stated_bounds": "right", "sampled_regret": None}
    return (
        {"setting": setting, "rule": rule, "label": rule, "parameters": {}, "exact_regret": regret}
        | usual
        | more
    )
