"""Landings over links that fail, seen from the drone and from the program."""

import itertools
import os
import signal

import pytest
from tests.robots.crazyflie.flights import after, fly_to

from replan.robots.crazyflie.craft import FlightLimits
from replan.robots.crazyflie.flight import FlightStopped


def on_floor(drone) -> bool:
    return drone.height == 0.0 and not drone.fell and not drone.locked


def test_an_outage_of_less_than_the_watchdog_ends_in_a_landing(peer):
    flown = fly_to(peer, horizon=20, progress=after(2, lambda: peer.cut_off(1.6)))
    assert flown.aborted is not None and "link lost" in flown.aborted
    assert flown.landing is not None and flown.landing.outcome == "landed"
    assert on_floor(peer.drone)


@pytest.mark.parametrize(("replans", "delay"), [(False, 0.3), (True, 2.0)])
def test_a_dead_downlink_neither_stalls_the_descent_nor_keeps_the_motors_on(make_peer, replans, delay):
    peer = make_peer(replans=replans)
    flown = fly_to(peer, horizon=20, progress=after(2, lambda: peer.cut_off(60.0, "down")))
    assert flown.landing is not None and flown.landing.outcome == "unknown"
    assert "no report" in str(flown.landing)
    assert on_floor(peer.drone)
    began = peer.drone.descended[0][0]
    down = next(now for now, height in peer.drone.descended if height < 0.03)
    assert down - began < FlightLimits().ceiling / 2 / FlightLimits().landing_speed + delay
    assert peer.drone.motors_stopped - down < 1.0
    steps = itertools.pairwise(peer.drone.descended)
    assert max((high - low) / (b - a) for (a, high), (b, low) in steps if b > a) < 1.2  # m/s


@pytest.mark.parametrize("seconds", [3.0, 9.0])
def test_a_drone_stopped_by_its_watchdog_is_reported_as_locked(peer, seconds):
    flown = fly_to(peer, horizon=20, progress=after(2, lambda: peer.cut_off(seconds)))
    assert peer.drone.fell and peer.drone.locked
    assert flown.landing is not None and flown.landing.outcome == "landed but locked"


def test_a_landing_that_has_begun_needs_no_link(peer):
    peer.when(lambda: peer.drone.plan is not None and peer.drone.height < 0.4, lambda: peer.cut_off(9.0))
    flown = fly_to(peer)
    assert flown.landing is not None and flown.landing.outcome == "landed"
    assert on_floor(peer.drone)


def test_a_link_that_stays_dead_is_reported_as_unknown(peer):
    flown = fly_to(peer, horizon=20, progress=after(2, lambda: peer.cut_off(600.0)))
    assert flown.landing is not None and flown.landing.outcome == "unknown"
    assert "did not acknowledge" in str(flown.landing)


def test_a_drone_that_restarts_in_the_air_fell_though_the_new_boot_acknowledges_the_landing(peer):
    flown = fly_to(peer, horizon=20, progress=after(2, peer.reboot))
    assert peer.drone.fell and not peer.drone.locked
    assert flown.landing is not None and flown.landing.outcome == "fell"
    assert "restarted in the air" in str(flown.landing) and "0.50 m" in str(flown.landing)


def test_a_restart_long_after_the_last_report_is_not_called_a_fall(peer):
    def lose_it():
        peer.cut_off(9.0)
        restart = peer.now() + 5.0
        peer.when(lambda: peer.now() > restart, lambda: peer.reboot(3.0))

    flown = fly_to(peer, horizon=20, progress=after(2, lose_it))
    assert flown.landing is not None and flown.landing.outcome == "unknown"
    assert "restarted" in str(flown.landing)


@pytest.mark.parametrize("lost", [0.0, 0.4])
def test_a_fall_is_told_from_a_soft_landing_with_and_without_its_reports(make_peer, lost):
    peer = make_peer(locks=False)

    def stop_motors():
        peer.cut_off(lost, "down")
        peer.drone.armed, peer.drone.state = False, "ready"

    peer.when(lambda: peer.drone.plan is not None and peer.drone.height < 0.45, stop_motors)
    flown = fly_to(peer)
    assert peer.drone.fell
    assert flown.landing is not None and flown.landing.outcome == "fell"


def test_a_link_that_is_unplugged_and_comes_back_is_used_to_land(peer, capfd):
    flown = fly_to(peer, horizon=20, progress=after(2, lambda: peer.unplug(1.5)))
    assert flown.aborted is not None and "link lost" in flown.aborted
    assert flown.landing is not None and flown.landing.outcome == "landed"
    assert on_floor(peer.drone)
    assert "Traceback" not in capfd.readouterr().err


def test_a_handover_that_is_lost_is_repeated(peer):
    notify, lost = peer.drone.notify_setpoint_stop, []

    def lose_three():
        lost.append(True)
        if len(lost) != 1 and len(lost) <= 4:  # the first is that of arming
            return
        notify()

    peer.drone.notify_setpoint_stop = lose_three
    flown = fly_to(peer)
    assert flown.landing is not None and flown.landing.outcome == "landed"
    assert len(lost) > 4 and on_floor(peer.drone)


def test_a_crash_in_flight_is_reported(peer):
    def crash():
        peer.drone.tumbled, peer.drone.state = True, "locked"

    flown = fly_to(peer, horizon=20, progress=after(2, crash))
    assert flown.aborted is not None and "supervisor" in flown.aborted
    assert flown.landing is not None and flown.landing.outcome == "landed but locked"


@pytest.mark.parametrize("loss", [0.05, 0.2])
def test_lost_packets_from_the_start_do_not_keep_it_from_flying(make_peer, loss):
    peer = make_peer(loss=loss)
    flown = fly_to(peer)
    assert flown.aborted is None
    assert flown.landing is not None and flown.landing.outcome == "landed"
    assert on_floor(peer.drone) and not peer.drone.armed


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_signals_land_and_a_second_one_does_not_interrupt_the_landing(peer, name):
    number = signal.Signals[name]
    peer.when(lambda: peer.drone.height > 0.3, lambda: os.kill(os.getpid(), number))
    for height in (0.25, 0.1):
        peer.when(
            lambda height=height: peer.drone.plan is not None and peer.drone.height < height,
            lambda: os.kill(os.getpid(), signal.SIGINT),
        )
    before = signal.getsignal(number)
    with pytest.raises(FlightStopped) as stopped:
        fly_to(peer, horizon=20)
    assert signal.getsignal(number) == before
    assert stopped.value.number == number
    assert stopped.value.flown.aborted == f"stopped by {name}"
    assert stopped.value.flown.landing is not None and stopped.value.flown.landing.outcome == "landed"
    assert on_floor(peer.drone) and not peer.drone.armed


def test_a_signal_before_arming_leaves_the_drone_alone(peer):
    peer.when(lambda: bool(peer._blocks), lambda: os.kill(os.getpid(), signal.SIGTERM))
    with pytest.raises(FlightStopped) as stopped:
        fly_to(peer)
    assert stopped.value.flown.landing is not None
    assert stopped.value.flown.landing.outcome == "never took off"
    assert peer.drone.setpoints == [] and not peer.drone.armed
