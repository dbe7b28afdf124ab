"""Where the browser's files lie: in a checkout beside the package, in a wheel inside it."""

from pathlib import Path

PACKAGE = Path(__file__).resolve().parent
_INSTALLED = PACKAGE / "_static"

STATIC = _INSTALLED if _INSTALLED.is_dir() else PACKAGE.parent / "static"
TEMPLATES = PACKAGE / "templates"
