"""Every line that begins with "try:" works when it is pasted.

usage: pasted_lines_test.py PROGRAM MODELS_FOLDER GOLDEN_FOLDER

Runs the commands of the golden files and some on models whose dimensions have no size, and then what they propose: a
command of this program must not be refused, a line of Python must be one, and nothing else but a few other tools is
proposed.
"""
import ast
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

TRY = re.compile(r"^\s*(?:- )?try: (.*)$", re.M)
# To be pasted elsewhere.
OTHERS = ("onnx_mem.", "torch.", "providers=[", "git lfs ", "gunzip ", "python -m ", "nvidia-smi")
PLACEHOLDERS = {"MODEL": "models/lenet5.train.ts.op17.onnx", "MODEL...": "models/lenet5.train.ts.op17.onnx",
                "OTHER.onnx": "models/lenet5.eval.ts.op17.onnx", "SIZE": "8GiB", "NAME": "T4", "N": "2",
                "bash|zsh|fish": "bash"}
DECODER, INT8 = "models/decoder.eval.ts.op17.onnx", "models/resnet18.int8.eval.ts.op17.onnx"
COMMANDS = (
    f"onnx-mem {DECODER}",
    f"onnx-mem {DECODER} -b 4 --gpu T4 --mode infer",
    f"onnx-mem {DECODER} -b 2 --dim past_sequence_length=0",
    f"onnx-mem {DECODER} -b 1,2 -q --dim sequence_length=1",
    f"onnx-mem {DECODER} --for onnxruntime --device cpu",
    f"onnx-mem fit {DECODER} --gpu 'RTX 4090'",
    f"onnx-mem plan {DECODER} -b 2 --budget 8GiB",
    f"onnx-mem compare {DECODER} {DECODER} -b 1,2",
    f"onnx-mem check {DECODER}",
    f"onnx-mem check {DECODER} --dim past_sequence_length=0",
    f"onnx-mem --batch 2 -- {DECODER}",
    f"onnx-mem plan {INT8} --budget 1GiB",
    f"onnx-mem fit {INT8}",
    f"onnx-mem check {INT8}",
    f"onnx-mem plan {PLACEHOLDERS['MODEL']} --max-batch",
)

LENET, RESNET = PLACEHOLDERS["MODEL"], "models/resnet18.train.ts.op17.onnx"
GPT2 = "models/gpt2_sdpa.train.ts.op17.onnx"
# Each proposes a command of this program.
SITUATIONS = (
    f"onnx-mem {LENET} --gpu A100",
    f"onnx-mem {LENET} -b 4 --gpu 'T4,A100'",
    f"onnx-mem {LENET} --gpu 'RTX 4091'",
    f"onnx-mem fit {LENET} --gpu NoSuchCard",
    "onnx-mem gpus NoSuchCard",
    f"onnx-mem plan {LENET} -b 32,64 --budget 80%",
    f"onnx-mem plan {LENET} -b 32,64 --budget 100MiB",
    f"onnx-mem fit {LENET} --budget 50%",
    f"onnx-mem check {LENET} -b 2,4",
    f"onnx-mem {LENET} {RESNET} -b 2,4",
    f"onnx-mem {LENET} -b 2,4 --by layer",
    f"onnx-mem {LENET} -b 2,4 -f svg",
    f"onnx-mem {GPT2} -b 8 -d seq=128 -m train --base-bits 4",
    f"onnx-mem {GPT2} -b 8 -d seq=128 -m train --lora 8:q_proj",
    f"onnx-mem {GPT2} -b 2 -d seq=16 --lora 8:c_attn --bitsandbytes 0.41.1",
    f"onnx-mem {LENET} --torch 0.1",
    f"onnx-mem {LENET} --torch 2.99",
    f"onnx-mem {LENET} --dropout 0.1:",
    f"onnx-mem {LENET} --fsdp two",
    f"onnx-mem {LENET} --hsdp 8",
    f"onnx-mem {LENET} --fsdp 8:",
    f"onnx-mem {LENET} -m infer --ddp 8",
    f"onnx-mem {LENET} --fsdp 2 --reshard maybe",
    f"onnx-mem {LENET} -m train --for onnxruntime",
    f"onnx-mem {LENET} --for pytorch --device cpu",
    f"onnx-mem {LENET} --for pytorch --sessions 2",
    f"onnx-mem {LENET} --for onnxruntime --allocator pytorch",
    f"onnx-mem plan {LENET} -b 8 --offload --cost-in flops --budget 99%",
    f"onnx-mem plan {GPT2} -b 8 -d seq=64 --pipeline 2 --stages-per-rank 2 --schedule interleaved-zb --budget 99%",
    f"onnx-mem plan {GPT2} -b 8 -d seq=64 --tp 2 --offload --host-memory 1GiB --budget 99%",
    f"onnx-mem fit {GPT2} -b 8 -d seq=64 --gpu T4 --pipeline 2,4",
    f"onnx-mem {GPT2} -b 8 -d seq=64 --tp two",
    f"onnx-mem {GPT2} -b 8 -d seq=64 --pipeline 2,4 --split m.transformer.h.3",
    f"onnx-mem plan {RESNET} -b 8 --pipeline 2 --granularity call --budget 99%",
    f"onnx-mem compare {LENET} {RESNET} -b 2 --by op",
    f"onnx-mem {LENET} --freeze nothing_like_it",
    f"onnx-mem {LENET} --segment nothing_like_it",
)


def golden(path: pathlib.Path) -> tuple[str, dict[str, str]] | None:
    """The command and its files, of a golden file in which something is proposed."""
    text = path.read_text()
    if not TRY.search(text):
        return None
    command = next(line[2:] for line in text.splitlines() if line.startswith("$ "))
    files = dict(re.findall(r"^==== file (\S+)\n(.*?)(?=^==== )", text, re.M | re.S))
    return command, files


def run(command: str, folder: pathlib.Path, program: pathlib.Path) -> subprocess.CompletedProcess:
    return subprocess.run(["bash", "-c", command], cwd=folder, capture_output=True, text=True, errors="replace",
                          check=False, env={"PATH": f"{program.parent}:/usr/bin:/bin", "LC_ALL": "C.UTF-8"})


def filled(words: str) -> str:
    return " ".join(PLACEHOLDERS.get(word, word) for word in words.split(" "))


def faults_of(line: str, command: str, folder: pathlib.Path, program: pathlib.Path) -> list[str]:
    pasted = line.split("   # ")[0]
    if pasted.startswith("onnx-mem"):
        ran = run(filled(line), folder, program)
        refused = ran.returncode not in (0, 1)
        return [f"{line!r}: {ran.stderr[:300]}"] if refused else []
    if pasted.startswith("... "):
        return [f"{line!r} is no command"]
    if not pasted.startswith(OTHERS):
        return [f"{line!r} is no command"]
    if pasted.startswith(("onnx_mem.", "torch.")):
        try:
            ast.parse(pasted)
        except SyntaxError as error:
            return [f"{line!r}: {error}"]
    return []


def kept(line: str, command: str) -> list[str]:
    """Words of the user that a proposed command line has lost: all of it is there, with more. `check` proposes
    analyses, which are asked without its name."""
    if not line.startswith("onnx-mem") or " --dim " not in line and " --input " not in line:
        return []
    there = shlex.split(line)
    return [word for word in shlex.split(command) if word not in there and word != "check"]


def main() -> int:
    program, models, goldens = (pathlib.Path(word).resolve() for word in sys.argv[1:4])
    cases = [(command, {}) for command in COMMANDS + SITUATIONS]
    cases += [case for case in map(golden, sorted(goldens.glob("*.txt"))) if case]
    wrong, lines = [], 0
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "models").symlink_to(models)
        for command, files in cases:
            for file, text in files.items():
                (folder / file).write_text(text)
            ran = run(command, folder, program)
            if ran.returncode not in (0, 1, 2):
                wrong.append(f"{command!r} ended with {ran.returncode}: {ran.stderr[:300]}")
            if command in SITUATIONS and "try: onnx-mem " not in ran.stderr + ran.stdout:
                wrong.append(f"$ {command}\n    proposes no command: {ran.stderr[:300]}")
            commands = [line for line in TRY.findall(ran.stdout) if line.startswith("onnx-mem ")]
            for line in dict.fromkeys(TRY.findall(ran.stderr) + commands):
                lines += 1
                wrong += [f"$ {command}\n    {fault}" for fault in faults_of(line, command, folder, program)]
                wrong += [f"$ {command}\n    {line!r} has lost {word!r}" for word in kept(line, command)]
    for fault in wrong:
        print(fault)
    print(f"{lines} lines of {len(cases)} commands, {len(wrong)} faults")
    return 1 if wrong or lines < 30 else 0


if __name__ == "__main__":
    sys.exit(main())
