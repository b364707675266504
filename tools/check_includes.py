"""Compares every #include between modules with the table in docs/architecture.md: tools/check_includes.py. Part of `make check`."""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
MODULES = ROOT / "src/attention_plasticity"


def allowed() -> dict[str, set[str]]:
    """The modules that each module may use, in the order of the table."""
    rows = re.findall(r"^\| `(\w+)` \|.*\| *([a-z, ]*)\|$", (ROOT / "docs/architecture.md").read_text(), re.MULTILINE)
    return {module: set(re.findall(r"\w+", uses)) for module, uses in rows}


def main() -> int:
    table = allowed()
    wrong = []
    ranks = {module: rank for rank, module in enumerate(table)}
    for module, uses in table.items():
        wrong += [f"docs/architecture.md: {module} may not use {other}, which stands below it" for other in sorted(uses)
                  if ranks.get(other, len(ranks)) >= ranks[module]]
    used: dict[str, set[str]] = {module: set() for module in table}
    for file in sorted(MODULES.rglob("*")):
        if file.suffix not in (".h", ".cc") or "_test" in file.name:
            continue
        module = file.relative_to(MODULES).parts[0]
        if module not in table:
            wrong.append(f"{file.relative_to(ROOT)}: docs/architecture.md has no module {module}")
            continue
        for other in re.findall(r'#include "attention_plasticity/(\w+)/', file.read_text()):
            if other == module:
                continue
            used[module].add(other)
            if other not in table[module]:
                wrong.append(f"{file.relative_to(ROOT)}: {module} may not use {other} (docs/architecture.md)")
    for module, uses in table.items():
        wrong += [f"docs/architecture.md: {module} does not use {other}" for other in sorted(uses - used[module])]
    print("\n".join(wrong) or f"includes of {len(table)} modules agree with docs/architecture.md")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
