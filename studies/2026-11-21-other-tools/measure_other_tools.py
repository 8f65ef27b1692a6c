#!/usr/bin/env python3
"""What other ways of estimating say of measured models: writes testdata/measured/other_tools.json, which
scripts/accuracy puts beside our own figures.

usage: studies/2026-11-21-other-tools/measure_other_tools.py TRUTH_JSON   (of speed: measure_speed.py)

Needs torch, torchvision and torchinfo; run by hand, not by the tests. torchinfo's "Estimated Total Size" is taken as it
prints it (parameters + forward/backward pass + input), the model in training mode, at the measured batch.
"""
import json
import os
import sys

import torch
import torchinfo
import torchvision

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def main():
    models = json.load(open(sys.argv[1]))["models"]
    rows = []
    for name, m in sorted(models.items()):
        if m["source"] != "torchvision" or not hasattr(torchvision.models, name):
            continue
        with torch.device("meta"):
            net = getattr(torchvision.models, name)().train()
        for x in m["measurements"]:
            if x["dtype"] != "float32" or x.get("amp") or "adam" not in x.get("train", {}):
                continue
            shape = next(iter(x["inputs"].values()))["shape"] if isinstance(x.get("inputs"), dict) else None
            shape = shape or [x["batch"], 3, 224, 224]
            try:
                s = torchinfo.summary(net, input_size=shape, device="meta", verbose=0, mode="train")
            except Exception as e:  # the tool itself does not manage this model
                print(name, shape, "torchinfo:", str(e).splitlines()[0], file=sys.stderr)
                continue
            total = s.total_input + s.total_output_bytes + s.total_param_bytes
            rows.append({"model": name, "input": shape, "measured_bytes": x["train"]["adam"]["step2"]["peak"],
                         "torchinfo_bytes": int(total), "four_times_parameters_bytes": 4 * m["param_bytes"]})
    out = {"conditions": {"torchinfo": torchinfo.__version__, "torch": torch.__version__.split("+")[0],
                          "optimizer": "adam", "figure": "Estimated Total Size, training mode"}, "rows": rows}
    with open(os.path.join(ROOT, "testdata/measured/other_tools.json"), "w") as f:
        f.write('{{"conditions": {},\n "rows": [\n  '.format(json.dumps(out["conditions"])))
        f.write(",\n  ".join(json.dumps(r) for r in rows) + "\n]}\n")


if __name__ == "__main__":
    main()
