"""Runs every program of `programs/` on a card that is none (card.py) and packs what it dumps: snapshots.tar.xz.

    python testdata/snapshots/make_snapshots.py            # all
    python testdata/snapshots/make_snapshots.py NAME...    # some, the others as they were made before

Needs torch. A program's first line says what is planted: `# kept-graph`, or `# healthy`; the line of code to be named
ends in `# planted`. expected.txt in the pack has both. A program defines `run(card)`; its card is `CARD`.
"""

import contextlib
import gc
import importlib.util
import io
import lzma
import pathlib
import shutil
import sys
import tarfile
import tempfile

import torch
from card import Card

SHOWN = ("running_loss", "lenet5")  # in the documents, which are run beside testdata/models

HERE = pathlib.Path(__file__).resolve().parent
FOLDER = pathlib.Path(tempfile.gettempdir()) / "snapshots"


def planted(path: pathlib.Path) -> str:
    """Its line of expected.txt."""
    lines = path.read_text().splitlines()
    where = ",".join(f"{path.name}:{number}" for number, line in enumerate(lines, 1) if line.endswith("# planted"))
    return f"{path.stem} {lines[0].removeprefix('# ')} {where}".rstrip()


def make(path: pathlib.Path) -> None:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    program = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(program)
    torch.manual_seed(0)
    settings = dict(program.CARD)
    protocol = settings.pop("protocol", 4)
    card = Card(**settings)
    target = FOLDER / f"{path.stem}.pickle"
    target.unlink(missing_ok=True)
    card.observer = lambda: card.dump(str(target), protocol)
    gc.collect()
    with card, contextlib.suppress(torch.OutOfMemoryError):
        program.run(card)
    assert target.exists(), f"{path.stem} neither runs out of memory nor calls card.finish()"
    card.observer = None
    print(f"{path.stem:26} {target.stat().st_size:8} bytes", file=sys.stderr)


def pack() -> None:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for path in sorted(FOLDER.iterdir()):
            info = tarfile.TarInfo(f"snapshots/{path.name}")
            data = path.read_bytes()
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    (HERE.parent / "snapshots.tar.xz").write_bytes(lzma.compress(packed.getvalue(), preset=9 | lzma.PRESET_EXTREME))


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    paths = sorted((HERE / "programs").glob("*.py"))
    for path in paths:
        if path.stem in sys.argv[1:] or not sys.argv[1:]:
            make(path)
    (FOLDER / "expected.txt").write_text("".join(planted(path) + "\n" for path in paths))
    for name in SHOWN:
        shutil.copy(FOLDER / f"{name}.pickle", HERE.parent / "models" / f"{name}.pickle")
    pack()


if __name__ == "__main__":
    main()
