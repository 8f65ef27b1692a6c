"""The order in which packages are walked, and the packages that are drawn of what the walk finds.

    python draw.py walk INDEX NAMED...      INDEX, NAMED: as in 2026-11-29-fourth-exports/draw.py
    python draw.py pick FOUND               FOUND: lines "widely package" or "subject package"; prints what is drawn

Widely used packages are those among the 15,000 most downloaded. What was left of them after the earlier lists has few words
of a subject in its summary, or words of a tool, or no summary. So all of them are walked whose name or summary has a word of
a network or names torch, and those without a summary, of any age. The others are walked as before.
"""
from __future__ import annotations

import importlib.util
import pathlib
import random
import re
import sys

SEED = 20261206
WANTED, WIDELY = 30, 20
WORDS = ("torch|neural|deep.?learning|transformers?|diffusion|foundation model|pre-?trained|speech recognition|text-to-speech|tts|"
         "vocoder|forecasting|recommender|super.resolution|language model|ocr|segmentation|source separation|stem separation|"
         "atomistic|interatomic|object detect\\w+|yolo|clip|speaker|reinforcement|protein|graph network|gnns?|nerf|pose estimation|"
         "lstm|attention|autoencoders?|gans?|vits?|resnet|unet|whisper|embedding|weak supervision")


def earlier():
    path = pathlib.Path(__file__).parent.parent / "2026-11-29-fourth-exports/draw.py"
    spec = importlib.util.spec_from_file_location("earlier", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


BEFORE = earlier()


def pool_of(name, month, rank, summary):
    """The pool that a free package belongs to, None where it is not walked."""
    text = f"{name} {summary}".lower()
    if rank:
        return "widely" if not summary.strip() or re.search(rf"(?<![a-z])({WORDS})(?![a-z])|torch", text) else None
    if month < "2020-06" or "torch" not in text or BEFORE.has("|".join(BEFORE.TOOL), summary):
        return None
    return BEFORE.subject_of(summary)


def walk(index, texts):
    taken = {word.strip("-") for text in texts for word in re.findall(r"[a-z0-9][a-z0-9-]*", BEFORE.normal(text))}
    pools = {"widely": []} | {subject: [] for subject in BEFORE.SUBJECTS}
    for line in index.splitlines()[1:]:
        name, version, month, rank, summary = (line.split("\t") + [""])[:5]
        pool = pool_of(name, month, rank.isdigit(), summary)
        if pool and not {BEFORE.normal(name), BEFORE.normal(name).replace("-", "")} & taken:
            pools[pool].append((name, version, summary))
    order = random.Random(SEED)
    for kind, pool in pools.items():
        pool.sort()
        order.shuffle(pool)
        for place, (name, version, summary) in enumerate(pool):
            print(kind, place, name, version, summary, sep=" | ")


def pick(lines):
    """WIDELY of the widely used, sorted and shuffled with the seed; of the others in turn one of each subject."""
    found = {kind: sorted(line.split()[1] for line in lines if line.split()[0] == kind)
             for kind in ("widely", *BEFORE.SUBJECTS)}
    order = random.Random(SEED)
    for packages in found.values():
        order.shuffle(packages)
    drawn = found.pop("widely")[:WIDELY]
    while len(drawn) < WANTED and any(found.values()):
        for packages in filter(None, found.values()):
            drawn.append(packages.pop(0))
    return drawn[:WANTED]


def main():
    what, first, *named = sys.argv[1:]
    text = pathlib.Path(first).read_text(encoding="utf-8")
    if what == "walk":
        walk(text, [pathlib.Path(path).read_text(encoding="utf-8", errors="replace") for path in named])
    else:
        print("\n".join(pick(text.splitlines())))


if __name__ == "__main__":
    main()
