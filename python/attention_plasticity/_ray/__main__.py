"""The Ray engine of the program, which reads and writes as its cli/engine_process.h says:
python -m attention_plasticity._ray [ADDRESS].
"""

from __future__ import annotations

import json
import os
import queue
import sys
import threading
from typing import Any, BinaryIO

from .._errors import Error
from .engine import RayEngine


class _Work:
    """What the engine asks of a run's work: that of `_runs.EngineWork`."""

    def __init__(self, request: dict[str, Any], manifest: bytes) -> None:
        self.manifest = manifest.decode()
        self.groups = [([tuple(head) for head in group["heads"]], group["memory"]) for group in request["groups"]]
        self.most_at_a_time = request["most_at_a_time"]


class _Program:
    """The program at the other end, as a receiver of KV groups."""

    def __init__(self, source: BinaryIO, target: BinaryIO) -> None:
        self._source = source
        self._target = target
        self._stop = threading.Event()
        self.requests: queue.Queue[_Work | None] = queue.Queue()
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        for line in self._source:
            request = json.loads(line)
            if request["do"] == "stop":
                self._stop.set()
            else:
                self._stop.clear()
                self.requests.put(_Work(request, self._source.read(request["bytes"])))
        self._stop.set()  # the program is gone
        self.requests.put(None)

    def tell(self, told: str, data: bytes | None = None, **what: Any) -> None:
        if data is not None:
            what["bytes"] = len(data)
        self._target.write(json.dumps({"told": told, **what}).encode() + b"\n" + (data or b""))
        self._target.flush()

    def measured(self, group: int, data: bytes) -> None:
        self.tell("measured", data, group=group)

    def failed(self, group: int, why: str) -> None:
        self.tell("failed", group=group, line=why)

    def note(self, line: str) -> None:
        self.tell("note", line=line)

    def warning(self, line: str) -> None:
        self.tell("warning", line=line)

    def stopped(self) -> bool:
        return self._stop.is_set()

    def error(self, error: Error) -> None:
        self.tell("error", exit_code=error.exit_code, line=error.message, file=error.file)


def main(words: list[str]) -> None:
    """Measures runs until the program closes its end."""
    # Others may print to standard output, which belongs to the program.
    target = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    program = _Program(sys.stdin.buffer, target)
    try:
        engine = RayEngine(words[0] if words else None)
    except Error as error:
        program.error(error)
        return
    with engine:
        program.tell("ready")
        while (work := program.requests.get()) is not None:
            try:
                engine(work, program)
            except Error as error:
                program.error(error)
            else:
                program.tell("done")


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except BrokenPipeError:
        os._exit(0)  # the program is gone, and reads no more
