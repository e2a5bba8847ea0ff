import pytest

from replan import Mission, load_setting, make_mission


@pytest.fixture
def mission() -> Mission:
    return make_mission(load_setting("two-burst"))
