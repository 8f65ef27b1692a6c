"""Real processes: two to four ranks with gloo on the CPU, and what onnx-mem predicts of each."""
import json
import pathlib
import re
import subprocess
import sys

import pytest

torch = pytest.importorskip("torch")
if not torch.distributed.is_available() or not torch.distributed.is_gloo_available():
    pytest.skip("torch without gloo", allow_module_level=True)

import onnx_mem  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "ranks"))
import worker  # noqa: E402

PLAN = {"plan": {r"[123]\.f1": "colwise", r"[123]\.f2": "rowwise"}}
UNITS = "[123]"
CONFIGURATIONS = {
    "ddp-view": (2, ["--ddp", "2", "--ddp-bucket-view"]),
    "zero1": (2, ["--zero1", "2"]),
    "fsdp": (2, ["--fsdp", f"2:{UNITS}"]),
    "fsdp-bf16": (2, ["--fsdp", f"2:{UNITS}", "--fsdp-dtype", "bf16"]),
    "hsdp": (4, ["--hsdp", f"2x2:{UNITS}"]),
    "tp": (2, ["--tp", "2:PLAN"]),
    "pipeline": (2, ["--pipeline", "2", "--split", "2", "--micro-batches", str(worker.MICRO_BATCHES)]),
    "fsdp-tp": (4, ["--fsdp", f"2:{UNITS}", "--tp", "2:PLAN"]),
}
PIPELINE = CONFIGURATIONS["pipeline"][1]
CONFIGURATIONS |= {  # two stages of two ranks each
    "pipeline-ddp-view": (4, [*PIPELINE, "--ddp", "2", "--ddp-bucket-view"]),
    "pipeline-zero1": (4, [*PIPELINE, "--zero1", "2"]),
    "pipeline-fsdp-gpipe": (4, [*PIPELINE, "--schedule", "gpipe", "--fsdp", f"2:{UNITS}"]),
    "pipeline-fsdp-bf16": (4, [*PIPELINE, "--fsdp", f"2:{UNITS}", "--fsdp-dtype", "bf16"]),
    "pipeline-fsdp-kept": (4, [*PIPELINE, "--fsdp", f"2:{UNITS}", "--reshard", "no"]),
    "pipeline-tp": (4, [*PIPELINE, "--tp", "2:PLAN"]),
}
# What differs on the CPU, in bytes. A mesh is a tensor of 4 bytes per rank, which is on the host where there is a GPU.
# In bfloat16 the CPU's layer norm keeps its statistics in bfloat16, CUDA's in float32.
MESH = {"fsdp": 2 * 4, "fsdp-bf16": 2 * 4, "hsdp": 4 * 4, "tp": 2 * 4, "fsdp-tp": 4 * 4}
STATISTICS = {"fsdp-bf16": -2 * worker.TOKENS * 4 * 2 * 2}
# Of a stage: of two micro-batches with one norm, or of one with three.
PART = worker.batch_of("pipeline-fsdp-bf16") // worker.MICRO_BATCHES
STATISTICS_OF_STAGES = [-2 * worker.TOKENS * PART * 2 * norms for norms in (2, 2, 3, 3)]


@pytest.fixture(scope="module")
def record(tmp_path_factory):
    folder = tmp_path_factory.mktemp("ranks")
    (folder / "plan.json").write_text(json.dumps(PLAN))
    x = torch.zeros(4, worker.TOKENS, dtype=torch.int64)
    return onnx_mem.export(worker.model(), (x,), folder / "model.eager", precisions=("bf16",))


def options_of(layout, record):
    """Processes, and the options that mean the same."""
    world, options = CONFIGURATIONS.get(layout, (2, [f"--{layout}", "2"]))
    return world, [option.replace("PLAN", str(pathlib.Path(record).parent / "plan.json")) for option in options]


def measured(name, world, folder, code=None):
    """[(bytes alive at the peak, what the gradients are)] by rank."""
    store = folder / f"{name}.{'planned' if code else 'plain'}.store"
    command = [sys.executable, str(HERE / "ranks" / "worker.py"), name]
    more = [str(store), *([str(code)] if code else [])]
    ranks = [subprocess.Popen([*command, str(rank), str(world), *more], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True) for rank in range(world)]
    outputs = [rank.communicate(timeout=300)[0] for rank in ranks]
    lines = [[line for line in out.splitlines() if line.startswith("peak ")] for out in outputs]
    assert all(lines), outputs
    return [(int(line[0].split()[1]), line[0].split()[3]) for line in lines]


def output_of(program, command, record, name, *options):
    whole = [program, *command, str(record), "-b", str(worker.batch_of(name)), "--loss", "cross-entropy", *options]
    answer = subprocess.run(whole, capture_output=True, text=True, check=False)
    assert answer.returncode == 0, answer.stderr
    return answer.stdout


class Planned:
    """A plan, and what real ranks have alive without it and with what `--emit pytorch` prints. Gradients are equal."""

    def __init__(self, program, record, name, world, options, folder):
        self.options = [*options, "--budget-on", "live"]
        self.answer = json.loads(output_of(program, ["plan"], record, name, *self.options, "-f", "json"))
        self.chosen = next(p for p in self.answer["plans"] if p["id"] == self.answer["chosen"])
        self.baseline = self.answer["baseline"]["peak_bytes"]
        code = folder / "plan.py"
        emitted = [*self.options, "--emit", "pytorch", "--self-contained"]
        code.write_text(output_of(program, ["plan"], record, name, *emitted))
        plain, planned = self.runs(name, world, folder, code)
        assert [gradients for _, gradients in planned] == [gradients for _, gradients in plain]
        self.plain, self.planned = ([alive for alive, _ in ranks] for ranks in (plain, planned))

    def runs(self, name, world, folder, code):
        return measured(name, world, folder), measured(name, world, folder, code)


class PlannedSetUp(Planned):
    """The set-up that is printed without its segments is what it is held against."""

    def runs(self, name, world, folder, code):
        without = folder / "without.py"
        without.write_text(re.sub(r"(?ms)^PLAN = \[.*?^\]", "PLAN = []", code.read_text()))
        return measured(name, world, folder / "plain", without), measured(name, world, folder, code)


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_a_rank_has_alive_what_is_predicted(program, record, name, tmp_path):
    world, options = options_of(name, record)
    for rank, (bytes_alive, _) in enumerate(measured(name, world, tmp_path)):
        answer = output_of(program, [], record, name, "-m", "train", "--rank", str(rank), "-f", "json", *options)
        predicted = json.loads(answer)["runs"][0]["training"]["peak_bytes"]
        known = MESH.get(name, 0) + STATISTICS.get(name, 0)
        if name == "pipeline-fsdp-bf16":
            known = STATISTICS_OF_STAGES[rank]
        assert bytes_alive == predicted + known, f"rank {rank} of {world}"


@pytest.mark.parametrize("layout", ["fsdp", "ddp", "zero1", "tp", "fsdp-tp"])
def test_a_plan_for_ranks_gives_equal_gradients_within_its_promise(program, record, layout, tmp_path):
    world, options = options_of(layout, record)
    plan = Planned(program, record, f"plan-{layout}", world, [*options, "--granularity", "module", "--budget", "80%"],
                   tmp_path)
    assert plan.chosen["segments"] and plan.chosen["peak_bytes"] <= plan.answer["budget_bytes"]
    assert max(plan.planned) == plan.chosen["peak_bytes"] + MESH.get(layout, 0)
    assert max(plan.plain) == plan.baseline + MESH.get(layout, 0)


# Of whole modules, and of a product and what the second run starts from.
MOVES = {"modules": ["overlapped", "waiting"],
         "calls": [{"when": "overlapped", "inputs": False, "calls": {"1.f1:aten.addmm.default#0": [0]}},
                   {"when": "waiting", "inputs": True, "calls": {"2.f1:aten.addmm.default#0": [0]}}]}


@pytest.mark.parametrize("moves", MOVES)
@pytest.mark.parametrize("layout", ["fsdp", "ddp", "zero1"])
def test_a_plan_that_moves_to_the_host_gives_equal_gradients_within_its_promise(program, record, layout, moves,
                                                                                tmp_path):
    world, options = options_of(layout, record)
    given = tmp_path / "given.json"
    given.write_text(json.dumps({"segments": [{"modules": [module], "offload": what}
                                              for module, what in zip("12", MOVES[moves], strict=True)]}))
    plan = Planned(program, record, f"plan-{layout}", world,
                   [*options, "--granularity", "module", "--plan", str(given), "--offload"], tmp_path)
    assert [segment.get("offload") for segment in plan.chosen["segments"]] == MOVES[moves]
    assert plan.chosen["peak_bytes"] < plan.baseline and plan.chosen["host_bytes"] > 0
    assert max(plan.planned) == plan.chosen["peak_bytes"] + MESH.get(layout, 0)


# One product, and a norm with its statistics.
KEPT_CALLS = [{"modules": ["1"], "keep": {"1.f1:aten.addmm.default#0": [0]}},
              {"modules": ["2"], "keep": {"2.n:aten.native_layer_norm.default#0": [0, 1, 2]}}]


@pytest.mark.parametrize("layout", ["fsdp", "ddp", "zero1"])
def test_a_plan_that_keeps_calls_gives_equal_gradients_and_takes_its_promise(program, record, layout, tmp_path):
    """On every rank. With nothing kept the promise is another."""
    name, (world, options) = f"plan-{layout}", options_of(layout, record)
    files = {"whole": [{"modules": entry["modules"]} for entry in KEPT_CALLS], "kept": KEPT_CALLS}
    for kind, segments in files.items():
        (tmp_path / f"{kind}.json").write_text(json.dumps({"segments": segments}))
    with_plan = [*options, "--granularity", "module", "--plan"]
    plan = Planned(program, record, name, world, [*with_plan, str(tmp_path / "kept.json")], tmp_path)
    answer = json.loads(output_of(program, ["plan"], record, name, *with_plan, str(tmp_path / "whole.json"),
                              "--budget-on", "live", "-f", "json"))
    whole = next(p for p in answer["plans"] if p["id"] == answer["chosen"])["peak_bytes"]
    assert whole < plan.chosen["peak_bytes"] < plan.baseline
    assert max(plan.planned) == plan.chosen["peak_bytes"] + MESH.get(layout, 0)
    assert layout == "zero1" or len(set(plan.planned)) == 1    # zero1 shares out whole parameters


@pytest.mark.parametrize("found", [True, False])
def test_a_plan_for_stages_gives_equal_gradients_within_its_promise(program, record, found, tmp_path):
    """Each rank's promise, by the set-up as it is printed: of the plan that is found, and of one for both stages."""
    given = tmp_path / "given.json"
    given.write_text(json.dumps({"segments": [{"modules": ["1"]}, {"modules": ["3"]}]}))
    which = ["--budget", "80%"] if found else ["--plan", str(given)]
    expect_promise_of_stages(program, record, "plan-pipeline", [*PIPELINE, *which], tmp_path)


def test_a_plan_for_several_stages_per_rank_gives_equal_gradients_within_its_promise(program, record, tmp_path):
    given = tmp_path / "given.json"
    given.write_text(json.dumps({"segments": [{"modules": ["1"]}, {"modules": ["2"]}]}))
    options = ["--pipeline", "2", "--stages-per-rank", "2", "--split", ",".join(worker.SPLITS["interleaved"]),
               "--schedule", "interleaved-1f1b", "--micro-batches", str(worker.MICRO_BATCHES), "--plan", str(given)]
    expect_promise_of_stages(program, record, "plan-interleaved", options, tmp_path)


def expect_promise_of_stages(program, record, name, options, folder):
    plan = Planned(program, record, name, 2, [*options, "--no-return-outputs"], folder)
    stages = plan.answer["stages"]
    assert sum(stage["segments"] for stage in stages) > 0
    assert plan.plain == [stage["peak_bytes"] for stage in stages]
    assert plan.planned == [stage["peak_with_plan_bytes"] for stage in stages]


def test_the_plan_of_a_transformer_is_split_as_it_is_found(program, record, tmp_path):
    """The embedding and the head too."""
    (tmp_path / "plain").mkdir()
    plan = PlannedSetUp(program, record, "plan-tp", 2, ["--tp", "2", "--granularity", "module", "--budget", "80%"],
                        tmp_path)
    code = (tmp_path / "plan.py").read_text()
    assert "TABLES" in code and "GATHERED" in code
    for ranks, promised in ((plan.planned, plan.chosen["peak_bytes"]), (plan.plain, plan.baseline)):
        assert max(ranks) == promised + MESH["tp"]
