"""The result in one sentence of plain words, true for the figures at hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from replan.report.tables import SAME

Regrets = Mapping[str, Mapping[str, float]]  # setting -> rule -> regret

ADAPTIVE, EVEN = "regret-guided", "periodic"
RIVALS = ("best-offset", "drift-threshold")


def headline(regrets: Regrets, *, ratios_to_best: Sequence[float] = ()) -> str:
    """One sentence; `ratios_to_best` are look-ahead's regrets divided by the least that exists."""
    both = {name: rules for name, rules in regrets.items() if ADAPTIVE in rules and rules.get(EVEN, 0) > SAME}
    if not both:
        return _winner(regrets)
    change = sum(rules[ADAPTIVE] / rules[EVEN] - 1 for rules in both.values()) / len(both)
    better = sum(rules[ADAPTIVE] < rules[EVEN] - SAME for rules in both.values())
    sentence = (
        f"With the same number of updates, the robot that updates when its regret score says so loses "
        f"{abs(change):.0%} {'less' if change <= 0 else 'more'} than with evenly spaced updates"
        f"{_where(better, len(both))}"
    )
    matched = sum(_matched(rules) for rules in both.values())
    if any(rival in rules for rules in both.values() for rival in RIVALS):
        sentence += _rivals(matched, len(both))
    if ratios_to_best:
        over = sum(ratios_to_best) / len(ratios_to_best) - 1
        sentence += f"; looking ahead comes within {max(over, 0):.0%} of the best that any rule could do"
        sentence += " on average" if len(ratios_to_best) > 1 else ""
    return sentence + "."


def _where(better: int, settings: int) -> str:
    if settings == 1:
        return " in the one setting"
    return f" on average over {settings} settings (less in {better} of them)"


def _rivals(matched: int, settings: int) -> str:
    if matched == 0:
        return ", and no tuned rival (best offset, drift threshold) does as well"
    where = "there too" if settings == 1 else f"in {matched} of {settings}"
    return f", but a tuned rival (best offset or drift threshold) does at least as well {where}"


def _matched(rules: Mapping[str, float]) -> bool:
    return any(rules[rival] <= rules[ADAPTIVE] + SAME for rival in RIVALS if rival in rules)


def _winner(regrets: Regrets) -> str:
    """Which rule has the least regret most often, where the paper's two are not compared."""
    wins: dict[str, int] = {}
    for rules in regrets.values():
        for rule, regret in rules.items():
            wins[rule] = wins.get(rule, 0) + (regret <= min(rules.values()) + SAME)
    if not wins:
        return "No regret was measured in this run."
    first = max(wins, key=lambda rule: wins[rule])
    where = f"in {wins[first]} of {len(regrets)} settings"
    return f"Of {len(wins)} rules, {first} loses least, or as little as any, {where}."
