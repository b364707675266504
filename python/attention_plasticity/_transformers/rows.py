"""The rows that a dump wants, taken where the tensors lie and copied to the memory of the CPU."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from typing import Any, NamedTuple

from .attention import LayerCall, Watcher
from .forward import SeenEnough


class Wanted(NamedTuple):
    """What is captured of a layer of one document: heads and positions, as int64 arrays."""

    q_heads: Any
    k_heads: Any
    q_positions: Any
    k_positions: Any


class TakenLayer(NamedTuple):
    """Rows of one document's layer, (heads, rows, components). `ready` waits until they have arrived."""

    document: int
    layer: int
    queries: Any
    keys: Any
    ready: Callable[[], None]


def _arrived() -> None:
    pass


class RowTaker(Watcher):
    """Takes the wanted rows of the documents of a batch.

    On a CUDA device the rows are gathered there and copied by a stream of their own, so that the model does not wait.
    """

    def __init__(self, wanted: Callable[[int, int], Wanted | None], documents: list[int], layers: set[int]) -> None:
        self._wanted = wanted
        self._documents = documents
        self._left = set(layers)
        self._streams: dict[Any, Any] = {}
        self.taken: list[TakenLayer] = []

    def see(self, call: LayerCall) -> None:
        if call.layer not in self._left:
            return
        for place, document in enumerate(self._documents):
            wanted = self._wanted(document, call.layer)
            if wanted is not None:
                self._take(call, place, document, wanted)
        self._left.discard(call.layer)
        if not self._left:
            raise SeenEnough

    def _take(self, call: LayerCall, place: int, document: int, wanted: Wanted) -> None:
        queries = _gathered(call.query[place], wanted.q_heads, wanted.q_positions)
        keys = _gathered(call.key[place], wanted.k_heads, wanted.k_positions)
        if queries.device.type == "cuda":
            queries, keys, ready = self._copied(queries, keys)
        else:
            queries, keys, ready = queries.cpu(), keys.cpu(), _arrived
        self.taken.append(TakenLayer(document, call.layer, queries, keys, ready))

    def _copied(self, queries: Any, keys: Any) -> tuple[Any, Any, Callable[[], None]]:
        import torch

        device = queries.device
        if device not in self._streams:
            self._streams[device] = torch.cuda.Stream(device)
        stream = self._streams[device]
        stream.wait_stream(torch.cuda.current_stream(device))
        copies = []
        with torch.cuda.stream(stream):
            for rows in (queries, keys):
                copy = torch.empty(rows.shape, dtype=rows.dtype, pin_memory=True)
                copy.copy_(rows, non_blocking=True)
                rows.record_stream(stream)
                copies.append(copy)
            event = torch.cuda.Event()
            event.record(stream)
        return copies[0], copies[1], event.synchronize


def _gathered(vectors: Any, heads: Any, positions: Any) -> Any:
    """The vectors of these heads at these positions, as a tensor of its own, of a type that dumps take."""
    import torch

    def index(numbers: Any) -> Any:
        return torch.from_numpy(numbers).to(vectors.device, non_blocking=True)

    if len(heads) < vectors.shape[0]:
        vectors = vectors.index_select(0, index(heads))
    rows = vectors.index_select(1, index(positions))
    return rows.float() if rows.dtype == torch.float64 else rows


class Handing:
    """Hands taken layers over in a thread of its own, while the model reads the next documents.

    At most `depth` batches wait. What the receiver raises is raised by the next call.
    """

    def __init__(self, receive: Callable[[list[TakenLayer]], None], depth: int = 1) -> None:
        self._receive = receive
        self._waiting: queue.Queue[list[TakenLayer] | None] = queue.Queue(depth)
        self._failure: BaseException | None = None
        self._thread = threading.Thread(target=self._work, daemon=True)
        self._thread.start()

    def put(self, taken: list[TakenLayer]) -> None:
        self._check()
        self._waiting.put(taken)

    def finish(self) -> None:
        """Waits until all is handed over."""
        self.stop()
        self._check()

    def stop(self) -> None:
        """Ends the thread after what waits."""
        if self._thread.is_alive():
            self._waiting.put(None)
            self._thread.join()

    def _work(self) -> None:
        while True:
            taken = self._waiting.get()
            if taken is None:
                return
            if self._failure is not None:
                continue  # so that nobody waits for a place in the queue
            try:
                self._receive(taken)
            except BaseException as error:
                self._failure = error

    def _check(self) -> None:
        if self._failure is not None:
            raise self._failure
