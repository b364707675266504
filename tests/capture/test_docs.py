"""The Python of docs/capture.md runs as it stands."""

from __future__ import annotations

import json
import re
from pathlib import Path

SOURCE = Path(__file__).parents[2]


def test_examples_of_the_page_run(model_folder, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "MODEL").symlink_to(model_folder)
    lines = [json.dumps({"text": f"Sentence {i} of a text. " * 15}) for i in range(4)]
    (tmp_path / "docs.jsonl").write_text("\n".join(lines))
    names: dict[str, object] = {}
    blocks = re.findall(r"```python\n(.*?)```", (SOURCE / "docs" / "capture.md").read_text(), re.DOTALL)
    assert len(blocks) == 2
    for block in blocks:
        exec(block, names)
    assert len(names["result"]) == 16
