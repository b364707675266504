"""Uses an installed package once, as tools/test_installs.sh and tools/fresh.sh do: use_installed.py DUMP

The program and the package must come from the same installation and agree.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import attention_plasticity as ap

dump = sys.argv[1]
with tempfile.TemporaryDirectory() as folder:
    program = Path(sys.executable).with_name("attention-plasticity")
    subprocess.run([program, "analyze", "--dataset_local_root", dump, "-o", folder, "--quiet"], check=True)
    result = ap.analyze(dump)
    assert result == ap.load(folder)
    page = result.report(Path(folder) / "report.html")
    assert page.stat().st_size > 500_000, "the page is in the program"
    try:
        result.plot.heads("ap_exact").figure.savefig(Path(folder) / "heads.png")
    except ImportError as missing:
        print(missing)
try:
    ap.analyze("org/name", dataset_revision="none")
except ap.Error as error:
    print("of the Hub:", type(error).__name__)
print(result)
