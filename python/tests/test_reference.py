"""docs/python.md: its lists are what the sources say, and what is written by hand is short."""
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]


def test_the_lists_are_those_of_the_sources():
    done = subprocess.run([sys.executable, str(ROOT / "scripts/python_reference"), "--check"], capture_output=True,
                          text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_what_is_written_by_hand_is_short():
    text = re.sub(r"<!-- made: (\w+) -->.*?<!-- end: \1 -->", "", (ROOT / "docs/python.md").read_text(), flags=re.S)
    assert len(text.split()) <= 600


def test_every_public_name_is_on_the_page():
    import onnx_mem
    text = (ROOT / "docs/python.md").read_text()
    missing = [name for name in onnx_mem.__all__ if name != "__version__" and f"`{name}(" not in text
               and f"| `{name}` |" not in text]
    assert not missing
