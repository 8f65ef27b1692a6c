"""One verdict everywhere: the same on the screen, in JSON and by the exit status, its edges at single bytes and single
samples, and in sight on a terminal of 80 columns and 24 rows.

usage: verdict_test.py PROGRAM MODEL...
"""
import fcntl
import json
import os
import pathlib
import pty
import re
import struct
import subprocess
import sys
import termios

CARDS = ("T4", "RTX 4090", "H100 PCIe")
WORDS = {"fits": "fits", "may-fit": "may fit", "does-not-fit": "does not fit"}
PARTS = ("training", "inference")
PAINT = re.compile(r"\x1b\[[\d;]*m")


class Program:
    def __init__(self, path: str, model: str):
        self.path, self.model = path, model

    def run(self, *words: str) -> tuple[int, str]:
        ran = subprocess.run([self.path, *words], capture_output=True, text=True, check=False)
        if ran.returncode not in (0, 1):
            raise AssertionError(f"{words}: {ran.stderr[:300]}")
        return ran.returncode, ran.stdout

    def json(self, *words: str) -> tuple[int, dict]:
        code, text = self.run(*words, "-f", "json")
        return code, json.loads(text)

    def terminal(self, *words: str, rows: int = 24, columns: int = 80) -> tuple[int, list[str]]:
        """What a terminal of this size is shown, line by line, without colours; warnings go elsewhere."""
        leader, follower = pty.openpty()
        fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        child = subprocess.Popen([self.path, *words], stdin=subprocess.DEVNULL, stdout=follower,
                                 stderr=subprocess.DEVNULL, env={**os.environ, "LC_ALL": "C.UTF-8"})
        os.close(follower)
        shown = b""
        while True:
            try:
                some = os.read(leader, 1 << 16)
            except OSError:  # the other end is closed
                break
            if not some:
                break
            shown += some
        os.close(leader)
        return child.wait(), PAINT.sub("", shown.decode()).replace("\r\n", "\n").splitlines()


def verdict_of(interval: list[int], expected: int, limit: int) -> str:
    return "does-not-fit" if expected > limit else "may-fit" if interval[1] > limit else "fits"


def check_bytes(program: Program, faults: list[str]) -> None:
    """Exit status and verdict change at the byte, of the figure and of the high end of its range."""
    _, report = program.json(program.model, "-b", "4", "-m", "train")
    training = report["runs"][0]["training"]
    expected, high = training["device_bytes"], training["device_interval_bytes"][1]
    for budget, strict, verdict, code in (
            (expected - 1, False, "does-not-fit", 1), (expected, False, "may-fit", 0), (expected, True, "may-fit", 1),
            (high - 1, False, "may-fit", 0), (high - 1, True, "may-fit", 1), (high, True, "fits", 0)):
        words = [program.model, "-b", "4", "-m", "train", "--budget", f"{budget}B", *(["--strict"] if strict else [])]
        got, answer = program.json(*words)
        told = answer["runs"][0]["training"]["verdict"]
        if (got, told, answer["verdict"]) != (code, verdict, verdict):
            faults.append(f"budget {budget}: {told}, exit status {got}, instead of {verdict}, {code}")
        quiet, line = program.run(*words, "-q")
        numbers = dict(word.split("=") for word in line.split()[1:])
        if (quiet, int(numbers["train"]), numbers["verdict"]) != (code, expected, verdict):
            faults.append(f"budget {budget}: -q says {line.strip()}, exit status {quiet}")
        if WORDS[verdict] not in program.run(*words)[1]:
            faults.append(f"budget {budget}: the screen does not say {WORDS[verdict]}")


def check_share(program: Program, faults: list[str]) -> None:
    """A budget of a share is that share of the run as it is, of a plan without it."""
    _, report = program.json(program.model, "-b", "4", "-m", "train")
    now = report["runs"][0]["training"]["device_bytes"]
    code, half = program.json(program.model, "-b", "4", "-m", "train", "--budget", "50%")
    if (code, half["budget_bytes"], half["budget_of"]["bytes"]) != (1, now // 2, now):
        faults.append(f"half of {now}: {half['budget_bytes']}, exit status {code}")
    code, whole = program.json(program.model, "-b", "4", "-m", "train", "--budget", "100%")
    if code != 0 or whole["verdict"] != "may-fit":
        faults.append(f"all of {now} is {whole['verdict']}")
    _, plan = program.json("plan", program.model, "-b", "4", "--budget", "90%")
    if plan["budget_bytes"] != now * 9 // 10:
        faults.append(f"plan: 90 % of {now} is {plan['budget_bytes']}")


def check_cards(program: Program, faults: list[str]) -> None:
    """Several cards are as each alone, and the exit status is 1 if any is a no."""
    _, smallest = program.json("fit", program.model, "-b", "4", "-m", "train", "--gpu", CARDS[0])
    batch = str(smallest["largest_batch"] + 1)
    code, several = program.json(program.model, "-b", batch, "--gpu", ",".join(CARDS))
    verdicts = [gpu["verdict"] for gpu in several["gpus"]]
    if code != int("does-not-fit" in verdicts) or len(set(verdicts)) == 1:
        faults.append(f"batch {batch}: {verdicts}, exit status {code}")
    lines = program.run(program.model, "-b", batch, "--gpu", ",".join(CARDS), "-q")[1].splitlines()
    for i, card in enumerate(CARDS):
        alone, one = program.json(program.model, "-b", batch, "--gpu", card)
        there = several["gpus"][i]
        no = there["verdict"] == "does-not-fit"
        if there != one["gpus"][0] or there["verdict"] != one["verdict"] or alone != no:
            faults.append(f"{card} alone: {one['gpus'][0]}, among others {there}")
        for part in PARTS:
            need, run = there[part], one["runs"][0][part]
            if any(need[key] != run[key] for key in ("device_bytes", "device_interval_bytes")):
                faults.append(f"{card}, {part}: {need} and {run['device_bytes']}")
            usable = there["usable_bytes"]
            if need["verdict"] != verdict_of(need["device_interval_bytes"], need["device_bytes"], usable):
                faults.append(f"{card}, {part}: {need} in {there['usable_bytes']}")
        words = (f"train={there['training']['device_bytes']}", f"verdict={there['verdict']}")
        if not all(word in lines[i] for word in words):
            faults.append(f"{card}: -q says {lines[i]}")
    last_alone = program.run(program.model, "-b", batch, "--gpu", f"{CARDS[0]},{CARDS[-1]}", "-q")[0]
    if verdicts[0] == "does-not-fit" and last_alone != 1:
        faults.append("the last card alone decides")


def check_batches(program: Program, faults: list[str]) -> None:
    """Each batch that fit names is the last one of its kind: one sample more, or less, is of another."""
    _, fit = program.json("fit", program.model, "-b", "4", "--gpu", CARDS[0])
    usable = fit["gpu"]["usable_bytes"]
    if fit["over"] != "batch":
        faults.append("fit: over what?")
    for part, mode in (("training", "train"), ("inference", "infer")):
        told = fit[part]
        safe, expected, impossible = told["safe_batch"], told["largest_batch"], told["impossible_from"]
        if not safe <= expected < impossible:
            faults.append(f"{part}: {safe}, {expected}, {impossible}")

        def need(batch: int, mode: str = mode, part: str = part) -> tuple[int, int, int]:
            report = program.json(program.model, "-b", str(batch), "-m", mode, "--gpu", CARDS[0])[1]
            figures = report["runs"][0][part]
            low, high = figures["device_interval_bytes"]
            return low, figures["device_bytes"], high

        for end, batch, key, beyond_key in ((2, safe, "safe_batch_high_bytes", "next_safe_batch_high_bytes"),
                                            (1, expected, "largest_batch_device_bytes", "next_batch_device_bytes"),
                                            (0, impossible - 1, "last_possible_batch_low_bytes",
                                             "impossible_from_low_bytes")):
            within, beyond = need(batch)[end] if batch > 0 else 0, need(batch + 1)[end]
            if not within <= usable < beyond or (batch > 0 and told[key] != within) or told[beyond_key] != beyond:
                faults.append(f"{part}: batch {batch} takes {within}, one more {beyond}, of {usable}; told "
                              f"{told[key]}, {told[beyond_key]}")


def check_terminal(program: Program, faults: list[str]) -> None:
    """No line is wider than the terminal, and where a screen is longer its last line has the verdict."""
    model = program.model
    commands = [(model, "-b", "64", "--gpu", "T4"), (model, "-b", "64", "--gpu", ",".join(CARDS)),
                (model, "-b", "64", "--gpu", "T4", "-v"), (model, "-b", "1,8,64", "--gpu", ",".join(CARDS)),
                ("plan", model, "-b", "64", "--budget", "60%"), ("plan", model, "-b", "64", "--gpu", ",".join(CARDS)),
                ("fit", model, "-b", "512", "--gpu", "T4"), ("fit", model, "-b", "512", "--gpu", ",".join(CARDS)),
                ("compare", model, "-b", "32,64", "--gpu", ",".join(CARDS)),
                ("compare", model, "-b", "32,64", "--budget", "1GiB"),
                ("compare", model, "-b", "32,64", "--max-increase", "2%")]
    for words in commands:
        _, lines = program.terminal(*words)
        told = " ".join(words[:1] if words[0] != model else ()) + " " + " ".join(words[-4:])
        if not lines:
            faults.append(f"{told}: nothing is shown")
            continue
        wide = [line for line in lines if len(line) > 80]
        if wide:
            faults.append(f"{told}: {len(wide[0])} columns: {wide[0]}")
        # A prompt takes the last row.
        seen = "\n".join(lines[-23:])
        if not any(word in seen for word in (*WORDS.values(), "TOO MUCH", "OK:", "No plan")):
            faults.append(f"{told}: the verdict has scrolled away")
        last = lines[-1]
        if len(lines) > 23 and not any(word in last for word in (*WORDS.values(), "TOO MUCH", "OK:", "No plan")):
            faults.append(f"{told}: {len(lines)} lines, the last one is: {last}")


def main() -> int:
    path, models = str(pathlib.Path(sys.argv[1]).resolve()), sys.argv[2:]
    failed = 0
    for model in models:
        program, faults = Program(path, model), []
        for check in (check_bytes, check_share, check_cards, check_batches, check_terminal):
            try:
                check(program, faults)
            except (AssertionError, KeyError, TypeError) as fault:
                faults.append(f"{check.__name__}: {fault!r}")
        if faults:
            failed += 1
            print(pathlib.Path(model).name, *faults[:12], sep="\n    ")
    print(f"{len(models)} models, {failed} with faults")
    return 1 if failed or not models else 0


sys.exit(main())
