#!/usr/bin/env python3
"""Runs onnx-mem and other tools side by side on the same files, and writes the tables of studies/performance.md.

usage: scripts/measure_speed.py BUILD [--quick]

BUILD is a build folder with onnx-mem and, configured with -DONNX_MEM_BUILD_BENCH=ON, the benchmarks: what is missing is
left as it stands in the document, as is a tool that cannot be imported. --quick: no benchmarks. Needs onnx; torch,
torchvision, torchinfo, onnxruntime, onnx-tool and onnxsim where they are to be compared. Run by hand, not by the tests.

A tool's CPU time is that of its whole process, start and imports included, as it is with ours: the least of a few runs,
each on one thread. Weights are zeros, written into the file, since some of the tools read them.
"""
import os
import re
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
DOCUMENT = os.path.join(ROOT, "studies/performance.md")
MODELS = os.path.join(ROOT, "testdata/models")
BATCH = 64

# A file of testdata/models, and the torchvision model that it was exported from.
FILES = [("resnet50.train.ts.op17", "resnet50"), ("resnet50.eval.ts.op17", "resnet50"),
         ("vit_b_16.train.ts.op17", "vit_b_16")]

# Programs of the other tools. {path}, {light}, {batch}, {name}: the file, the same as it is in the tree, the
# batch, the torchvision model.
STEP = """
import torch, torchvision
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.distributed._tools.mem_tracker import MemTracker
torch.set_num_threads(1)
with FakeTensorMode():
    model = torchvision.models.{name}().train()
    optimizer = torch.optim.Adam(model.parameters())
    x, y = torch.randn({batch}, 3, 224, 224), torch.randint(0, 1000, ({batch},))
    tracker = MemTracker()
    tracker.track_external(model, optimizer)
    with tracker:
        torch.nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()
    tracker.get_tracker_snapshot("peak")
"""
TOOLS = [
    ("ONNX shape inference, without the weights", "onnx",
     "import onnx; onnx.shape_inference.infer_shapes(onnx.load('{light}', load_external_data=False))"),
    ("ONNX shape inference", "onnx", "import onnx; onnx.shape_inference.infer_shapes(onnx.load('{path}'))"),
    ("ONNX shape inference, with data propagation", "onnx",
     "import onnx; onnx.shape_inference.infer_shapes(onnx.load('{path}'), data_prop=True)"),
    ("onnxruntime, a session", "onnxruntime", """
import onnxruntime
options = onnxruntime.SessionOptions()
options.intra_op_num_threads = 1
onnxruntime.InferenceSession('{path}', options, providers=['CPUExecutionProvider'])
"""),
    ("onnx-tool, profile", "onnx_tool", """
import numpy, onnx_tool
model = onnx_tool.Model('{path}')
model.graph.shape_infer({{'input': numpy.zeros(({batch}, 3, 224, 224), numpy.float32)}})
model.graph.profile()
"""),
    ("onnxsim, simplify", "onnxsim",
     "import onnx, onnxsim; onnxsim.simplify(onnx.load('{path}'), "
     "overwrite_input_shapes={{'input': [{batch}, 3, 224, 224]}})"),
    ("torchinfo, on the meta device", "torchinfo", """
import torch, torchinfo, torchvision
with torch.device('meta'):
    model = torchvision.models.{name}()
torchinfo.summary(model, input_size=({batch}, 3, 224, 224), device='meta', verbose=0)
"""),
    ("FakeTensor step under MemTracker", "torch", STEP),
]


def fill(name, path):
    """Writes the file with zeros for its weights."""
    import onnx
    model = onnx.load(os.path.join(MODELS, name + ".onnx"), load_external_data=False)
    for tensor in model.graph.initializer:
        if tensor.data_location != onnx.TensorProto.EXTERNAL:
            continue
        elements = 1
        for dim in tensor.dims:
            elements *= dim
        del tensor.external_data[:]
        tensor.data_location = onnx.TensorProto.DEFAULT
        tensor.raw_data = bytes(elements * onnx.helper.tensor_dtype_to_np_dtype(tensor.data_type).itemsize)
    onnx.save(model, path)


def run(arguments):
    """CPU seconds and MiB of a process; None if it failed, and why."""
    environment = dict(os.environ, OMP_NUM_THREADS="1", MKL_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")
    with tempfile.TemporaryFile() as errors:
        child = subprocess.Popen(arguments, stdout=subprocess.DEVNULL, stderr=errors, env=environment)
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = status
        if status != 0:
            errors.seek(0)
            lines = errors.read().decode(errors="replace").strip().splitlines()
            return None, lines[-1] if lines else "failed"
    return (usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024), ""


def best(arguments, runs):
    found, why = run(arguments)
    for _ in range(runs - 1):
        if found is None or found[0] > 2:
            break
        again, _ = run(arguments)
        found = min(found, again) if again else found
    return found, why


def has(module):
    return subprocess.run([sys.executable, "-c", f"import {module}"], stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL).returncode == 0


def peers(program):
    rows, left_out = [], []
    present = {module: has(module) for _, module, _ in TOOLS}
    with tempfile.TemporaryDirectory() as folder:
        for name, network in FILES:
            path = os.path.join(folder, name + ".onnx")
            # In a process of its own: what this one has held counts as the memory of those that it starts.
            subprocess.run([sys.executable, __file__, "--fill", name, path], check=True)
            quiet, why = best([program, path, "--batch", str(BATCH), "-q"], 15)
            screen, _ = best([program, path, "--batch", str(BATCH)], 7)
            if quiet is None:
                sys.exit(f"{name}: {why}")
            rows += [(name, "**onnx-mem -q**", quiet, quiet, screen), (name, "**onnx-mem**", screen, quiet, screen)]
            for tool, module, code in TOOLS:
                if not present[module]:
                    left_out.append(f"{tool}: no module {module}")
                    continue
                code = code.format(path=path, light=os.path.join(MODELS, name + ".onnx"), batch=BATCH, name=network)
                found, why = best([sys.executable, "-c", code], 3)
                if found is None:
                    left_out.append(f"{tool} on {name}: {why[:150]}")
                    continue
                rows.append((name, tool, found, quiet, screen))
                print(f"{name:26} {tool:45} {found[0]:8.3f} s {found[1]:8.0f} MiB", file=sys.stderr)
    lines = ["| file | tool | CPU ms | MiB | CPU time of `-q` | of the default screen |",
             "| --- | --- | ---: | ---: | ---: | ---: |"]
    for name, tool, (seconds, mib), quiet, screen in rows:
        lines.append(f"| {name} | {tool} | {1e3 * seconds:,.1f} | {mib:,.0f} | {seconds / quiet[0]:,.1f} x | "
                     f"{seconds / screen[0]:,.1f} x |")
    for line in sorted(set(left_out)):
        lines.append(f"\nLeft out: {line}.")
    return "\n".join(lines)


def bench(command):
    print(" ".join(command), file=sys.stderr)
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    return f"```\n{done.stdout}```" if done.returncode == 0 else None


def replace(text, block, content):
    pattern = re.compile(f"(<!-- {block} -->\n).*?(<!-- /{block} -->)", re.S)
    if not pattern.search(text):
        sys.exit(f"{DOCUMENT} has no block {block}")
    return pattern.sub(lambda m: m.group(1) + content + "\n" + m.group(2), text)


def main():
    if sys.argv[1:2] == ["--fill"]:
        return fill(*sys.argv[2:])
    arguments = [a for a in sys.argv[1:] if not a.startswith("-")]
    if len(arguments) != 1:
        sys.exit(__doc__)
    build = arguments[0]
    program = os.path.join(build, "cli/onnx-mem")
    text = open(DOCUMENT).read()
    text = replace(text, "peers", peers(program))
    for block, command in (("process", ["bench/process_bench", program, MODELS]),
                           ("scale", ["bench/scale_bench", program])):
        executable = os.path.join(build, command[0])
        if "--quick" in sys.argv or not os.path.exists(executable):
            continue
        output = bench([executable] + command[1:])
        if output:
            text = replace(text, block, output)
    with open(DOCUMENT, "w") as f:
        f.write(text)


if __name__ == "__main__":
    main()
