"""The shell steps of docs/ci/onnx-mem.yml, run as its service runs them, with models of testdata.

usage: workflow_test.py PROGRAM MODELS WORKFLOW

No network: pip and gh are stand-ins that write down how they were called.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile


def steps_of(workflow: str) -> list[tuple[str, bool, str]]:
    """(name, runs after a failure too, script) of each step that is a script."""
    steps = []
    for text in re.split(r"^      - ", workflow, flags=re.M)[1:]:
        script = re.search(r"^        run: \|\n((?:          .*\n|\n)+)", text, flags=re.M)
        if script is None:
            continue
        name = re.match(r"name: (.*)", text).group(1)
        steps.append((name, "if: always()" in text, re.sub(r"^          ", "", script.group(1), flags=re.M)))
    return steps


def values_of(workflow: str) -> dict[str, str]:
    block = re.search(r"^env:\n((?:  .*\n)+)", workflow, flags=re.M).group(1)
    return dict(line.strip().split(": ", 1) for line in block.splitlines())


def run(workflow: str, program: pathlib.Path, folder: pathlib.Path, **changed: str) -> dict[str, int]:
    """The exit status of each step that ran. A step fails where one of its commands does (bash -e), and then only steps
    that run always are left."""
    tools = folder / "tools"
    tools.mkdir(exist_ok=True)
    for tool in ("pip", "gh"):
        (tools / tool).write_text(f'#!/bin/sh\necho "{tool} $*" >>"{folder}/called"\n')
        (tools / tool).chmod(0o755)
    (folder / "called").write_text("")
    (folder / "summary").write_text("")
    environment = {**os.environ, **values_of(workflow), **changed,
                   "PATH": f"{tools}:{program.parent}:{os.environ['PATH']}",
                   "GITHUB_STEP_SUMMARY": str(folder / "summary"), "PULL_REQUEST": "7", "ONNX_MEM_WHEEL": "the.whl"}
    statuses, failed = {}, False
    for name, always, script in steps_of(workflow):
        if failed and not always:
            continue
        ran = subprocess.run(["bash", "-e", "-o", "pipefail", "-c", script], cwd=folder, env=environment,
                             capture_output=True, text=True, check=False)
        statuses[name] = ran.returncode
        failed = failed or ran.returncode != 0
        if ran.returncode not in (0, 1):
            raise SystemExit(f"{name}: exit status {ran.returncode}\n{ran.stderr}")
    return statuses


def main() -> None:
    program, models, path = map(pathlib.Path, sys.argv[1:4])
    workflow = path.read_text()
    fits, no_more, tells = [name for name, _, _ in steps_of(workflow)][1:]
    with tempfile.TemporaryDirectory() as made:
        folder = pathlib.Path(made)
        shutil.copy(models / "resnet18.train.ts.op17.onnx", folder / "model.onnx")
        subprocess.run([program, "model.onnx", "-b", "64", "-o", "memory.json"], cwd=folder, check=True,
                       stdout=subprocess.DEVNULL)

        assert run(workflow, program, folder) == {"Install": 0, fits: 0, no_more: 0, tells: 0}
        assert (folder / "called").read_text() == (
            "pip install the.whl\ngh pr comment 7 --edit-last --create-if-none --body-file comment.md\n")
        comment = (folder / "comment.md").read_text()
        assert "fits the budget of 8.00 GiB" in comment, comment
        assert "OK: no peak, and nothing on the GPU, grew by more than 2 %" in comment, comment
        assert (folder / "summary").read_text() == comment
        assert (folder / "report.html").read_text().startswith("<!doctype html>")

        # A budget that is too small ends the job, and is told.
        statuses = run(workflow, program, folder, BUDGET="1GiB")
        assert statuses == {"Install": 0, fits: 1, no_more: 0, tells: 0}, statuses
        assert "does not fit the budget of 1.00 GiB" in (folder / "comment.md").read_text()

        # A model that needs more than its saved report says.
        shutil.copy(models / "resnet50.train.ts.op17.onnx", folder / "model.onnx")
        statuses = run(workflow, program, folder)
        assert statuses == {"Install": 0, fits: 0, no_more: 1, tells: 0}, statuses
        comment = (folder / "comment.md").read_text()
        assert re.search(r"training needs .* on the GPU, \+", comment), comment
    print("ok")


main()
