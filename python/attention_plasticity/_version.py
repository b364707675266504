from __future__ import annotations

from . import _core


def version() -> dict[str, str]:
    """Version, commit, compiler and instruction set of the library."""
    return _core.program_version()


__version__: str = version()["version"]
