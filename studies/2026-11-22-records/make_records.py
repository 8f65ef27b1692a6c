"""Makes testdata/records: a record per model, what the model's own code takes, and the replay's live bytes by operator.

    python studies/2026-11-22-records/make_records.py [--out DIR] [MODEL ...]

Needs torch, torchvision, timm and transformers. Every number is checked against the replayed record on the way: where
the two differ, the model is named on stderr and the exit code is 1.
"""
from __future__ import annotations

import argparse
import datetime
import gzip
import json
import pathlib
import sys
import warnings

import torch
from models import BATCH, MODELS

import onnx_mem
from onnx_mem._record.check import replayed, trace

ROOT = pathlib.Path(__file__).resolve().parents[2]

BATCHES = (BATCH, 7, 32)
OPTIMIZERS = ("adam", "momentum")
TRACE_BATCH = 7


def figures(measured) -> dict:
    """The fields that a reader of the record is held against."""
    names = ("peak_bytes", "first_step_peak_bytes", "end_of_forward_bytes", "saved_activation_bytes", "peak_phase",
             "peak_operator", "breakdown")
    out = {n: getattr(measured, n) for n in names}
    return {k: v for k, v in out.items() if v is not None}


def truth_of(name: str, record) -> tuple[dict, list[str]]:
    """What the model takes by its own code, and where the replayed record takes anything else."""
    runs, differences, static = [], [], {}
    for batch in BATCHES:
        run: dict = {"batch": batch}
        for label, options in [("inference", dict(training=False))] + [(o, dict(optimizer=o)) for o in OPTIMIZERS]:
            model, args, kwargs = MODELS[name]()
            own = onnx_mem.measure(model, args, kwargs=kwargs, batch=batch, **options)
            run[label] = figures(own)
            other = replayed(record, batch, loss=own.loss, **options)
            for field in ("peak_bytes", "first_step_peak_bytes", "saved_activation_bytes", "parameter_bytes"):
                if getattr(own, field) != getattr(other, field):
                    differences.append(f"{name}, batch {batch}, {label}, {field}: the model {getattr(own, field)}, "
                                       f"its record {getattr(other, field)}")
            static = {"parameter_bytes": own.parameter_bytes, "buffer_bytes": own.buffer_bytes}
            run["input_bytes" if label == "inference" else "input_and_target_bytes"] = own.input_bytes
            if own.loss:
                static["loss"] = own.loss
        runs.append(run)
    return {**static, "runs": runs}, differences


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="*", default=list(MODELS))
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "testdata" / "records")
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    warnings.filterwarnings("ignore")
    path = given.out / "truth.json"
    truth = json.loads(path.read_text()) if path.exists() else {}
    truth.update(torch=torch.__version__, date=datetime.date.today().isoformat(), recorded_batch=BATCH)
    models = truth.setdefault("models", {})
    bad = []
    for name in given.models:
        torch.manual_seed(0)
        model, args, kwargs = MODELS[name]()
        try:
            record = onnx_mem.record(model, args, kwargs)
        except onnx_mem.CannotRecord as e:
            bad.append(f"{name}: {e}")
            continue
        record.save(given.out / f"{name}.eager")
        shows = (type(model).__doc__ or "").strip().splitlines()[0] if type(model).__module__ == "models" else \
            f"{type(model).__module__.split('.')[0]}: {type(model).__name__}, scaled down"
        models[name], differences = truth_of(name, record)
        models[name]["shows"] = shows
        bad += differences
        live = {mode: trace(record, TRACE_BATCH, mode, loss=models[name]["loss"]) for mode in record.programs}
        with gzip.GzipFile(given.out / f"{name}.live.json.gz", "wb", mtime=0) as f:
            f.write(json.dumps({"batch": TRACE_BATCH, **live}, separators=(",", ":")).encode())
        print(name, record, f"{len(differences)} differences", flush=True)
        truth["models"] = dict(sorted(models.items()))
        path.write_text(json.dumps(truth, indent=1) + "\n")
    for line in bad:
        print(line, file=sys.stderr)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
