"""From a dump, or arrays, to a result."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

from . import _core
from ._certificates import ca_file
from ._errors import AccessError, ConfigError, InputError, Interrupted
from ._option_values import FIELDS, as_texts, describe, is_utf8
from ._progress import Progress, warn
from ._result import Result
from ._rows import Rows

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._option_types import HeadOptions, Options
    from ._transformers.capturing import Dump

_NO_OUTPUTS = {"The outputs": "analyze() writes no files; use result.save(folder)"}
_NO_DUMP = {
    "The dump": "the queries and keys are arrays, so there is no dump",
    **_NO_OUTPUTS,
}
_ARRAY_FIELDS = {"model_dir", "num_layers", "num_q_heads", "num_k_heads", "layers", "q_heads", "non_finite"}


def options() -> list[dict[str, Any]]:
    """Every option of `analyze`: name, type, help, default (as text; None: null), default_text (for people), group."""
    return [dict(field) for field in FIELDS]


def tables() -> list[dict[str, Any]]:
    """The tables of a result: name, file, meaning, and columns with name, type, meaning, range."""
    return _core.schema()


def analyze(
    source: str | os.PathLike[str] | Mapping[Any, Any] | Dump | None = None,
    *,
    progress: bool | None = None,
    engine: Literal["local", "ray"] = "local",
    address: str | None = None,
    saved_heads: str | os.PathLike[str] | None = None,
    **options: Unpack[Options],
) -> Result:
    """Measures the heads of a dump.

    Args:
        source: a folder with a dump; the name of a dataset of the Hugging Face Hub, as org/name; a configuration,
            FILE.yaml; what `capture` gives; or heads in memory: a mapping from (layer, q_head), or (layer, q_head, k_head),
            to queries and keys, each of them `Rows` or a table with the columns of a dump. None: the options name the dump.
        progress: True or False; None: a bar in a terminal and in a notebook.
        engine: who measures the heads of a dump: this process, or a Ray cluster whose nodes all see the dump.
        address: that of the Ray cluster; None: the one that this process is connected to, else the one of RAY_ADDRESS or
            of this machine, else a new one that ends with the call.
        saved_heads: a folder, for this run alone, in which heads of a dump are saved as they are finished. The same call
            goes on where an earlier one ended, however it did. The folder is yours to remove.
        **options: the options of the configuration, by name. `help(ap.analyze)` lists them.

    Heads that cannot be measured are in `result.failures`, with a warning. Ctrl-C raises `Interrupted`, whose `result`
    holds the heads that were finished. Other threads of Python run meanwhile.

    Raises ConfigError, InputError, AccessError, NetworkError.

    """
    if "kept_heads" in options:
        warn("`kept_heads` is called `saved_heads` now")
        saved_heads = options.pop("kept_heads")
    if engine not in ("local", "ray"):
        raise ConfigError(f"`engine: {engine}` should be local or ray")
    if address is not None and engine != "ray":
        raise ConfigError("`address`: only `engine: ray` has one")
    if hasattr(source, "_analyzed"):  # what `capture` gives
        source, said = source._analyzed()
        options = {**said, **options}
    with Progress(progress) as tell:
        if isinstance(source, Mapping):
            if engine != "local" or saved_heads is not None:
                raise ConfigError("`engine` and `saved_heads` are for dumps; arrays are in this process")
            run, raised = _run_arrays(source, dict(options), tell)
        elif engine == "ray":
            from ._ray.engine import RayEngine

            with RayEngine(address) as cluster:
                run, raised = _run_dump(source, dict(options), tell, saved_heads, cluster)
        else:
            run, raised = _run_dump(source, dict(options), tell, saved_heads)
    if raised is not None:
        if isinstance(raised, KeyboardInterrupt):
            raise Interrupted(Result._of_run(run) if len(run) else None) from raised
        raise raised
    return _checked(run)


analyze.__doc__ = f"{analyze.__doc__}Options:\n\n{describe(_NO_OUTPUTS)}\n"


def _checked(run: Any) -> Result:
    failures = run.failures
    if failures and not len(run):
        layer, q_head, _, file, message = failures[0]
        raise InputError(f"every head failed; the first, layer {layer} q_head {q_head}: {message}", file)
    if failures:
        some = "1 head" if len(failures) == 1 else f"{len(failures)} heads"
        warn(f"{some} of {len(failures) + len(run)} failed; result.failures says why")
    without, reason = run.without_plasticity()
    if without:
        which = "no head has any" if without == len(run) else f"{without} of {len(run)} heads have no"
        warn(f"{which} plasticity: {reason}")
    return Result._of_run(run)


def _run_dump(
    source: str | os.PathLike[str] | None,
    options: dict[str, Any],
    tell: Progress,
    saved_heads: str | os.PathLike[str] | None = None,
    engine: Any = None,
) -> tuple[Any, Any]:
    from . import _runs

    config_file = None
    named: dict[str, Any] = {}
    if source is not None:
        text = os.fsdecode(source)
        if not is_utf8(text):
            raise InputError("the name is not UTF-8, and run.json could not hold it; rename the dump", text)
        if os.path.isdir(text) or re.match(r"[A-Za-z][A-Za-z0-9+.-]*://", text):
            named["dataset_local_root"] = text
        elif text.lower().endswith((".yaml", ".yml")):
            config_file = text
        elif re.fullmatch(r"[\w.-]+/[\w.-]+", text) and not os.path.lexists(text):
            named["dataset_name"] = text
        else:
            raise InputError("there is no such folder, and it is neither FILE.yaml nor a dataset org/name", text)
        for name in ("dataset_local_root", "dataset_name"):
            if named and options.get(name) is not None:
                raise ConfigError(f"`{name}`: the dump is given already")
    elif not any(options.get(name) is not None for name in ("dataset_local_root", "dataset_name")):
        raise ConfigError("analyze() needs a dump: a folder, a dataset of the Hub, a configuration or arrays")
    try:
        texts = as_texts({**named, **options}, without=_NO_OUTPUTS)
        return _runs.run_dump(config_file, texts, ca_file(), saved_heads, engine, tell)
    except AccessError as error:
        if "dataset_name" not in named:
            raise
        raise AccessError(f"{error.message} (nor is there a folder of that name)", error.file) from error


def _head_numbers(name: Any) -> tuple[int, int, int | None]:
    try:
        numbers = [int(number) for number in name]
    except (TypeError, ValueError):
        numbers = []
    if len(numbers) not in (2, 3) or min(numbers) < 0:
        raise ConfigError(f"{name!r} is no head; heads are (layer, q_head) or (layer, q_head, k_head), from 0")
    return numbers[0], numbers[1], numbers[2] if len(numbers) == 3 else None


class _KeyObjects:
    """Sees that one key head is one object, since heads of one key head share its keys."""

    def __init__(self) -> None:
        self._keys: dict[tuple[int, int], Any] = {}
        self._heads: dict[tuple[int, int], tuple[int, int]] = {}

    def check(self, layer: int, q_head: int, k_head: int, keys: Any, *, named: bool) -> None:
        if not named:
            other = self._heads.setdefault((layer, id(keys)), (q_head, k_head))
            if other[1] != k_head:
                raise ConfigError(
                    f"heads {other[0]} and {q_head} of layer {layer} have the same keys; pass `num_q_heads` and "
                    "`num_k_heads`, or name heads (layer, q_head, k_head), since the numbers seed the draws"
                )
        if self._keys.setdefault((layer, k_head), keys) is not keys:
            raise ConfigError(
                f"key head {k_head} of layer {layer} is given twice, as different objects; pass the same object to all "
                "query heads that read it"
            )


def _run_arrays(heads: Mapping[Any, Any], options: dict[str, Any], tell: Progress) -> tuple[Any, Any]:
    from . import _runs

    names = list(heads)
    if not names:
        raise InputError("there are no heads")
    for name in options:
        if name not in _ARRAY_FIELDS:
            as_texts({name: options[name]}, without=_NO_DUMP)
    texts = as_texts(options, without=_NO_OUTPUTS)
    numbers = [_head_numbers(name) for name in names]
    selected = _runs.selected_heads(numbers, texts)
    # Rows are told apart by their ids, so those that a mapping makes when asked live until the end of the call.
    rows_of = {place: heads[names[place]] for place, _ in selected}
    key_objects = _KeyObjects()
    prepared: dict[tuple[int, bool], Any] = {}

    def arrays(rows: Any, what: str, *, with_window: bool) -> Any:
        if (id(rows), with_window) not in prepared:
            prepared[id(rows), with_window] = Rows.of(rows)._head_arrays(what, with_window=with_window)
        return prepared[id(rows), with_window]

    given = []
    for place, k_head in selected:
        layer, q_head, named_k_head = numbers[place]
        queries, keys = rows_of[place]
        key_objects.check(layer, q_head, k_head, keys, named=named_k_head is not None)
        head = f"layer {layer} q_head {q_head}: "
        given.append(
            (
                layer,
                q_head,
                k_head,
                arrays(queries, head + "queries", with_window=True),
                arrays(keys, head + "keys", with_window=False),
            )
        )
    if not given:
        raise InputError("none of the selected heads is among the arrays")
    return _runs.run_arrays(given, texts, tell)


_HEAD_GROUPS = ("The analysis", "The rotation")
_ONE_HEAD = {
    group: "one head has no such option"
    for group in {field["group"] for field in FIELDS}
    if group not in _HEAD_GROUPS
}


def analyze_head(
    queries: Any,
    keys: Any,
    *,
    layer: int = 0,
    q_head: int = 0,
    k_head: int | None = None,
    **options: Unpack[HeadOptions],
) -> _core.HeadResult:
    """Measures one head from arrays. The numbers of the head seed its random draws.

    Args:
        queries: `Rows`, or a table with the columns of a dump.
        keys: likewise.
        layer: of the head.
        q_head: number of the query head in its layer.
        k_head: number of the key head that it reads; None: that of the query head.
        **options: the options of the analysis and of the rotation, by name. `help(ap.analyze_head)` lists them.

    Needs no Arrow library. Other threads of Python run meanwhile.

    Raises ConfigError, InputError.

    """
    texts = as_texts(options, without=_ONE_HEAD)
    return _core.analyze_head(
        layer,
        q_head,
        q_head if k_head is None else k_head,
        Rows.of(queries)._head_arrays("queries", with_window=True),
        Rows.of(keys)._head_arrays("keys", with_window=False),
        texts,
    )


analyze_head.__doc__ = f"{analyze_head.__doc__}Options:\n\n{describe(_ONE_HEAD)}\n"
