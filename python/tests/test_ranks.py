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
# What differs on the CPU, in bytes. A mesh is a tensor of 4 bytes per rank, which is on the host where there is a GPU.
# In bfloat16 the CPU's layer norm keeps its statistics in bfloat16, CUDA's in float32.
MESH = {"fsdp": 2 * 4, "fsdp-bf16": 2 * 4, "hsdp": 4 * 4, "tp": 2 * 4, "fsdp-tp": 4 * 4}
# Of a row-wise embedding shifted ids and their mask are predicted to be kept, 9 bytes each; torch 2.15 works them out
# again in backward.
IDS = -9 * worker.BATCH["plan-tp"] * worker.TOKENS
STATISTICS = {"fsdp-bf16": -2 * worker.TOKENS * 4 * 2 * 2}


@pytest.fixture(scope="module")
def record(tmp_path_factory):
    folder = tmp_path_factory.mktemp("ranks")
    (folder / "plan.json").write_text(json.dumps(PLAN))
    x = torch.zeros(4, worker.TOKENS, dtype=torch.int64)
    return onnx_mem.export(worker.model(), (x,), folder / "model.eager", precisions=("bf16",))


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


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_a_rank_has_alive_what_is_predicted(program, record, name, tmp_path):
    world, options = CONFIGURATIONS[name]
    options = [option.replace("PLAN", str(pathlib.Path(record).parent / "plan.json")) for option in options]
    batch = str(worker.BATCH.get(name, 4))
    for rank, (bytes_alive, _) in enumerate(measured(name, world, tmp_path)):
        command = [program, str(record), "-m", "train", "-b", batch, "--loss", "cross-entropy", "--rank", str(rank),
                   "-f", "json", *options]
        answer = subprocess.run(command, capture_output=True, text=True, check=False)
        assert answer.returncode == 0, answer.stderr
        predicted = json.loads(answer.stdout)["runs"][0]["training"]["peak_bytes"]
        known = MESH.get(name, 0) + STATISTICS.get(name, 0)
        assert bytes_alive == predicted + known, f"rank {rank} of {world}"


@pytest.mark.parametrize("layout", ["fsdp", "ddp", "zero1", "tp", "fsdp-tp"])
def test_a_plan_for_ranks_gives_equal_gradients_within_its_promise(program, record, layout, tmp_path):
    name = f"plan-{layout}"
    world, options = CONFIGURATIONS.get(layout, (2, [f"--{layout}", "2"]))
    options = [option.replace("PLAN", str(pathlib.Path(record).parent / "plan.json")) for option in options]
    plan = [program, "plan", str(record), "-b", str(worker.BATCH[name]), "--loss", "cross-entropy", *options,
            "--granularity", "module", "--budget", "80%", "--budget-on", "live"]
    answer = json.loads(subprocess.run([*plan, "-f", "json"], capture_output=True, text=True, check=True).stdout)
    chosen = next(p for p in answer["plans"] if p["id"] == answer["chosen"])
    assert chosen["segments"] and chosen["peak_bytes"] <= answer["budget_bytes"]
    code = tmp_path / "plan.py"
    emit = [*plan, "--emit", "pytorch", "--self-contained"]
    code.write_text(subprocess.run(emit, capture_output=True, text=True, check=True).stdout)
    plain, planned = measured(name, world, tmp_path), measured(name, world, tmp_path, code)
    assert [gradients for _, gradients in planned] == [gradients for _, gradients in plain]
    worst = max(bytes_alive for bytes_alive, _ in planned)
    assert worst == chosen["peak_bytes"] + MESH.get(layout, 0)
    assert max(bytes_alive for bytes_alive, _ in plain) == answer["baseline"]["peak_bytes"] + MESH.get(layout, 0)


@pytest.mark.parametrize("layout", ["fsdp", "ddp", "zero1"])
def test_a_plan_that_moves_to_the_host_gives_equal_gradients_within_its_promise(program, record, layout, tmp_path):
    name = f"plan-{layout}"
    world, options = CONFIGURATIONS.get(layout, (2, [f"--{layout}", "2"]))
    given = tmp_path / "given.json"
    given.write_text(json.dumps({"segments": [{"modules": ["1"], "offload": "overlapped"},
                                              {"modules": ["2"], "offload": "waiting"}]}))
    plan = [program, "plan", str(record), "-b", str(worker.BATCH[name]), "--loss", "cross-entropy", *options,
            "--granularity", "module", "--plan", str(given), "--offload", "--budget-on", "live"]
    answer = json.loads(subprocess.run([*plan, "-f", "json"], capture_output=True, text=True, check=True).stdout)
    chosen = next(p for p in answer["plans"] if p["id"] == answer["chosen"])
    assert [segment.get("offload") for segment in chosen["segments"]] == ["overlapped", "waiting"]
    assert chosen["peak_bytes"] < answer["baseline"]["peak_bytes"] and chosen["host_bytes"] > 0
    code = tmp_path / "plan.py"
    emit = [*plan, "--emit", "pytorch", "--self-contained"]
    code.write_text(subprocess.run(emit, capture_output=True, text=True, check=True).stdout)
    plain, planned = measured(name, world, tmp_path), measured(name, world, tmp_path, code)
    assert [gradients for _, gradients in planned] == [gradients for _, gradients in plain]
    worst = max(bytes_alive for bytes_alive, _ in planned)
    assert worst == chosen["peak_bytes"] + MESH.get(layout, 0)


# One product, and a norm with its statistics.
KEPT_CALLS = [{"modules": ["1"], "keep": {"1.f1:aten.addmm.default#0": [0]}},
              {"modules": ["2"], "keep": {"2.n:aten.native_layer_norm.default#0": [0, 1, 2]}}]


@pytest.mark.parametrize("layout", ["fsdp", "ddp", "zero1"])
def test_a_plan_that_keeps_calls_gives_equal_gradients_and_takes_its_promise(program, record, layout, tmp_path):
    """On every rank. With nothing kept the promise is another."""
    name, (world, options) = f"plan-{layout}", CONFIGURATIONS.get(layout, (2, [f"--{layout}", "2"]))
    promised = {}
    for kind in ("whole", "kept"):
        given = tmp_path / f"{kind}.json"
        segments = KEPT_CALLS if kind == "kept" else [{"modules": entry["modules"]} for entry in KEPT_CALLS]
        given.write_text(json.dumps({"segments": segments}))
        plan = [program, "plan", str(record), "-b", str(worker.BATCH[name]), "--loss", "cross-entropy", *options,
                "--granularity", "module", "--plan", str(given), "--budget-on", "live"]
        answer = json.loads(subprocess.run([*plan, "-f", "json"], capture_output=True, text=True, check=True).stdout)
        promised[kind] = next(p for p in answer["plans"] if p["id"] == answer["chosen"])["peak_bytes"]
    assert promised["whole"] < promised["kept"] < answer["baseline"]["peak_bytes"]
    code = tmp_path / "plan.py"
    emit = [*plan, "--emit", "pytorch", "--self-contained"]
    code.write_text(subprocess.run(emit, capture_output=True, text=True, check=True).stdout)
    plain, planned = measured(name, world, tmp_path), measured(name, world, tmp_path, code)
    assert [gradients for _, gradients in planned] == [gradients for _, gradients in plain]
    alive = [bytes_alive for bytes_alive, _ in planned]
    assert max(alive) == promised["kept"] + MESH.get(layout, 0)
    assert layout == "zero1" or len(set(alive)) == 1    # zero1 shares out whole parameters


def test_a_plan_for_stages_gives_equal_gradients_within_its_promise(program, record, tmp_path):
    """Each rank's promise, by the set-up as it is printed: of the plan that is found, and of one for both stages."""
    given = tmp_path / "given.json"
    given.write_text(json.dumps({"segments": [{"modules": ["1"]}, {"modules": ["3"]}]}))
    for number, which in enumerate((["--budget", "80%"], ["--plan", str(given)])):
        folder = tmp_path / str(number)
        folder.mkdir()
        expect_promise_of_stages(program, record, "plan-pipeline", CONFIGURATIONS["pipeline"][1], which, folder)


def test_a_plan_for_several_stages_per_rank_gives_equal_gradients_within_its_promise(program, record, tmp_path):
    given = tmp_path / "given.json"
    given.write_text(json.dumps({"segments": [{"modules": ["1"]}, {"modules": ["2"]}]}))
    options = ["--pipeline", "2", "--stages-per-rank", "2", "--split", ",".join(worker.SPLITS["interleaved"]),
               "--schedule", "interleaved-1f1b", "--micro-batches", str(worker.MICRO_BATCHES)]
    expect_promise_of_stages(program, record, "plan-interleaved", options, ["--plan", str(given)], tmp_path)


def expect_promise_of_stages(program, record, name, options, which, tmp_path):
    plan = [program, "plan", str(record), "-b", str(worker.BATCH[name]), "--loss", "cross-entropy",
            *options, "--no-return-outputs", *which, "--budget-on", "live"]
    answer = json.loads(subprocess.run([*plan, "-f", "json"], capture_output=True, text=True, check=True).stdout)
    assert sum(stage["segments"] for stage in answer["stages"]) > 0
    code = tmp_path / "plan.py"
    emit = [*plan, "--emit", "pytorch", "--self-contained"]
    code.write_text(subprocess.run(emit, capture_output=True, text=True, check=True).stdout)
    plain, planned = measured(name, 2, tmp_path), measured(name, 2, tmp_path, code)
    assert [gradients for _, gradients in planned] == [gradients for _, gradients in plain]
    assert [bytes_alive for bytes_alive, _ in plain] == [stage["peak_bytes"] for stage in answer["stages"]]
    assert [bytes_alive for bytes_alive, _ in planned] == [s["peak_with_plan_bytes"] for s in answer["stages"]]


def test_the_plan_of_a_transformer_is_split_as_it_is_found(program, record, tmp_path):
    """The embedding and the head too. The same set-up without its segments is what gradients are held against."""
    plan = [program, "plan", str(record), "-b", str(worker.BATCH["plan-tp"]), "--loss", "cross-entropy", "--tp", "2",
            "--granularity", "module", "--budget", "80%", "--budget-on", "live"]
    answer = json.loads(subprocess.run([*plan, "-f", "json"], capture_output=True, text=True, check=True).stdout)
    chosen = next(p for p in answer["plans"] if p["id"] == answer["chosen"])
    emit = [*plan, "--emit", "pytorch", "--self-contained"]
    text = subprocess.run(emit, capture_output=True, text=True, check=True).stdout
    assert "TABLES" in text and "GATHERED" in text
    ranks = {}
    for name, code in (("planned", text), ("plain", re.sub(r"(?ms)^PLAN = \[.*?^\]", "PLAN = []", text))):
        (tmp_path / f"{name}.py").write_text(code)
        (tmp_path / name).mkdir()
        ranks[name] = measured("plan-tp", 2, tmp_path / name, tmp_path / f"{name}.py")
    assert [gradients for _, gradients in ranks["planned"]] == [gradients for _, gradients in ranks["plain"]]
    for name, promised in (("planned", chosen["peak_bytes"]), ("plain", answer["baseline"]["peak_bytes"])):
        worst = max(bytes_alive for bytes_alive, _ in ranks[name])
        assert worst == promised + MESH["tp"] + IDS
