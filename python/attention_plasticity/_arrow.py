"""The Arrow libraries that the package runs with: those of the installed pyarrow."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

# The major version is part of the names of its libraries, so only one fits.
MAJOR = 22


def check_pyarrow() -> None:
    """Raises ImportError, in plain words, when pyarrow is missing or of another major version."""
    fix = f"pip install 'pyarrow>={MAJOR},<{MAJOR + 1}'"
    try:
        installed = version("pyarrow")
    except PackageNotFoundError:
        raise ImportError(f"attention-plasticity needs pyarrow {MAJOR}, which is not installed: {fix}") from None
    if installed.split(".")[0] != str(MAJOR):
        raise ImportError(
            f"attention-plasticity was built for pyarrow {MAJOR}, and pyarrow {installed} is installed: {fix}"
        )


def libraries_elsewhere() -> Path | None:
    """The folder of pyarrow where that is not beside this package, which is where the linker looks; otherwise None."""
    if (Path(__file__).parents[1] / "pyarrow").is_dir():
        return None
    found = find_spec("pyarrow")
    return Path(found.origin).parent if found is not None and found.origin else None


def load_libraries() -> None:
    """Loads the libraries of a pyarrow that is elsewhere, so that the linker need not look for them."""
    if libraries_elsewhere() is not None:
        import pyarrow.parquet  # noqa: F401
