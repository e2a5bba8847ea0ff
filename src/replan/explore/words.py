"""Explanations of the explorer's controls: a tooltip for each, and a list of all."""

from __future__ import annotations

import html

MEANINGS = {
    "world": "where the robot walks and how that changes; the paper's settings, and harder worlds",
    "execution": "between updates the robot acts by the most likely cell (map), or weighs every cell it may "
    "be in (belief)",
    "forecast": "how the robot expects the dynamics to go on: as they are (frozen, the paper's robot), as "
    "they last moved (trend), by several models (mixture), by the world's parameters (family; family-ahead "
    "knows their drift bounds ahead), or as they truly will (given)",
    "n": "the grid has n times n cells",
    "horizon T": "steps of the mission",
    "planning horizon H": "steps that a plan looks ahead",
    "budget B": "updates that the robot can afford; the first is always at time 1",
    "drift": "how the dynamics change over time; choose drawn to drag the curve yourself",
    "slip": "probability of a move going astray, at time 0",
    "rate": "growth of the slip in every step",
    "amplitude": "how far the slip swings up and down",
    "period": "steps of one swing of the slip",
    "quiet": "growth of the slip in every step outside bursts",
    "bursts": "stretches of fast drift: from and to as parts of the horizon, and the growth of the slip in "
    "every step of them; a semicolon between two bursts",
    "rule": "a way to choose update times; its parameters are chosen on missions that are not shown",
    "regret": "what these update times lose, on average, against a robot that sees and knows everything "
    "at every step",
    "best possible": "the least regret that any choice of update times can have here, times chosen by the "
    "states seen included",
    "certificate": "the most that can be lost, as far as estimates and drift bounds can tell",
}


def label(name: str) -> str:
    """Return a name with its explanation as a tooltip."""
    return f'<span title="{html.escape(MEANINGS[name])}">{name}</span>'


def hinted(name: str, element: object) -> str:
    """Return a control with the explanation of its name as a tooltip; its label stays plain text."""
    return f'<div title="{html.escape(MEANINGS[name])}">{element}</div>'


def unfolding() -> str:
    """Return the list of all explanations."""
    rows = "".join(f"<dt><b>{name}</b></dt><dd>{meaning}</dd>" for name, meaning in MEANINGS.items())
    return f'<details id="words"><summary>What the words mean</summary><dl>{rows}</dl></details>'
