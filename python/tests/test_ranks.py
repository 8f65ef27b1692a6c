"""Real processes: two to four ranks with gloo on the CPU, and what onnx-mem predicts of each."""
import json
import pathlib
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
    "fsdp-tp": (4, ["--fsdp", f"2:{UNITS}", "--tp", "2:PLAN"]),
}
# What differs on the CPU, in bytes. A mesh is a tensor of 4 bytes per rank, which is on the host where there is a GPU.
# In bfloat16 the CPU's layer norm keeps its statistics in bfloat16, CUDA's in float32.
MESH = {"fsdp": 2 * 4, "fsdp-bf16": 2 * 4, "hsdp": 4 * 4, "tp": 2 * 4, "fsdp-tp": 4 * 4}
STATISTICS = {"fsdp-bf16": -2 * worker.TOKENS * 4 * 2 * 2}


@pytest.fixture(scope="module")
def record(tmp_path_factory):
    folder = tmp_path_factory.mktemp("ranks")
    (folder / "plan.json").write_text(json.dumps(PLAN))
    x = torch.zeros(4, worker.TOKENS, dtype=torch.int64)
    return onnx_mem.export(worker.model(), (x,), folder / "model.eager", precisions=("bf16",))


def measured(name, world, folder):
    store = folder / f"{name}.store"
    command = [sys.executable, str(HERE / "ranks" / "worker.py"), name]
    ranks = [subprocess.Popen([*command, str(rank), str(world), str(store)], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True) for rank in range(world)]
    outputs = [rank.communicate(timeout=300)[0] for rank in ranks]
    lines = [[line for line in out.splitlines() if line.startswith("peak ")] for out in outputs]
    assert all(lines), outputs
    return [int(line[0].split()[1]) for line in lines]


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_a_rank_has_alive_what_is_predicted(program, record, name, tmp_path):
    world, options = CONFIGURATIONS[name]
    options = [option.replace("PLAN", str(pathlib.Path(record).parent / "plan.json")) for option in options]
    batch = str(worker.BATCH.get(name, 4))
    for rank, bytes_alive in enumerate(measured(name, world, tmp_path)):
        command = [program, str(record), "-m", "train", "-b", batch, "--loss", "cross-entropy", "--rank", str(rank),
                   "-f", "json", *options]
        answer = subprocess.run(command, capture_output=True, text=True, check=False)
        assert answer.returncode == 0, answer.stderr
        predicted = json.loads(answer.stdout)["runs"][0]["training"]["peak_bytes"]
        known = MESH.get(name, 0) + STATISTICS.get(name, 0)
        assert bytes_alive == predicted + known, f"rank {rank} of {world}"
