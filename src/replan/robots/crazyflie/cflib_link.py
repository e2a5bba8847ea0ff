"""A cflib connection that survives lost packets and link errors. Importing this module imports cflib.

cflib closes its link at the first error, sends zero thrust when it closes, and leaves resending to the
driver, which the UDP driver does not do. In the air each of these drops the drone, so they are replaced here.
"""

from __future__ import annotations

import contextlib
import logging
import sys
import threading
import time
from collections.abc import Callable

import cflib.crtp
from cflib.crazyflie import Crazyflie

RESEND_SECONDS = 0.1  # s without an answer after which a request is sent again
_SOURCE, _VERSION = (15, 1), (13, 1)  # port and channel of requests that cflib never repeats


class CflibLink(Crazyflie):
    """cflib's `Crazyflie` with its link kept open until `shut`."""

    def __init__(self, uri: str) -> None:
        cflib_log = logging.getLogger("cflib")
        if cflib_log.level == logging.NOTSET:  # it logs tracebacks for what is reported here in one line
            cflib_log.setLevel(logging.CRITICAL)
        if not cflib.crtp.CLASSES:
            cflib.crtp.init_drivers()
        super().__init__()
        self.uri = uri
        self.error: str | None = None  # the newest link error
        self.packets = 0  # received
        self._is_udp = uri.startswith("udp:")
        self._refused = False
        self._version_is_known = False
        self.packet_received.add_callback(self._count)

    def connect(self, patience: float, watch: Callable[[], None]) -> str | None:
        """Connect and read the tables of contents; return why that failed, or None.

        `patience` is how long nothing may arrive; a slow connection that makes progress is waited for.
        `watch`, called meanwhile, may raise.
        """
        ready = threading.Event()
        self.connected.add_callback(lambda uri: ready.set())
        self.connection_failed.add_callback(lambda uri, message: self._link_error_cb(message))
        self.open_link(self.uri)
        heard, since = 0, time.monotonic()
        while not ready.wait(0.05):
            watch()
            if self.packets > heard:
                heard, since = self.packets, time.monotonic()
            if self.error is not None and heard == 0:
                return self.error
            if time.monotonic() - since > patience:
                return f"no answer within {patience:g} s"
        # cflib's pings join their own thread when a send fails, and its send lock would be held for ever.
        self.link_statistics.stop()
        return None

    def parameter(self, name: str, patience: float = 1.0) -> float | None:
        """Return a parameter of the firmware, or None if it has none of that name or does not answer."""
        if self.param.toc.get_element_by_complete_name(name) is None:
            return None
        answered, values = threading.Event(), []
        self.param.add_update_callback(
            *name.split("."), cb=lambda _, value: (values.append(float(value)), answered.set())
        )
        self.param.request_param_update(name)
        return values[0] if answered.wait(patience) else None

    def renew(self) -> None:
        """Replace a driver that reported an error by a new one; tables and logs stay as they are."""
        if self.error is None:
            return
        self.error = None
        if self._is_udp:  # its socket outlives errors
            return
        old = self.link
        with contextlib.suppress(Exception):  # tried again at the next error
            self.link = cflib.crtp.get_link_driver(self.uri, None, self._link_error_cb)
        if old is not None and old is not self.link:
            old.in_queue.put(None)  # whoever waits for a packet of the old one waits no longer
            threading.Thread(target=_close, args=(old,), daemon=True).start()

    def drop_requests(self) -> None:
        """Give up requests that were not answered, each of which is repeated until it is."""
        for timer in list(self._answer_patterns.values()):
            timer.cancel()
        self._answer_patterns.clear()

    def shut(self) -> None:
        """Close the driver without a last setpoint."""
        self.drop_requests()
        held = self._send_lock.acquire(timeout=3.0)  # a thread that sends right now needs the link
        old, self.link = self.link, None
        if held:
            self._send_lock.release()
        self.incoming.stop()
        if self.param.param_updater is not None:
            self.param.param_updater.close()
        if old is not None:
            if self._is_udp:  # its thread waits for another second
                threading.Thread(target=old.close, daemon=True).start()
            else:
                _close(old)

    def send_packet(self, pk, expected_reply=(), resend=False, timeout=0.2) -> None:
        """Send a packet, again and again until it is answered where an answer is expected."""
        if (pk.port, pk.channel) == _SOURCE:
            expected_reply = expected_reply or (ord("B"),)  # of "Bitcraze Crazyflie"
        elif (pk.port, pk.channel) == _VERSION:
            expected_reply = expected_reply or (0,)
        self._refused = False
        try:
            super().send_packet(pk, expected_reply, resend, min(timeout, RESEND_SECONDS))
        except OSError as error:  # raised by some drivers, with cflib's lock held
            self._send_lock.release()
            self._link_error_cb(str(error))
        if self._refused and self._is_udp:  # UDP reports the error of an earlier packet in place of sending
            super().send_packet(pk)

    def _start_connection_setup(self) -> None:
        if self.link is not None and self._is_udp:
            self.link.needs_resending = True
        super()._start_connection_setup()

    def _platform_info_fetched(self) -> None:
        if not self._version_is_known:  # a repeated request may be answered twice
            self._version_is_known = True
            super()._platform_info_fetched()

    def _log_toc_updated_cb(self) -> None:
        self._mems_updated_cb()  # the drone's memories are not needed

    def _param_toc_updated_cb(self) -> None:
        self.connected.call(self.link_uri)  # without the values of all parameters

    def _link_error_cb(self, errmsg: str) -> None:
        lines = [line for line in str(errmsg).splitlines() if line.strip()]
        self.error = lines[0] if lines else "no reason given"
        self._refused = True

    def _count(self, packet) -> None:
        self.packets += 1


def _close(link) -> None:
    with contextlib.suppress(Exception), contextlib.redirect_stdout(sys.stderr):  # one driver prints
        link.close()
