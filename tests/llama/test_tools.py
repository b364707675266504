"""The script that builds libllama."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "tools" / "llama.sh"


@pytest.mark.parametrize("stamp", [None, "of another program"])
def test_a_folder_that_holds_something_else_is_left_alone(tmp_path, stamp):
    (tmp_path / "mine.txt").write_text("mine")
    if stamp is not None:
        (tmp_path / "stamp").write_text(stamp)
    done = subprocess.run([SCRIPT, tmp_path], capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 1
    assert done.stderr == f"llama: {tmp_path} holds something else than libllama; name a new or an empty folder\n"
    assert (tmp_path / "mine.txt").read_text() == "mine"
