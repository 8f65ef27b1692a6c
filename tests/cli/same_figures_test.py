"""One run in every format: the same integers in text, JSON, CSV, Markdown and on the page, and in what other programs'
viewers read.

usage: same_figures_test.py PROGRAM FILE...     models and records
"""
import csv
import json
import pathlib
import pickle
import re
import subprocess
import sys
import tempfile

FIGURES = ("peak_bytes", "allocated_peak_bytes", "reserved_peak_bytes", "device_bytes")
FILES = ("r.json", "r.csv", "r.md", "r.html", "r.svg", "trace=r.trace.json", "r.folded", "r.speedscope", "r.pickle")


def has(text: str, number: int) -> bool:
    """The number stands there, with or without separators, and is no part of a longer one."""
    return re.search(rf"(?<![\d,.])({number:,}|{number})(?![\d,]|\.\d)", text) is not None


def peaks_of_counters(trace: dict) -> set[int]:
    peaks: dict[tuple, int] = {}
    for event in trace["traceEvents"]:
        if event.get("ph") == "C":
            key = (event["pid"], event["name"])
            peaks[key] = max(peaks.get(key, 0), sum(event["args"].values()))
    return set(peaks.values())


def peak_of_snapshot(snapshot: dict) -> int:
    live = peak = 0
    for event in snapshot["device_traces"][0]:
        if event["action"] == "alloc":
            live += event["size"]
        elif event["action"] == "free_completed":
            live -= event["size"]
        peak = max(peak, live)
    return peak


def check(program: str, file: str, folder: pathlib.Path) -> list[str]:
    outputs = [word for name in FILES for word in ("-o", name)]
    is_record = not file.endswith(".onnx")
    if not is_record:
        outputs += ["-o", "copy.onnx"]
    command = [program, file, "-v", "--units", "B", *outputs]
    ran = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if "[unbound-dim]" in ran.stderr:  # a length has to be given: what the program proposes
        sizes = re.findall(r"--dim \S+", ran.stderr)
        ran = subprocess.run([*command, *" ".join(sizes).split()], cwd=folder, capture_output=True, text=True,
                             check=False)
    if ran.returncode != 0:
        return [ran.stderr[:400]]

    def read(name: str) -> str:
        return (folder / name).read_text()

    run = json.loads(read("r.json"))["runs"][0]
    row = next(csv.DictReader(read("r.csv").splitlines()))
    page = json.loads(re.search(r'id="page-data">(.*?)</script>', read("r.html"), re.S)[1])
    on_page = {part["name"]: part for part in page["runs"]}
    wrong = []
    for part in ("training", "inference"):
        if not run.get(part):
            continue
        figures = run[part]
        for key in FIGURES:
            number = figures[key]
            if int(row[f"{part}_{key}"]) != number:
                wrong.append(f"csv {part} {key}")
            wrong += [f"{name} {part} {key}" for name, text in (("text", ran.stdout), ("markdown", read("r.md")))
                      if not has(text, number)]
        for name, key in (("low", 0), ("high", 1)):
            end = figures["device_interval_bytes"][key]
            wrong += [f"{form} {part} {name}" for form, there in (
                ("csv", int(row[f"{part}_device_{name}_bytes"]) == end), ("text", has(ran.stdout, end)),
                ("markdown", has(read("r.md"), end)), ("html", has(read("r.html"), end))) if not there]
        if part in on_page:
            told = on_page[part]
            wrong += [f"html {part} {key}" for key, there in (
                ("peak_bytes", told["peak_bytes"] == figures["peak_bytes"]),
                ("device_bytes", told["device_bytes"] == figures["device_bytes"]),
                ("reserved", told["reserved_peak_bytes"] == figures["reserved_peak_bytes"])) if not there]
        wrong += [f"html text {part} {key}" for key in ("peak_bytes", "device_bytes")
                  if not has(read("r.html"), figures[key])]
    main = "training" if run.get("training") else "inference"
    if main not in on_page:
        wrong.append(f"html has no {main}")
    peak = run[main]["peak_bytes"]
    viewers = {
        "folded": sum(int(line.rsplit(" ", 1)[1]) for line in read("r.folded").splitlines()),
        "speedscope": sum(json.loads(read("r.speedscope"))["profiles"][0]["weights"]),
        "pickle": peak_of_snapshot(pickle.loads((folder / "r.pickle").read_bytes())),
    }
    wrong += [f"{name} {number} instead of {peak}" for name, number in viewers.items() if number != peak]
    if peak not in peaks_of_counters(json.loads(read("r.trace.json"))):
        wrong.append("trace")
    drawn = re.search(r">peak ([\d.,]+) (B|KiB|MiB|GiB)<", read("r.svg"))
    unit = {"B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}
    if not drawn or abs(float(drawn[1].replace(",", "")) * unit[drawn[2]] - peak) > 0.006 * peak:
        wrong.append("svg")
    if not is_record and not (folder / "copy.onnx").stat().st_size:
        wrong.append("copy for Netron")
    return wrong


def main() -> int:
    program, files = str(pathlib.Path(sys.argv[1]).resolve()), sys.argv[2:]
    failed = 0
    for file in files:
        with tempfile.TemporaryDirectory() as folder:
            wrong = check(program, str(pathlib.Path(file).resolve()), pathlib.Path(folder))
        if wrong:
            failed += 1
            print(pathlib.Path(file).name, *wrong[:12], sep="\n    ")
    print(f"{len(files)} runs, {failed} with other figures in some format")
    return 1 if failed or not files else 0


sys.exit(main())
