"""What capture needs beside the package itself."""

from __future__ import annotations

import importlib

from .._errors import ConfigError


def check_installed() -> None:
    """Raises ConfigError when torch or transformers is missing or too old."""
    for name in ("torch", "transformers"):
        try:
            module = importlib.import_module(name)
        except ImportError as error:
            raise ConfigError(
                f"capture runs the model itself and needs {name}: pip install 'attention-plasticity[capture]' ({error})"
            ) from error
        if name == "transformers" and int(module.__version__.split(".")[0]) < 5:
            raise ConfigError(
                f"capture needs transformers 5 or newer, this is {module.__version__}: "
                "pip install --upgrade 'attention-plasticity[capture]'"
            )
