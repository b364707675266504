"""Attention plasticity of every head of a transformer, from dumps of its queries and keys.

    import attention_plasticity as ap

    result = ap.analyze("out/dump")        # a folder, a dataset of the Hub, a configuration, or arrays
    result.heads                           # pandas DataFrame by (layer, q_head)
    result.save("out/run"); ap.load("out/run")
    dump = ap.capture(model, tokenizer, texts)  # of a model of transformers; ap.study does it all

The numbers are those of the program `attention-plasticity`, which comes with the package. Options are keyword arguments
with the names and defaults of its configuration; `ap.options()` lists them, `ap.tables()` describes the results.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._arrow import check_pyarrow, load_libraries

check_pyarrow()
load_libraries()

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
from ._study import Plan, Validation, plan, read_plan, validate  # noqa: E402
from ._version import __version__, version  # noqa: E402

if TYPE_CHECKING:
    from ._transformers.capturing import Dump, capture
    from ._transformers.evaluating import Evaluation, evaluate_plan
    from ._transformers.models import load_model
    from ._transformers.studying import study

# What runs a model is imported when it is first asked for: the rest works without torch, and starts faster.
_RUN_A_MODEL = {
    "Dump": "capturing",
    "Evaluation": "evaluating",
    "capture": "capturing",
    "evaluate_plan": "evaluating",
    "load_model": "models",
    "study": "studying",
}


def __getattr__(name: str) -> Any:
    if name not in _RUN_A_MODEL:
        raise AttributeError(f"module {__name__} has no attribute {name}")
    from importlib import import_module

    value = getattr(import_module(f"._transformers.{_RUN_A_MODEL[name]}", __name__), name)
    globals()[name] = value
    return value


__all__ = [
    "AccessError",
    "Comparison",
    "ConfigError",
    "Dump",
    "Error",
    "Evaluation",
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
    "capture",
    "compare",
    "evaluate_plan",
    "load",
    "load_model",
    "merge",
    "options",
    "plan",
    "read_plan",
    "series",
    "study",
    "tables",
    "validate",
    "version",
]
