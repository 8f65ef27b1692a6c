"""The program onnx-mem: where it is, and running it."""
from __future__ import annotations

import json
import os
import pathlib
import shutil
import subprocess
from collections.abc import Mapping
from typing import Any

from . import _ways_out
from .errors import Error

NAME = "onnx-mem.exe" if os.name == "nt" else "onnx-mem"
VARIABLE = "ONNX_MEM_PROGRAM"
_SCREEN = "screen.txt"
_SIZES = ("budget", "gpu_memory", "host_memory", "measured")
_ELSEWHERE = {"format": 'report.save("report.csv"), .json, .html ...', "quiet": "report.training.device_bytes",
              "emit": "plan.code, or plan.save(\"plan.json\")", "instance": "the command line has it alone",
              "self_contained": "plan.code"}
_DONE, _NO = 0, 1                  # exit codes of an answer: yes or neutral, and no


def find_program() -> str:
    """Path of the program: $ONNX_MEM_PROGRAM, else the one in this package, else the first on PATH that is no script.

    Raises:
      Error: code "no-program".
    """
    given = os.environ.get(VARIABLE)
    if given:
        if not os.access(given, os.X_OK):
            raise Error(f"{VARIABLE} is '{given}', which cannot be run", "no-program")
        return given
    beside = pathlib.Path(__file__).parent / "bin" / NAME
    if beside.exists():
        return str(beside)
    for folder in os.environ.get("PATH", "").split(os.pathsep):
        found = shutil.which(NAME, path=folder) if folder else None
        if found and not _is_script(found):
            return found
    raise Error(f"the program {NAME} is not beside the package nor on PATH; set {VARIABLE} to it", "no-program")


def _is_script(path: str) -> bool:
    with open(path, "rb") as f:
        return f.read(2) == b"#!"


def options_of(options: dict[str, Any]) -> list[str]:
    """{"max_slowdown": "10%", "offload": True, "batch": [1, 8]} as the command line writes them.

    Underscores become dashes. True is a flag; None and False leave the option out; a list repeats the option (of
    batches: joins them with commas), and so does a dict, {"seq": 512}. A size may be a number of bytes.

    Raises:
      Error: code "bad-option" for what has another form in Python.
    """
    out: list[str] = []
    for name, value in options.items():
        if name in _ELSEWHERE:
            raise Error(f"{name} has another form in Python: {_ELSEWHERE[name]}", "bad-option")
        if name in _SIZES and isinstance(value, int) and not isinstance(value, bool):
            value = f"{value}B"
        if isinstance(value, Mapping):
            value = [f"{k}={v}" for k, v in value.items()]
        flag = "--" + name.rstrip("_").replace("_", "-")
        if value is None or value is False:
            continue
        if value is True:
            out.append(flag)
        elif isinstance(value, (list, tuple)):
            if name == "batch":
                out += [flag, ",".join(map(str, value))]
            else:
                out += [part for v in value for part in (flag, str(v))]
        else:
            out += [flag, str(value)]
    return out


def run_json(arguments: list[str]) -> dict[str, Any]:
    """The program's answer with --format json. An answer that is no (exit 1) is an answer.

    Raises:
      Error: with the program's own code and message.
    """
    done = subprocess.run([find_program(), *arguments, "--format", "json"], capture_output=True, text=True, check=False)
    try:
        answer = json.loads(done.stdout)
    except ValueError:
        answer = {}
    if "error" in answer or done.returncode not in (_DONE, _NO) or not answer:
        reported = answer.get("error", {})
        silent = f"{NAME} ended with {done.returncode} and said nothing"
        message = reported.get("message") or done.stderr.strip() or silent
        raise _error_of(message, reported.get("details", []), reported.get("code", "program-failed"), arguments,
                        done.returncode)
    return answer


def _error_of(message: str, details: list[str], code: str, arguments: list[str], status: int) -> Error:
    """With the way out as Python writes it."""
    command = arguments[0] if arguments[0] in ("plan", "fit", "compare") else "analyze"
    lines = [_ways_out.in_python(str(line), command) for line in (message, *details)]
    found = _ways_out.near_option(message, command)
    lines[1:] = [*found, *(line for line in lines[1:] if not found or not line.startswith("did you mean"))]
    if code == "not-found":
        lines += [near for word in arguments if f"'{word}'" in message for near in _ways_out.near_file(word)]
    return Error("\n  ".join(lines), code, status)


def run_answer(arguments: list[str], folder: str) -> tuple[dict[str, Any], str]:
    """(the answer, the screen that shows it), from one run.

    Raises:
      Error: as run_json.
    """
    screen = os.path.join(folder, _SCREEN)
    return run_json([*arguments, "-o", screen]), _text_of(screen)


def run_pictured(arguments: list[str], folder: str) -> tuple[dict[str, Any], str, str]:
    """(the answer of analyze, its screen, the course of memory as SVG; "" where there is none).

    The screen is the one that the command shows; a file of it would hold every list whole. So it is a run of its own,
    beside the other one and on the same file.

    Raises:
      Error: as run_json.
    """
    picture = os.path.join(folder, "course.svg")
    shown = subprocess.Popen([find_program(), *arguments], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        try:
            answer = run_json([*arguments, "-o", picture])
        except Error as e:
            if e.code != "usage":          # that is: of several batches, or of a saved report
                raise
            answer = run_json(arguments)
    finally:
        screen, _ = shown.communicate()
    return answer, screen, _text_of(picture) if os.path.exists(picture) else ""


def _text_of(path: str) -> str:
    with open(path, encoding="utf-8") as f:
        return f.read()


def run_emitted(arguments: list[str], folder: str) -> tuple[dict[str, Any], str, str]:
    """(the answer of plan, the screen that shows it, the code that applies it; "" without a chosen plan), from one run.

    Raises:
      Error: as run_json.
    """
    report, screen = os.path.join(folder, "report.json"), os.path.join(folder, _SCREEN)
    outputs = ("--emit", "pytorch", "--self-contained", "-o", report, "-o", screen)
    done = subprocess.run([find_program(), *arguments, *outputs], capture_output=True, text=True, check=False)
    if done.returncode not in (_DONE, _NO) or not os.path.exists(report):
        return *run_answer(arguments, folder), ""
    answer = json.loads(_text_of(report))
    return answer, _text_of(screen), done.stdout if answer.get("chosen") is not None else ""
