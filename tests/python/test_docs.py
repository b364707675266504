"""The Python of the pages runs as it stands."""

from __future__ import annotations

import json
import re

import matplotlib.pyplot as plt
import pytest

from conftest import SOURCE


@pytest.mark.parametrize("page", ["README.md", "docs/python.md"])
def test_examples_of_pages_run(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "examples").symlink_to(SOURCE / "examples")
    blocks = re.findall(r"```python\n(.*?)```", (SOURCE / page).read_text(), re.DOTALL)
    assert blocks
    names: dict[str, object] = {}
    for block in blocks:
        exec(block, names)
    plt.close("all")


@pytest.mark.parametrize("place", [".", "docs"])  # Jupyter starts a notebook in its own folder
def test_the_tutorial_runs(place, tmp_path, monkeypatch):
    (tmp_path / "docs").mkdir()
    monkeypatch.chdir(tmp_path / place)
    (tmp_path / "examples").symlink_to(SOURCE / "examples")
    cells = json.loads((SOURCE / "docs" / "tutorial.ipynb").read_text())["cells"]
    names: dict[str, object] = {}
    for cell in cells:
        if cell["cell_type"] == "code":
            exec("".join(cell["source"]), names)
    plt.close("all")
    # What its text says of the figures.
    areas = names["areas"]["value"]
    assert areas["ap_exact"] == 1 and areas["ap_overall"] < 0.1
