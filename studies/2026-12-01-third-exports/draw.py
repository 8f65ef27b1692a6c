"""The order in which packages, repositories and stock classes are walked, and the packages that are drawn of what is found.

    python draw.py named > NAMED            the texts whose words are taken names, of the repository it is run in
    python draw.py walk INDEX NAMED         INDEX: as in 2026-11-29-fourth-exports/draw.py
    python draw.py pick FOUND               FOUND: as in 2026-11-30-exports/draw.py
    python draw.py repositories NAMED       the free ones of repositories.txt, in the order in which they are walked
    python draw.py classes NAMED...         families of stock classes, one free class of each, in the order in which they are walked

Three thirds of ten models, one model a package, repository or family, chosen by its description and signatures before it is tried.

Packages: the rule of 2026-12-01-exports/draw.py, whose functions it uses, with a new seed, and five widely used of the ten, since few are
left. The walk goes as far as time allows.

Repositories: repositories.txt is 60 names of widely known model code, written from memory, owners a to m, at most three of one owner.
One is free if neither its name nor its owner with its name is a word of NAMED. They are shuffled and walked, and the first ten are drawn
that can be had, are under MIT, BSD or Apache-2.0, need nothing compiled, and have a model that runs forward and takes a training
step on the CPU with plain torch.

Stock classes: of transformers, timm, torchvision and diffusers, in quotas of 4, 2, 2 and 2. A class is free if its name is no word of NAMED,
which also has the classes that a check of records had reached. Families are shuffled; of one family's free classes the seed takes one. The
first are drawn that build by default (layers cut where the CPU demands it), and run forward and take a training step on tensors
that their signature names.
"""
from __future__ import annotations

import importlib.util
import pathlib
import random
import re
import sys

SEED = 20261211
WANTED, WIDELY = 10, 5
QUOTAS = {"transformers": 4, "timm": 2, "torchvision": 2, "diffusers": 2}
HERE = pathlib.Path(__file__).parent


def module_of(path):
    spec = importlib.util.spec_from_file_location("before", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


BEFORE = module_of(HERE.parent / "2026-12-01-exports/draw.py")


def packages():
    before = BEFORE.earlier()
    before.SEED, before.WANTED, before.WIDELY = SEED, WANTED, WIDELY
    return before


def words(texts):
    """Names as they stand, and with all marks between their parts as one dash."""
    found = set()
    for text in texts:
        text = text.lower()
        for name in re.findall(r"[a-z0-9][a-z0-9._/-]*", text):
            found |= {name, name.strip("-_./"), re.sub(r"[-_.]+", "-", name).strip("-/"), *re.split(r"[./]", name)}
    return found


def repositories(taken):
    names = sorted((HERE / "repositories.txt").read_text().split(), key=str.lower)
    random.Random(SEED).shuffle(names)
    for name in names:
        both = name.lower(), name.lower().split("/")[1]
        if not taken & {*both, *(re.sub(r"[-_.]+", "-", one) for one in both)}:
            print(name)


def transformers_classes():
    from transformers.models.auto import modeling_auto
    for mapping, classes in vars(modeling_auto).items():
        if re.fullmatch(r"MODEL_\w+_MAPPING_NAMES", mapping):
            for family, kinds in classes.items():
                yield from ((family, kind) for kind in ([kinds] if isinstance(kinds, str) else kinds))


def timm_classes():
    import timm
    return ((timm.model_entrypoint(name).__module__, name) for name in timm.list_models())


def torchvision_classes():
    import torchvision
    return ((torchvision.models.get_model_builder(name).__module__, name) for name in torchvision.models.list_models())


def diffusers_classes():
    import diffusers
    kinds = [name for name in dir(diffusers) if re.search(r"Model$|Transformer|Autoencoder|UNet|VAE|ControlNet", name)]
    for name in kinds:
        kind = getattr(diffusers, name, None)
        if isinstance(kind, type) and issubclass(kind, diffusers.ModelMixin) and kind is not diffusers.ModelMixin:
            yield kind.__module__, name


def classes(taken):
    for library, quota in QUOTAS.items():
        families = {}
        for family, name in globals()[f"{library}_classes"]():
            if name.lower() not in taken:
                families.setdefault(family, set()).add(name)
        order = random.Random(SEED)
        walked = sorted(families)
        order.shuffle(walked)
        for place, family in enumerate(walked):
            print(library, quota, place, family, order.choice(sorted(families[family])), sep=" | ")


def main():
    what, *paths = sys.argv[1:]
    if what in ("walk", "pick"):
        return packages().main()
    if what == "named":
        return print(BEFORE.named())
    taken = words(pathlib.Path(path).read_text(encoding="utf-8", errors="replace") for path in paths)
    return {"repositories": repositories, "classes": classes}[what](taken)


if __name__ == "__main__":
    main()
