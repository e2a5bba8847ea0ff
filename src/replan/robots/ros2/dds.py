"""Topics and services of ROS 2 over DDS, without a ROS installation (extra `ros`).

A topic `/a` is `rt/a` on the wire. A service `/a` is a pair of topics, `rq/aRequest` and `rr/aReply`, whose
messages begin with the identity of the call; this is the form of rmw_cyclonedds_cpp. Requests and replies are
passed on as bytes: a server can then check their shape, or hand a request on, before anybody decodes it.
"""

from __future__ import annotations

import os
import secrets
import struct
import threading
import time
import types
import weakref
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any

from cyclonedds.core import InstanceState, ReadCondition, SampleState, ViewState, WaitSet
from cyclonedds.domain import Domain, DomainParticipant
from cyclonedds.idl import IdlStruct
from cyclonedds.pub import DataWriter
from cyclonedds.qos import Policy, Qos
from cyclonedds.sub import DataReader
from cyclonedds.topic import Topic
from cyclonedds.util import duration

LOCALHOST = """<CycloneDDS><Domain><General><Interfaces><NetworkInterface name="lo"/></Interfaces>
<AllowMulticast>false</AllowMulticast></General><Discovery><ParticipantIndex>auto</ParticipantIndex>
<MaxAutoParticipantIndex>120</MaxAutoParticipantIndex><Peers><Peer address="localhost"/></Peers>
</Discovery></Domain></CycloneDDS>"""

_domains: weakref.WeakValueDictionary[int, Domain] = weakref.WeakValueDictionary()
_RELIABLE = Policy.Reliability.Reliable(duration(seconds=1))
_ALL_CALLS = Policy.History.KeepLast(1000)  # requests or replies that may wait to be read
_LATE_JOINERS = Policy.DurabilityService(
    duration(seconds=0),
    Policy.History.KeepLast(1),
    max_samples=-1,
    max_instances=-1,
    max_samples_per_instance=-1,
)
_IDENTITY_SIZE = 16  # bytes of guid and seq
_DISCOVERY = 0.2  # seconds that a reply waits for its reader to be discovered


def _local_domain(number: int) -> Domain:
    """Return the domain restricted to this machine; one object serves all participants of a process."""
    domain = _domains.get(number)
    if domain is None:
        domain = _domains[number] = Domain(number, LOCALHOST)
    return domain


def on_this_machine_only(environment: dict[str, str] | os._Environ[str] = os.environ) -> bool:
    """Return whether ROS 2's own variables restrict discovery to this machine."""
    discovery = environment.get("ROS_AUTOMATIC_DISCOVERY_RANGE", "").upper()
    return discovery == "LOCALHOST" or environment.get("ROS_LOCALHOST_ONLY") == "1"


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


class Bus:
    """One DDS participant with its topics and services.

    Callbacks run in the thread that calls `spin`; `publish`, replies and calls may come from any thread.

    Parameters
    ----------
    domain : int, optional
        DDS domain; by default that of the environment variable ROS_DOMAIN_ID, or 0.
    localhost : bool, optional
        Whether to discover on this machine only; by default as ROS 2's environment variables say.
    """

    def __init__(self, domain: int | None = None, *, localhost: bool | None = None) -> None:
        domain = int(os.environ.get("ROS_DOMAIN_ID", "0")) if domain is None else domain
        localhost = on_this_machine_only() if localhost is None else localhost
        self._domain = _local_domain(domain) if localhost and "CYCLONEDDS_URI" not in os.environ else None
        self.participant = DomainParticipant(domain)
        self._waitset = WaitSet(self.participant)
        self._readers: list[tuple[DataReader, ReadCondition, Callable[[Any], None]]] = []
        self._writers: list[DataWriter] = []
        self._reachable: set[int] = set()  # handles of clients whose readers are known

    def publisher(self, topic: str, kind: type, *, latched: bool = False) -> Callable[[Any], None]:
        """Return a function that publishes; `latched` keeps the last message for late subscribers."""
        return self.raw_publisher(f"rt{topic}", kind, latched=latched)

    def raw_publisher(self, name: str, kind: type, *, latched: bool = False) -> Callable[[Any], None]:
        """Return a function that publishes on a DDS topic, whose name is taken as it is."""
        return self._writer(name, kind, _topic_qos(latched=latched)).write

    def subscribe(
        self,
        topic: str,
        kind: type,
        callback: Callable[[Any], None],
        *,
        latched: bool = False,
        reliable: bool = True,
        depth: int = 10,
    ) -> None:
        """Call `callback` with each message. Reliable and latched readers need such a publisher."""
        self._reader(
            f"rt{topic}", kind, _topic_qos(latched=latched, reliable=reliable, depth=depth), callback
        )

    def serve(
        self, service: str, request: type, response: type, handle: Callable[[Call], None]
    ) -> Callable[[Call, Any], None]:
        """Offer a service: `handle` gets each request. Return the function that answers one."""
        qos = _service_qos("serviceid")
        writer = self._writer(f"rr{service}Reply", response, qos)
        self._reader(f"rq{service}Request", _opaque(request), qos, _as_call(handle))

        def reply(call: Call, answer: Any) -> None:
            answer.guid, answer.seq = call.guid, call.seq
            self._await_reader(writer, call.sender)
            writer.write(answer)

        return reply

    def watch(self, service: str, request: type, handle: Callable[[Call], Any]) -> None:
        """Read the requests to a service without answering them; `request` may be a shorter shape."""
        self._reader(f"rq{service}Request", _opaque(request), _service_qos("serviceid"), _as_call(handle))

    def client(self, service: str, request: type, response: type) -> Client:
        """Return a client of a service."""
        qos = _service_qos("clientid")
        outgoing = _opaque(request)
        writer = self._writer(f"rq{service}Request", outgoing, qos)
        client = Client(writer, outgoing, response)
        client.replies = self._reader(f"rr{service}Reply", _opaque(response), qos, _as_call(client.receive))
        return client

    def type_hash(self, call: Call) -> str | None:
        """Return the ROS type hash that the sender's endpoint carries (Jazzy and later), else None."""
        sender = self._sender(call.sender)
        return None if sender is None else _user_data(sender.qos).get("typehash")

    def spin(self, seconds: float) -> None:
        """Wait for messages for up to `seconds` and pass on those that have come."""
        if self._waitset.wait(duration(milliseconds=max(1, seconds * 1000))) == 0:
            return
        for reader, condition, callback in self._readers:
            for sample in reader.take(N=100, condition=condition):
                if sample.sample_info.valid_data:
                    callback(sample)

    def endpoints(self) -> tuple[list[bytes], list[bytes]]:
        """Return the 16-byte identities of all readers and all writers."""
        readers = [reader.guid.bytes for reader, _, _ in self._readers]
        return readers, [writer.guid.bytes for writer in self._writers]

    def close(self) -> None:
        """Leave the domain at once, so that others do not wait for this participant."""
        self._readers.clear()
        self._writers.clear()
        del self._waitset, self.participant
        self._domain = None

    def _sender(self, handle: int) -> Any:
        """Return the discovered endpoint with this handle, None if it has left."""
        found = (reader.get_matched_publication_data(handle) for reader, _, _ in self._readers)
        return next((endpoint for endpoint in found if endpoint is not None), None)

    def _await_reader(self, writer: DataWriter, handle: int) -> None:
        """Wait, once for each client and not for long, until its reader of replies has been discovered."""
        if handle in self._reachable:
            return
        sender, deadline = self._sender(handle), time.monotonic() + _DISCOVERY
        while sender is not None and time.monotonic() < deadline:
            matched = [writer.get_matched_subscription_data(h) for h in writer.get_matched_subscriptions()]
            if any(reader and reader.participant_key == sender.participant_key for reader in matched):
                break
            time.sleep(0.001)
        self._reachable.add(handle)

    def _reader(self, name: str, kind: type, qos: Qos, callback: Callable[[Any], None]) -> DataReader:
        reader = DataReader(self.participant, Topic(self.participant, name, kind), qos=qos)
        condition = ReadCondition(reader, SampleState.Any | ViewState.Any | InstanceState.Any)
        self._waitset.attach(condition)
        self._readers.append((reader, condition, callback))
        return reader

    def _writer(self, name: str, kind: type, qos: Qos) -> DataWriter:
        writer = DataWriter(self.participant, Topic(self.participant, name, kind), qos=qos)
        self._writers.append(writer)
        return writer


def _topic_qos(*, latched: bool = False, reliable: bool = True, depth: int = 10) -> Qos:
    policies = [
        _RELIABLE if reliable else Policy.Reliability.BestEffort,
        Policy.Durability.TransientLocal if latched else Policy.Durability.Volatile,
        Policy.History.KeepLast(1 if latched else depth),
        Policy.Userdata(b"replan=1;"),  # without any, Jazzy warns that there is no type hash
    ]
    if latched:
        policies.append(_LATE_JOINERS)
    return Qos(*policies)


def _service_qos(key: str) -> Qos:
    """The user data name the service or client, by which rmw_cyclonedds_cpp pairs its two endpoints."""
    user_data = f"{key}={secrets.randbits(63)};".encode()
    return Qos(_RELIABLE, Policy.Durability.Volatile, _ALL_CALLS, Policy.Userdata(user_data))


def _user_data(qos: Qos) -> dict[str, str]:
    policy: Any = qos[Policy.Userdata] if Policy.Userdata in qos else None  # noqa: SIM401 (no get)
    if policy is None:
        return {}
    text = bytes(policy.data).decode(errors="replace")
    return dict(part.split("=", 1) for part in text.split(";") if "=" in part)


def _opaque(kind: type) -> type:
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


def _as_call(callback: Callable[[Call], Any]) -> Callable[[Any], None]:
    """Return a callback for samples of an opaque type; one that is too short to be a call is passed over."""

    def receive(sample: Any) -> None:
        if len(sample.data) >= 4 + _IDENTITY_SIZE:
            guid, seq = struct.unpack_from(_identity_format(sample.data), sample.data, 4)
            callback(Call(guid, seq, sample.data, sample.sample_info.publication_handle))

    return receive


def _identity_format(data: bytes) -> str:
    return "<Qq" if data[1] & 1 else ">Qq"
