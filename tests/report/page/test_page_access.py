"""axe finds nothing serious on the page of a run, in light and in dark colours."""

import pytest

from axe_findings import serious_findings


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious(opened, report, scheme):
    assert serious_findings(opened(report, scheme=scheme).with_charts()) == []
