"""What the pages say of the paper's tables, against the tables themselves."""

from __future__ import annotations

from doc_pages import ROOT
from replan.evaluation.exact import regret
from replan.execute.mission import make_timeline
from replan.report.reports import paper_rules
from replan.schedule.regret_guided import RegretGuided
from replan.study.candidates import distinct_schedules
from replan.worlds.settings import load_setting, make_mission

DOCS = ROOT / "docs"


def said(page: str) -> str:
    return " ".join((DOCS / page).read_text().split())


def exact_regrets(table: str) -> dict[str, dict[str, float]]:
    """By setting and method, from the rows of a table in the docs."""
    found, setting = {}, ""
    for line in (DOCS / "tables" / table).read_text().splitlines():
        cells = [cell.strip(" *") for cell in line.split("|")[1:-1]]
        if len(cells) >= 2 + len(paper_rules()):
            setting = cells[0].split(" ")[0] or setting
            if cells[1] == "exact":
                figures = map(float, cells[2 : 2 + len(paper_rules())])
                found[setting] = dict(zip(paper_rules(), figures, strict=True))
    assert len(found) == 8
    return found


def less(regrets: dict[str, float], rival: str) -> float:
    """By how many per cent the rival's regret lies below the adaptive rule's."""
    return 100 * (1 - regrets[rival] / regrets["regret-guided"])


def more(regrets: dict[str, float], rival: str) -> float:
    """By how many per cent the adaptive rule's regret lies above the rival's."""
    return 100 * (regrets["regret-guided"] / regrets[rival] - 1)


def test_what_is_said_of_equal_search():
    table = exact_regrets("table1-equal.md")
    offset = {setting: less(regrets, "best-offset") for setting, regrets in table.items()}
    assert min(offset.values()) >= 0
    ahead = [gap for gap in offset.values() if gap > 1]
    assert len(ahead) == 6
    claim = f"{min(ahead):.0f} to {max(ahead):.0f} % less regret in six of eight"
    assert claim in said("reproduction.md") and claim in said("limits.md")
    drift = {setting: less(regrets, "drift-threshold") for setting, regrets in table.items()}
    alternating, sinusoidal = drift.pop("alternating"), drift.pop("sinusoidal-medium")
    claim = f"{alternating:.0f} % less in alternating and {sinusoidal:.0f} % less in sinusoidal-medium"
    assert claim in said("reproduction.md")
    assert max(map(abs, drift.values())) < 2 and sum(gap < 0 for gap in drift.values()) == 2


def test_what_is_said_of_the_papers_candidates():
    table = exact_regrets("table1.md")
    rivals = "best-offset", "drift-threshold"
    shown = {
        setting: [f"{more(table[setting], rival):.0f}" for rival in rivals]
        for setting in ("alternating", "sinusoidal-medium")
    }
    one, other = (" and ".join(gaps) for gaps in shown.values())
    claim = f"In alternating it has {one} % more regret than the two, in sinusoidal-medium {other} %"
    assert claim in said("reproduction.md")
    behind = [[more(table[s], rival) for s in table.keys() - shown.keys()] for rival in rivals]
    assert all(gap < 1 for gaps in behind for gap in gaps)


def test_what_is_said_of_the_gap_score_on_the_sinusoidal_setting():
    mission = make_mission(load_setting("sinusoidal-medium"))
    gap = [rule for rule in RegretGuided.candidates() if rule.score == "gap"]
    schedules = {make_timeline(mission, rules[0]).times: rules for rules in distinct_schedules(mission, gap)}
    assert len(schedules[1, 2, 3]) > len(gap) / 2
    assert max(times[-1] for times in schedules) == 9
    regrets = [regret(mission, rules[0]) for rules in schedules.values()]
    claim = f"spent by t = 9, with a regret of {min(regrets):.2f} to {max(regrets):.2f}."
    assert claim in said("reproduction.md")
