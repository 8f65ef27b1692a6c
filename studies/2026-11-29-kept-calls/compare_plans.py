#!/usr/bin/env python3
"""What do plans of each granularity cost at equal memory?

    compare_plans.py [gpt2|llama|vit_b_16|resnet50|convnext_tiny ...]

Records of five networks, four budgets each, as shares of the bytes alive in a step with SGD; times are estimates for an
A100 PCIe. `study`: extra time of the hand-made search that plans per call were designed by, on the same networks and
budgets, before there was such a search in the program. `planning`: wall time of the plan per call.
"""
import argparse
import time

import torch

import onnx_mem


def hf(name, config, **options):
    import transformers
    return getattr(transformers, name)(getattr(transformers, config)(use_cache=False, **options))


def vision(name):
    import torchvision
    return torchvision.models.get_model(name)


def words(vocabulary, batch, length):
    ids = torch.randint(0, vocabulary, (batch, length))
    return (), {"input_ids": ids, "labels": ids}


def image():
    return (torch.randn(32, 3, 224, 224),), {}


LLAMA = {"hidden_size": 1024, "intermediate_size": 2816, "num_hidden_layers": 12, "num_attention_heads": 16,
         "num_key_value_heads": 4, "vocab_size": 32000}
# model, inputs, {budget in %: extra time of the study in %}
NETWORKS = {
    "gpt2": (lambda: hf("GPT2LMHeadModel", "GPT2Config"), lambda: words(50257, 8, 512),
             {77: 1.41, 67.5: 3.37, 64: 5.53, 50: 17.54}),
    "llama": (lambda: hf("LlamaForCausalLM", "LlamaConfig", **LLAMA).to(torch.bfloat16),
              lambda: words(32000, 8, 1024), {77: 5.10, 75: 6.11, 64: 11.01, 51.3: 21.12}),
    "vit_b_16": (lambda: vision("vit_b_16"), image, {77: 0.86, 71.6: 1.14, 64: 2.16, 50: 8.51}),
    "resnet50": (lambda: vision("resnet50"), image, {77: 4.36, 64: 8.59, 50: 14.93, 43.1: 19.07}),
    "convnext_tiny": (lambda: vision("convnext_tiny"), image, {77: 2.16, 61: 3.76, 50: 5.25, 40: 6.88}),
}


def percent(share):
    return "-" if share is None else f"{100 * share:.2f} %"


def rows(name):
    build, inputs, budgets = NETWORKS[name]
    args, kwargs = inputs()
    record = onnx_mem.record(build().train(), args, kwargs)
    batch = next(iter((*args, *kwargs.values()))).shape[0]
    for budget, study in budgets.items():
        found = {}
        for granularity in ("call", "op", "module"):
            began = time.monotonic()
            plan = onnx_mem.plan(record, budget=f"{budget}%", budget_on="live", granularity=granularity,
                                 optimizer="sgd", batch=batch, gpu="A100 PCIe 40GB")
            found[granularity] = plan, time.monotonic() - began
        plan, seconds = found["call"]
        extra = {kind: p.chosen_plan and p.chosen_plan["time_slowdown"] for kind, (p, _) in found.items()}
        least = plan.json["lower_bound_recompute_ns"] * plan.chosen_plan["time_slowdown"] / max(
            plan.chosen_plan["recompute_ns"], 1)
        yield (f"| {name}, {budget} % | {percent(least)} | {percent(extra['call'])} | {study:.2f} % | "
               f"{100 * extra['call'] / study:.2f} | {percent(extra['op'])} | {percent(extra['module'])} | "
               f"{percent(plan.json['gap'])} | {seconds:.1f} s |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("networks", nargs="*", metavar="NETWORK", help=", ".join(NETWORKS))
    args = parser.parse_args()
    print("| network, budget | no schedule below | `call` | study | of the study | `op` | `module` | gap | planning |\n"
          "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    for name in args.networks or NETWORKS:
        for row in rows(name):
            print(row, flush=True)


if __name__ == "__main__":
    main()
