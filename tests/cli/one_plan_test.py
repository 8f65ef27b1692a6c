"""One plan, whatever form it is asked for in: the screen, JSON, the page, what --emit json and --emit pytorch print,
and the file of -o name the same segments and settings; --plan with any of these files takes the same bytes and ends
with the same exit status.

usage: one_plan_test.py PROGRAM MODEL...     three budgets each, the last one with expandable segments
       one_plan_test.py --ranks PROGRAM MODEL...     one budget for each of some layouts: bytes are those of a rank
"""
import json
import pathlib
import re
import subprocess
import sys
import tempfile

LAYOUTS = (["--fsdp", "4"], ["--hsdp", "2x4", "--fsdp-dtype", "bf16"], ["--ddp", "4", "--ddp-bucket-view"],
           ["--zero1", "4", "--accumulate", "2"])
EFFORT = ["--iterations", "12"]
CODE = "# The code below is the same for every plan"


def ran(*words):
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1):
        raise RuntimeError(f"{' '.join(words[1:])}: {done.stderr[:300]}")
    return done.stdout, done.returncode


def names_of(pattern):
    """"h.{0..4..2,7}.act" -> h.0.act, h.2.act, h.4.act, h.7.act."""
    found = re.fullmatch(r"(.*)\{([\d.,]+)\}(.*)", pattern)
    if not found:
        return [pattern]
    numbers = []
    for part in found[2].split(","):
        ends = [int(n) for n in part.split("..")]
        numbers += range(ends[0], ends[1] + 1, ends[2] if len(ends) == 3 else 1) if len(ends) > 1 else ends
    return [f"{found[1]}{n}{found[3]}" for n in numbers]


def on_screen(text):
    """(first and last module of each segment, settings) that a screen names."""
    segments = []
    table = re.search(r"^  Checkpoint \d+ segments?.*?\n(.*?)\n\n", text, re.M | re.S)
    for row in table[1].splitlines()[1:] if table else []:
        what = re.match(r"\s+(?:\d+ x\s+)?(\S+(?: (?:to|\.\.) \S+)?)", row)[1]
        first, _, last = re.sub(" (to|[.][.]) ", " ", what).rstrip(",").partition(" ")
        if last and "." in first and "." not in last:    # "layer1.0 to 2"
            last = f"{first.rpartition('.')[0]}.{last}"
        segments += zip(names_of(first), names_of(last or first), strict=False)
    needs = re.search(r"Needs (\w+)=(\S+) in the environment", " ".join(text.split()))
    return sorted(segments), {needs[1]: needs[2]} if needs else {}


def ends_of(plan):
    names = [s.get("modules") or s["nodes"] for s in plan["segments"]]
    return sorted((name[0], name[-1]) for name in names), plan["settings"]


def in_code(text):
    """What the lines before the common code say."""
    defined = {}
    exec(text.partition(CODE)[0].replace("import onnx_mem\n", ""), defined)
    left_out = re.findall(r"^# Not applied: (?:operators )?(\S+?)(?: to (\S+?))?: ", text, re.M)
    names = [[name for text in s["modules"] for name in names_of(text)] for s in defined["PLAN"]]
    return sorted([(n[0], n[-1]) for n in names] + [(a, b or a) for a, b in left_out]), defined["SETTINGS"]


def on_page(text):
    plans = json.loads(re.search(r'id="page-data">(.*?)</script>', text, re.S)[1])["plans"]
    chosen = next(plan for plan in plans if plan["chosen"])
    return chosen, dict(setting.split("=") for setting in chosen["settings"].split())


def check_case(program, model, words, allocator, budget, folder):
    report, page, emitted = (str(folder / name) for name in ("r.json", "r.html", "emitted.json"))
    plan = [program, "plan", model, *words, *allocator, *EFFORT, "--budget", f"{budget}B"]
    # Of one search: the screen and both files, and code beside a report.
    screen, status = ran(*plan, "--units", "B", "-n", "0", "-o", report, "-o", page)
    answer = json.loads(pathlib.Path(report).read_text())
    if answer["chosen"] is None:
        return None if status == 1 and "No plan" in screen else ["no plan, but for the screen or the exit status"]
    chosen = next(p for p in answer["plans"] if p["id"] == answer["chosen"])
    text, text_status = ran(*plan, "--emit", "json")
    pathlib.Path(emitted).write_text(text)
    code, code_status = ran(*plan, "--emit", "pytorch")
    segments, settings = ends_of(chosen)
    shown, needs = on_screen(screen)
    drawn, page_needs = on_page(pathlib.Path(page).read_text())
    wrong = []

    def same(what, a, b):
        if a != b:
            wrong.append(f"{what}: {a} for {b}")
    same("exit status of --emit", (text_status, code_status), (status, status))
    by_module = all(s["modules"] for s in chosen["segments"])
    same("segments on the screen", shown, segments)
    same("bytes on the screen", f"{chosen['device_bytes']:,}" in screen.replace(" B ", " "), True)
    same("segments of the page", [s["modules"] for s in drawn["segments"]], [s["modules"] for s in chosen["segments"]])
    same("bytes of the page", drawn["device_bytes"], chosen["device_bytes"])
    same("segments of --emit json", ends_of(json.loads(text))[0], segments)
    if by_module:
        same("segments of --emit pytorch", in_code(code)[0], segments)
    if "def set_up" not in code:
        same("lines of --emit pytorch, at most 30", min(30, code.count("\n")), code.count("\n"))
    for what, said in (("screen", needs), ("page", page_needs), ("--emit json", json.loads(text)["settings"]),
                       ("--emit pytorch", in_code(code)[1])):
        same(f"settings of {what}", said, settings)
    same("settings", bool(settings), bool(allocator))
    for file in (report, emitted):    # without the allocator: the file knows its own
        again, its_status = ran(program, model, *words, "-m", "train", "--plan", file, "--budget", f"{budget}B",
                                "--format", "json")
        training = json.loads(again)["runs"][0]["training"]
        for key in ("peak_bytes", "device_bytes", "recompute_flops"):
            same(f"--plan {pathlib.Path(file).name}: {key}", training[key], chosen[key])
        same(f"--plan {pathlib.Path(file).name}: exit status", its_status, status)
    return wrong


def check(program, model, folder, layout=None):
    """(cases with a plan, what is wrong)."""
    words = ["-b", "8"]
    base = [program, "plan", model]
    if subprocess.run([*base, *words, "--method", "none", "-q"], capture_output=True, check=False).returncode > 1:
        words += ["-d", "seq=64"]
    words += layout or []
    answer = json.loads(ran(*base, *words, *EFFORT, "--format", "json")[0])
    if layout and layout[0].strip("-") not in answer["layout"]:
        return 0, [f"{' '.join(layout)}: the layout of the report is {answer['layout']!r}"]
    least = min(p["device_bytes"] for p in answer["plans"])
    top = answer["baseline"]["device_bytes"]
    cases, wrong = 0, []
    # Of the way from the least that a plan takes to the step without one.
    shares = [(0.7, []), (0.4, []), (0.2, ["--allocator", "expandable"])]
    for share, allocator in shares[1:2] if layout else shares:
        budget = int(least + share * (top - least))
        found = check_case(program, model, words, allocator, budget, folder)
        cases += found is not None
        wrong += [f"{' '.join(layout or [])} budget {budget:,}: {line}" for line in found or []]
    return cases, wrong


def main():
    ranks = sys.argv[1] == "--ranks"
    program, *models = sys.argv[2 if ranks else 1:]
    failed = cases = 0
    for model in models:
        with tempfile.TemporaryDirectory() as folder:
            found = [check(program, model, pathlib.Path(folder), layout) for layout in (LAYOUTS if ranks else (None,))]
        wrong = [line for _, lines in found for line in lines]
        cases += sum(planned for planned, _ in found)
        if wrong:
            failed += 1
            print(pathlib.Path(model).name, *wrong[:12], sep="\n    ")
    print(f"{len(models)} models, {cases} chosen plans, {failed} models with two meanings of a plan")
    return 1 if failed or cases < 2 * len(models) else 0


sys.exit(main())
