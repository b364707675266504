"""Hands the KV groups of a run to a Ray cluster."""

from __future__ import annotations

import hashlib
import itertools
import logging
import os
import socket
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from .._errors import ConfigError, NetworkError, make_error

if TYPE_CHECKING:
    from .. import _runs

# How often a group is tried again when its process or its machine dies, or its store does not answer. Ray counts a
# machine that is taken away as well.
_RETRIES = 10
# What a worker's process needs beside the vectors: the interpreter, Ray and the libraries.
_PROCESS_BYTES = 200 << 20
# Seconds between looks at whether the run was stopped.
_LOOK = 0.1


def _ray() -> Any:
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # nobody is told of what runs here
    try:
        import ray
    except ImportError as error:
        raise ConfigError(f"the engine ray needs Ray: pip install 'attention-plasticity[ray]' ({error})") from error
    return ray


def _check_reachable(address: str) -> None:
    """Ray itself tries for minutes before it says that nobody listens."""
    host, colon, port = address.removeprefix("ray://").rpartition(":")
    if not colon or not port.isdigit():
        return  # a name such as auto
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=10).close()
    except OSError as error:
        raise _no_cluster(address, error) from error


def _connect(ray: Any, address: str | None) -> None:
    address = address or os.environ.get("RAY_ADDRESS") or None
    if address is not None:
        _check_reachable(address)
    try:
        ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR, include_dashboard=False)
    except ValueError:
        # A running cluster decides for itself whether it has a dashboard.
        _connect_to_running(ray, address)
    except (ConnectionError, RuntimeError, OSError) as error:
        raise _no_cluster(address, error) from error


def _connect_to_running(ray: Any, address: str | None) -> None:
    try:
        ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR)
    except (ConnectionError, RuntimeError, OSError, ValueError) as error:
        raise _no_cluster(address, error) from error


def _no_cluster(address: str | None, error: Exception) -> NetworkError:
    where = f" at `address: {address}`" if address else ""
    reason = str(error).strip().splitlines()
    return NetworkError(
        f"there is no Ray cluster{where} that can be used: {reason[0] if reason else type(error).__name__}; "
        "`ray start --head` starts one"
    )


class StoreAwayError(Exception):
    """A worker's store does not answer: Ray tries again. Its arguments are those of `make_error`."""


def _remote_function(ray: Any) -> Any:
    """What a worker calls. It is sent by value, so that a node without this package can say so."""

    def measure(run: str, manifest: list[Any], heads: list[tuple[int, int, int]]) -> tuple[Any, ...]:
        import socket

        import ray

        node = f"{socket.gethostname()} (node {ray.get_runtime_context().get_node_id()[:8]})"
        try:
            from attention_plasticity import Error, NetworkError
            from attention_plasticity._ray.engine import StoreAwayError
            from attention_plasticity._ray.worker import measure_group
        except ImportError as error:
            return ("error", 2, f"node {node}: attention_plasticity is not installed there, or an older version ({error})", "")
        try:
            return ("measured", measure_group(run, lambda: ray.get(manifest[0]), heads))
        except NetworkError as error:
            raise StoreAwayError(error.exit_code, f"node {node}: {error.message}", error.file) from None
        except Error as error:
            return ("error", error.exit_code, f"node {node}: {error.message}", error.file)

    return ray.remote(measure)


class RayEngine:
    """A cluster that measures KV groups, as `engine` of a run. It stays connected until `close`."""

    def __init__(self, address: str | None = None) -> None:
        self._ray = _ray()
        self._is_ours = not self._ray.is_initialized()
        if self._is_ours:
            _connect(self._ray, address)
        self._function = _remote_function(self._ray)

    def close(self) -> None:
        """Leaves the cluster, unless the caller had been connected before."""
        if self._is_ours:
            self._ray.shutdown()

    def __enter__(self) -> RayEngine:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def size(self) -> tuple[int, int]:
        """Nodes and CPUs that are there now."""
        nodes = [node["Resources"] for node in self._ray.nodes() if node["Alive"]]
        return len(nodes), int(sum(node.get("CPU", 0) for node in nodes))

    def __call__(self, work: _runs.EngineWork, receiver: _runs.EngineReceiver) -> None:
        """Measures the KV groups of a run."""
        _Measuring(self._ray, self._function, work, receiver).run(self.size)


class _Measuring:
    """One run."""

    def __init__(self, ray: Any, function: Any, work: _runs.EngineWork, receiver: _runs.EngineReceiver) -> None:
        self._ray = ray
        self._function = function
        self._work = work
        self._receiver = receiver
        self._pending: dict[Any, int] = {}  # groups by their future result

    def run(self, size: Any) -> None:
        nodes, cpus = size()
        self._receiver.note(
            f"Ray: {nodes} node{'' if nodes == 1 else 's'} with {cpus} CPUs, {len(self._work.groups)} tasks"
        )
        self._warn_of_memory()
        try:
            submitted = self._submitted()
            while True:
                # More nodes may have come. Ray queues what is beyond its CPUs.
                most = self._work.most_at_a_time or max(64, 4 * size()[1])
                for _ in itertools.islice(submitted, max(0, most - len(self._pending))):
                    pass
                if not self._pending or self._receiver.stopped():
                    return
                self._take_ready()
        finally:
            for ref in self._pending:
                self._ray.cancel(ref)

    def _submitted(self) -> Iterator[None]:
        manifest = self._work.manifest.encode()
        run = hashlib.sha256(manifest).hexdigest()
        shared = self._ray.put(manifest)
        for number, (heads, size) in enumerate(self._work.groups):
            task = self._function.options(
                num_cpus=1,
                memory=size + _PROCESS_BYTES,
                max_retries=_RETRIES,
                retry_exceptions=[StoreAwayError],
                name=f"layer {heads[0][0]} k_head {heads[0][2]}",
            )
            # In a list the manifest is not fetched unless the worker asks for it.
            self._pending[task.remote(run, [shared], heads)] = number
            yield

    def _take_ready(self) -> None:
        ready, _ = self._ray.wait(list(self._pending), num_returns=1, timeout=_LOOK)
        for ref in ready:
            number = self._pending.pop(ref)
            try:
                answer = self._ray.get(ref)
            except self._ray.exceptions.RayTaskError as error:
                if isinstance(error.cause, StoreAwayError):
                    raise make_error(*error.cause.args) from None
                self._receiver.failed(number, f"its worker raised {_lines(error)[-1]}")
                continue
            except self._ray.exceptions.RayError as error:
                self._receiver.failed(number, f"Ray gave it up after {_RETRIES} repetitions: {_lines(error)[0]}")
                continue
            if answer[0] == "error":
                raise make_error(*answer[1:])
            self._receiver.measured(number, answer[1])

    def _warn_of_memory(self) -> None:
        largest = max(size for _, size in self._work.groups) + _PROCESS_BYTES
        most = max((node["Resources"].get("memory", 0) for node in self._ray.nodes() if node["Alive"]), default=0)
        if largest > most:
            self._receiver.warning(
                f"a task needs {largest / 2**30:.1f} GiB of memory, and the largest node offers {most / 2**30:.1f}: "
                "it waits until a larger node comes"
            )


def _lines(error: Exception) -> list[str]:
    """What it says, at least one line."""
    return [line.strip() for line in str(error).splitlines() if line.strip()] or [type(error).__name__]
