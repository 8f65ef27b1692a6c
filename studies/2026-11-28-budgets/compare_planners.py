#!/usr/bin/env python3
"""What do torch.compile's partitioner and checkpoint_sequential recompute for the memory that they save, and what does
a plan recompute for the same?

    compare_planners.py [gpt2|resnet50|vit_b_16 ...] [--budgets 0.3,0.5,0.7,0.9] [--json FILE]

Each model with its loss is traced once, on the CPU, by torch.compile(fullgraph=True); the joint graph is split by
min_cut_rematerialization_partition for each activation_memory_budget. No kernel runs. Of the two graphs that it makes:

  peak   bytes of distinct storages alive at once: parameters, buffers, inputs and gradients, saved values until their
         last use, results of the graphs' calls. In place of a fused kernel each call has its result, as in aot_eager.
  FLOPs  of torch.utils.flop_counter, of both graphs less those of the joint graph, as a share of the latter.

The plan is of a record of the same model and loss, planned by FLOPs for the same bytes (sgd: no state). checkpoint_sequential runs over all blocks: of each number of segments the peak and FLOPs
are those of the record with that plan; the cheapest that needs no more stands in the table.
"""
import argparse
import copy
import json
import pathlib
import tempfile

import torch
import torch._functorch.config as config
from torch._dynamo.backends.common import aot_autograd
from torch._functorch.partitioners import default_partition, min_cut_rematerialization_partition
from torch.utils.flop_counter import flop_registry

import onnx_mem


class WithLoss(torch.nn.Module):
    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, x, labels):
        out = self.model(x)
        out = getattr(out, "logits", out)
        return torch.nn.functional.cross_entropy(out.flatten(0, -2), labels.flatten())


def gpt2():
    from transformers import GPT2Config, GPT2LMHeadModel
    options = {"attn_pdrop": 0, "embd_pdrop": 0, "resid_pdrop": 0, "use_cache": False, "attn_implementation": "sdpa"}
    ids = torch.zeros(4, 512, dtype=torch.long)
    return GPT2LMHeadModel(GPT2Config(**options)), ids, ids, [f"transformer.h.{i}" for i in range(12)]


def images(name, batch):
    import torchvision
    return torchvision.models.get_model(name), torch.zeros(batch, 3, 224, 224), torch.zeros(batch, dtype=torch.long)


def vit_b_16():
    return *images("vit_b_16", 16), [f"encoder.layers.encoder_layer_{i}" for i in range(12)]


def resnet50():
    return *images("resnet50", 16), [f"layer{i + 1}.{k}" for i, n in enumerate((3, 4, 6, 3)) for k in range(n)]


MODELS = {"gpt2": gpt2, "resnet50": resnet50, "vit_b_16": vit_b_16}


class Traced(Exception):
    pass


def partitions(model, args, budgets):
    """The joint graph, and (forward, backward) for each budget; None: everything is saved."""
    found = {}

    def split(joint, joint_args, **options):
        found["joint"] = joint
        for budget in (None, *budgets):
            partition = default_partition if budget is None else min_cut_rematerialization_partition
            with config.patch(activation_memory_budget=1 if budget is None else budget):
                found[budget] = partition(copy.deepcopy(joint), joint_args, **options)
        raise Traced

    torch._dynamo.reset()
    try:
        torch.compile(model, backend=aot_autograd(fw_compiler=None, bw_compiler=None, partition_fn=split),
                      fullgraph=True)(*args)
    except Exception:
        if len(found) < len(budgets) + 2:
            raise
    return found


def tensors(node):
    values = node.meta.get("val")
    return [v for v in (values if isinstance(values, (tuple, list)) else [values]) if isinstance(v, torch.Tensor)]


def storages(nodes):
    """Bytes by storage of what the nodes give."""
    return {t.untyped_storage()._cdata: t.untyped_storage().nbytes() for n in nodes for t in tensors(n)}


def nodes_out(graph):
    return graph.find_nodes(op="output")[0].all_input_nodes


def peak_of_graph(graph, always, alive, kept):
    """Most bytes alive while the graph runs. `always`: storages that stay; `alive`: those that end with their last use;
    `kept`: those that outlive the graph."""
    last = {}
    for node in graph.nodes:
        for used in (node, *node.all_input_nodes):
            if node.op != "output":
                last.update(dict.fromkeys(storages([used]), node))
    alive = {k: v for k, v in alive.items() if k not in always}
    most = sum(alive.values())
    for node in graph.nodes:
        if node.op in ("placeholder", "output"):
            continue
        alive.update({k: v for k, v in storages([node]).items() if k not in always})
        most = max(most, sum(alive.values()))
        for k in storages((node, *node.all_input_nodes)):
            if last[k] is node and k not in kept:
                alive.pop(k, None)
    return sum(always.values()) + most


def peak_bytes(forward, backward):
    inputs = storages(forward.graph.find_nodes(op="placeholder"))
    out = storages(nodes_out(forward.graph))
    saved = storages(backward.graph.find_nodes(op="placeholder"))
    gradients = storages(nodes_out(backward.graph))
    first = peak_of_graph(forward.graph, inputs, {}, out)
    return max(first, peak_of_graph(backward.graph, inputs, saved, gradients))


def saved_bytes(forward, backward):
    """What the partitioner's budget limits, without parameters and inputs."""
    inputs = storages(forward.graph.find_nodes(op="placeholder"))
    saved = storages(backward.graph.find_nodes(op="placeholder"))
    return sum(size for storage, size in saved.items() if storage not in inputs)


def flops(module):
    total = 0
    for node in module.graph.nodes:
        count = flop_registry.get(getattr(node.target, "overloadpacket", None))
        if node.op != "call_function" or count is None:
            continue
        args, kwargs = torch.fx.node.map_arg((node.args, dict(node.kwargs)), lambda n: n.meta["val"])
        total += count(*args, **kwargs, out_val=node.meta["val"])
    return total


def of_segments(path, segments, batch, total):
    plan = path.with_suffix(".json")
    plan.write_text(json.dumps({"segments": segments}))
    run = onnx_mem.analyze(path, batch=batch, mode="training", optimizer="sgd", plan=plan).json["runs"][0]
    return run["training"]["peak_bytes"], run["training"]["recompute_flops"] / total


def sequential(path, blocks, batch, total):
    """(peak, FLOPs) of checkpoint_sequential for each number of segments; it does not checkpoint the last."""
    for count in range(2, len(blocks) + 1):
        size = len(blocks) // count
        parts = [blocks[i * size:(i + 1) * size] for i in range(count - 1)]
        yield of_segments(path, [{"modules": part} for part in parts], batch, total)


def compare(name, budgets):
    model, x, labels, blocks = MODELS[name]()
    model = WithLoss(model).train()
    found = partitions(model, (x, labels), budgets)
    joint = flops(found["joint"])
    whole = peak_bytes(*found[None])
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        path = onnx_mem.export(model, (x, labels), folder / f"{name}.eager")
        options = {"batch": len(x), "optimizer": "sgd", "budget_on": "live", "cost_in": "flops"}
        base = onnx_mem.plan(path, budget="99%", **options).json["baseline"]
        total = base["forward_flops"] + base["backward_flops"]
        sequentials = list(sequential(path, [f"model.{b}" for b in blocks], len(x), total))
        for budget in budgets:
            forward, backward = found[budget]
            peak = peak_bytes(forward, backward)
            row = {"model": name, "budget": budget, "base_bytes": whole, "peak_bytes": peak,
                   "record_base_bytes": base["peak_bytes"], "joint_flops": joint, "record_flops": total,
                   "saved_share": saved_bytes(*found[budget]) / saved_bytes(*found[None]),
                   "partitioner": (flops(forward) + flops(backward)) / joint - 1}
            plan = onnx_mem.plan(path, budget=f"{peak}B", **options).json
            chosen = None if plan["chosen"] is None else plan["plans"][plan["chosen"]]
            row["plan"] = chosen and chosen["recompute_flops"] / total
            row["plan_bytes"] = chosen and chosen["peak_bytes"]
            row["any_schedule_at_least"] = plan["lower_bound_recompute_flops"] / total
            row["sequential"] = min((cost for got, cost in sequentials if got <= peak), default=None)
            yield row


def shown(share):
    return "-" if share is None else f"{100 * share:.1f} %"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", default=list(MODELS))
    parser.add_argument("--budgets", default="0.3,0.5,0.7,0.9")
    parser.add_argument("--json", type=pathlib.Path)
    args = parser.parse_args()
    torch.set_num_threads(1)
    rows = []
    print("| model, budget | saved by forward | peak | no schedule below | plan | partitioner | `checkpoint_sequential` |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    for name in args.models:
        for row in compare(name, [float(b) for b in args.budgets.split(",")]):
            rows.append(row)
            row["peak_share"] = row["peak_bytes"] / row["base_bytes"]
            columns = ("saved_share", "peak_share", "any_schedule_at_least", "plan", "partitioner", "sequential")
            print(f"| {name}, {row['budget']} | {' | '.join(shown(row[key]) for key in columns)} |", flush=True)
    if args.json:
        args.json.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
