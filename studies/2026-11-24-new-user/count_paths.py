"""Words that a new user reads, from the top of the README to the answer of each of four questions.

usage: count_paths.py    (from the root of the repository)

A path is a list of pages in order, each from one text up to another ("": from the top, to the end). Screens and tables count
as words too. 200 words a minute is slow reading.
"""
import pathlib

PATHS = {
    "will BERT fine-tuning fit 16 GB": [("README.md", "", "| know what checkpointing"),
                                        ("docs/how-to/fit.md", "", "Another module of PyTorch")],
    "what does checkpointing cost": [("README.md", "", "| fine-tune a 7 B"),
                                     ("docs/how-to/need-less.md", "## What does checkpointing", "## What does LoRA")],
    "how do I gate a pull request": [("README.md", "", "The exit status is 0"), ("docs/tutorials/ci.md", "", "")],
    "what is a record": [("README.md", "", "## How accurate")],
}


def words(page: str, begin: str, end: str) -> int:
    text = pathlib.Path(page).read_text()
    text = text[text.index(begin):]
    return len((text[:text.index(end)] if end else text).split())


print("| question | pages | words | seconds at 200 words a minute |\n| --- | --- | ---: | ---: |")
for question, path in PATHS.items():
    read = sum(words(*part) for part in path)
    print(f"| {question} | {', '.join(page for page, *_ in path)} | {read} | {round(read * 0.3)} |")
