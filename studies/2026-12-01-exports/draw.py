"""The order in which packages are walked, and the packages that are drawn of what the walk finds.

    python draw.py named > NAMED            the texts whose words are taken names, of the repository it is run in
    python draw.py walk INDEX NAMED         INDEX: as in 2026-11-29-fourth-exports/draw.py
    python draw.py pick FOUND               FOUND: as in 2026-11-30-exports/draw.py

The rule is that of 2026-11-30-third-exports/draw.py, whose functions it uses, with these differences: a new seed; every
widely used package is walked, whatever the words of its summary; and what is taken is read here, not by hand. A name is
taken if it is in a file of this project, in a message of its history, or in any version of an earlier list. Of a list's
comments only the models' own packages count, which it installs with a version: what it installs beside them was not
exported, recorded or measured for itself, and what it names as not drawn or passed over not at all.
"""
from __future__ import annotations

import importlib.util
import pathlib
import re
import subprocess
import sys

SEED = 20261209
LIST = re.compile(r"studies/[^/]+/models\.(toml|py)$")
PACKED = (".xz", ".gz", ".png", ".onnx", ".eager", ".pickle")


def earlier():
    path = pathlib.Path(__file__).parent.parent / "2026-11-30-third-exports/draw.py"
    spec = importlib.util.spec_from_file_location("third", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    before = module.earlier()
    before.SEED = SEED
    before.WORDS += "|.*"
    return before


def git(*words):
    return subprocess.run(["git", *words], capture_output=True, check=True).stdout.decode(errors="replace")


def counted(text):
    """A list's rows, and of its comments what it installs with a version."""
    lines = text.splitlines()
    rows = [line for line in lines if not line.startswith("#")]
    comments = " ".join(line for line in lines if line.startswith("#"))
    return "\n".join(rows + re.findall(r"([A-Za-z0-9._-]+)==[0-9]", comments))


def named():
    """Files of the project as they are committed, messages of its history, and the versions of earlier lists."""
    here = [name for name in git("ls-files").splitlines() if not name.endswith(PACKED) and not LIST.search(name)]
    texts = [git("show", f"HEAD:{name}") for name in here] + [git("log", "--format=%B")]
    seen = set()
    for commit in git("log", "--format=%H", "--", "studies").splitlines():
        for row in git("ls-tree", "-r", commit, "studies").splitlines():
            blob, name = row.split(None, 2)[2].split("\t")
            if LIST.search(name) and blob not in seen:
                seen.add(blob)
                texts.append(counted(git("cat-file", "blob", blob)))
    return "\n".join(texts)


if __name__ == "__main__":
    if sys.argv[1:] == ["named"]:
        print(named())
    else:
        earlier().main()
