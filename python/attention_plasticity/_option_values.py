"""Options as text, which is what the one table of fields reads."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from numbers import Integral
from typing import Any

from . import _core
from ._errors import ConfigError

FIELDS: list[dict[str, Any]] = _core.fields()
_GROUPS: dict[str, str] = {field["name"]: field["group"] for field in FIELDS}

NamedTexts = list[tuple[str, "str | None"]]


def _text(name: str, value: object) -> str | None:
    if value is None:
        return None
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (str, int)):
        return str(value)
    if isinstance(value, float):
        return repr(value)
    if isinstance(value, os.PathLike):
        return os.fsdecode(value)
    if isinstance(value, Mapping):
        return json.dumps(dict(value))
    if hasattr(value, "item") and getattr(value, "ndim", 0) == 0:  # a number of NumPy
        return _text(name, value.item())
    if isinstance(value, Iterable):
        return ",".join(_index(name, index) for index in value)
    raise ConfigError(f"`{name}`: {type(value).__name__} is no value of an option")


def _index(name: str, value: object) -> str:
    if isinstance(value, (str, Integral)):
        return str(value)
    raise ConfigError(f"`{name}`: {value!r} is no index")


def as_texts(options: Mapping[str, object], *, without: Mapping[str, str]) -> NamedTexts:
    """The options as the table of fields reads them. `without` says for groups of fields why they are refused.

    Unknown names are refused by the table itself, with the nearest name.
    """
    texts: NamedTexts = []
    for name, value in options.items():
        reason = without.get(_GROUPS.get(name, ""))
        if reason is not None:
            raise ConfigError(f"`{name}`: {reason}")
        text = _text(name, value)
        if text is not None and not is_utf8(text):
            raise ConfigError(f"`{name}`: {text!r} is not UTF-8")
        texts.append((name, text))
    return texts


def is_utf8(text: str) -> bool:
    """Whether a text can be written into the files of a run."""
    # Python keeps the bytes of other names as surrogates, which UTF-8 does not have.
    return text.encode("utf-8", "replace").decode("utf-8") == text


def describe(without: Iterable[str]) -> str:
    """The options as lines of a docstring, without those of some groups."""
    lines: list[str] = []
    group = None
    for field in FIELDS:
        if field["group"] in without:
            continue
        if field["group"] != group:
            group = field["group"]
            lines.append(f"    {group}")
        default = f" Default: {field['default_text']}." if field["default_text"] else ""
        lines.append(f"        {field['name']} ({field['type']}): {field['help']}{default}")
    return "\n".join(lines)
