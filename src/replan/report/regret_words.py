"""The result of a run in one sentence."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from replan.results.table import SAME
from replan.typing import Execution

WORDS: dict[Execution, str] = {"map": "likeliest cell", "belief": "belief", "localised": "sees its state"}
"""A robot's way of acting between updates in a word or two, for tables."""

Regrets = Mapping[str, Mapping[str, float]]  # setting -> rule -> regret

ADAPTIVE, EVEN = "regret-guided", "even"
NEXT_TO_NOTHING = 0.01  # of the regret of even spacing
RIVALS = ("best-offset", "drift-threshold")


def headline(
    regrets: Regrets,
    *,
    belief: Regrets | None = None,
    floors: Mapping[str, float] | None = None,
    priced: bool = False,
    sees: bool = False,
    same: Collection[str] = (),
) -> str:
    """Return one sentence on rules that act alike; `floors` are the least possible regrets by setting.

    `belief` are the regrets of rules that act on the whole belief where the others do not. Regrets that
    are `priced` have the price of the updates added. A robot that `sees` its state may leave updates over.
    In the settings `same` replanning makes no difference, and nothing is compared.
    """
    if regrets and set(regrets) <= set(same):
        return "Replanning makes no difference here: no rule loses anything worth counting."
    spending = "With the same number of updates"
    spending = "With at most the same number of updates" if sees else spending
    spending = "With the price of updates added" if priced else spending
    differing = {name: rules for name, rules in regrets.items() if name not in same}
    compared = {name: rules for name, rules in differing.items() if rules.get(EVEN, 0) > SAME}
    if not compared:
        return _most_wins(differing, priced=priced)
    ratios = _mean_ratios(compared, compared)
    winner = _least(ratios)
    where = _where(len(compared), len(regrets))
    if winner == EVEN:
        sentence = f"{spending}, no rule loses less than evenly spaced updates{where}"
    else:
        sentence = (
            f"{spending}, {winner} loses least of {len(ratios)} rules: "
            f"{_change(ratios[winner])} than evenly spaced updates{where}"
        )
    sentence += _to_the_floor(winner, compared, floors or {})
    if ADAPTIVE in ratios and winner != ADAPTIVE:
        sentence += f"; the paper's rule, {ADAPTIVE}, loses {_change(ratios[ADAPTIVE])}"
    if ADAPTIVE in ratios:
        sentence += _rivals(compared)
    weighing = _mean_ratios(belief or {}, compared)
    if weighing:
        best = _least(weighing)
        sentence += f"; weighing all cells it may be in, a robot with {best} loses {_change(weighing[best])}"
    return sentence + "."


def _least(ratios: Mapping[str, float]) -> str:
    """Return the rule of the least ratio; of equal ones even spacing, then the first name, in any order."""
    return min(ratios, key=lambda rule: (round(ratios[rule], 9), rule != EVEN, rule))


def _where(compared: int, settings: int) -> str:
    """Return over how many settings of the run rules were compared, in words."""
    of = "" if compared == settings else f" of {settings}"
    if compared == 1:
        return f" in 1{of} settings" if of else ""
    return f" on average over {compared}{of} settings"


def _mean_ratios(regrets: Regrets, compared: Regrets) -> dict[str, float]:
    """Return the mean of regret over that of `even` for rules that ran in every setting compared."""
    rules = dict.fromkeys(rule for name in compared for rule in regrets.get(name, {}))
    everywhere = [rule for rule in rules if all(rule in regrets.get(name, {}) for name in compared)]
    return {
        rule: sum(regrets[name][rule] / rules[EVEN] for name, rules in compared.items()) / len(compared)
        for rule in everywhere
    }


def _change(ratio: float) -> str:
    return f"{abs(ratio - 1):.0%} {'less' if ratio <= 1 else 'more'}"


def _to_the_floor(rule: str, compared: Regrets, floors: Mapping[str, float]) -> str:
    """Return how far the rule is above the floors, unless one of them is next to nothing."""
    least = {name: NEXT_TO_NOTHING * rules[EVEN] for name, rules in compared.items()}
    above = [compared[name][rule] / floors[name] - 1 for name in least if floors.get(name, 0) > least[name]]
    if len(above) < len(compared):
        return ""
    return f", {max(sum(above) / len(above), 0):.0%} above the best possible"


def _rivals(compared: Regrets) -> str:
    """Return in how many settings a tuned rival of the paper does as well as its adaptive rule."""
    ran = [rules for rules in compared.values() if any(rival in rules for rival in RIVALS)]
    rivals = [rival for rival in RIVALS if any(rival in rules for rules in ran)]
    if not ran:
        return ""
    matched = sum(_matched(rules) for rules in ran)
    if matched == 0:
        return f", and no tuned rival of it ({', '.join(rivals)}) does as well"
    where = "there too" if len(ran) == 1 else f"in {matched} of {len(ran)}"
    return f", but a tuned rival of it ({' or '.join(rivals)}) does at least as well {where}"


def _matched(rules: Mapping[str, float]) -> bool:
    return any(rules[rival] <= rules[ADAPTIVE] + SAME for rival in RIVALS if rival in rules)


def _most_wins(regrets: Regrets, *, priced: bool) -> str:
    """Return which rule has the least regret most often, where nothing is compared with even spacing."""
    wins: dict[str, int] = {}
    for rules in regrets.values():
        for rule, regret in rules.items():
            wins[rule] = wins.get(rule, 0) + (regret <= min(rules.values()) + SAME)
    if not wins:
        return "No regret was measured in this run."
    first = min(wins, key=lambda rule: (-wins[rule], rule))
    where = f"in {wins[first]} of {len(regrets)} settings"
    cost = ", with the price of updates added" if priced else ""
    rules = f"Of {len(wins)} rules, {first} loses least, or as little as any"
    return f"{rules if len(wins) > 1 else f'{first} is the only rule'}, {where}{cost}."
