"""python -m onnx_mem ... is the program onnx-mem."""
from __future__ import annotations

import os
import subprocess
import sys

from ._program import find_program
from .errors import Error

_CANNOT = 2


def main() -> int:
    """Runs the program with this process's arguments; where the system can, in this process's place."""
    try:
        program = find_program()
    except Error as e:
        print(f"onnx-mem: error: {e} [{e.code}]", file=sys.stderr)
        return _CANNOT
    if os.name == "posix":
        os.execv(program, [program, *sys.argv[1:]])
    return subprocess.run([program, *sys.argv[1:]], check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
