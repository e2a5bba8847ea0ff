"""Shows a participant as a node in ROS 2's graph (extra `ros`).

ROS 2 learns of nodes from the topic `ros_discovery_info`. The identities in it have 16 bytes from Jazzy on
and 24 in Humble; the wrong size disturbs other nodes' view of the graph, so the distribution must be given.
"""

from __future__ import annotations

from typing import Any, Literal

from cyclonedds.idl import make_idl_struct
from cyclonedds.idl.types import array, sequence, uint8

from replan.robots.ros2.dds import Bus
from replan.robots.ros2.messages import wire_name

Distro = Literal["humble", "jazzy"]
IDENTITY_BYTES: dict[Distro, int] = {"humble": 24, "jazzy": 16}


def graph_types(size: int) -> tuple[Any, Any, Any]:
    """Return the classes of an identity, a node and a participant, for identities of so many bytes."""

    def message(name: str, **fields: Any) -> Any:
        return make_idl_struct(name, wire_name(f"rmw_dds_common/msg/{name}"), fields)

    gid = message("Gid", data=array[uint8, size])
    node = message(
        "NodeEntitiesInfo",
        node_namespace=str,
        node_name=str,
        reader_gid_seq=sequence[gid],
        writer_gid_seq=sequence[gid],
    )
    return gid, node, message("ParticipantEntitiesInfo", gid=gid, node_entities_info_seq=sequence[node])


def announce(bus: Bus, name: str, distro: Distro) -> None:
    """Publish all endpoints of the bus as those of one node."""
    size = IDENTITY_BYTES[distro]
    gid, node, participant = graph_types(size)

    def identity(guid: bytes) -> Any:
        return gid(list(guid.ljust(size, b"\0")))

    readers, writers = bus.endpoints()
    shown = node("/", name, [identity(guid) for guid in readers], [identity(guid) for guid in writers])
    publish = bus.raw_publisher("ros_discovery_info", participant, latched=True)
    publish(participant(identity(bus.participant.guid.bytes), [shown]))
