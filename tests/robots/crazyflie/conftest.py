"""A drone in simulated time, on the other end of a real cflib link."""

import pytest
from tests.robots.crazyflie.clock import SimulatedClock
from tests.robots.crazyflie.peer import Peer


@pytest.fixture
def make_peer(monkeypatch):
    """Make peers that live in simulated time with whoever connects to them; they end with the test."""
    from replan.robots.crazyflie import cflib_flight
    from replan.robots.crazyflie.cflib_link import CflibLink

    clock, peers, connect = SimulatedClock(), [], CflibLink.connect

    def connect_and_follow(self, *arguments):
        why = connect(self, *arguments)
        for peer in peers:
            if peer.uri == self.uri:
                peer.follow(self)
        return why

    def make(**options) -> Peer:
        peers.append(Peer(clock=clock, **options))
        peers[-1].start()
        return peers[-1]

    monkeypatch.setattr(CflibLink, "connect", connect_and_follow)
    monkeypatch.setattr(cflib_flight, "FlightClock", lambda: clock)
    yield make
    for peer in peers:
        peer.__exit__()


@pytest.fixture
def peer(make_peer):
    return make_peer()
