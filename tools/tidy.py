"""Lints the sources of src/ with clang-tidy: tools/tidy.py [FILE...]. Part of `make check`.

Reads build/tidy/compile_commands.json, which the preset `tidy` writes. A file that was found clean is not linted again until
something changes that the linter reads: the file, a header that it includes, its flags, .clang-tidy or the linter. The memory
of that is one empty file for each, named by the hash of all these, in $XDG_CACHE_HOME/attention-plasticity/tidy
(~/.cache where that variable is not set), so that other clones share it. It is no more than a shortcut and may be deleted.
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
import shlex
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LINTER = ROOT / ".venv/bin/clang-tidy"
DAYS_KEPT = 30


def sources() -> list[str]:
    listed = subprocess.run(["git", "ls-files", "--", "src/*.cc"], cwd=ROOT, capture_output=True, text=True, check=True)
    return [name for name in listed.stdout.split() if not name.endswith(("_test.cc", "_absent.cc"))]


@functools.lru_cache(maxsize=None)
def digest(file: str) -> str:
    return hashlib.sha256(Path(file).read_bytes()).hexdigest()


def included(entry: dict[str, str]) -> list[str]:
    """The file itself and all headers that it includes, as the compiler lists them."""
    words = shlex.split(entry["command"])
    output = words.index("-o")
    del words[output : output + 2]
    rule = subprocess.run([*words, "-M"], cwd=entry["directory"], capture_output=True, text=True, check=True).stdout
    files = shlex.split(rule.partition(":")[2].replace("\\\n", " "))
    return [os.path.normpath(os.path.join(entry["directory"], file)) for file in files]


def key(entry: dict[str, str], linter: str) -> str:
    # Clones lie in different folders.
    parts = [linter, digest(str(ROOT / ".clang-tidy")), entry["command"]]
    for file in included(entry):
        parts += [file, digest(file)]
    return hashlib.sha256("\n".join(parts).replace(str(ROOT), ".").encode()).hexdigest()


def main() -> int:
    entries = {entry["file"]: entry for entry in json.loads((ROOT / "build/tidy/compile_commands.json").read_text())}
    files = sys.argv[1:] or sources()
    linter = subprocess.run([LINTER, "--version"], capture_output=True, text=True, check=True).stdout
    memory = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "attention-plasticity/tidy"
    memory.mkdir(parents=True, exist_ok=True)
    for mark in memory.iterdir():
        if mark.stat().st_mtime < time.time() - DAYS_KEPT * 86400:
            mark.unlink(missing_ok=True)

    def lint(file: str) -> tuple[str, bool]:
        """What the linter says, and whether it had to be asked."""
        mark = memory / key(entries[str(ROOT / file)], linter)
        if mark.exists():
            mark.touch()
            return "", False
        done = subprocess.run([LINTER, "-p", "build/tidy", "--quiet", file], cwd=ROOT, capture_output=True, text=True, check=False)
        if done.returncode == 0:
            mark.touch()
            return "", True
        return done.stdout + done.stderr, True

    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        outcomes = list(pool.map(lint, files))
    findings = [text for text, _ in outcomes if text]
    asked = sum(was_asked for _, was_asked in outcomes)
    for text in findings:
        print(text, file=sys.stderr)
    print(f"tidy: {len(files)} files, {len(files) - asked} unchanged since they were clean, {len(findings)} with findings", file=sys.stderr)
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
