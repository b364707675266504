"""Attention plasticity of every head of a transformer, from dumps of its queries and keys.

    import attention_plasticity as ap

    result = ap.analyze("out/dump")        # a folder, a dataset of the Hub, a configuration, or arrays
    result.heads                           # pandas DataFrame by (layer, q_head)
    result.save("out/run"); ap.load("out/run")

The numbers are those of the program `attention-plasticity`, which comes with the package. Options are keyword arguments
with the names and defaults of its configuration; `ap.options()` lists them, `ap.tables()` describes the results.
"""

from __future__ import annotations

from ._arrow import check_pyarrow

check_pyarrow()

from ._analyze import analyze, analyze_head, options, tables  # noqa: E402
from ._compare import Comparison, Series, compare, series  # noqa: E402
from ._core import HeadResult  # noqa: E402
from ._errors import (  # noqa: E402
    AccessError,
    ConfigError,
    Error,
    InputError,
    Interrupted,
    NetworkError,
    OutputError,
    PlasticityWarning,
    UsageError,
)
from ._result import Result, load, merge  # noqa: E402
from ._rows import Rows  # noqa: E402
from ._study import Plan, Validation, plan, validate  # noqa: E402
from ._version import __version__, version  # noqa: E402

__all__ = [
    "AccessError",
    "Comparison",
    "ConfigError",
    "Error",
    "HeadResult",
    "InputError",
    "Interrupted",
    "NetworkError",
    "OutputError",
    "Plan",
    "PlasticityWarning",
    "Result",
    "Rows",
    "Series",
    "UsageError",
    "Validation",
    "__version__",
    "analyze",
    "analyze_head",
    "compare",
    "load",
    "merge",
    "options",
    "plan",
    "series",
    "tables",
    "validate",
    "version",
]
