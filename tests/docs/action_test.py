"""action.yml with the inputs of docs/ci/onnx-mem.yml, its shell steps run as their service runs them, with models of
testdata; and the hooks of .pre-commit-hooks.yaml.

usage: action_test.py PROGRAM ROOT

No network: pip and gh are stand-ins that write down how they were called. Steps of other actions (caches, artifacts)
are not run; their conditions are evaluated all the same.
"""
import json
import os
import pathlib
import re
import runpy
import shlex
import shutil
import subprocess
import sys
import tempfile

GH = """#!/usr/bin/env python3
import json, os, pathlib, sys
folder = pathlib.Path(os.environ["FOLDER"])
body = json.loads(sys.stdin.read())["body"] if "--input" in sys.argv else None
with open(folder / "called", "a") as file:
    file.write(json.dumps(["gh", *sys.argv[1:], body]) + "\\n")
if body is None:
    print((folder / "comments").read_text())    # the numbers that --jq would leave
"""
PIP = """#!/bin/sh
if [ "$1" = -m ] && [ "$2" = pip ]; then shift; echo "[\\"$*\\"]" >>"$FOLDER/called"; exit 0; fi
exec REAL "$@"
"""


def block(text: str, key: str, indent: int) -> str:
    """The lines below `key:` that stand further in than it."""
    below = rf"((?: {{{indent + 1},}}.*\n|\n)*)"
    found = re.search(rf"^ {{{indent}}}{re.escape(key)}: ?[|>]?-?(.*)\n{below}", text, flags=re.M)
    return "" if found is None else found.group(1) + "\n" + found.group(2)


def pairs(text: str) -> dict[str, str]:
    """`key: value` of each line."""
    return dict(re.findall(r"^ *([\w-]+): (.*)$", text, flags=re.M))


def steps_of(action: str) -> list[dict[str, str]]:
    steps = []
    for text in re.split(r"^    - name: ", action[action.index("  steps:\n"):], flags=re.M)[1:]:
        steps.append({"name": text.split("\n", 1)[0], "if": " ".join(block(text, "if", 6).split()) or "success()",
                      "run": re.sub(r"^ {8}", "", block(text, "run", 6), flags=re.M),
                      "env": block(text, "env", 6), "uses": block(text, "uses", 6).strip()})
    return steps


def inputs_of(action: str) -> dict[str, str]:
    """Each input's default."""
    return {name: pairs(text).get("default", "").strip('"')
            for name, text in re.findall(r"^  ([\w-]+):\n((?:    .*\n)+)", action[:action.index("\noutputs:")] + "\n",
                                         flags=re.M)}


class Job:
    """The expressions of one job."""

    def __init__(self, inputs: dict[str, str], github: dict[str, str]) -> None:
        self.values = {**{f"inputs.{k}": v for k, v in inputs.items()}, **{f"github.{k}": v for k, v in github.items()}}
        self.failed = False

    def value(self, name: str) -> str:
        return self.values.get(name, "")

    def filled(self, text: str) -> str:
        return re.sub(r"\$\{\{ ([\w.-]+) \}\}", lambda found: self.value(found.group(1)), text)

    def holds(self, condition: str) -> bool:
        python = re.sub(r"(?<!['\w])(?:inputs|github|steps)\.[\w.-]+", lambda found: repr(self.value(found.group(0))),
                        condition.replace("&&", " and "))
        python = python.replace("always()", "True").replace("success()", "True")
        return (not self.failed or "always()" in condition) and bool(eval(python))  # noqa: S307  our own file


def run(root: pathlib.Path, program: pathlib.Path, folder: pathlib.Path, given: dict[str, str],
        event: str = "pull_request", head: str = "us/model") -> dict[str, int]:
    """The exit status of each step that ran; 0 for those that are not run here."""
    action = (root / "action.yml").read_text()
    tools = folder / "tools"
    tools.mkdir(exist_ok=True)
    for name, text in (("gh", GH), ("python3", PIP.replace("REAL", sys.executable))):
        (tools / name).write_text(text)
        (tools / name).chmod(0o755)
    for name in ("called", "summary", "output"):
        (folder / name).write_text("")
    assert not set(given) - set(inputs_of(action)), (given, inputs_of(action))
    job = Job({**inputs_of(action), **given},
              {"action_path": str(root), "event_name": event, "event.number": "7", "repository": "us/model",
               "event.pull_request.head.repo.full_name": head, "token": "t"})
    statuses = {}
    for step in steps_of(action):
        if not job.holds(step["if"]):
            continue
        statuses[step["name"]] = 0
        if not step["run"]:
            assert step["uses"], step
            continue
        assert "${{" not in step["run"], step    # what a stranger may write is never part of a script
        environment = {**os.environ, **{k: job.filled(v) for k, v in pairs(step["env"]).items()}, "FOLDER": str(folder),
                       "PATH": f"{tools}:{program.parent}:{os.environ['PATH']}", "GITHUB_REPOSITORY": "us/model",
                       "GITHUB_STEP_SUMMARY": str(folder / "summary"), "GITHUB_OUTPUT": str(folder / "output")}
        ran = subprocess.run(["bash", "-e", "-o", "pipefail", "-c", step["run"]], cwd=folder, env=environment,
                             capture_output=True, text=True, check=False)
        if "Traceback" in ran.stderr:
            raise SystemExit(f"{step['name']}: {ran.stderr}")
        statuses[step["name"]] = ran.returncode
        job.failed = job.failed or ran.returncode != 0
        for line in (folder / "output").read_text().splitlines():
            name, value = line.split("=", 1)
            job.values[f"steps.gate.outputs.{name}"] = value
    return statuses


def check_action(root: pathlib.Path, program: pathlib.Path, folder: pathlib.Path) -> None:
    models = root / "testdata" / "models"
    given = pairs(block((root / "docs/ci/onnx-mem.yml").read_text(), "with", 8))
    text = folder / "onnx-mem" / "comment.md"
    called = lambda: [json.loads(line) for line in (folder / "called").read_text().splitlines()]  # noqa: E731
    (folder / "comments").write_text("")
    shutil.copy(models / "resnet18.train.ts.op17.onnx", folder / "model.onnx")

    # The default branch: nothing to compare with, no comment; its report is kept.
    on_push = run(root, program, folder, given, event="push")
    assert on_push == {"Install": 0, "The gate": 0, "Keep the base": 0, "The page": 0}, on_push
    assert called() == [["pip install --quiet --disable-pip-version-check onnx-mem"]], called()

    # A pull request that changes nothing.
    steps = run(root, program, folder, given)
    assert steps == {"Install": 0, "The base that was kept": 0, "The gate": 0, "The comment": 0, "The page": 0}, steps
    assert "fits the budget of 8.00 GiB" in text.read_text(), text.read_text()
    assert "OK: no peak, and nothing on the GPU, grew by more than 2 %" in text.read_text(), text.read_text()
    assert (folder / "summary").read_text().strip() == text.read_text().strip()
    assert (folder / "output").read_text().splitlines()[0] == "verdict=yes"
    assert (folder / "onnx-mem" / "report.html").read_text().startswith("<!doctype html>")
    listed, written = called()[1:]
    assert "repos/us/model/issues/7/comments" in listed and "POST" in written and written[-1] == text.read_text()

    # The next push of the pull request: its comment is written anew. A model that needs more than the base.
    (folder / "comments").write_text("41")
    shutil.copy(folder / "onnx-mem" / "base.json", folder / "base.json")
    shutil.copy(models / "resnet50.train.ts.op17.onnx", folder / "model.onnx")
    steps = run(root, program, folder, {**given, "base": "base.json"})
    assert steps == {"Install": 0, "The gate": 1, "The comment": 0, "The page": 0}, steps
    assert "TOO MUCH: training peak" in text.read_text(), text.read_text()
    assert "PATCH" in called()[-1] and "repos/us/model/issues/comments/41" in called()[-1], called()

    # A budget that is too small; from a fork, whose token may not write; a file that is none.
    steps = run(root, program, folder, {**given, "limit": "--budget 1GiB", "base": ""}, head="them/model")
    assert steps == {"Install": 0, "The gate": 1, "The page": 0}, steps
    assert "does not fit the budget of 1.00 GiB" in (folder / "summary").read_text()
    (folder / "model.onnx").write_text("none")
    steps = run(root, program, folder, {**given, "base": "", "package": ""})
    assert steps == {"The gate": 2, "The comment": 0, "The page": 0}, steps
    assert "could not answer" in text.read_text()


def check_harmless(root: pathlib.Path) -> None:
    harmless = runpy.run_path(str(root / "scripts/ci_gate"), run_name="read")["harmless"]
    for text in ("@them", "a@b.example", "#12", "us/model#12", "GH-4", "http://x.example", "HTTPS://X", "www.x.example",
                 "[a](b)", "![a](//b)", "[a][b]", "<img src=x>", "&#64;them", "&commat;them", "&#x40;them", "mailto:a"):
        shown = harmless(text)
        active = r"@\w|#\d|GH-\d|://|www\.|\]\(|\]\[|<\w|&#?\w+;.*them|mailto:\w"
        assert not re.search(active, shown.replace("&amp;", ""), flags=re.I), (text, shown)
    for text in ("| 64 | 1.47 GiB | -3.1 MiB |", "layer4.2\\_relu \\<x 2 < 3", "**fits the budget of 8.00 GiB, 30 %**"):
        assert harmless(text) == text, text


def check_hooks(root: pathlib.Path, program: pathlib.Path, folder: pathlib.Path) -> None:
    models = [str(root / "testdata" / "models" / f"{name}.train.ts.op17.onnx") for name in ("lenet5", "resnet18")]
    text = (root / ".pre-commit-hooks.yaml").read_text()
    example = json.loads("[" + ", ".join(f'"{word.strip().strip(chr(34))}"' for word in
                                         re.search(r"args: \[(.*)\]", text).group(1).split(",")) + "]")
    entries = dict(re.findall(r"^- id: (\S+)\n(?:  .*\n)*?  entry: (.*)\n", text, flags=re.M))
    assert set(entries) == {"onnx-mem", "onnx-mem-strict"}, entries
    environment = {**os.environ, "PATH": f"{program.parent}:{os.environ['PATH']}"}

    def status(hook: str, *arguments: str) -> int:
        command = [*shlex.split(entries[hook]), *arguments, *models]
        return subprocess.run(command, cwd=folder, env=environment, check=False, capture_output=True).returncode

    assert status("onnx-mem", *example) == 0
    assert status("onnx-mem", "-b", "64", "--budget", "1GiB") == 1
    assert status("onnx-mem-strict") == 0
    models = [str(root / "testdata" / "models" / "bert_base.train.ts.op17.onnx")]
    assert status("onnx-mem-strict") == 2    # its dropout had to be guessed


def main() -> None:
    program, root = (pathlib.Path(path).resolve() for path in sys.argv[1:3])
    with tempfile.TemporaryDirectory() as folder:
        check_action(root, program, pathlib.Path(folder))
        check_hooks(root, program, pathlib.Path(folder))
    check_harmless(root)
    print("ok")


main()
