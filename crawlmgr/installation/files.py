"""Where the program's own files are: at the top of a checkout, or inside the package `crawlmgr`
when it is installed. pyproject.toml maps the folders into the package."""

from __future__ import annotations

from pathlib import Path

BASE = Path(__file__).resolve().parents[2]
"""The folder from which the four packages are imported."""
_PACKAGE = BASE / "crawlmgr"
INSTALLED = (_PACKAGE / "templates").is_dir()
_ROOT = _PACKAGE if INSTALLED else BASE
TEMPLATES, STATIC, GUIDE = _ROOT / "templates", _ROOT / "static", _ROOT / "docs"


def default_data() -> Path:
    """Returns the data folder of an installation whose environment names none: `var` in the
    checkout. An installed program shares its folder with other packages, so that it uses `var` in
    the folder in which it was started."""
    return (Path.cwd() if INSTALLED else BASE) / "var"
