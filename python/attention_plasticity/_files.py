"""Files of text that appear whole."""

from __future__ import annotations

from pathlib import Path

from ._errors import OutputError


def write_text(path: Path, text: str) -> None:
    """Writes a file, or raises OutputError and leaves what was there. Folders above it are made."""
    from . import _runs

    try:
        if path.exists() and not path.is_file() and not path.is_dir():
            # A pipe or a device, such as /dev/stdout, cannot be replaced.
            path.write_text(text, encoding="utf-8")
            return
    except OSError as error:
        raise OutputError(f"cannot be written: {error.strerror}", str(path)) from error
    _runs.write_file(path, text.encode("utf-8"))
