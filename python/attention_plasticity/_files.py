"""Files of text that appear whole."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from ._errors import OutputError


def write_text(path: Path, text: str) -> None:
    """Writes a file, or raises OutputError and leaves what was there. Folders above it are made."""
    temporary = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.exists() and not path.is_file():
            # A pipe or a device, such as /dev/stdout, cannot be replaced.
            path.write_text(text, encoding="utf-8")
            return
        handle, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
        with open(handle, "w", encoding="utf-8", newline="") as file:
            file.write(text)
        # mkstemp makes files for their owner alone.
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(temporary, 0o666 & ~mask)
        os.replace(temporary, path)
    except OSError as error:
        if temporary is not None and os.path.exists(temporary):
            os.unlink(temporary)
        raise OutputError(f"cannot be written: {error.strerror}", str(path)) from error
