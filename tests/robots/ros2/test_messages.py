"""Message layouts, byte for byte against the codecs of `rosbags`, an independent implementation."""

import dataclasses
import random

import pytest
from rosbags.typesys import Stores, get_types_from_msg, get_typestore

from replan.robots.ros2 import messages

MESSAGES = {
    "std_msgs/msg/Bool": messages.Bool,
    "rosgraph_msgs/msg/Clock": messages.Clock,
    "geometry_msgs/msg/PoseStamped": messages.PoseStamped,
    "geometry_msgs/msg/PoseWithCovarianceStamped": messages.PoseWithCovarianceStamped,
    "tf2_msgs/msg/TFMessage": messages.TFMessage,
    "nav_msgs/msg/Odometry": messages.Odometry,
    "nav_msgs/msg/Path": messages.Path,
    "nav_msgs/msg/OccupancyGrid": messages.OccupancyGrid,
    "diagnostic_msgs/msg/DiagnosticArray": messages.DiagnosticArray,
}
TO_14 = "nav_msgs/Path path\nuint8 max_cost\nbool consider_unknown_as_obstacle\n"
TO_15 = (
    TO_14
    + "string layer_name\nstring footprint\nbool stop_at_first_collision\nfloat64 max_lookahead_distance\n"
)
REQUESTS = {"1.3": "nav_msgs/Path path\n", "1.4": TO_14, "1.5": TO_15}
FROM_13 = "bool is_valid\nint32[] invalid_pose_indices\n"
SERVICES = [
    (messages.TriggerRequest, "uint8 structure_needs_at_least_one_member\n"),
    (messages.TriggerResponse, "bool success\nstring message\n"),
    *((messages.REQUESTS[version], fields) for version, fields in REQUESTS.items()),
    (messages.RESPONSES["1.3"], FROM_13),
    (messages.RESPONSES["1.5"], "bool success\n" + FROM_13),
]


def filled(kind, draw):
    """A message of the class with random contents; lists have up to three entries."""
    return kind(**{part.name: _value(part.type, draw) for part in dataclasses.fields(kind)})


def _value(kind, draw):
    if dataclasses.is_dataclass(kind):
        return filled(kind, draw)
    if kind is bool:
        return draw.random() < 0.5
    if kind is str:
        return "".join(draw.choices("abcäß/_ ", k=draw.randrange(9)))
    length, inner = _length_and_inner(kind, draw)
    if inner is not None:
        return [_value(inner, draw) for _ in range(length)]
    name = kind.__metadata__[0]
    if name.startswith("float"):
        return draw.choice([0.0, -1.5, 0.25, 1024.0])
    return draw.randrange(0, 100)


def _length_and_inner(kind, draw):
    for annotation in getattr(kind, "__metadata__", ()):
        if hasattr(annotation, "subtype"):
            return getattr(annotation, "length", draw.randrange(4)), annotation.subtype
    return 0, None


def same(ours, theirs):
    """Whether both have the same fields with the same contents."""
    if dataclasses.is_dataclass(ours):
        names = [part.name for part in dataclasses.fields(ours)]
        theirs_too = [part.name for part in dataclasses.fields(theirs) if part.name[0].islower()]
        return names == theirs_too and all(same(getattr(ours, k), getattr(theirs, k)) for k in names)
    if isinstance(ours, list):
        return len(ours) == len(theirs) and all(same(a, b) for a, b in zip(ours, theirs, strict=True))
    return ours == theirs


def unpadded(data):
    return bytes(data).rstrip(b"\0")


def agree(store, message, name):
    ours = message.serialize()
    read = store.deserialize_cdr(ours, name)
    assert same(message, read)
    theirs = bytes(store.serialize_cdr(read, name))
    assert unpadded(theirs) == unpadded(ours)
    assert type(message).deserialize(theirs) == message


@pytest.fixture(scope="module")
def store():
    return get_typestore(Stores.ROS2_JAZZY)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("name", MESSAGES)
def test_topics_have_the_layout_of_ros(store, name, seed):
    agree(store, filled(MESSAGES[name], random.Random(seed)), name)


@pytest.mark.parametrize("name", MESSAGES)
def test_topics_have_the_name_of_their_ros_type_on_the_wire(name):
    package, kind, short = name.split("/")
    assert MESSAGES[name].__idl_typename__ == f"{package}::{kind}::dds_::{short}_"


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(("kind", "fields"), SERVICES, ids=lambda part: getattr(part, "__name__", ""))
def test_services_have_the_layout_of_ros_after_the_identity(kind, fields, seed):
    store = get_typestore(Stores.ROS2_JAZZY)
    store.register(get_types_from_msg(f"uint64 guid\nint64 seq\n{fields}", f"checked/msg/{kind.__name__}"))
    agree(store, filled(kind, random.Random(seed)), f"checked/msg/{kind.__name__}")


@pytest.mark.parametrize("version", REQUESTS)
def test_the_type_hash_tells_the_versions_of_nav2_apart(version):
    store = get_typestore(Stores.ROS2_JAZZY)
    store.register(get_types_from_msg(REQUESTS[version], "nav2_msgs/msg/IsPathValid_Request"))
    store.fielddefs["nav2_msgs/srv/IsPathValid_Request"] = store.fielddefs[
        "nav2_msgs/msg/IsPathValid_Request"
    ]
    assert messages.TYPE_HASHES[store.hash_rihs01("nav2_msgs/srv/IsPathValid_Request")] == version


@pytest.mark.parametrize("seed", range(30))
@pytest.mark.parametrize("version", REQUESTS)
def test_the_shape_of_a_request_is_told_from_its_bytes(version, seed):
    request = filled(messages.REQUESTS[version], random.Random(seed))
    data = request.serialize()
    assert messages.shape_of(data) == version
    padded = data + b"\0" * (-len(data) % 4)
    assert messages.shape_of(padded) == version


@pytest.mark.parametrize("seed", range(30))
def test_a_request_cut_within_its_path_has_no_shape(seed):
    data = filled(messages.REQUESTS["1.5"], random.Random(seed)).serialize()
    path_end = len(messages.REQUESTS["1.3"](path=messages.REQUESTS["1.5"].deserialize(data).path).serialize())
    for end in range(path_end):
        assert messages.shape_of(data[:end]) is None


@pytest.mark.parametrize("seconds", [0.0, 1.5, 1_700_000_000.25, 12.999999999])
def test_times_survive_the_change_of_units(seconds):
    assert messages.seconds_of(messages.make_stamp(seconds)) == pytest.approx(seconds, abs=1e-6)
