"""A Crazyflie on the other end of a UDP link: the CRTP protocol by its specification, and simple kinematics.

It shares no code with the backend under test or with our simulator. What it is told is kept for the tests to
look at, and it can be made to misbehave.
"""

from __future__ import annotations

import math
import select
import socket
import struct
import threading
import time

PARAM, COMMANDER, MEM, LOGGING, GENERIC, HIGH_LEVEL, SUPERVISOR, PLATFORM, LINK = 2, 3, 4, 5, 7, 8, 9, 13, 15
FLOAT = 7  # type of a log variable
LOG_VARIABLES = ["stateEstimate.x", "stateEstimate.y", "stateEstimate.z", "stateEstimate.yaw", "pm.vbat"]
PARAMETERS = ["commander.enHighLevel", "stabilizer.estimator"]


class Peer(threading.Thread):
    """Answers on 127.0.0.1 at a port of its own."""

    def __init__(self, *, place=(1.0, -2.0, 0.02), variables=LOG_VARIABLES, protocol: int = 12) -> None:
        super().__init__(daemon=True)
        self.variables = list(variables)
        self.protocol = protocol
        self.position = list(place)
        self.battery = 4.0
        self.override: dict[str, float] = {}  # log values that replace the true ones
        self.silent = False
        self.events: list[str] = []  # arm, takeoff, notify, land, stop, disarm, in order
        self.setpoints: list[tuple[float, float, float]] = []
        self.fell = False
        self.locked = False  # told to stop while it counted as flying: a real one must be restarted
        self.refusals = 0  # take-offs that the supervisor will refuse, as it does for moments
        self.left_in_charge = False  # an earlier client's setpoints still outrank the drone's own commander
        self.armed = False
        self._floor = place[2]
        self._target: tuple[float, float, float] | None = None  # low-level setpoint
        self._told_at = 0.0
        self._turned_at = -math.inf
        self._climb: tuple[float, float, float, float] | None = None  # from, to, since, seconds
        self._blocks: dict[int, tuple[list[int], float]] = {}
        self._sent: dict[int, float] = {}
        self._client = None
        self._unplugged_until = 0.0
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

    @property
    def height(self) -> float:
        return self.position[2] - self._floor

    @property
    def landed(self) -> bool:
        """On the floor, by a landing and not by a fall."""
        return "land" in self.events and self.height < 0.1 and not self.fell and not self.locked

    @property
    def flying(self) -> bool:
        """As the firmware sees it: until two seconds after the motors last turned."""
        return time.monotonic() - self._turned_at < 2.0

    def unplug(self, seconds: float) -> None:
        """No socket for a while; then the same address again."""
        self._unplugged_until = time.monotonic() + seconds
        self._socket.close()

    def run(self) -> None:
        before = time.monotonic()
        while not self._stopped.is_set():
            now = time.monotonic()
            if self._socket.fileno() < 0 and now >= self._unplugged_until:
                self._socket = self._bind(self.port)
            if self._socket.fileno() >= 0:
                try:
                    while select.select([self._socket], [], [], 0.002)[0]:
                        data, self._client = self._socket.recvfrom(64)
                        self._receive(data)
                except (OSError, ValueError):  # unplugged meanwhile
                    continue
            else:
                time.sleep(0.002)
            self._fly(now, now - before)
            self._log(now)
            before = now

    @staticmethod
    def _bind(port: int) -> socket.socket:
        made = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        made.bind(("127.0.0.1", port))
        return made

    def _send(self, port: int, channel: int, payload: bytes) -> None:
        if self._client is not None and not self.silent and self._socket.fileno() >= 0:
            self._socket.sendto(bytes([port << 4 | 0x0C | channel]) + payload, self._client)

    def _receive(self, data: bytes) -> None:
        port, channel, payload = data[0] >> 4, data[0] & 3, data[1:]
        answer = {
            LINK: self._on_link,
            PLATFORM: self._on_platform,
            LOGGING: self._on_logging,
            PARAM: self._on_parameter,
            MEM: lambda channel, payload: bytes([1, 0]),
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
            self._arm(bool(payload[1]))
            return None
        return bytes([0, self.protocol]) if channel == 1 and payload[0] == 0 else None

    def _table(self, names: list[str], kind: int, payload: bytes):
        if payload[0] == 3:
            return struct.pack("<BHIBB", 3, len(names), 0xBEEF0000 + len(names) + kind, 16, 128)
        number = struct.unpack("<H", payload[1:3])[0]
        return struct.pack("<BHB", 2, number, kind) + names[number].replace(".", "\0").encode() + b"\0"

    def _on_logging(self, channel: int, payload: bytes):
        if channel == 0:
            return self._table(self.variables, FLOAT, payload)
        command, block = payload[0], payload[1] if len(payload) > 1 else 0
        if command == 6:
            wanted = [struct.unpack("<H", payload[k + 1 : k + 3])[0] for k in range(2, len(payload), 3)]
            self._blocks[block] = (wanted, math.inf)
        elif command == 3:
            self._blocks[block] = (self._blocks[block][0], payload[2] / 100)
        elif command == 5:
            self._blocks.clear()
        return bytes([command, block, 0])

    def _on_parameter(self, channel: int, payload: bytes):
        if channel == 0:
            return self._table(PARAMETERS, 8, payload)
        return payload[:2] + bytes([0, 1]) if channel == 1 else payload

    def _on_supervisor(self, channel: int, payload: bytes):
        if channel == 0:
            return bytes([0x8C]) + struct.pack("<H", 0b0001 | self.armed * 0b1010 | self.flying << 4)
        if payload[0] == 1:
            self._arm(bool(payload[1]))
            return bytes([0x81, 1, self.armed])
        return None

    def _arm(self, armed: bool) -> None:
        self.armed = armed
        self.events.append("arm" if armed else "disarm")
        self.fell |= not armed and self.height > 0.03
        self.locked |= not armed and self.flying

    def _on_setpoint(self, channel: int, payload: bytes) -> None:
        if channel == 1 and payload[0] == 0:
            self.events.append("notify")
            self._target, self.left_in_charge = None, False
        elif payload[0] == 7:
            x, y, z, _ = struct.unpack("<ffff", payload[1:17])
            self.setpoints.append((x, y, z))
            self._target, self._told_at, self._climb = (x, y, z), time.monotonic(), None

    def _on_high_level(self, channel: int, payload: bytes) -> None:
        if payload[0] in (7, 8) and self.armed:
            height, _, _, seconds = struct.unpack("<ff?f", payload[2:15])
            self.events.append("takeoff" if payload[0] == 7 else "land")
            if payload[0] == 7 and self.refusals:
                self.refusals -= 1
            elif self._target is None and not self.left_in_charge:  # streamed setpoints outrank it
                self._climb = (self.position[2], height, time.monotonic(), seconds)
        elif payload[0] == 3:
            self.events.append("stop")
            self.fell |= self.height > 0.03

    def _on_thrust(self, channel: int, payload: bytes) -> None:
        self.fell |= self.height > 0.03  # cflib sends zero thrust when it closes a link
        self.locked |= self.flying

    def _fly(self, now: float, passed: float) -> None:
        if self._climb is not None:
            begin, end, since, seconds = self._climb
            share = min((now - since) / seconds, 1.0)
            self.position[2] = begin + share * (end - begin)
            if share < 1.0 or end > self._floor + 0.1:
                self._turned_at = now
        elif self._target is not None and self.armed:
            if now - self._told_at > 2.0:  # the firmware's watchdog: motors off
                self.fell, self._target, self.position[2] = True, None, self._floor
                return
            self._turned_at = now
            follow = 1 - math.exp(-40 * passed)
            for axis in range(3):
                self.position[axis] += follow * (self._target[axis] - self.position[axis])

    def _log(self, now: float) -> None:
        state = dict(zip(LOG_VARIABLES, (*self.position, 0.0, self.battery), strict=True)) | self.override
        for block, (wanted, period) in self._blocks.items():
            if now - self._sent.get(block, 0.0) >= period:
                self._sent[block] = now
                values = struct.pack(f"<{len(wanted)}f", *(state[self.variables[k]] for k in wanted))
                self._send(LOGGING, 2, bytes([block, 0, 0, 0]) + values)
