"""Every link of a document to a file of the project leads to one, and to a heading of it where it names one.

usage: links_test.py ROOT

The front page has at most 120 lines. No date stands in it or in docs: dates are for studies and the change log.
"""
import pathlib
import re
import sys

LINK = re.compile(r"\]\(([^)\s]+)\)")
DATE = re.compile(r"20[0-9]{2}-[0-9]{2}|January|February|October|November|December")
FRONT_LINES = 120


def prose(text: str) -> str:
    return re.sub(r"^```.*?^```", "", text, flags=re.S | re.M)


def anchors(text: str) -> set[str]:
    headings = re.findall(r"^#+ (.*)$", prose(text), re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def faults(root: pathlib.Path, page: pathlib.Path) -> list[str]:
    text, found = page.read_text(), []
    for target in LINK.findall(prose(text)):
        if re.match(r"[a-z]+:", target):
            continue
        name, _, anchor = target.partition("#")
        file = (page.parent / name).resolve() if name else page
        if not file.exists():
            found.append(f"{target}: no such file")
        elif anchor and file.suffix == ".md" and anchor not in anchors(file.read_text()):
            found.append(f"{target}: no such heading")
    if page == root / "README.md" or root / "docs" in page.parents:
        found += [f"a date: {date}" for date in DATE.findall(text)]
    if page == root / "README.md" and (lines := text.count("\n")) > FRONT_LINES:
        found.append(f"{lines} lines, more than {FRONT_LINES}")
    return [f"{page.relative_to(root)}: {fault}" for fault in found]


def main() -> int:
    root = pathlib.Path(sys.argv[1]).resolve()
    pages = [root / "README.md", root / "CONTRIBUTING.md", *root.glob("docs/**/*.md"), *root.glob("studies/**/*.md")]
    wrong = [fault for page in pages for fault in faults(root, page)]
    print("\n".join(wrong) or f"{len(pages)} pages")
    return bool(wrong)


sys.exit(main())
