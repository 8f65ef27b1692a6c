#!/usr/bin/env python3
"""What does the policy that people write by hand cost, and what does a plan for no more memory?

    hand_policies.py [gpt2|llama|vit_b_16|resnet50|convnext_tiny ...]

The policy: each block is a segment that keeps the results of matrix products, convolutions and attention. It is given
to the program as a plan (`--plan`), which enacts it as it does its own; the plan beside it has the bytes of the policy
as its budget. Networks, card and optimizer are those of compare_plans.py.
"""
import argparse
import json
import pathlib
import re
import tempfile

from compare_plans import NETWORKS, percent

import onnx_mem

PRODUCTS = ["mm", "addmm", "bmm", "baddbmm", "convolution", "_scaled_dot_product_efficient_attention",
            "_scaled_dot_product_flash_attention"]
BLOCK = re.compile(r"(transformer\.h|model\.layers|layer[1-4]|features\.[1357])\.\d+|encoder\.layers\.encoder_layer_\d+")


def row(name, folder):
    build, inputs, _ = NETWORKS[name]
    args, kwargs = inputs()
    model = build().train()
    blocks = [path for path, _ in model.named_modules() if BLOCK.fullmatch(path)]
    policy = folder / f"{name}.json"
    policy.write_text(json.dumps({"segments": [{"modules": [block], "keep": PRODUCTS} for block in blocks]}))
    record = onnx_mem.record(model, args, kwargs)
    options = {"budget_on": "live", "optimizer": "sgd", "gpu": "A100 PCIe 40GB",
               "batch": next(iter((*args, *kwargs.values()))).shape[0]}
    given = onnx_mem.plan(record, budget="100%", plan=policy, **options)
    by_hand = next(plan for plan in given.json["plans"] if plan["method"] == "given")
    without = next(plan for plan in given.json["plans"] if not plan["segments"])
    plan = onnx_mem.plan(record, budget=f"{by_hand['peak_bytes']}B", **options)
    gap = plan.json["gap"]
    return (f"| {name}, {100 * by_hand['peak_bytes'] / without['peak_bytes']:.1f} % | "
            f"{percent(by_hand['time_slowdown'])} | {percent(plan.chosen_plan['time_slowdown'])} | {percent(gap)} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("networks", nargs="*", metavar="NETWORK", help=", ".join(NETWORKS))
    args = parser.parse_args()
    print("| network, memory | policy | plan | gap |\n| --- | ---: | ---: | ---: |")
    with tempfile.TemporaryDirectory() as folder:
        for name in args.networks or NETWORKS:
            print(row(name, pathlib.Path(folder)), flush=True)


if __name__ == "__main__":
    main()
