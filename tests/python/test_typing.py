"""Type checkers know the package."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from conftest import not_sanitized

pytestmark = not_sanitized
HERE = Path(__file__).parent


def check(tmp_path: Path, *words: str) -> None:
    done = subprocess.run([sys.executable, "-m", *words], capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr


def test_mypy_is_content_with_a_users_file(tmp_path):
    check(tmp_path, "mypy", "--strict", str(HERE / "typed_use.py"))


def test_pyright_is_content_with_a_users_file(tmp_path):
    (tmp_path / "typed_use.py").write_text((HERE / "typed_use.py").read_text())
    # Some members of matplotlib have no types.
    config = {"typeCheckingMode": "strict", "reportUnknownMemberType": False, "include": ["typed_use.py"]}
    (tmp_path / "pyrightconfig.json").write_text(json.dumps(config))
    check(tmp_path, "basedpyright", "--pythonpath", sys.executable, "--level", "error")


def test_pyright_knows_the_type_of_all_that_is_public(tmp_path):
    # It looks for the package in the environment that is active.
    environment = {"PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]), "VIRTUAL_ENV": sys.prefix}
    done = subprocess.run(
        [sys.executable, "-m", "basedpyright", "--verifytypes", "attention_plasticity", "--ignoreexternal"],
        capture_output=True, text=True, check=False, cwd=tmp_path, env={**os.environ, **environment},
    )
    assert "Type completeness score: 100%" in done.stdout, done.stdout + done.stderr


def test_mypy_is_content_with_the_stubs(tmp_path):
    modules = ("_core", "_runs", "_capture")
    # The stubs are made from the bindings, whose dicts have values of any type.
    check(tmp_path, "mypy", "--strict", "--allow-any-generics", *(f"--module=attention_plasticity.{module}" for module in modules))


def test_wrong_options_are_found(tmp_path):
    wrong = tmp_path / "wrong.py"
    wrong.write_text('import attention_plasticity as ap\nap.analyze("dump", num_tripels=3)\nap.analyze("dump", method="ful")\n')
    done = subprocess.run([sys.executable, "-m", "mypy", "--strict", str(wrong)], capture_output=True, text=True, check=False)
    assert 'wrong.py:2: error: Unexpected keyword argument "num_tripels"' in done.stdout
    assert "wrong.py:3: error" in done.stdout
