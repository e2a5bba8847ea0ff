"""The backend for real drones, over a real cflib link to a CRTP peer on loopback."""

import _thread
import signal
import threading
import time

import numpy as np
import pytest
from tests.worlds.crazyflie.peer import LOG_VARIABLES, Peer

from replan.execute import Agent
from replan.schedule import Periodic
from replan.worlds.crazyflie.cflib_flight import CflibFlight
from replan.worlds.crazyflie.flight import fly
from replan.worlds.crazyflie.guard import Limits
from replan.worlds.crazyflie.layouts import CELL_SIZE, cells_at, layout, state_of
from replan.worlds.crazyflie.metrics import outcome
from replan.worlds.crazyflie.wind import constant_wind, wind
from replan.worlds.crazyflie.world import crazyflie_mission

DENSE = layout("dense", 3)


@pytest.fixture
def peer():
    with Peer() as made:
        yield made


def flight_to(peer: Peer, **options) -> CflibFlight:
    limits = Limits(silence=2.0, link_patience=6.0, landing_speed=0.5)
    return CflibFlight(peer.uri, climb_speed=1.0, move_seconds=0.25, limits=limits, **options)


def agent(*, horizon: int = 60, **options) -> Agent:
    return Agent.on(
        crazyflie_mission(DENSE, wind("dense", 3, strength=0.0, horizon=horizon)), Periodic(), **options
    )


def after(moves: int, action):
    """Do something once that many moves have been made."""
    return lambda t, flight, agents: action() if t == moves else None


def test_a_whole_layout_is_flown(peer):
    flight = flight_to(peer)
    pilot = agent()
    flown = fly(flight, [pilot])
    assert flown.aborted is None
    assert pilot.done and pilot.budget_left == 0
    assert [time for time, _ in flown.updates(0)] == [1, 13, 24, 36, 47, 59]
    made = outcome(DENSE, flown.log)
    assert made.success and made.collisions == 0
    assert made.moves == DENSE.distances[0]
    first, last = np.array(peer.setpoints[0]), np.array(peer.setpoints[-1])
    assert first == pytest.approx([1.0, -2.0, 0.52], abs=1e-3)  # where it took off, 0.5 m up
    assert last[:2] - first[:2] == pytest.approx([11 * CELL_SIZE, 11 * CELL_SIZE], abs=1e-3)
    assert peer.events == ["notify", "arm", "takeoff", "land", "notify", "land", "stop", "disarm"]
    assert peer.landed and not peer.armed
    assert flight.landing == "landed, seen on the floor"


def test_a_take_off_that_is_refused_is_asked_for_again(peer):
    peer.refusals = 1
    flown = fly(flight_to(peer), [agent(horizon=12)])
    assert flown.aborted is None and peer.landed
    assert peer.events.count("takeoff") == 2


def test_setpoints_left_by_an_earlier_client_do_not_keep_it_down(peer):
    peer.left_in_charge = True
    flown = fly(flight_to(peer), [agent(horizon=12)])
    assert flown.aborted is None and peer.landed


def test_a_drone_that_cannot_fly_is_left_on_the_floor(peer, monkeypatch):
    monkeypatch.setattr(peer, "_arm", lambda armed: peer.events.append("arm" if armed else "disarm"))
    flown = fly(flight_to(peer), [agent(horizon=12)])
    assert flown.aborted == "armed, but the drone says that it cannot fly"
    assert "takeoff" not in peer.events and peer.height == 0.0


def test_a_silent_drone_is_landed(peer):
    def silence():
        peer.silent = True

    flight = flight_to(peer)
    flown = fly(flight, [agent()], progress=after(5, silence))
    assert flown.aborted is not None and "link lost" in flown.aborted
    assert flight.landing == "landing commanded, not seen on the floor"
    assert peer.landed and "stop" not in peer.events


def test_a_link_that_is_killed_and_comes_back_is_used_to_land(peer):
    flight = flight_to(peer)
    flown = fly(flight, [agent()], progress=after(5, lambda: peer.unplug(1.2)))
    assert flown.aborted is not None and "link lost" in flown.aborted
    assert flight.landing == "landed, seen on the floor"
    assert peer.landed


def test_a_link_that_stays_dead_ends_the_flight_and_says_so(peer):
    flight = flight_to(peer)
    flown = fly(flight, [agent()], progress=after(3, lambda: peer.unplug(60)))
    assert flown.aborted is not None and "link lost" in flown.aborted
    assert "out of reach" in flight.landing
    assert "stop" not in peer.events and "disarm" not in peer.events


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ({"stateEstimate.x": float("nan")}, "not a number"),
        ({"stateEstimate.y": -2.6}, "geofence"),
        ({"stateEstimate.z": 1.5}, "ceiling"),
        ({"pm.vbat": 2.9}, "battery"),
    ],
)
def test_what_is_unsafe_ends_in_a_landing(peer, values, reason):
    def spoil():
        peer.override = values

    def recover():
        while "land" not in peer.events:
            time.sleep(0.01)
        peer.override = {}

    helper = threading.Thread(target=recover, daemon=True)
    helper.start()
    flown = fly(flight_to(peer), [agent()], progress=after(4, spoil))
    helper.join()
    assert flown.aborted is not None and reason in flown.aborted
    assert peer.landed


def test_a_planner_that_fails_in_mid_flight_ends_in_a_landing(peer):
    def planner(kernel, reward, time, horizon, ties):
        from replan.execute.agent import plan_by_induction

        if time > 5:
            raise ArithmeticError("no convergence")
        return plan_by_induction(kernel, reward, time, horizon, ties)

    flown = fly(flight_to(peer), [agent(planner=planner)])
    assert flown.aborted is not None and "no convergence" in flown.aborted
    assert flown.aborted.startswith("no new plan at 13")
    assert peer.landed


def test_any_other_exception_comes_out_after_the_landing(peer):
    def fail():
        raise ZeroDivisionError("in the caller's own code")

    with pytest.raises(ZeroDivisionError):
        fly(flight_to(peer), [agent()], progress=after(4, fail))
    assert peer.landed and not peer.armed


def test_ctrl_c_lands(peer):
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored in a background process
    try:
        with pytest.raises(KeyboardInterrupt):
            fly(flight_to(peer), [agent()], progress=after(4, _thread.interrupt_main))
    finally:
        signal.signal(signal.SIGINT, before)
    assert peer.landed and not peer.armed


def test_a_planner_that_hangs_leaves_the_drone_hovering(peer):
    heights = []

    def hang():
        time.sleep(2.5)
        heights.append(peer.height)

    flown = fly(flight_to(peer), [agent(horizon=12)], progress=after(4, hang))
    assert flown.aborted is None and not peer.fell
    assert heights == [pytest.approx(0.5, abs=0.02)]


def test_a_move_of_no_length_is_skipped(peer):
    flight = flight_to(peer)
    flight.take_off()
    try:
        begun = time.monotonic()
        flight.move(np.array([4]))
        assert time.monotonic() - begun < 0.05
        flight.move(np.array([1]))  # left, at the left wall
        flight.move(np.array([0]))
        assert cells_at(flight.localise([0])[0]) == state_of((0, 1))
    finally:
        flight.land()
    assert peer.landed


def test_simulated_wind_carries_the_drone_off_until_an_update(peer):
    steady = constant_wind(np.array([0.02, 0.03]), horizon=4, gust=0.0)
    flight = flight_to(peer, wind=steady)
    flight.take_off()
    try:
        for _ in range(3):
            flight.move(np.array([0]))
        carried = flight.localise([0])[0]
        flight.move(np.array([0]))
        after_update = np.array(peer.setpoints[-1][:2]) - peer.setpoints[0][:2]
    finally:
        flight.land()
    moves = np.array([3 * CELL_SIZE, 0.0])
    assert carried == pytest.approx([0.15, 0.15] + moves + 3 * np.array([0.02, 0.03]) / 0.44, abs=0.02)
    assert after_update == pytest.approx([4 * CELL_SIZE + 0.02 / 0.44, CELL_SIZE + 0.03 / 0.44], abs=0.02)


def test_a_drone_without_battery_report_and_older_firmware_still_flies():
    with (
        Peer(variables=LOG_VARIABLES[:3], protocol=10) as old,
        pytest.warns(UserWarning, match="protocol version"),
    ):
        flown = fly(flight_to(old), [agent(horizon=12)])
    assert flown.aborted is None and old.landed


@pytest.mark.parametrize(
    ("values", "reason"),
    [({"stateEstimate.x": float("nan")}, "not a number"), ({"pm.vbat": 3.2}, "battery")],
)
def test_a_drone_that_is_not_fit_is_not_armed(peer, values, reason):
    peer.override = values
    flown = fly(flight_to(peer), [agent()])
    assert flown.aborted is not None and "not armed" in flown.aborted and reason in flown.aborted
    assert peer.events == []


def test_no_drone_is_one_clear_line():
    with Peer() as gone:
        uri = gone.uri
    flown = fly(CflibFlight(uri, connect_seconds=3.0), [agent()])
    assert flown.aborted is not None and flown.aborted.startswith(f"no Crazyflie at {uri}")
    assert "\n" not in flown.aborted


def test_a_drone_that_cannot_say_where_it_is_is_refused():
    with Peer(variables=["pm.vbat"]) as blind:
        flown = fly(flight_to(blind), [agent()])
    assert flown.aborted == "the drone has no log variable stateEstimate.x"
