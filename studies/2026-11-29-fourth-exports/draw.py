"""The order in which packages are walked, and the models that are drawn of what the walk finds.

    python draw.py walk INDEX NAMED...      INDEX: the package index as tab-separated lines (name, version, month, rank
                                            among the 15,000 most downloaded or nothing, summary); NAMED: texts whose
                                            words are taken names
    python draw.py pick FOUND               FOUND: lines "subject package"; prints the packages that are drawn
"""
from __future__ import annotations

import random
import re
import sys

SEED = 20261205
WANTED = 30
SUBJECTS = {  # a package is of the first subject that its summary has a word of
    "generation": "diffusion|generative|gan|gans|vae|autoencoders?|flows?|text-to-image|inpainting|super-resolution",
    "audio": "audio|speech|speaker|music|sound|voices?|vocoder|asr|tts|text-to-speech|waveform|acoustic",
    "graphs": "graphs?|gnns?|molecul\\w+|proteins?|chemistry|atomistic|interatomic|potential|dna|point clouds?|equivariant",
    "series": "time.?series|forecast\\w*|eeg|ecg|sensor|sequences?|recurrent|lstm|rnn",
    "tables": "tabular|tables?|survival|regression|categorical|additive",
    "recommendation": "recommend\\w+|collaborative|click-through|ctr|ranking|retrieval",
    "text": "text|language|llms?|gpt|bert|nlp|transformers?|tokens?|attention|translation|embeddings?|mamba",
    "image": "images?|visi\\w+|visual|segment\\w*|detect\\w+|convolution\\w*|cnn|resnet|unet|u-net|vit|video|pose|face|"
             "ocr|character|anatomical|self-supervised|depth|classification",
}
TOOL = ("wrapper tool tools toolkit cli command dataset datasets dataloader loader loaders loss losses metric metrics optimizer "
        "optimizers scheduler plugin cuda triton kernel kernels quantization export exporter converter convert visualization "
        "visualizer logger logging profiler profiling benchmark benchmarks api sdk client server serving deploy deployment "
        "pipeline pipelines utilities utility utils helper helpers augmentation augmentations transforms bindings rust jax "
        "tensorflow keras mlx onnx tensorrt coreml memory download stubs template tutorial course workflow agent agents "
        "debug debugging callbacks trainer distributed federated docker deprecated placeholder interpretability").split()
NETWORK = ("neural|deep learning|transformers?|diffusion|foundation model|pretrained|speech recognition|text-to-speech|tts|"
           "vocoder|codec|forecasting|recommender|super-resolution|language model|ocr|segment anything|source separation|"
           "atomistic|segmentation algorithm")


def normal(name):
    return re.sub(r"[-_.]+", "-", name.lower())


def has(words, summary):
    return re.search(rf"\b({words})\b", summary.lower())


def subject_of(summary):
    return next((subject for subject, words in SUBJECTS.items() if has(words, summary)), None)


def walk(index, texts):
    taken = {word.strip("-") for text in texts for word in re.findall(r"[a-z0-9][a-z0-9-]*", normal(text))}
    pools = {(subject, ranked): [] for ranked in (True, False) for subject in SUBJECTS}
    for line in index.splitlines()[1:]:
        name, version, month, rank, summary = line.split("\t")[:5]
        names_torch = "torch" in (name + " " + summary).lower()
        if month < "2020-06" or has("|".join(TOOL), summary) or {normal(name), normal(name).replace("-", "")} & taken:
            continue
        subject = subject_of(summary)
        if subject and (names_torch or rank and has(NETWORK, summary)):
            pools[subject, bool(rank)].append((name, version, summary))
    order = random.Random(SEED)
    for (subject, ranked), pool in pools.items():
        pool.sort()
        order.shuffle(pool)
        for place, (name, version, summary) in enumerate(pool):
            print(subject, "most downloaded" if ranked else "others", place, name, version, summary, sep=" | ")


def pick(lines):
    """In turn one of each subject, until there are enough: what a subject has, sorted and shuffled with the seed."""
    found = {subject: sorted(line.split()[1] for line in lines if line.split()[0] == subject) for subject in SUBJECTS}
    order, drawn = random.Random(SEED), []
    for packages in found.values():
        order.shuffle(packages)
    while len(drawn) < WANTED and any(found.values()):
        for packages in filter(None, found.values()):
            drawn.append(packages.pop(0))
    return drawn[:WANTED]


def main():
    what, first, *named = sys.argv[1:]
    text = open(first, encoding="utf-8").read()
    if what == "walk":
        walk(text, [open(path, encoding="utf-8", errors="replace").read() for path in named])
    else:
        print("\n".join(pick(text.splitlines())))


if __name__ == "__main__":
    main()
