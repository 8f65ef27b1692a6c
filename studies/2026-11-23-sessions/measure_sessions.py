#!/usr/bin/env python3
"""Measures what onnxruntime sessions on the CPU take, for testdata/measured/onnxruntime_cpu.json.

    python -m venv venv && venv/bin/pip install onnxruntime onnx numpy
    venv/bin/python studies/2026-11-23-sessions/measure_sessions.py --batch 2,8 testdata/models/resnet18.eval.ts.op17.onnx ... > rows.json

Of each model (its weights filled with random numbers, since those of testdata are stripped) and batch, in a process of
its own, with the default optimizations, one thread and the provider CPU:

  arena_bytes       what the arena's log of extensions adds up to, from the first run on
  loaded_bytes      of them before the first run: kernels that lay weights out anew
  weights_resident  growth of VmRSS by making the session, after malloc_trim
  load_peak         growth of VmHWM by making the session
  resident_bytes    growth of VmRSS by the session and four runs, trimmed behind its making; without the inputs

A session of another small model runs first, so that the library's own pages are there.

With --as-run, for testdata/measured/onnxruntime_resident.json, as a program does it: no other session before, nothing
trimmed, threads by default unless --threads is given. Growth from the import of onnxruntime on:

  made, load_peak   of VmRSS and VmHWM by making the session
  resident          of VmRSS by the session and four runs; without the inputs
  trimmed           the same after malloc_trim
  code              of RssFile, within the others: pages of the library
"""
import argparse
import json
import os
import re
import subprocess
import sys
import tempfile

CHILD = r"""
import ctypes, json, os, sys
import numpy as np
import onnxruntime as ort

path, first, spec = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
TYPES = {"tensor(float)": np.float32, "tensor(float16)": np.float16, "tensor(double)": np.float64,
         "tensor(int64)": np.int64, "tensor(int32)": np.int32, "tensor(bool)": np.bool_}

def options():
    made = ort.SessionOptions()
    if spec["threads"]:
        made.intra_op_num_threads = made.inter_op_num_threads = spec["threads"]
    made.graph_optimization_level = getattr(ort.GraphOptimizationLevel, spec["level"])
    return made

def feeds(session):
    return {i.name: np.ones([spec["dims"].get(d, spec["batch"]) if isinstance(d, str) else d for d in i.shape],
                            TYPES[i.type]) for i in session.get_inputs()}

def tell(moment):
    told = {}
    for line in open("/proc/self/status"):
        key, value = line.split(":", 1)
        if key in ("VmRSS", "VmHWM", "RssFile"):
            told[key] = int(value.split()[0]) * 1024
    os.write(2, ("@@%s %s\n" % (moment, json.dumps(told))).encode())

if not spec["as_run"]:
    warm = ort.InferenceSession(first, options(), providers=["CPUExecutionProvider"])
    warm.run(None, feeds(warm))
    del warm
    ort.set_default_logger_severity(0)
tell("start")
session = ort.InferenceSession(path, options(), providers=["CPUExecutionProvider"])
tell("made")
if not spec["as_run"]:
    ctypes.CDLL(None).malloc_trim(0)
tell("trimmed")
inputs = feeds(session)
tell("fed")
for _ in range(4):
    outputs = None  # as a caller lets go of them
    outputs = session.run(None, inputs)
tell("ran")
ctypes.CDLL(None).malloc_trim(0)
tell("end")
"""


def fill(source, target):
    """Writes the model with random weights in place of those that lie in a file that does not exist."""
    import numpy as np
    import onnx

    model = onnx.load(source, load_external_data=False)
    random = np.random.default_rng(0)
    constants = [made.t for node in model.graph.node if node.op_type == "Constant" for made in node.attribute
                 if made.type == onnx.AttributeProto.TENSOR]
    for tensor in list(model.graph.initializer) + constants:
        if tensor.data_location != onnx.TensorProto.EXTERNAL:
            continue
        dtype = onnx.helper.tensor_dtype_to_np_dtype(tensor.data_type)
        count = int(np.prod(tensor.dims))
        if np.issubdtype(dtype, np.floating):
            values = (random.standard_normal(count, dtype=np.float32) * 0.02).astype(dtype)
        else:
            values = np.zeros(count, dtype)
        tensor.ClearField("external_data")
        tensor.ClearField("data_location")
        tensor.raw_data = values.tobytes()
    onnx.save(model, target)
    names = {d.dim_param for i in model.graph.input for d in i.type.tensor_type.shape.dim if d.dim_param}
    return names


def measure(path, first, spec):
    done = subprocess.run([sys.executable, "-c", CHILD, path, first, json.dumps(spec)], capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(done.stderr[-400:])
    moments, extended, phase = {}, {"start": 0, "fed": 0}, ""
    for line in done.stderr.splitlines():
        if told := re.match(r"@@(\w+) (.*)", line):
            phase = told[1]
            moments[phase] = json.loads(told[2])
        elif grown := re.search(r"Extended allocation by (\d+)", line):
            extended["start" if phase == "start" else "fed"] += int(grown[1])
    rss = {moment: told["VmRSS"] for moment, told in moments.items()}
    if spec["as_run"]:
        before = rss["start"] + rss["fed"] - rss["trimmed"]
        return {"made": rss["made"] - rss["start"], "load_peak": moments["made"]["VmHWM"] - rss["start"],
                "resident": rss["ran"] - before, "trimmed": rss["end"] - before,
                "code": moments["ran"]["RssFile"] - moments["start"]["RssFile"]}
    return {"arena_bytes": extended["fed"], "loaded_bytes": extended["start"],
            "weights_resident": rss["trimmed"] - rss["start"],
            "load_peak": moments["made"]["VmHWM"] - rss["start"],
            "resident_bytes": rss["ran"] - rss["start"] - (rss["fed"] - rss["trimmed"])}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+")
    parser.add_argument("--batch", default="2,8", help="batches of models whose batch is free")
    parser.add_argument("--other", type=int, default=64, help="size of every other free dimension")
    parser.add_argument("--level", default="ORT_ENABLE_ALL")
    parser.add_argument("--as-run", action="store_true", help="as a program does it, for onnxruntime_resident.json")
    parser.add_argument("--threads", type=int, help="of a session (1; with --as-run: as by default)")
    parser.add_argument("--first", default="testdata/models/lenet5.train.ts.op17.onnx",
                        help="the session that warms up")
    asked = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        first = os.path.join(folder, "first.onnx")
        fill(asked.first, first)
        for source in asked.models:
            filled = os.path.join(folder, "model.onnx")
            names = fill(source, filled)
            others = {name: asked.other for name in names if name != "batch"}
            for batch in [int(b) for b in asked.batch.split(",")] if "batch" in names else [None]:
                threads = asked.threads or (None if asked.as_run else 1)
                spec = {"level": asked.level, "batch": batch or 1, "dims": others, "threads": threads,
                        "as_run": asked.as_run}
                row = {"model": os.path.basename(source).removesuffix(".onnx"), "batch": batch, "dims": others}
                if asked.as_run:
                    row["threads"] = threads
                try:
                    row.update(measure(filled, first, spec))
                except RuntimeError as error:
                    print(row["model"], batch, error, file=sys.stderr)
                    continue
                rows.append(row)
                print(json.dumps(row), file=sys.stderr)
    print("[\n" + ",\n".join("  " + json.dumps(row) for row in rows) + "\n]")


if __name__ == "__main__":
    main()
