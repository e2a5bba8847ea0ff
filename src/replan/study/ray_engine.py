"""The `ray` engine: a Ray cluster that runs already, or one started here and stopped at the end.

Ray itself tries a task again where its worker or node is lost. Every node needs the same replan installed.
"""

from __future__ import annotations

import logging
import os
import secrets
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from replan.errors import InputError
from replan.study.local import ENVIRONMENT, interrupts_handled_by
from replan.study.work import Batch, Outcome, compute_elsewhere

OBJECT_STORE_BYTES = 256 * 2**20  # of a cluster started here; batches under way need a few megabytes each
RETRIES = 3
PROBE_SECONDS = 5.0  # for a cluster's port to answer
REFUSED = "something answers there, so its token (~/.ray/auth_token, RAY_AUTH_MODE) or its Ray may differ"
TOKENS = {"RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH"}
ENDED = "Ray has ended the run (was the cluster lost?); what was stored is kept, go on with --resume"
WATCHER = "import sys; sys.stdin.buffer.read() or sys.exit(f'replan: {sys.argv[1]}')"


class RayEngine:
    """Batches as Ray tasks of one core each."""

    name = "ray"

    def __init__(
        self, *, address: str | None = None, workers: int | None = None, working_dir: str | None = None
    ) -> None:
        """Connect to `address` ("auto": this machine's cluster), or start a cluster of `workers` cores.

        The files of `working_dir` are sent to the workers, so that rules can import them.
        """
        if workers is not None and workers < 1:
            raise InputError(f"--workers must be at least 1, not {workers}")
        if address is not None:
            _require_answer(address)
        self._while_open = ExitStack()
        self._while_open.enter_context(_told_of_a_sudden_end())
        self._while_open.enter_context(_only_on_standard_error())
        self._while_open.enter_context(_authentication(address))
        try:
            self._ray = ray = _import_ray()
            _connect(ray, address, workers, working_dir)
        except BaseException:
            self._while_open.close()
            raise
        cores = int(ray.cluster_resources().get("CPU", 1))
        self.workers = max(min(cores, workers or cores), 1)
        self.slots = self.workers if address and workers else 2 * self.workers
        self._task = ray.remote(num_cpus=1, max_retries=RETRIES)(compute_elsewhere)

    def submit(self, batch: Batch) -> Any:
        """Start a batch."""
        with _while_the_cluster_lasts():
            return self._task.remote(batch)

    def wait(self, handles: Sequence[Any], timeout: float) -> list[tuple[Any, list[Outcome] | None]]:
        """The batches that are finished by now."""
        with _while_the_cluster_lasts():
            done, _ = self._ray.wait(list(handles), num_returns=1, timeout=timeout)
            return [(reference, self._outcomes(reference)) for reference in done]

    def _outcomes(self, reference: Any) -> list[Outcome] | None:
        errors = self._ray.exceptions
        try:
            return self._ray.get(reference)
        except errors.RayTaskError as error:  # what compute_batch does not make an outcome of
            raise InputError(f"a Ray worker cannot compute cells: {error.cause!s}") from None
        except (errors.RuntimeEnvSetupError, errors.RaySystemError) as error:
            raise InputError(f"Ray cannot start workers: {' '.join(str(error).split())[:300]}") from None
        except errors.RayError:  # the worker or its node was lost more often than Ray retries
            return None

    def close(self) -> None:
        """Disconnect; a cluster started here ends."""
        self._ray.shutdown()
        self._while_open.close()


def _require_answer(address: str) -> None:
    """Ray itself would try for ever, and hear no signal while it does."""
    if address == "auto":
        return
    try:
        parts = urlsplit(f"//{address.removeprefix('ray://')}")
        host, port = parts.hostname, parts.port
    except ValueError:
        host, port = None, None
    if host is None or port is None:
        raise InputError(f"--address must be auto or HOST:PORT, not {address!r}")
    try:
        socket.create_connection((host, port), timeout=PROBE_SECONDS).close()
    except OSError as error:
        raise InputError(f"cannot reach the Ray cluster at {address}: {error.strerror or error}") from None


def _connect(ray: Any, address: str | None, workers: int | None, working_dir: str | None) -> None:
    started_here: dict[str, Any] = {
        "num_cpus": workers,
        "object_store_memory": OBJECT_STORE_BYTES,
        "include_dashboard": False,
    }
    try:
        with interrupts_handled_by(signal.SIG_DFL):  # Ray does not come back to Python while it waits
            ray.init(
                address=address or "local",
                log_to_driver=False,
                logging_level=logging.ERROR,
                runtime_env={
                    "env_vars": ENVIRONMENT,
                    **({} if working_dir is None else {"working_dir": working_dir}),
                },
                **({} if address else started_here),
            )
    except (ConnectionError, ValueError, RuntimeError, TimeoutError, ray.exceptions.RayError) as error:
        where, hint = (
            (f"the Ray cluster at {address}", f"; {REFUSED}") if address else ("a Ray cluster here", "")
        )
        raise InputError(f"cannot reach {where}: {' '.join(str(error).split())[:300]}{hint}") from None


@cache
def _token() -> str:
    """Return the token of clusters that this process starts; Ray keeps the first that it was given."""
    return secrets.token_hex(32)


@contextmanager
def _authentication(address: str | None) -> Iterator[None]:
    """Present this user's token to a cluster; give a cluster started here one that is written nowhere.

    Ray itself would write one to the user's folder, and every later `ray start --head` would demand
    it. A token that is there is presented only where RAY_AUTH_MODE says so, or to the address "auto".
    """
    given = {}
    if "RAY_AUTH_MODE" not in os.environ:
        if address is None:
            given = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": _token()}
        elif TOKENS & os.environ.keys() or (Path.home() / ".ray" / "auth_token").exists():
            given = {"RAY_AUTH_MODE": "token"}
    os.environ.update(given)
    try:
        yield
    finally:
        for name in given:
            os.environ.pop(name, None)


@contextmanager
def _only_on_standard_error() -> Iterator[None]:
    """Send what Ray prints, as of lost nodes, to standard error; standard output is for answers."""
    sys.stdout.flush()
    kept, shown = os.dup(1), sys.stdout
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    try:
        yield
    finally:
        sys.stdout = shown
        os.dup2(kept, 1)
        os.close(kept)


@contextmanager
def _while_the_cluster_lasts() -> Iterator[None]:
    """Raise `InputError` in place of the OSError with which Ray reports that the head is lost."""
    try:
        yield
    except OSError:
        raise InputError(ENDED) from None


@contextmanager
def _told_of_a_sudden_end() -> Iterator[None]:
    """Start a process that prints a line if Ray ends this one, as it does where the head is lost."""
    watched, alive = os.pipe()
    watcher = subprocess.Popen(
        [sys.executable, "-c", WATCHER, ENDED],
        stdin=watched,
        stdout=subprocess.DEVNULL,
        start_new_session=True,
    )
    os.close(watched)
    try:
        yield
    finally:
        os.write(alive, b"done")
        os.close(alive)
        watcher.wait()


def _import_ray() -> Any:
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    try:
        import ray
        import ray.exceptions
    except ImportError:
        raise InputError("--engine ray needs Ray: pip install -e '.[ray]' in the checkout") from None
    return ray
