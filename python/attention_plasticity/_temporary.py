"""Folders of this process, which users never named."""

from __future__ import annotations

import os
import shutil
import tempfile
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_PREFIX = "attention-plasticity-"
_folders: set[str] = set()


def temporary_folder(owner: object) -> Path:
    """A folder that lives as long as its owner in this process; the copies of a forked process leave it alone."""
    folder = tempfile.mkdtemp(prefix=_PREFIX)
    _folders.add(folder)
    weakref.finalize(owner, _remove_own, folder, os.getpid())
    return Path(folder)


@contextmanager
def passing_folder() -> Iterator[Path]:
    """A folder for as long as a block."""
    with tempfile.TemporaryDirectory(prefix=_PREFIX) as folder:
        _folders.add(folder)
        try:
            yield Path(folder)
        finally:
            _folders.discard(folder)


def without_own_folders(text: str) -> str:
    """A text for users, where files in these folders are told by their names alone: nobody asked for the folders."""
    for folder in list(_folders):
        text = text.replace(f"{folder}{os.sep}", "")
    return text


def is_own(path: Path) -> bool:
    """Whether a file or folder lies in one of these folders."""
    return any(str(folder) in _folders for folder in (path, *path.parents))


def _remove_own(folder: str, maker: int) -> None:
    _folders.discard(folder)
    if os.getpid() == maker:
        shutil.rmtree(folder, ignore_errors=True)
