"""The program, which comes with the package."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import NoReturn

from ._arrow import check_pyarrow, libraries_elsewhere
from ._certificates import add_ca_file


def program() -> Path:
    """The path of the program `attention-plasticity`."""
    return Path(__file__).parent / "bin" / "attention-plasticity"


def main() -> NoReturn:
    """Becomes the program: signals, exit code and output are its own."""
    try:
        check_pyarrow()
    except ImportError as error:
        sys.exit(f"attention-plasticity: {error}")
    environment = dict(os.environ)
    add_ca_file(environment)
    libraries = libraries_elsewhere()
    if libraries is not None:
        before = environment.get("LD_LIBRARY_PATH")
        environment["LD_LIBRARY_PATH"] = f"{libraries}:{before}" if before else str(libraries)
    # The program becomes this Python again for the commands that run a model.
    environment["ATTENTION_PLASTICITY_PYTHON"] = sys.executable
    os.execve(program(), ["attention-plasticity", *sys.argv[1:]], environment)
