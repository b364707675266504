"""Writes _option_types.py from the one table of fields: python make_option_types.py FOLDER_OF_CORE OUTPUT

The options of analyze() as typed dictionaries, so that type checkers know their names and values.
"""

from __future__ import annotations

import sys
from importlib.machinery import ExtensionFileLoader
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

TYPES = {
    "integer": "int | None",
    "number": "float | None",
    "boolean": "bool | None",
    "text": "str | os.PathLike[str] | None",
    "indices": "int | str | Sequence[int] | None",
    "size": "int | str | None",
    "mapping": "Mapping[str, Any] | str | None",
}


def type_text(kind: str) -> str:
    if kind.startswith("one of "):
        words = ", ".join(f'"{word}"' for word in kind.removeprefix("one of ").split("|"))
        return f"Literal[{words}] | None"
    return TYPES[kind]


def dictionary(name: str, doc: str, fields: list[dict[str, str]]) -> str:
    lines = [f"class {name}(TypedDict, total=False):", f'    """{doc}"""', ""]
    for field in fields:
        default = f" Default: {field['default_text']}." if field["default_text"] else ""
        lines += [f"    {field['name']}: {type_text(field['type'])}", f'    """{field["help"]}{default}"""']
    return "\n".join(lines)


def main(core: Path, output: Path) -> None:
    spec = spec_from_file_location("_core", core, loader=ExtensionFileLoader("_core", str(core)))
    assert spec is not None and spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    fields = module.fields()
    of_run = [field for field in fields if field["group"] != "The outputs"]
    of_head = [field for field in fields if field["group"] in ("The analysis", "The rotation")]
    output.write_text(
        "# Made from the table of fields when the package is built.\n\n"
        "from __future__ import annotations\n\n"
        "import os\nfrom collections.abc import Mapping, Sequence\nfrom typing import Any, Literal, TypedDict\n\n\n"
        + dictionary("Options", "The options of analyze().", of_run)
        + "\n\n\n"
        + dictionary("HeadOptions", "The options of analyze_head().", of_head)
        + "\n"
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
