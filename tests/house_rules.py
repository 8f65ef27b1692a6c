#!/usr/bin/env python3
"""Rules of the tree that no compiler checks, beyond its layers (check_layers.cmake) and classes (check_names.cmake).

usage: tests/house_rules.py [--root FOLDER] [--write]

  folder    a folder holds at most 30 files
  file      a .cc or .h has at most 300 lines (tables, .inc, are as long as what they list)
  function  a function has at most 40 lines, without blank ones, comments and rows of a table
  class     a name stands for one class, struct or enum of the program, whatever namespace it is in; inside classes,
            names may come again
  operator  a framework operator is named, in a text, only where programs are read, lowered and enacted
  model     a family of models is named nowhere but in tests, neither by an identifier nor by a text
  word      words with another plain word that says the same are in no identifier, comment or document

What today's tree does not keep stands in house_rules.txt, a line each: rule, what, and a number that it must not
exceed. A line that is no longer needed fails too, so that the list only shrinks; --write makes it anew, and the diff is
reviewed.
"""
import argparse
import collections
import pathlib
import re
import sys
from collections.abc import Iterator

PROGRAM = ("analyzer", "solver", "planner", "report", "cli", "include", "library")
CPP = (*PROGRAM, "bench", "fuzz")
FILES, LINES, FUNCTION = 30, 300, 40

OPERATORS = re.compile(
    r'"(conv|conv_transpose|linear|matmul|relu|leaky_relu|prelu|sigmoid|gelu|silu|softmax|log_softmax|dropout|layer_norm|'
    r'batch_norm|instance_norm|group_norm|rms_norm|max_pool2d|avg_pool2d|adaptive_avg_pool2d|embedding|reshape|transpose|'
    r'squeeze|unsqueeze|flatten|chunk|gather|index_select|scaled_dot_product_attention|einsum|masked_fill|lstm|gru)"')
OPERATORS_MAY = re.compile(r"^analyzer/(ops|onnx|record|program|lower|assume|eager|runtimes)/")
FAMILIES = ("alexnet", "bart", "bert", "convnext", "deberta", "densenet", "distilbert", "efficientnet", "gpt",
            "llama", "mistral", "mobilenet", "qwen", "resnet", "roberta", "swin", "unet", "vgg", "vit", "whisper")
MAY_NAME_FAMILIES = re.compile(r"^analyzer/devices/")    # cards have such names too
WORDS = ("told", "untold", "asked", "habit", "habits", "crumb", "crumbs", "rung", "rungs", "goes", "usual", "usually")
PHRASES = re.compile(r"\b(lets? go|letting go|at worst)\b", re.IGNORECASE)
BODY = re.compile(r"\) *(?:const|noexcept|override|final|&| |->.*)*(?: : .*|: .*)? *\{\s*$")    # of a function
CLASS = re.compile(r"^(?:class|struct|enum class|enum|union) (\w+)(?: final)?(?: : [^;{]*)? \{", re.M)

Fault = tuple[str, str, int, str]    # rule, what, how many, where to look


def cpp_files(root: pathlib.Path, folders: tuple[str, ...]) -> list[pathlib.Path]:
    return sorted(path for folder in folders for suffix in ("*.cc", "*.h") for path in (root / folder).rglob(suffix))


def split_code(text: str) -> tuple[str, str, str]:
    """(code without texts and comments, texts, comments), each with the lines where they were."""
    parts: dict[str, list[str]] = {"code": [], "text": [], "comment": []}
    token = re.compile(
        r'(?P<comment>//[^\n]*|/\*.*?\*/)|(?P<text>R"(\w*)\(.*?\)\3"|"(?:\\.|[^"\\\n])*")|(?P<code>.)', re.S)
    for found in token.finditer(text):
        for kind, kept in parts.items():
            piece = found[0] if found.lastgroup == kind or found[kind] is not None else ""
            kept.append(piece or "".join(c for c in found[0] if c == "\n") or (" " if kind == "code" else ""))
    return "".join(parts["code"]), "".join(parts["text"]), "".join(parts["comment"])


def spoken_in(text: str) -> list[str]:
    """The words of prose and of identifiers, kLikeThis and like_this, in small letters."""
    return [word.lower() for word in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", text)]


def folders(root: pathlib.Path) -> Iterator[Fault]:
    count = collections.Counter(path.parent for path in cpp_files(root, PROGRAM))
    for folder, files in sorted(count.items()):
        if files > FILES:
            yield "folder", str(folder.relative_to(root)), files, f"more than {FILES} files"


def functions(code: str) -> Iterator[tuple[str, int, int]]:
    """(name, line, length) of each function. clang-format puts what closes a body under what opens the definition."""
    lines = code.split("\n")
    begins = re.compile(r"^( *)(?!(?:if|for|while|switch|else|do|return|namespace|class|struct|enum|union)\b)\S.*\(")
    at = 0
    while at < len(lines):
        found = begins.match(lines[at])
        end = at
        if found:
            while end < len(lines) and not re.search(r"[{;}]\s*$", lines[end]) and end - at < 30:
                end += 1
        if not found or end >= len(lines) or not BODY.search(" ".join(lines[at:end + 1])):
            at += 1
            continue
        close = end + 1
        while close < len(lines) and not re.match(rf"^{found[1]}\}}", lines[close]):
            close += 1
        body = [line for line in lines[at:close + 1] if line.strip() and not re.match(r"^\s*\{.*\},?\s*$", line)]
        name = re.search(r"([\w:~]+|operator\S+) *\(", lines[at])
        yield (name[1] if name else lines[at].strip()), at + 1, len(body)
        at = close + 1


def of_file(root: pathlib.Path, path: pathlib.Path, classes: dict[str, list[str]]) -> Iterator[Fault]:
    name = str(path.relative_to(root))
    text = path.read_text()
    code, texts, comments = split_code(text)
    program = name.startswith(PROGRAM)
    if (lines := text.count("\n")) > LINES:
        yield "file", name, lines, f"more than {LINES} lines"
    for function, line, length in functions(code):
        if length > FUNCTION:
            yield "function", f"{name}:{function}", length, f"line {line}: more than {FUNCTION} lines"
    if program:
        for found in CLASS.finditer(code):
            classes[found[1]].append(name)
        if not OPERATORS_MAY.match(name) and (found := OPERATORS.findall(texts)):
            yield "operator", name, len(found), ", ".join(sorted(set(found)))
        if not MAY_NAME_FAMILIES.match(name):
            named = [word for word in spoken_in(code + " " + texts) if word in FAMILIES]
            if named:
                yield "model", name, len(named), ", ".join(sorted(set(named)))
    spoken = [word for word in spoken_in(code + " " + comments) if word in WORDS] + PHRASES.findall(comments)
    if spoken:
        yield "word", name, len(spoken), ", ".join(sorted(set(spoken)))


def of_text(root: pathlib.Path, path: pathlib.Path) -> Iterator[Fault]:
    """Documents without what they quote, and Python."""
    text = path.read_text()
    if path.suffix == ".md":
        text = re.sub(r"^```.*?^```|`[^`\n]*`|^    .*?$", "", text, flags=re.S | re.M)
    spoken = [word for word in spoken_in(text) if word in WORDS] + PHRASES.findall(text)
    if spoken:
        yield "word", str(path.relative_to(root)), len(spoken), ", ".join(sorted(set(spoken)))


def faults(root: pathlib.Path) -> Iterator[Fault]:
    yield from folders(root)
    classes: dict[str, list[str]] = collections.defaultdict(list)
    for path in cpp_files(root, CPP):
        yield from of_file(root, path, classes)
    for name, places in sorted(classes.items()):
        if len(places) > 1:
            yield "class", name, len(places), ", ".join(sorted(set(places)))
    documents = [*root.glob("*.md"), *root.glob("docs/**/*.md"), *root.glob("python/onnx_mem/**/*.py")]
    for path in sorted(documents):
        yield from of_text(root, path)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parent.parent)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    found = {}
    for rule, what, count, where in faults(options.root):
        key = f"{rule} {what}"
        if key not in found or found[key][0] < count:
            found[key] = (count, where)
    listed = options.root / "tests" / "house_rules.txt"
    if options.write:
        listed.write_text("".join(f"{key} {count}\n" for key, (count, _) in sorted(found.items())))
        return 0
    known = dict(line.rsplit(" ", 1) for line in listed.read_text().splitlines()) if listed.exists() else {}
    wrong = [f"{key}: {count} ({where})" + (f", listed with {known[key]}" if key in known else "")
             for key, (count, where) in found.items() if count > int(known.get(key, 0))]
    wrong += [f"{key}: keeps the rule now; take its line out of {listed.name}" for key in known if key not in found]
    for line in wrong:
        print(line)
    left = collections.Counter(key.split()[0] for key in known)
    print(f"{len(wrong)} faults; {len(known)} known ones left:",
          ", ".join(f"{n} {rule}" for rule, n in sorted(left.items())))
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
