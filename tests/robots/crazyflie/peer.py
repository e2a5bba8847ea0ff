"""A Crazyflie on the other end of a UDP link: the CRTP protocol by its specification, around a `Firmware`.

Packets are answered at once; the drone itself lives in real time or by a `SimulatedClock`. The link can lose
packets, be cut in either direction, or be unplugged so that the other side gets errors.
"""

from __future__ import annotations

import random
import select
import socket
import struct
import threading
import time
from collections.abc import Callable

from tests.robots.crazyflie.clock import SimulatedClock
from tests.robots.crazyflie.firmware import Firmware

PARAM, COMMANDER, LOGGING, GENERIC, HIGH_LEVEL, SUPERVISOR, PLATFORM, LINK = 2, 3, 5, 7, 8, 9, 13, 15
UINT16, FLOAT, PARAM_UINT8, PARAM_FLOAT = 2, 7, 8, 6  # types of log variables and parameters
LOG_VARIABLES = [
    "stateEstimate.x",
    "stateEstimate.y",
    "stateEstimate.z",
    "stateEstimate.yaw",
    "pm.vbat",
    "supervisor.info",
    "kalman.varPX",
    "kalman.varPY",
    "kalman.varPZ",
]
GAINS = ["posCtlPid.xKp", "posCtlPid.yKp", "posCtlPid.zKp", "velCtlPid.vxKp", "velCtlPid.vyKp"]
PARAMETERS = ["stabilizer.controller", *GAINS]
STEP = 0.02  # s


class Peer(threading.Thread):
    """Answers on 127.0.0.1 at a port of its own."""

    def __init__(
        self,
        *,
        clock: SimulatedClock | None = None,
        variables=LOG_VARIABLES,
        protocol: int = 12,
        loss: float = 0.0,
        **options,
    ) -> None:
        super().__init__(daemon=True)
        self.drone = Firmware(**options)
        self.clock = clock
        self.variables = list(variables)
        self.protocol = protocol
        self.loss = loss  # share of packets, in each direction
        self.override: dict[str, float] = {}  # log values that replace the true ones
        self.cut = {"up": 0.0, "down": 0.0}  # s, until when nothing passes
        self._rules: list[tuple[Callable[[], bool], Callable[[], None]]] = []
        self._random = random.Random(0)
        self._blocks: dict[int, tuple[list[int], float]] = {}
        self._logged: dict[int, float] = {}
        self._client = None
        self._unplugged_until = 0.0
        self._boot = self.now() - 60.0
        self._sent = self._handled = 0  # packets since the other side is followed
        self._follows = False
        self._stopped = threading.Event()
        self._socket = self._bind(0)
        self.port = self._socket.getsockname()[1]
        self.uri = f"udp://127.0.0.1:{self.port}"

    def __enter__(self) -> Peer:
        self.start()
        return self

    def __exit__(self, *_) -> None:
        self._stopped.set()
        self.join()
        self._socket.close()

    def now(self) -> float:
        return time.monotonic() if self.clock is None else self.clock.now()

    def when(self, condition: Callable[[], bool], action: Callable[[], None]) -> None:
        """Do something once, as soon as a condition holds."""
        self._rules.append((condition, action))

    def cut_off(self, seconds: float, *directions: str) -> None:
        """Let nothing pass for a while, by default in both directions."""
        for direction in directions or ("up", "down"):
            self.cut[direction] = self.now() + seconds

    def unplug(self, seconds: float) -> None:
        """No socket for a while; then the same address again. Only the peer's own thread closes it."""
        self._unplugged_until = self.now() + seconds

    def reboot(self, seconds: float = 1.5) -> None:
        """Start the drone anew; it answers again after a while, and has forgotten its log."""
        self.drone.reboot()
        self._blocks.clear()
        self.cut_off(seconds)
        self._boot = self.now()

    def follow(self, link) -> None:
        """Count the packets that a cflib connection has handled, so that time waits for them."""
        link.add_header_callback(self._count, 0, 0, 0, 0)  # every packet, after those who use it
        self._follows = True

    def _count(self, packet) -> None:
        self._handled += 1

    def run(self) -> None:
        try:
            self._live()
        except BaseException as error:
            if self.clock is not None:
                self.clock.stop(error)  # else who waits for time to pass would wait for ever
            raise

    def _live(self) -> None:
        while not self._stopped.is_set():
            self._plug()
            self._answer()
            if self.clock is None:
                time.sleep(0.002)
            elif not self._all_delivered():
                continue
            elif not self.clock.advance(STEP):
                self._pause()
                continue
            now = self.now()
            self.drone.step(now)
            self._log(now)
            for rule in [rule for rule in self._rules if rule[0]()]:
                self._rules.remove(rule)
                rule[1]()

    def _plug(self) -> None:
        plugged, wanted = self._socket.fileno() >= 0, self.now() >= self._unplugged_until
        if plugged and not wanted:
            self._socket.close()
        elif wanted and not plugged:
            self._socket = self._bind(self.port)

    def _all_delivered(self) -> bool:
        """Wait until the other side has handled what was sent, or will not handle it any more."""
        since = time.monotonic()
        while self._handled < self._sent and time.monotonic() - since < 0.5:
            if self._pause():
                return False
        self._follows &= self._handled == self._sent  # else it has closed its link
        self._sent = self._handled
        return True

    def _pause(self) -> bool:
        """Wait for a moment, or until a packet comes in."""
        listening = [self._socket] if self._socket.fileno() >= 0 else []
        return bool(select.select(listening, [], [], 0.0005)[0])

    @staticmethod
    def _bind(port: int) -> socket.socket:
        made = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        made.bind(("127.0.0.1", port))
        return made

    def _passes(self, direction: str) -> bool:
        return self.now() >= self.cut[direction] and self._random.random() >= self.loss

    def _answer(self) -> None:
        if self._socket.fileno() < 0:
            return
        try:
            while select.select([self._socket], [], [], 0)[0]:
                data, self._client = self._socket.recvfrom(64)
                if self._passes("up"):
                    self._receive(data)
        except OSError:  # the other side has closed its socket
            return

    def _send(self, port: int, channel: int, payload: bytes) -> None:
        if self._client is not None and self._socket.fileno() >= 0 and self._passes("down"):
            self._sent += self._follows
            self._socket.sendto(bytes([port << 4 | 0x0C | channel]) + payload, self._client)

    def _receive(self, data: bytes) -> None:
        port, channel, payload = data[0] >> 4, data[0] & 3, data[1:]
        answer = {
            LINK: self._on_link,
            PLATFORM: self._on_platform,
            LOGGING: self._on_logging,
            PARAM: self._on_parameter,
            SUPERVISOR: self._on_supervisor,
            GENERIC: self._on_setpoint,
            HIGH_LEVEL: self._on_high_level,
            COMMANDER: self._on_thrust,
        }.get(port)
        reply = answer(channel, payload) if answer else None
        if reply is not None:
            self._send(port, channel, reply)

    def _on_link(self, channel: int, payload: bytes):
        return b"Bitcraze Crazyflie" + bytes(11) if channel == 1 else payload

    def _on_platform(self, channel: int, payload: bytes):
        if channel == 0 and payload[0] == 1:
            self.drone.request_arming(bool(payload[1]))
            return None
        return bytes([0, self.protocol]) if channel == 1 and payload[0] == 0 else None

    @staticmethod
    def _table(names: list[str], kinds: list[int], payload: bytes):
        if payload[0] == 3:
            return struct.pack("<BHIBB", 3, len(names), 0xBEEF0000 + len(names) + kinds[0], 16, 128)
        number = struct.unpack("<H", payload[1:3])[0]
        return (
            struct.pack("<BHB", 2, number, kinds[number]) + names[number].replace(".", "\0").encode() + b"\0"
        )

    def _on_logging(self, channel: int, payload: bytes):
        if channel == 0:
            kinds = [UINT16 if name == "supervisor.info" else FLOAT for name in self.variables]
            return self._table(self.variables, kinds, payload)
        command, block = payload[0], payload[1] if len(payload) > 1 else 0
        if command == 6:
            wanted = [struct.unpack("<H", payload[k + 1 : k + 3])[0] for k in range(2, len(payload), 3)]
            self._blocks.setdefault(block, (wanted, float("inf")))
        elif command == 3:
            self._blocks[block] = (self._blocks[block][0], payload[2] / 100)
        elif command == 5:
            self._blocks.clear()
        return bytes([command, block, 0])

    def _on_parameter(self, channel: int, payload: bytes):
        if channel == 0:
            return self._table(PARAMETERS, [PARAM_UINT8] + 5 * [PARAM_FLOAT], payload)
        number = struct.unpack("<H", payload[:2])[0]
        gain = self.drone.velocity_gain if number > 3 else self.drone.gain
        value = bytes([self.drone.controller]) if number == 0 else struct.pack("<f", gain)
        return payload[:2] + b"\0" + value if channel == 1 else payload

    def _on_supervisor(self, channel: int, payload: bytes):
        if channel == 0:
            return bytes([0x8C]) + struct.pack("<H", self.drone.bits)
        if payload[0] == 1:
            self.drone.request_arming(bool(payload[1]))
            return bytes([0x81, 1, self.drone.armed])
        return None

    def _on_setpoint(self, channel: int, payload: bytes) -> None:
        if channel == 1 and payload[0] == 0:
            self.drone.notify_setpoint_stop()
        elif payload[0] == 0:
            self.drone.low_level(self.now(), None, None)
        elif payload[0] == 6:
            numbers = [number / 1000 for number in struct.unpack("<9h", payload[1:19])]
            self.drone.low_level(self.now(), numbers[:3], numbers[3:6])
        elif payload[0] == 7:
            self.drone.low_level(self.now(), struct.unpack("<fff", payload[1:13]), (0.0, 0.0, 0.0))

    def _on_high_level(self, channel: int, payload: bytes):
        result = 0
        if payload[0] in (7, 8):
            height, _, _, seconds = struct.unpack("<ff?f", payload[2:15])
            result = self.drone.take_off_or_land(self.now(), height, seconds, lands=payload[0] == 8)
        elif payload[0] == 3:
            self.drone.stop()
        return payload[:3] + bytes([result])

    def _on_thrust(self, channel: int, payload: bytes) -> None:
        self.drone.low_level(self.now(), None, None)  # cflib sends zero thrust when it closes a link

    def _log(self, now: float) -> None:
        drone = self.drone
        values = (*drone.estimate, 0.0, drone.battery, drone.bits, *3 * [drone.variance])
        state = dict(zip(LOG_VARIABLES, values, strict=True))
        uptime = int(1000 * (now - self._boot)).to_bytes(3, "little")
        for block, (wanted, period) in list(self._blocks.items()):
            if now - self._logged.get(block, 0.0) >= period - STEP / 10:
                self._logged[block] = now
                names = [self.variables[k] for k in wanted]
                kinds = "".join("H" if name == "supervisor.info" else "f" for name in names)
                values = struct.pack("<" + kinds, *((state | self.override)[name] for name in names))
                self._send(LOGGING, 2, bytes([block]) + uptime + values)
