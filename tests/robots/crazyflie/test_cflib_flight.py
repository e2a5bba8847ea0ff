"""The backend for real drones, over a real cflib link to a CRTP peer on loopback, in simulated time."""

import queue
import threading

import cflib.crtp
import numpy as np
import pytest
from tests.robots.crazyflie.firmware import MELLINGER, PID
from tests.robots.crazyflie.flights import DENSE, after, agent, fly_to
from tests.robots.crazyflie.peer import LOG_VARIABLES, Peer

from replan.execute.agent import Agent
from replan.robots.crazyflie.cflib_flight import CflibFlight
from replan.robots.crazyflie.cflib_link import CflibLink
from replan.robots.crazyflie.flight import fly, outcome
from replan.robots.crazyflie.layouts import CELL_SIZE, cells_at, constant_wind, layout, make_wind, state_of
from replan.robots.crazyflie.world import crazyflie_mission
from replan.schedule.periodic import Periodic


def test_a_whole_layout_is_flown_and_the_flight_ends_at_the_goal(peer):
    moves = []
    flown = fly_to(peer, horizon=60, progress=lambda t, flight, agents: moves.append(t))
    assert flown.aborted is None
    assert moves == list(range(int(DENSE.distances[0])))
    assert [time for time, _ in flown.updates(0)] == [1, 13]
    made = outcome(DENSE, flown.log)
    assert made.success and made.collisions == 0
    first, last = np.array(peer.drone.setpoints[0]), np.array(peer.drone.setpoints[-1])
    assert first == pytest.approx([1.0, -2.0, 0.02], abs=0.01)  # where it stood
    assert last - first == pytest.approx([11 * CELL_SIZE, 11 * CELL_SIZE, 0.5], abs=0.01)
    assert not peer.drone.armed and not peer.drone.fell
    assert flown.landing is not None and flown.landing.outcome == "landed"


def test_take_off_is_by_streamed_setpoints_so_that_the_watchdog_covers_it(peer):
    fly_to(peer)
    assert "takeoff" not in peer.drone.events
    assert peer.drone.events.index("arm") < peer.drone.events.index("land")


@pytest.mark.parametrize("controller", [PID, MELLINGER])
def test_the_drone_follows_the_curve_of_the_simulator(make_peer, controller):
    peer = make_peer(controller=controller)
    flown = fly_to(peer)
    log = flown.log
    lag = np.abs(log.positions - log.setpoints)[log.moves >= 0]
    way = np.ptp(log.positions[log.moves >= 0], axis=0).max()
    assert way > 2 * CELL_SIZE
    assert lag.max() < 0.03  # by position setpoints alone the PID controller lags by 0.23 m


def test_a_drone_that_is_ready_only_after_a_moment_is_waited_for(peer):
    peer.drone.refuses_until = peer.now() + 2.0
    flown = fly_to(peer)
    assert flown.aborted is None and not peer.drone.fell


def test_setpoints_left_by_an_earlier_client_do_not_keep_it_down(peer):
    peer.drone.priority = 2
    assert fly_to(peer).aborted is None


def test_a_drone_that_cannot_fly_is_left_on_the_floor(peer):
    peer.drone.refuses_until = float("inf")
    flown = fly_to(peer)
    assert flown.aborted is not None and "cannot fly" in flown.aborted
    assert flown.landing is not None and flown.landing.outcome == "never took off"
    assert peer.drone.setpoints == [] and not peer.drone.armed


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ({"stateEstimate.x": float("nan")}, "not a number"),
        ({"stateEstimate.y": -2.6}, "geofence"),
        ({"stateEstimate.z": 1.5}, "ceiling"),
        ({"pm.vbat": 2.9}, "battery"),
    ],
)
def test_an_unsafe_state_ends_in_a_landing(peer, values, reason):
    flown = fly_to(peer, horizon=20, progress=after(2, lambda: peer.override.update(values)))
    assert flown.aborted is not None and reason in flown.aborted
    assert flown.landing is not None and flown.landing.outcome == "landed"
    assert peer.drone.height == 0.0 and not peer.drone.fell


def jump(peer):
    peer.drone.offset = (0.6, 0.0, 0.0)


def cut_uplink(peer):
    peer.cut_off(1.6, "up")


def lose_positioning(peer):
    peer.drone.variance = 0.3**2


@pytest.mark.parametrize(
    ("fault", "reason"),
    [(jump, "off course"), (cut_uplink, "off course"), (lose_positioning, "positioning is lost")],
)
def test_a_drone_that_is_not_where_it_should_be_lands(peer, fault, reason):
    flown = fly_to(peer, horizon=20, progress=after(2, lambda: fault(peer)))
    assert flown.aborted is not None and reason in flown.aborted
    assert flown.landing is not None and flown.landing.outcome == "landed"
    assert flown.tracking is not None
    assert flown.tracking.excursions == int(reason == "off course")
    assert (flown.tracking.farthest >= 0.25) == (reason == "off course")


def test_a_program_that_stands_still_lands(peer):
    def stand_still(t, flight, agents):
        send = flight._craft.send_setpoint

        def send_late(setpoint):
            flight._craft.send_setpoint = send
            peer.clock.sleep(1.6)
            send(setpoint)

        if t == 2:
            flight._craft.send_setpoint = send_late

    flown = fly_to(peer, horizon=20, progress=stand_still)
    assert flown.aborted == "the program stood still for 1.6 s"
    assert flown.landing is not None and flown.landing.outcome == "landed"


@pytest.mark.parametrize("loss", [0.0, 0.2])
def test_an_undisturbed_drone_stays_on_course(make_peer, loss):
    flown = fly_to(make_peer(loss=loss), horizon=20)
    assert flown.aborted is None
    assert flown.tracking is not None and flown.tracking.excursions == 0
    assert flown.tracking.farthest < 0.13


def test_a_drone_unsure_of_its_position_is_not_armed(peer):
    lose_positioning(peer)
    flown = fly_to(peer)
    assert flown.aborted is not None and "only to 0.30 m" in flown.aborted
    assert peer.drone.events == []


def test_a_planner_that_fails_in_mid_flight_ends_in_a_landing(peer):
    def planner(kernel, reward, time, horizon, ties):
        from replan.execute.robot import plan_by_induction

        if time > 5:
            raise ArithmeticError("no convergence")
        return plan_by_induction(kernel, reward, time, horizon, ties)

    pilot = agent(planner=planner)
    flown = fly(CflibFlight(peer.uri), [pilot])
    assert flown.aborted is not None and "no convergence" in flown.aborted
    assert flown.aborted.startswith("no new plan at 13")
    assert peer.drone.height == 0.0 and not peer.drone.fell


def test_any_other_exception_comes_out_after_the_landing(peer):
    def fail():
        raise ZeroDivisionError("in the caller's own code")

    with pytest.raises(ZeroDivisionError):
        fly_to(peer, progress=after(2, fail))
    assert peer.drone.height == 0.0 and not peer.drone.fell and not peer.drone.armed


def test_a_planner_that_hangs_leaves_the_drone_hovering(peer):
    heights = []

    def hang():
        peer.clock.sleep(5.0)
        heights.append(peer.drone.height)

    flown = fly_to(peer, progress=after(2, hang))
    assert flown.aborted is None and not peer.drone.fell
    assert heights == [pytest.approx(0.5, abs=0.02)]


def test_a_move_of_no_length_is_skipped(peer):
    flight = CflibFlight(peer.uri)
    flight.take_off()
    try:
        begun = peer.now()
        flight.move(np.array([4]))
        assert peer.now() == begun
        flight.move(np.array([1]))  # left, at the left wall
        flight.move(np.array([0]))
        assert cells_at(flight.localise([0])[0]) == state_of((0, 1))
    finally:
        flight.land()


def test_simulated_wind_carries_the_drone_off_until_an_update(peer):
    steady = constant_wind(np.array([0.02, 0.03]), horizon=4, gust=0.0)
    flight = CflibFlight(peer.uri, wind=steady)
    flight.take_off()
    try:
        for _ in range(3):
            flight.move(np.array([0]))
        carried = flight.localise([0])[0]
        flight.move(np.array([0]))
        after_update = np.array(peer.drone.setpoints[-1][:2]) - peer.drone.setpoints[0][:2]
    finally:
        flight.land()
    moves = np.array([3 * CELL_SIZE, 0.0])
    assert carried == pytest.approx([0.15, 0.15] + moves + 3 * np.array([0.02, 0.03]) / 0.44, abs=0.02)
    assert after_update == pytest.approx([4 * CELL_SIZE + 0.02 / 0.44, CELL_SIZE + 0.03 / 0.44], abs=0.02)


@pytest.mark.filterwarnings("ignore:The supervisor subsystem")
def test_a_drone_without_battery_and_supervisor_reports_still_flies(make_peer):
    old = make_peer(variables=LOG_VARIABLES[:3], protocol=7)
    flown = fly_to(old)
    assert flown.aborted is None and not old.drone.fell and not old.drone.armed
    assert flown.landing is not None and flown.landing.outcome == "landed"


@pytest.mark.parametrize(
    ("values", "reason"),
    [({"stateEstimate.x": float("nan")}, "not a number"), ({"pm.vbat": 3.2}, "battery")],
)
def test_a_drone_that_is_not_fit_is_not_armed(peer, values, reason):
    peer.override = values
    flown = fly_to(peer)
    assert flown.aborted is not None and "not armed" in flown.aborted and reason in flown.aborted
    assert flown.landing is not None and flown.landing.outcome == "never took off"
    assert peer.drone.events == []


@pytest.mark.parametrize(("fault", "reason"), [("tumbled", "tumbled"), ("locked", "locked")])
def test_a_drone_that_its_supervisor_holds_is_not_armed(peer, fault, reason):
    peer.drone.tumbled, peer.drone.state = fault == "tumbled", "locked" if fault == "locked" else "ready"
    flown = fly_to(peer)
    assert flown.aborted is not None and reason in flown.aborted
    assert peer.drone.events == []


def test_a_drone_already_in_the_air_is_refused_and_left_alone(peer):
    peer.drone.hover(0.5)
    flown = fly_to(peer)
    assert flown.aborted is not None and "already flying" in flown.aborted
    assert flown.landing is not None and flown.landing.outcome == "left flying"
    peer.clock.sleep(5.0)
    assert peer.drone.events == [] and peer.drone.setpoints == []
    assert peer.drone.height == pytest.approx(0.5)


def test_no_drone_is_one_clear_line():
    with Peer() as gone:
        uri = gone.uri
    flown = fly(CflibFlight(uri), [agent()])
    assert flown.aborted is not None and flown.aborted.startswith(f"no Crazyflie at {uri}")
    assert "\n" not in flown.aborted


def test_a_flight_can_be_planned_on_sub_cells(peer):
    def subcells_at(positions):
        return cells_at(positions, 3)

    calm = make_wind("none", 0, strength=0.0, horizon=5)
    pilot = Agent.on(crazyflie_mission(layout("none", 0), calm, budget=4, cuts=3), Periodic())
    flown = fly(CflibFlight(peer.uri), [pilot], locate=subcells_at)
    assert flown.aborted is None
    seen = [event.state for event in pilot.log if event.what == "update"]
    places = [flown.log.after_move(t - 1)[0, :2] for t, _ in flown.updates(0)]
    assert seen == [int(subcells_at(place)) for place in places]


def test_a_driver_that_failed_is_replaced_without_waiting_for_it(monkeypatch):
    class Driver:
        def __init__(self):
            self.in_queue, self.may_close, self.closed = queue.Queue(), threading.Event(), threading.Event()

        def close(self):
            self.may_close.wait()
            self.closed.set()

    old, new = Driver(), Driver()
    monkeypatch.setattr(cflib.crtp, "get_link_driver", lambda *_: new)
    link = CflibLink("tcp://127.0.0.1:1")
    link.link = old
    link.renew()
    assert link.link is old  # nothing was wrong with it
    link._link_error_cb("broken pipe\n\nTraceback ...")
    assert link.error == "broken pipe"
    link.renew()
    assert link.link is new and link.error is None and not old.closed.is_set()
    old.may_close.set()
    assert old.closed.wait(10.0)


def test_a_drone_that_cannot_say_where_it_is_is_refused(make_peer):
    flown = fly_to(make_peer(variables=["pm.vbat"]))
    assert flown.aborted == "the drone has no log variable stateEstimate.x"
