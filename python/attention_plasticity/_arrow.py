"""The Arrow libraries that the package runs with: those of the installed pyarrow."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version

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
