"""`replan ros`: a scheduler that Nav2 asks whether its path still holds (extra `ros`)."""

from __future__ import annotations

import signal
import threading
from pathlib import Path
from typing import Annotated, Literal

import typer

from replan.commands import PlainAnswer
from replan.commands.options import SetOption
from replan.errors import InputError
from replan.schedule.registry import parse_parameters
from replan.typing import Execution


def serve(
    setting: Annotated[Path, typer.Argument(help='A TOML file with world = "map".')],
    rule: Annotated[str | None, typer.Option(help="The update rule; else that of [scheduler].")] = None,
    assignments: SetOption = None,
    execution: Annotated[Execution | None, typer.Option(help="Execution; else that of [scheduler].")] = None,
    nav2: Annotated[
        Literal["1.3", "1.4", "1.5"], typer.Option(help="Version of Nav2; 1.3 for earlier ones too.")
    ] = "1.3",
    service: Annotated[str, typer.Option(help="Service to offer.")] = "/replan/is_path_valid",
    planner: Annotated[str, typer.Option(help="The planner's own check; '': none.")] = "/is_path_valid",
    plan_topic: Annotated[str, typer.Option(help="Topic of paths.")] = "/plan",
    map_topic: Annotated[str, typer.Option(help="Topic of the map, in place of the setting's file.")] = "",
    costmap_topic: Annotated[
        str, typer.Option(help="Topic of the local costmap; '': none.")
    ] = "/local_costmap/costmap",
    pose_from: Annotated[
        Literal["pose", "tf", "odometry"], typer.Option(help="Source of the pose.")
    ] = "pose",
    pose_topic: Annotated[str, typer.Option(help="Topic of poses with covariance.")] = "/amcl_pose",
    odometry_topic: Annotated[str, typer.Option(help="Topic of odometry.")] = "/odom",
    map_frame: Annotated[str, typer.Option(help="Frame of map and paths.")] = "map",
    base_frame: Annotated[str, typer.Option(help="Frame of the robot, for tf.")] = "base_link",
    patience: Annotated[float, typer.Option(help="Seconds until 'replan' is said again.")] = 5.0,
    decision_limit: Annotated[float, typer.Option(help="Seconds for a decision.")] = 0.05,
    planner_limit: Annotated[float, typer.Option(help="Seconds for the planner's own check.")] = 0.05,
    snapshot: Annotated[Path | None, typer.Option(help="Folder to go on from after a restart.")] = None,
    domain: Annotated[int | None, typer.Option(help="DDS domain; else ROS_DOMAIN_ID.")] = None,
    localhost: Annotated[bool, typer.Option("--localhost", help="Discover on this machine only.")] = False,
    node_name: Annotated[str | None, typer.Option(help="Show as a node of this name.")] = None,
    distro: Annotated[
        Literal["humble", "jazzy"] | None, typer.Option(help="ROS distribution, with --node-name.")
    ] = None,
    use_sim_time: Annotated[bool, typer.Option("--use-sim-time", help="Take the time from /clock.")] = False,
    log: Annotated[Path | None, typer.Option(help="Write a robot log for Foxglove, FILE.mcap.")] = None,
) -> PlainAnswer:
    """Answer Nav2's IsPathValid with "no" when an update is due; stop with Ctrl-C."""
    if (node_name is None) != (distro is None):
        raise InputError("--node-name goes with --distro humble or --distro jazzy")
    from replan.robots.ros2.scheduler_service import SchedulerReport, SchedulerService, load_scheduler

    scheduler = load_scheduler(
        setting,
        rule=rule,
        parameters=parse_parameters(assignments or []),
        execution=execution,
        patience=patience,
        read_map=not map_topic,
    )
    from replan.robots.ros2.dds import Bus
    from replan.robots.ros2.drive_log import DriveLog
    from replan.robots.ros2.node import Names, Ros2Scheduler

    logs: list[DriveLog] = []

    def make_service(publish, clock) -> SchedulerService:
        if log is not None:
            logs.append(DriveLog(log, scheduler, clock))

        def publish_all(report: SchedulerReport) -> None:
            publish(report)
            for each in logs:
                each.record(report)

        return SchedulerService(
            scheduler,
            decision_limit=decision_limit,
            planner_limit=planner_limit,
            snapshot=snapshot,
            publish=publish_all,
            clock=clock,
        )

    names = Names(
        service=service,
        planner=planner,
        plan=plan_topic,
        map=map_topic,
        costmap=costmap_topic,
        pose=pose_topic,
        odometry=odometry_topic,
        pose_from=pose_from,  # pyright: ignore[reportArgumentType]
        map_frame=map_frame,
        base_frame=base_frame,
    )
    bus = Bus(domain, localhost=localhost or None)
    robot = Ros2Scheduler(
        bus,
        make_service,
        names=names,
        nav2=nav2,  # pyright: ignore[reportArgumentType]
        sim_time=use_sim_time,
        node=None if node_name is None else (node_name, distro),  # pyright: ignore[reportArgumentType]
        log=_say,
    )
    resumed = " (going on with a saved mission)" if robot.service.resumed else ""
    _say(f"answering {service} for Nav2 {nav2}{resumed}")
    _until_stopped(robot, bus)
    for each in logs:
        each.close()
    calls, refused = robot.service.calls, robot.refused
    counts = {"calls": calls, "refused": refused, "resumed": robot.service.resumed}
    return PlainAnswer(counts, [f"{calls} calls answered, {refused} refused"])


def _until_stopped(robot, bus) -> None:
    stop = threading.Event()
    for name in (signal.SIGINT, signal.SIGTERM):
        signal.signal(name, lambda *_: stop.set())
    try:
        robot.run(stop)
        robot.service.settle()
    finally:
        bus.close()


def _say(text: str) -> None:
    typer.echo(f"replan ros: {text}", err=True)
