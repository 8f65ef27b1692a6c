"""What must hold between answers about one model, of every committed model and two batches: a list of batches gives
what each alone gives, the peak grows with the batch as the scaling says, categories sum to the peak, an inference takes
no more than a training step, intervals hold their figure, -q prints the figures of the JSON, and one rank of several
strategies needs what one card needs.

usage: relations_test.py PROGRAM FILE...
"""
import json
import pathlib
import re
import subprocess
import sys

BATCHES = (2, 4, 8)
PARTS = ("training", "inference")


class CannotAsk(Exception):
    pass


def ask(program: str, file: str, *options: str) -> str:
    """Standard output, of another try with lengths where the model wants some."""
    for dims in ([], ["-d", "seq=64"], ["-d", "sequence_length=8", "-d", "past_sequence_length=8"]):
        ran = subprocess.run([program, file, *dims, *options], capture_output=True, text=True, check=False)
        if ran.returncode == 0:
            break
    if ran.returncode != 0:
        raise CannotAsk(ran.stderr[:400])
    return ran.stdout


def report(program: str, file: str, batches: str) -> dict:
    return json.loads(ask(program, file, "-b", batches, "--format", "json"))


def parts_of(run: dict) -> tuple[str, ...]:
    return tuple(part for part in PARTS if run.get(part))


def check_run(run: dict) -> list[str]:
    wrong = []
    for part in parts_of(run):
        figures = run[part]
        if sum(figures["breakdown"].values()) != figures["peak_bytes"]:
            wrong.append(f"categories of {part} do not sum to its peak")
        for figure, interval in (("peak_bytes", "peak_interval_bytes"), ("device_bytes", "device_interval_bytes")):
            low, high = figures.get(interval) or (figures[figure], figures[figure])
            if not low <= figures[figure] <= high:
                wrong.append(f"{interval} of {part} does not hold {figure}")
    if parts_of(run) == PARTS and run["inference"]["peak_bytes"] > run["training"]["peak_bytes"]:
        wrong.append("an inference takes more than a training step")
    return [f"batch {run['batch']}: {line}" for line in wrong]


def check_quiet(text: str, runs: list[dict]) -> list[str]:
    said = [list(map(int, re.findall(r"(?:batch|train|infer)=(\d+)", line))) for line in text.splitlines()]
    has = [[run["batch"], *(run[part]["device_bytes"] for part in parts_of(run))] for run in runs]
    return [] if said == has else [f"-q says {said}, JSON has {has}"]


def check_varied(program: str, file: str, alone: dict) -> list[str]:
    """Shorter steps before it change nothing of the longest: they may leave more with the allocator."""
    varied = json.loads(ask(program, file, "-b", str(alone["batch"]), "--shortest", "batch=1", "--format", "json"))
    wrong = []
    for part in parts_of(alone):
        one, all_of_them = alone[part], varied["runs"][0][part]
        wrong += [f"--shortest: {figure} of {part} differs" for figure in ("peak_bytes", "device_bytes")
                  if one[figure] != all_of_them[figure]]
        low, high = (all_of_them["device_interval_bytes"][i] for i in (0, 1))
        if low > one["device_interval_bytes"][0] or high < one["device_interval_bytes"][1]:
            wrong.append(f"--shortest: the range of {part} is no wider one")
    return wrong


def check_one_rank(program: str, file: str, alone: dict) -> list[str]:
    """Tensors that one rank splits are whole, and DDP adds its buckets to the step of one card and nothing else."""
    batch = ("-b", str(alone["batch"]), "--mode", "train", "--format", "json")
    wrong = []
    if ask(program, file, *batch, "--tp", "1") != ask(program, file, *batch):
        wrong.append("--tp 1 is not the answer for one card")
    spread = json.loads(ask(program, file, *batch, "--ddp", "1"))["runs"][0]["training"]
    if spread["peak_bytes"] - spread["breakdown"]["communication"] != alone["training"]["peak_bytes"]:
        wrong.append("--ddp 1 without its buckets is not the step of one card")
    return wrong


def check(program: str, file: str) -> list[str]:
    swept = report(program, file, ",".join(map(str, BATCHES)))
    wrong = [line for run in swept["runs"] for line in check_run(run)]
    for run in swept["runs"]:
        alone = report(program, file, str(run["batch"]))["runs"][0]
        wrong += [f"batch {run['batch']}: {part} differs in a list of batches" for part in parts_of(run)
                  if alone[part]["peak_bytes"] != run[part]["peak_bytes"]
                  or alone[part]["device_bytes"] != run[part]["device_bytes"]]
    if swept["runs"][0].get("training"):  # what a session keeps is not modelled
        longest = report(program, file, str(BATCHES[-1]))["runs"][0]
        wrong += check_varied(program, file, longest) + check_one_rank(program, file, longest)
    wrong += check_quiet(ask(program, file, "-b", ",".join(map(str, BATCHES)), "-q"), swept["runs"])
    scaling = swept["scaling"]
    if scaling and scaling["exact"]:
        batch = (scaling["from_batch"] + scaling["to_batch"]) // 2  # which nobody asked for
        run = report(program, file, str(batch))["runs"][0]
        peak = run[parts_of(run)[0]]["peak_bytes"]
        line = scaling["fixed_bytes"] + scaling["bytes_per_sample"] * batch
        if peak != line:
            wrong.append(f"batch {batch}: {peak} bytes, where the scaling gives {line}")
    return wrong


def main() -> int:
    program, files = str(pathlib.Path(sys.argv[1]).resolve()), sys.argv[2:]
    failed = 0
    for file in files:
        try:
            wrong = check(program, file)
        except CannotAsk as error:
            wrong = [str(error)]
        if wrong:
            failed += 1
            print(pathlib.Path(file).name, *wrong[:12], sep="\n    ")
    print(f"{len(files)} models, {failed} that contradict themselves")
    return 1 if failed or not files else 0


sys.exit(main())
