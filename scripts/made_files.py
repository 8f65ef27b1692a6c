"""What scripts that make a file of the repository's tables share."""
import os
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent


def write_or_check(made: pathlib.Path, text: str, tables: str) -> int:
    """Writes `text` to `made`; with --check it writes with ONNX_MEM_UPDATE_GOLDEN=1 alone, and 1 says that the file is
    another than `tables` give."""
    if "--check" not in sys.argv[1:] or os.environ.get("ONNX_MEM_UPDATE_GOLDEN"):
        made.write_text(text)
    if made.exists() and made.read_text() == text:
        return 0
    print(f"{made.relative_to(ROOT)} is not what {tables} says: run scripts/{pathlib.Path(sys.argv[0]).name}")
    return 1
