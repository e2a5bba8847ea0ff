"""When the charts of the page are drawn, and with what gaps."""

from replan.report.page.assemble import assemble
from replan.report.page.setting_view import Shown, setting_view
from replan.study.work import rule_of
from study_runs import by_setting


def test_charts_are_drawn_when_they_are_scrolled_to_and_then_show_what_is_chosen(opened, report, run):
    page = opened(report).with_charts()
    assert page.locator("#timeline .main-svg").count() > 0
    assert page.locator("#budgets .main-svg, #parts .main-svg").count() == 0
    for name, setting in run.settings.items():
        page.locator("#setting").select_option(name)
        page.evaluate("scrollTo(0, 0)")
        page.locator("#budgets").scroll_into_view_if_needed()
        page.wait_for_function(
            "(budget) => document.getElementById('budgets').layout?.shapes[0].x0 === budget",
            arg=setting.budget,
        )
    page.emulate_media(media="print")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert page.locator("#parts .main-svg").count() > 0


def test_an_infinite_score_is_a_gap_that_the_chart_names(opened, run, tmp_path):
    rule = rule_of(by_setting(run)["two-burst"]["regret-guided"])
    view = setting_view("mine", run.settings["two-burst"], {"regret-guided": Shown(rule)})
    score = view["rules"]["regret-guided"]["score"]
    next(iter(score["terms"].values()))[0] = None
    shown = opened(assemble(tmp_path, "title", "sentence", [], [view]))
    titles = shown.with_charts().locator("#timeline .annotation").all_text_contents()
    assert "Score of regret-guided, infinite where there is a gap" in titles
    assert shown.complaints == []
