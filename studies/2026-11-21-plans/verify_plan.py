#!/usr/bin/env python3
"""Do plans hold in PyTorch?  Applies the code of `onnx-mem plan ... --emit pytorch` to the model that was exported.

For each model: exports it, asks for plans, and compares
  equal     real CPU tensors, small inputs: loss, gradients and buffers with the plan against those without
  peak      fake tensors, the exported batch: live bytes of every storage at the peak of the second training step,
            against the accountant's peak for the same segments
  flops     torch.utils.flop_counter with the plan minus without, against the accountant's recomputation

    python studies/2026-11-21-plans/verify_plan.py build/release/cli/onnx-mem [MODEL ...] [--record testdata/measured/plans.json]

Needs torch, torchvision, transformers and onnxscript; no GPU. Attention runs its math kernel, dropout is off where
bytes are compared (on a CPU its mask has four bytes an element, on a card one).
"""
import argparse
import contextlib
import copy
import gc
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import weakref

import torch
import torch.nn.functional as F
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves
from torch.utils.flop_counter import FlopCounterMode

from makers import module_of

# ------------------------------------------------------------------------------------------------ models


class Head(nn.Module):
    """A model of transformers that gives its logits."""

    def __init__(self, m):
        super().__init__()
        self.m = m

    def forward(self, input_ids, attention_mask):
        return self.m(input_ids=input_ids, attention_mask=attention_mask).logits


def torchvision_model(name, **options):
    import torchvision
    return getattr(torchvision.models, name)(**options)


def bert(layers):
    from transformers import BertConfig, BertForSequenceClassification
    config = BertConfig(num_hidden_layers=layers, hidden_size=256, num_attention_heads=4, intermediate_size=1024, vocab_size=1000,
                        num_labels=3, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0, attn_implementation="eager")
    return Head(BertForSequenceClassification(config))


def gpt2(layers):
    from transformers import GPT2Config, GPT2LMHeadModel
    config = GPT2Config(n_layer=layers, n_embd=256, n_head=4, vocab_size=1000, n_positions=128, resid_pdrop=0.0, embd_pdrop=0.0,
                        attn_pdrop=0.0, use_cache=False, attn_implementation="eager")
    return Head(GPT2LMHeadModel(config))


def image(size, classes=1000):
    return lambda batch: ((torch.randn(batch, 3, size, size),), torch.randint(0, classes, (batch,)))


def pixels(size, classes):
    return lambda batch: ((torch.randn(batch, 3, size, size),), torch.randint(0, classes, (batch, size, size)))


def words(length, classes, per_word):
    def make(batch):
        ids = torch.randint(0, 1000, (batch, length))
        return (ids, torch.ones_like(ids)), torch.randint(0, classes, (batch, length) if per_word else (batch,))
    return make


def cross_entropy(logits, target):
    return F.cross_entropy(logits.flatten(0, 1), target.flatten()) if logits.dim() == 3 else F.cross_entropy(logits, target)


# What a segment keeps with --granularity op.
PRODUCTS = ["convolution", "addmm", "mm", "bmm"]

# name: build, inputs for the bytes, inputs for the equality, batch of each, exporter, segments by hand (";" between
# segments, "," between the modules of one, "!" before one that keeps its products), further options.
MODELS = {
    "resnet50": (lambda: torchvision_model("resnet50"), image(224), image(64), 8, 4, "ts",
                 ["layer1", "layer1.0;layer1.1,layer1.2;layer3.1,layer3.2,layer3.3", "layer1;layer2;layer3;layer4",
                  "layer1,layer2", "conv1,bn1,relu;layer2.0.conv3,layer2.0.bn3",
                  "!layer1", "layer1.0;!layer1.1,layer1.2;layer2;!layer3;!layer4.0", "!layer1,layer2;layer3.1"], []),
    "mobilenet_v2": (lambda: torchvision_model("mobilenet_v2", dropout=0.0), image(224), image(64), 8, 4, "ts",
                     ["features.1,features.2,features.3;features.4,features.5,features.6",
                      "features.2;features.3;features.7.conv",
                      "!features.1,features.2,features.3;features.4;!features.5", "!features"], []),
    "densenet121": (lambda: torchvision_model("densenet121"), image(224), image(64), 4, 2, "ts",
                    ["features.denseblock1;features.denseblock2", "features.denseblock1,features.transition1;features.denseblock3",
                     "!features.denseblock1;features.transition1;!features.denseblock2.denselayer3;features.denseblock2.denselayer4"], []),
    "vit_b_16": (lambda: torchvision_model("vit_b_16"), image(224), image(224), 4, 1, "ts",
                 ["encoder.layers.encoder_layer_0,encoder.layers.encoder_layer_1;encoder.layers.encoder_layer_5",
                  ";".join(f"encoder.layers.encoder_layer_{i}" for i in range(12)), "encoder.layers.encoder_layer_3.mlp",
                  "!encoder.layers.encoder_layer_0;encoder.layers.encoder_layer_1;!encoder.layers.encoder_layer_2.mlp"], []),
    "unet": (module_of("studies/2026-11-22-records/models.py").UNet, pixels(96, 4), pixels(32, 4), 8, 2, "ts", ["down.0;up.2", "down.0;down.1;down.2;down.3;up.0;up.1;up.2",
                                                                                              "!down.0;down.1;!up.1;up.2"],
             ["--loss", "cross-entropy"]),
    "bert": (lambda: bert(4), words(64, 3, False), words(16, 3, False), 8, 2, "dynamo",
             ["m.bert.encoder.layer.0,m.bert.encoder.layer.1;m.bert.encoder.layer.2", "m.bert.encoder.layer.1.attention",
              "!m.bert.encoder.layer.0;m.bert.encoder.layer.1;!m.bert.encoder.layer.2", "!m.bert.encoder.layer.1"], []),
    "gpt2": (lambda: gpt2(4), words(64, 1000, True), words(16, 1000, True), 8, 2, "dynamo",
             ["m.transformer.h.0,m.transformer.h.1;m.transformer.h.2", ";".join(f"m.transformer.h.{i}" for i in range(4)),
              "!m.transformer.h.0;m.transformer.h.1;!m.transformer.h.2,m.transformer.h.3"],
             ["--loss", "cross-entropy"]),
}

# ------------------------------------------------------------------------------------------------ measuring


class StorageTracker(TorchDispatchMode):
    """Live bytes of all storages (views share theirs), and their peak. Gradients that meet are added in place where the
    engine would do so without a dispatch mode around (torch/csrc/autograd/input_buffer.cpp)."""

    def __init__(self):
        super().__init__()
        self.live, self.now, self.peak, self.backward = {}, 0, 0, False

    def see(self, t):
        storage = t.untyped_storage()
        key = storage._cdata
        if key in self.live:
            return
        self.live[key] = (storage.nbytes(), self.node())
        self.now += storage.nbytes()
        self.peak = max(self.peak, self.now)
        weakref.finalize(storage, self.dead, key).atexit = False

    def dead(self, key):
        self.now -= self.live.pop(key)[0]

    def node(self):
        node = torch._C._current_autograd_node() if self.backward else None
        return node and (node._sequence_nr(), node.name())

    def meets(self, func, args, kwargs):
        if not self.backward or func is not torch.ops.aten.add.Tensor or kwargs or not isinstance(args[1], torch.Tensor):
            return False
        a, b = args[0], args[1]
        made_by = self.live.get(a.untyped_storage()._cdata, (0, None))[1]
        return (made_by is not None and made_by != self.node() and a.shape == b.shape and a.dtype == b.dtype
                and torch._C._storage_Use_Count(a.untyped_storage()._cdata) == 2 and a._use_count() <= 4
                and torch._prims_common.is_non_overlapping_and_dense_or_false(a))

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        if self.meets(func, args, kwargs):
            torch.ops.aten.add_.Tensor(args[0], args[1])
            return args[0]
        out = func(*args, **(kwargs or {}))
        for t in tree_leaves(out):
            if isinstance(t, torch.Tensor):
                self.see(t)
        return out


@contextlib.contextmanager
def fake():
    """Tensors without data; initialisers that would read some do nothing."""
    kept = nn.init.trunc_normal_
    nn.init.trunc_normal_ = lambda t, *args, **kwargs: t
    try:
        with FakeTensorMode(allow_non_fake_inputs=True), torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):
            yield
    finally:
        nn.init.trunc_normal_ = kept


def measured_peak(build, batch):
    """Live bytes at the peak of the second step, SGD with momentum, gradients released right before its forward."""
    with fake():
        model = build().train()
        inputs, target = batch
        inputs, target = tuple(torch.empty_like(t) for t in inputs), torch.empty_like(target)
        optimizer = torch.optim.SGD(model.parameters(), 0.01, momentum=0.9, foreach=True)
        tracker = StorageTracker()
        for t in (*model.parameters(), *model.buffers(), *inputs, target):
            tracker.see(t)
        gc.collect()
        gc.disable()

        def step():
            out = model(*inputs)
            loss = cross_entropy(out, target)
            tracker.backward = True
            loss.backward()
            tracker.backward = False
            optimizer.step()
        try:
            with tracker:
                step()
                tracker.peak = 0
                optimizer.zero_grad(set_to_none=True)
                step()
        finally:
            gc.enable()
        return tracker.peak


def measured_flops(build, batch):
    with fake():
        model = build().train()
        inputs, target = batch
        with FlopCounterMode(display=False) as counter:
            cross_entropy(model(*(torch.empty_like(t) for t in inputs)), torch.empty_like(target)).backward()
        return counter.get_total_flops()


def one_step(model, batch, seed=7):
    torch.manual_seed(seed)
    model.zero_grad()
    loss = cross_entropy(model(*batch[0]), batch[1])
    loss.backward()
    return loss.detach()


def largest_difference(a, b):
    return max(((x - y).abs().max().item() for x, y in zip(a, b, strict=False) if x.numel()), default=0.0)


def differences(build, apply_plan, batch):
    """Largest absolute difference of loss, gradients and buffers after two steps, with the plan against without."""
    torch.manual_seed(0)
    plain = build().train()
    planned = copy.deepcopy(plain)
    keys = list(planned.state_dict())
    apply_plan(planned)
    if list(planned.state_dict()) != keys:
        raise AssertionError("the plan changed the keys of state_dict")
    with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):
        losses = [(one_step(plain, batch, s), one_step(planned, batch, s)) for s in (1, 2)]
    grads = [(p.grad, q.grad) for p, q in zip(plain.parameters(), planned.parameters(), strict=False) if p.grad is not None]
    return {"loss": max(abs((a - b).item()) for a, b in losses),
            "gradients": largest_difference(*zip(*grads, strict=False)),
            "buffers": largest_difference([b.double() for b in plain.buffers()], [b.double() for b in planned.buffers()])}


# ------------------------------------------------------------------------------------------------ the program


def export(build, batch, exporter, path):
    torch.manual_seed(0)
    model = build().train()
    with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):
        if exporter == "ts":
            torch.onnx.export(model, batch[0], path, dynamo=False, training=torch.onnx.TrainingMode.TRAINING,
                              do_constant_folding=False, opset_version=17)
        else:
            torch.onnx.export(model, batch[0], path, dynamo=True, optimize=False, external_data=False, verbose=False)


def ask(command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode not in (0, 1):
        raise RuntimeError(f"{' '.join(command)}: {done.stderr}")
    return done.stdout


def segment_of(part):
    """One segment from names like layer1.0,layer1.1; with ! in front the results of its products are kept."""
    segment = {"modules": part.lstrip("!").split(",")}
    return {**segment, "keep": PRODUCTS} if part.startswith("!") else segment


def load_plan(path):
    spec = importlib.util.spec_from_file_location("plan", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def unchanged(model):
    return model


def verify(binary, name, folder):
    build, inputs, small_inputs, batch, small_batch, exporter, by_hand, options = MODELS[name]
    torch.manual_seed(0)
    large, small = inputs(batch), small_inputs(small_batch)
    path = os.path.join(folder, name + ".onnx")
    export(build, large, exporter, path)
    words = [path, "--optimizer", "momentum", "--attention", "math" if exporter == "ts" else "eager", *options]
    base_flops = measured_flops(build, large)
    rows = []
    for text in ["", *by_hand]:
        segments = [segment_of(part) for part in text.split(";") if part]
        plan_path, code_path = os.path.join(folder, "plan.json"), os.path.join(folder, "plan.py")
        with open(plan_path, "w") as f:
            json.dump({"segments": segments}, f)
        apply_plan = unchanged
        if segments:
            with open(code_path, "w") as f:
                f.write(ask([binary, "plan", *words, "--plan", plan_path, "--emit", "pytorch"]))
            apply_plan = load_plan(code_path).apply_plan

        def planned(apply_plan=apply_plan):
            return apply_plan(build())

        training = json.loads(ask([binary, *words, "--plan", plan_path, "--mode", "train", "--format", "json"]))["runs"][0]["training"]
        row = {"model": name, "segments": [s["modules"] for s in segments],
               "keep": [s.get("keep", []) for s in segments],
               "peak_bytes": measured_peak(planned, large), "predicted_peak_bytes": training["peak_bytes"],
               "recompute_flops": measured_flops(planned, large) - base_flops,
               "predicted_recompute_flops": training.get("recompute_flops") or 0}
        if segments:
            row["differences"] = differences(build, apply_plan, small)
        rows.append(row)
        print(describe(row), flush=True)
    return rows


def names(row):
    return "; ".join(("!" if keep else "") + ",".join(segment) for segment, keep in zip(row["segments"], row["keep"], strict=False))


def describe(row):
    peak, want = row["predicted_peak_bytes"], row["peak_bytes"]
    text = f"{row['model']:14} {names(row)[:60] or 'none':60} peak {want:13,} {peak / want - 1:+.4%}"
    text += f"  flops {row['recompute_flops']:16,} {row['predicted_recompute_flops'] - row['recompute_flops']:+,}"
    if "differences" in row:
        text += "  differs by " + " ".join(f"{k} {v:.1g}" for k, v in row["differences"].items())
    return text


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary")
    parser.add_argument("models", nargs="*", default=None)
    parser.add_argument("--record", help="JSON file for the measured results")
    args = parser.parse_args()
    torch.set_num_threads(1)
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for name in args.models or MODELS:
            rows += verify(args.binary, name, folder)
    if args.record:
        with open(args.record, "w") as f:
            json.dump({"torch": torch.__version__, "rows": rows}, f, indent=1)
    wrong = [r for r in rows if abs(r["predicted_peak_bytes"] / r["peak_bytes"] - 1) > 1e-3
             or r["predicted_recompute_flops"] != r["recompute_flops"]
             or any(v > 1e-6 for v in r.get("differences", {}).values())]
    print(f"{len(rows) - len(wrong)} of {len(rows)} as predicted")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
