"""Folders that live as long as an object."""

from __future__ import annotations

import os
import shutil
import tempfile
import weakref
from pathlib import Path


def temporary_folder(owner: object) -> Path:
    """A folder that lives as long as its owner in this process; the copies of a forked process leave it alone."""
    folder = tempfile.mkdtemp(prefix="attention-plasticity-")
    weakref.finalize(owner, _remove_own, folder, os.getpid())
    return Path(folder)


def _remove_own(folder: str, maker: int) -> None:
    if os.getpid() == maker:
        shutil.rmtree(folder, ignore_errors=True)
