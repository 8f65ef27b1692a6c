"""The program's error texts as Python says them: options as keywords, names that are near what was written."""
from __future__ import annotations

import ast
import difflib
import keyword
import os
import pathlib
import re
import shlex

_SHORT = {"b": "batch", "d": "dim", "m": "mode", "n": "top"}
_FLAG = re.compile(r"(?<![\w-])--([a-z][a-z-]*)")
_UNKNOWN = re.compile(r"^unknown option '--([\w-]+)'")


def keyword_of(flag: str) -> str:
    """--gpu-memory -> gpu_memory, --for -> for_."""
    name = flag.lstrip("-").replace("-", "_")
    name = _SHORT.get(name, name)
    return f"{name}_" if keyword.iskeyword(name) else name


def in_python(line: str, command: str) -> str:
    """A line of an error text: try: --dim past=496 --dim seq=16 -> try: dim=["past=496", "seq=16"]."""
    found = re.match(r"(try|for example): (?:\.\.\. )?(-.*)$", line)
    if found is not None:
        options, _, remark = found[2].partition("   # ")
        return f"{found[1]}: {as_keywords(options)}" + (f"   # {_FLAG.sub(_named, remark)}" if remark else "")
    if line == "try: onnx-mem --help" or line == f"try: onnx-mem {command} --help":
        return f"try: help(onnx_mem.{command})"
    if line.startswith("try: onnx-mem "):
        return line                        # a line for a shell
    return _FLAG.sub(_named, line.replace("(onnx-mem --help)", "").rstrip())


def _named(flag: re.Match[str]) -> str:
    return keyword_of(flag[1])


def as_keywords(options: str) -> str:
    """--dim past=496 --dim seq=16 --strict -> dim=["past=496", "seq=16"], strict=True."""
    given: dict[str, list[str]] = {}
    name = ""
    for word in shlex.split(options):
        if word.startswith("-") and not re.match(r"-\d", word):
            name = keyword_of(word)
            given.setdefault(name, [])
        elif name:
            given[name].append(_text(word))
    shown = {name: values[0] if len(values) == 1 else f"[{', '.join(values)}]" if values else "True"
             for name, values in given.items()}
    return ", ".join(f"{name}={value}" for name, value in shown.items())


def _text(word: str) -> str:
    """A text of Python that holds the word; raw where it has a backslash, as regular expressions do."""
    if '"' in word:
        return repr(word)
    return f'r"{word}"' if "\\" in word else f'"{word}"'


def near_option(message: str, command: str) -> list[str]:
    """A line with the keywords that an unknown one is near to."""
    found = _UNKNOWN.match(message)
    if found is None:
        return []
    wrong, names = keyword_of(found[1]), keywords_of(command)
    near = difflib.get_close_matches(wrong, names, 3) or [n for n in names if len(n) > 2 and n in wrong.split("_")]
    return ["did you mean: " + ", ".join(near)] if near else []


def keywords_of(command: str) -> list[str]:
    """What the function of the command takes by name."""
    text = pathlib.Path(__file__).with_name("_signatures.pyi").read_text(encoding="utf-8")
    functions = [x for x in ast.parse(text).body if isinstance(x, ast.FunctionDef) and x.name == command]
    return [a.arg for function in functions for a in function.args.kwonlyargs]


def near_file(path: str) -> list[str]:
    """A line with the files of the folder whose names are near, or with the folder that is not there."""
    folder, name = os.path.split(path)
    if not os.path.isdir(folder or os.curdir):
        return [f"there is no folder '{folder}'"]
    near = difflib.get_close_matches(name, os.listdir(folder or os.curdir), 3)
    return ["did you mean: " + ", ".join(f"'{os.path.join(folder, n)}'" for n in near)] if near else []
