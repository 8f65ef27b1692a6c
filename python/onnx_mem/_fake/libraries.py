"""Whether code was installed, or is the user's own."""
from __future__ import annotations

import os
import sysconfig

# An environment may show the packages of others, by PYTHONPATH or a .pth file.
_OF_PACKAGES = tuple(os.path.join("", name, "") for name in ("site-packages", "dist-packages"))
_OF_THIS_PYTHON = tuple({sysconfig.get_paths()[x] for x in ("stdlib", "purelib", "platlib")})


def is_library(file: str) -> bool:
    """Of a source file."""
    return file.startswith(_OF_THIS_PYTHON) or any(folder in file for folder in _OF_PACKAGES)
