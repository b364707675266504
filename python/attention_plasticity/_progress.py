"""What a run tells while it works: a bar, warnings, and notes."""

from __future__ import annotations

import logging
import sys
import warnings
from types import TracebackType
from typing import Any

from ._errors import PlasticityWarning
from ._printable import printable_text
from ._temporary import without_own_folders

_log = logging.getLogger("attention_plasticity")


def _in_notebook() -> bool:
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return type(shell).__name__ == "ZMQInteractiveShell"


def _caller() -> int:
    """How many frames up the first one outside this package is, for warnings."""
    level = 2
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__package__") == __package__:
        frame = frame.f_back
        level += 1
    return level - 1


def warn(line: str) -> None:
    """Tells of what may make results wrong."""
    warnings.warn(printable_text(without_own_folders(line)), PlasticityWarning, stacklevel=_caller())


class Progress:
    """Listens to a run. `wanted` None: a bar in a terminal and in a notebook."""

    def __init__(self, wanted: bool | None) -> None:
        # A process may have no standard error, and then there is no place for a bar.
        terminal = sys.stderr is not None and (wanted or sys.stderr.isatty())
        self._wanted = wanted is not False and (_in_notebook() or terminal)
        self._bars: dict[str, Any] = {}

    def __enter__(self) -> Progress:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for bar in self._bars.values():
            bar.close()

    def __call__(self, kind: str, *what: Any) -> None:
        if kind == "warning":
            warn(what[0])
        elif kind == "note":
            _log.info("%s", printable_text(what[0]))
        elif self._wanted and kind == "step":
            self._show(what[0], what[1], what[2], unit=what[3])
        elif self._wanted and kind == "head":
            self._show("heads", what[2], what[3], unit="head")
        elif self._wanted and kind == "download":
            self._show("download", what[2], what[3], unit="B", unit_scale=True, unit_divisor=1024, initial=what[4])

    def _show(self, name: str, now: int, total: int, **look: Any) -> None:
        bar = self._bars.get(name)
        if bar is None:
            from tqdm.auto import tqdm

            bar = self._bars[name] = tqdm(total=total, desc=name, disable=False, **look)
        bar.total = total
        bar.update(now - bar.n)
