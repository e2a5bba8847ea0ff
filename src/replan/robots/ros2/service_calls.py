"""Calls of ROS 2 services on the wire of DDS.

The messages of a service begin with the identity of the call; this is the form of rmw_cyclonedds_cpp.
Requests and replies are passed on as bytes: a server can then check their shape, or hand a request on, before
anybody decodes it.
"""

from __future__ import annotations

import secrets
import struct
import threading
import types
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any

from cyclonedds.idl import IdlStruct
from cyclonedds.pub import DataWriter
from cyclonedds.sub import DataReader

_IDENTITY_SIZE = 16  # guid and seq


@dataclass(frozen=True)
class Call:
    """A request or a reply as it came."""

    guid: int
    seq: int
    data: bytes = field(repr=False)  # serialised, encapsulation and identity included
    sender: int = 0  # handle of the writer, see `Bus.type_hash`


class Client:
    """Calls of one service. Replies to other clients are passed over."""

    replies: DataReader

    def __init__(self, writer: DataWriter, outgoing: type, response: type) -> None:
        self._writer, self._outgoing, self._response = writer, outgoing, response
        self._guid, self._seq = secrets.randbits(63), 0
        self._waiting: dict[int, Future] = {}
        self._lock = threading.Lock()

    @property
    def ready(self) -> bool:
        """Whether a server is there and can answer."""
        return bool(self._writer.get_matched_subscriptions() and self.replies.get_matched_publications())

    def call(self, request: Any) -> Future:
        """Send a request. The future holds the decoded reply."""
        return self.forward(Call(0, 0, request.serialize()))

    def forward(self, call: Call) -> Future:
        """Send a request as it came, under an identity of our own."""
        reply: Future = Future()
        with self._lock:
            self._seq += 1
            seq = self._seq
            self._waiting[seq] = reply
        reply.add_done_callback(lambda _: self._waiting.pop(seq, None))
        identity = struct.pack(_identity_format(call.data), self._guid, seq)
        self._writer.write(self._outgoing(call.data[:4] + identity + call.data[4 + _IDENTITY_SIZE :]))
        return reply

    def receive(self, call: Call) -> None:
        """Resolve the future of the call that this reply answers."""
        waiting = self._waiting.get(call.seq) if call.guid == self._guid else None
        if waiting is not None and waiting.set_running_or_notify_cancel():
            waiting.set_result(self._response.deserialize(call.data))


def opaque(kind: type) -> type:
    """Return the same DDS type with messages that stay serialised, as `data`."""

    def init(self, data: bytes) -> None:
        self.data = data

    def keep(cls: Any, data: bytes, *_, **__) -> Any:
        return cls(bytes(data))

    def body(namespace: dict[str, Any]) -> None:
        namespace.update(
            __annotations__=dict(kind.__annotations__),
            __module__=kind.__module__,
            __init__=init,
            serialize=lambda self, *_, **__: self.data,
            deserialize=classmethod(keep),
            deserialize_key=classmethod(keep),
        )

    return types.new_class(kind.__name__, (IdlStruct,), {"typename": kind.__idl_typename__}, body)


def as_call(callback: Callable[[Call], Any]) -> Callable[[Any], None]:
    """Return a callback for samples of an opaque type; one that is too short to be a call is passed over."""

    def receive(sample: Any) -> None:
        if len(sample.data) >= 4 + _IDENTITY_SIZE:
            guid, seq = struct.unpack_from(_identity_format(sample.data), sample.data, 4)
            callback(Call(guid, seq, sample.data, sample.sample_info.publication_handle))

    return receive


def _identity_format(data: bytes) -> str:
    return "<Qq" if data[1] & 1 else ">Qq"
