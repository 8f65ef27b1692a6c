#!/usr/bin/env python3
"""Do plans hold on live models?  Applies plans of three budgets each to library models and compares with the same step
without a plan.

    check_applied.py [MODEL ...] [--backend aot_eager|inductor|none] [--optimizer sgd] [--json FILE]

For each plan, on real CPU tensors: loss, gradients, buffers and the state of the random numbers equal, bit by bit; the
same of a deep copy whose original is zeroed, of a model that was saved and loaded, and after restore(). Of the middle
budget: under torch.compile (gradients within 1e-5 of the compiled step without a plan), and in
DistributedDataParallel with one process. On tensors without data: the peak of onnx_mem.measure against the promise and
the budget, and FLOPs counted by torch against those promised. Exit 1 if anything differs.
"""
import argparse
import copy
import io
import json
import os
import sys
import tempfile
import time
import warnings

import timm
import torch
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

import onnx_mem
from makers import module_of

BATCH = 4
SHARES = (0.75, 0.5, 0.25)    # of what the step takes above the least that segments can do
PEAK_WITHIN = 1e-3
COMPILED_WITHIN = 1e-5


class Mixed(nn.Module):
    """Keyword and non-tensor arguments, a list that grows, a block called twice, dropout, an in-place start."""

    class Block(nn.Module):
        def __init__(self, width):
            super().__init__()
            self.act, self.a, self.drop = nn.ReLU(inplace=True), nn.Linear(width, 4 * width), nn.Dropout(0.1)
            self.b = nn.Linear(4 * width, width)

        def forward(self, x, *, scale, mode="plain", memory=None):
            y = self.drop(torch.tanh(self.a(x)))
            y = self.b(y) * scale
            if memory is not None:
                memory.append(y)
            return {"y": x + y if mode == "plain" else x - y, "n": len(memory or [])}

    def __init__(self, width=48, depth=6):
        super().__init__()
        self.blocks = nn.ModuleList(self.Block(width) for _ in range(depth))
        self.shared = self.Block(width)
        self.tail = nn.Sequential(nn.Linear(width, width), nn.ReLU(inplace=True), nn.Linear(width, 4 * width),
                                  nn.ReLU(inplace=True), nn.Linear(4 * width, 10))

    def forward(self, x):
        for i, block in enumerate(self.blocks):
            x = block(x, scale=0.5, mode="plain" if i % 2 else "minus")["y"]
        for _ in range(2):
            x = self.shared(x, scale=2.0)["y"]
        return self.tail(x).mean(1)


def images(size=64):
    return lambda: ((torch.randn(BATCH, 3, size, size),), {})


def words(length=48, vocabulary=500, **more):
    return lambda: ((), {"input_ids": torch.randint(1, vocabulary, (BATCH, length)),
                         **{k: torch.randint(1, vocabulary, (BATCH, n)) for k, n in more.items()}})


def torchvision_model(name, **options):
    import torchvision
    return getattr(torchvision.models, name)(**options)


def timm_model(name, **options):
    return timm.create_model(name, pretrained=False, **options)


def hf(name, config, **options):
    import transformers
    return getattr(transformers, name)(getattr(transformers, config)(use_cache=False, **options))


def diffusers_unet():
    import diffusers
    return diffusers.UNet2DModel(sample_size=32, block_out_channels=(32, 64, 64), layers_per_block=1, norm_num_groups=8,
                                 attention_head_dim=8, down_block_types=("DownBlock2D", "AttnDownBlock2D", "DownBlock2D"),
                                 up_block_types=("UpBlock2D", "AttnUpBlock2D", "UpBlock2D"))


def noised(size=32):
    return lambda: ((torch.randn(BATCH, 3, size, size), torch.randint(0, 1000, (BATCH,))), {"return_dict": False})


SMALL = {"num_hidden_layers": 6, "hidden_size": 128, "num_attention_heads": 4, "intermediate_size": 384,
         "vocab_size": 500}

MODELS = {
    "resnet101": (lambda: torchvision_model("resnet101", width_per_group=8, num_classes=10), images()),
    "mobilenet_v3_large": (lambda: torchvision_model("mobilenet_v3_large"), images()),
    "densenet": (lambda: torchvision_model("DenseNet", growth_rate=12, block_config=(4, 6, 6, 4)), images()),
    "swin": (lambda: torchvision_model("SwinTransformer", patch_size=[4, 4], embed_dim=24, depths=[2, 2, 4, 2],
                                         num_heads=[2, 4, 4, 8], window_size=[4, 4], num_classes=10,
                                         stochastic_depth_prob=0.1), images()),
    "convnext": (lambda: timm_model("convnext_atto", drop_path_rate=0.1), images()),
    "vit": (lambda: torchvision_model("VisionTransformer", image_size=64, patch_size=8, num_layers=6, num_heads=4,
                                        hidden_dim=64, mlp_dim=256, dropout=0.1, num_classes=10), images()),
    "efficientnet_b0": (lambda: timm_model("efficientnet_b0", drop_path_rate=0.2), images()),
    "regnety": (lambda: timm_model("regnety_002"), images()),
    "mixer": (lambda: timm.models.mlp_mixer.MlpMixer(img_size=64, patch_size=8, num_blocks=6, embed_dim=64,
                                                     num_classes=10), images()),
    "unet": (module_of("studies/2026-11-22-records/models.py").UNet, images()),
    "diffusers_unet": (diffusers_unet, noised()),
    "mixed": (Mixed, lambda: ((torch.randn(BATCH, 20, 48),), {})),
    "gpt2": (lambda: hf("GPT2LMHeadModel", "GPT2Config", n_layer=6, n_embd=128, n_head=4, vocab_size=500), words()),
    "bert": (lambda: hf("BertForSequenceClassification", "BertConfig", **SMALL), words()),
    "distilbert": (lambda: hf("DistilBertForMaskedLM", "DistilBertConfig", n_layers=6, dim=128, n_heads=4,
                              hidden_dim=384, vocab_size=500), words()),
    "llama": (lambda: hf("LlamaForCausalLM", "LlamaConfig", num_key_value_heads=2, **SMALL), words()),
    "qwen2": (lambda: hf("Qwen2ForCausalLM", "Qwen2Config", num_key_value_heads=2, **SMALL), words()),
    "t5": (lambda: hf("T5ForConditionalGeneration", "T5Config", d_model=128, d_kv=32, d_ff=256, num_layers=4,
                      num_heads=4, vocab_size=500), words(decoder_input_ids=24)),
    "bart": (lambda: hf("BartForConditionalGeneration", "BartConfig", d_model=128, encoder_layers=4, decoder_layers=4,
                        encoder_attention_heads=4, decoder_attention_heads=4, encoder_ffn_dim=384, decoder_ffn_dim=384,
                        vocab_size=500), words(decoder_input_ids=24)),
}


def made(build):
    torch.manual_seed(0)
    return build().train()


def loss_of(out):
    if isinstance(out, dict):
        out = next(v for v in out.values() if isinstance(v, torch.Tensor))
    if isinstance(out, tuple):
        out = out[0]
    return out.float().pow(2).mean()


def outcome(model, inputs, run=None):
    """Loss, gradients, buffers and the generator's state after two steps."""
    args, kwargs = inputs
    losses = []
    for seed in (1, 2):
        torch.manual_seed(seed)
        model.zero_grad()
        loss = loss_of((model if run is None else run)(*args, **kwargs))
        loss.backward()
        losses.append(loss.detach())
    return {"loss": losses, "gradients": [p.grad for p in model.parameters() if p.grad is not None],
            "buffers": [b.clone() for b in model.buffers()], "rng": [torch.get_rng_state()]}


def differences(a, b):
    """Names of what is not equal bit by bit."""
    return [key for key in a if len(a[key]) != len(b[key]) or not all(map(torch.equal, a[key], b[key]))]


def largest_difference(a, b):
    """Of gradients, relative to the largest one."""
    scale = max((t.abs().max().item() for t in a["gradients"]), default=0) or 1.0
    return max((x - y).abs().max().item() for x, y in zip(a["gradients"], b["gradients"])) / scale


def flops_of(model, inputs):
    with FlopCounterMode(display=False) as counter:
        outcome_of_one = loss_of(model(*inputs[0], **inputs[1]))
        outcome_of_one.backward()
    return counter.get_total_flops()


def loaded(model):
    file = io.BytesIO()
    torch.save(model, file)
    file.seek(0)
    return torch.load(file, weights_only=False)


def zeroed(model):
    with torch.no_grad():
        for t in (*model.parameters(), *model.buffers()):
            t.zero_()


def distributed(model, inputs):
    if not torch.distributed.is_initialized():
        store = tempfile.NamedTemporaryFile(delete=False).name
        os.unlink(store)
        torch.distributed.init_process_group("gloo", init_method=f"file://{store}", rank=0, world_size=1)
    # Only now: a first step of DDP forbids parameters without a gradient.
    return outcome(model, inputs, nn.parallel.DistributedDataParallel(model, find_unused_parameters=True))


def check_values(build, plan, inputs, plain):
    """What differs from the step without a plan, in words."""
    wrong = []

    def note(what, found):
        wrong.extend(f"{what}: {key}" for key in found)
    model = plan.apply(made(build))
    if list(model.state_dict()) != list(made(build).state_dict()):
        wrong.append("the keys of state_dict")
    twin = copy.deepcopy(model)
    again = loaded(model)
    note("values", differences(plain, outcome(model, inputs)))
    zeroed(model)
    note("deepcopy", differences(plain, outcome(twin, inputs)))
    note("save and load", differences(plain, outcome(again, inputs)))
    try:
        plan.apply(twin)
        wrong.append("applied twice")
    except onnx_mem.Error:
        pass
    back = onnx_mem.restore(plan.apply(made(build)))
    if [type(m) for m in back.modules()] != [type(m) for m in made(build).modules()]:
        wrong.append("restore leaves other classes")
    note("restore", differences(plain, outcome(back, inputs)))
    return wrong


def compiled_difference(build, plan, inputs, backend):
    torch._dynamo.reset()
    model = made(build)
    without = outcome(model, inputs, torch.compile(model, backend=backend))
    torch._dynamo.reset()
    model = plan.apply(made(build))
    return largest_difference(without, outcome(model, inputs, torch.compile(model, backend=backend)))


def check(name, backend, optimizer):
    build, make_inputs = MODELS[name]
    torch.manual_seed(3)
    inputs = make_inputs()
    model = made(build)
    record = onnx_mem.record(model, inputs[0], inputs[1])
    words_ = {"batch": BATCH, "budget_on": "live", "optimizer": optimizer, "loss": "mean", "iterations": 120,
              "time_limit": 0}
    base = onnx_mem.plan(record, **words_)
    top, floor = base.baseline["peak_bytes"], (base.json["class_bound"] or {}).get("floor_bytes") or base.minimum_bytes
    plain = outcome(made(build), inputs)
    plain_flops = flops_of(made(build), inputs)
    rows = []
    for share in SHARES:
        budget = int(floor + share * (top - floor))
        began = time.monotonic()
        plan = onnx_mem.plan(record, budget=f"{budget}B", **words_)
        row = {"model": name, "budget": budget, "baseline": top, "wrong": []}
        rows.append(row)
        if not plan.fits or not plan.chosen_plan["segments"]:
            row["wrong"].append("no plan")
            print(f"{name:20} no plan within {budget:,}", flush=True)
            continue
        chosen = plan.chosen_plan
        row.update(segments=len(chosen["segments"]), promised=chosen["peak_bytes"], slowdown=chosen["slowdown"])
        wrong = row["wrong"]
        wrong += check_values(build, plan, inputs, plain)
        measured = onnx_mem.measure(plan.apply(made(build)), inputs[0], kwargs=inputs[1], optimizer=optimizer,
                                    loss="mean")
        row["measured"] = measured.peak_bytes
        if abs(measured.peak_bytes / chosen["peak_bytes"] - 1) > PEAK_WITHIN:
            wrong.append(f"peak {measured.peak_bytes / chosen['peak_bytes'] - 1:+.2%}")
        if measured.peak_bytes > budget:
            wrong.append("over the budget")
        row["flops"] = flops_of(plan.apply(made(build)), inputs) - plain_flops
        if row["flops"] != chosen["recompute_flops"]:
            wrong.append(f"FLOPs {row['flops']:,} for {chosen['recompute_flops']:,}")
        if share == SHARES[1]:
            wrong += [f"DDP: {key}" for key in differences(plain, distributed(plan.apply(made(build)), inputs))]
            if backend != "none":
                row["compiled"] = compiled_difference(build, plan, inputs, backend)
                if row["compiled"] > COMPILED_WITHIN:
                    wrong.append(f"compiled {row['compiled']:.1g}")
        row["seconds"] = time.monotonic() - began
        print(described(row), flush=True)
    return rows


def chained(blocks):
    """Every second block goes to the host, one after another, and every fourth runs again."""
    segments = [{"modules": m, "offload": "overlapped"} if i % 2 == 0 else {"modules": m}
                for i, m in enumerate(blocks) if i % 4 != 3]
    [s for s in segments if "offload" in s][-1]["offload"] = "waiting"
    return segments


def gated(blocks):
    """The first half goes to the host together when the last block has run; of the rest every second one runs again."""
    half = (len(blocks) + 1) // 2
    return [*({"modules": m, "offload": "held"} for m in blocks[:half]), *({"modules": m} for m in blocks[half:-1:2]),
            {"modules": blocks[-1], "offload": "gate"}]


def check_mixed(name, optimizer, by_hand):
    """A plan by hand with modules on the host."""
    build, make_inputs = MODELS[name]
    torch.manual_seed(3)
    inputs = make_inputs()
    record = onnx_mem.record(made(build), inputs[0], inputs[1])
    words_ = {"batch": BATCH, "budget_on": "live", "optimizer": optimizer, "loss": "mean", "time_limit": 0}
    base = onnx_mem.plan(record, **words_)
    habits = [p for p in base.plans if p["label"] in ("each block", "all stages")]
    habit = habits[0] if habits else max(base.plans, key=lambda p: len(p["segments"]))
    blocks = [s["modules"] for s in habit["segments"] if len(s["modules"]) == 1]
    segments = by_hand(blocks)
    with tempfile.NamedTemporaryFile("w", suffix=".json") as f:
        json.dump({"segments": segments}, f)
        f.flush()
        asked = onnx_mem.plan(record, plan=f.name, **words_)
    given = next(p for p in asked.plans if p["method"] == "given")
    row = {"model": f"{name}, {by_hand.__name__}", "segments": len(segments), "promised": given["peak_bytes"],
           "baseline": base.baseline["peak_bytes"], "seconds": 0}

    class Mixed_:
        def apply(self, model):
            return onnx_mem.checkpoint(model, segments)
    row["wrong"] = check_values(build, Mixed_(), inputs, outcome(made(build), inputs))
    measured = onnx_mem.measure(Mixed_().apply(made(build)), inputs[0], kwargs=inputs[1], optimizer=optimizer,
                                loss="mean")
    row["measured"] = measured.peak_bytes
    if abs(measured.peak_bytes / given["peak_bytes"] - 1) > PEAK_WITHIN:
        row["wrong"].append(f"peak {measured.peak_bytes / given['peak_bytes'] - 1:+.2%}")
    print(described(row), flush=True)
    return [row]


def described(row):
    text = f"{row['model']:20} {row['segments']:3} segments  promised {row['promised']:12,}"
    text += f" {row['measured'] / row['promised'] - 1:+.3%}  {row['measured'] / row['baseline']:4.0%} of no plan"
    text += f"  compiled {row['compiled']:.0e}" if "compiled" in row else ""
    return text + f"  {row['seconds']:.0f} s  {'; '.join(row['wrong']) or 'equal'}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*")
    parser.add_argument("--backend", default="aot_eager", help="of torch.compile; none: do not compile")
    parser.add_argument("--host", action="store_true", help="plans by hand with modules on the host instead")
    parser.add_argument("--optimizer", default="sgd")
    parser.add_argument("--json", help="a file for the figures")
    args = parser.parse_args()
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    rows = []
    for name in args.models or MODELS:
        try:
            if not args.host:
                rows += check(name, args.backend, args.optimizer)
                continue
            for by_hand in (chained, gated):
                rows += check_mixed(name, args.optimizer, by_hand)
        except Exception as e:    # a crash is a finding, and other models follow
            rows.append({"model": name, "wrong": [f"{type(e).__name__}: {e}"]})
            print(f"{name:20} {type(e).__name__}: {str(e)[:500]}", flush=True)
    if args.json:
        with open(args.json, "w") as f:
            json.dump({"torch": torch.__version__, "rows": rows}, f, indent=1)
    bad = [row for row in rows if row["wrong"]]
    print(f"{len(rows) - len(bad)} of {len(rows)} plans as promised, on {len({r['model'] for r in rows})} models")
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
