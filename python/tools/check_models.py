"""Records models at one batch, asks the program about another, and holds it against the model's own code.

    ONNX_MEM_PROGRAM=build/release/cli/onnx-mem python python/tools/check_models.py [MODEL ...]

One line per model: CPU seconds of the recording, then for Adam and momentum the differences in bytes (program less
measured) of the training peak, of that of the first step, and of what is saved for backward; then of the inference
peak. The list was drawn up before any of its models had been recorded. Needs torch, torchvision, timm, transformers.
"""
from __future__ import annotations

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import warnings

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))

import torch  # noqa: E402

import onnx_mem  # noqa: E402

RECORDED, ASKED = 2, 7
SMALL = dict(hidden_size=64, num_hidden_layers=2, num_attention_heads=4, intermediate_size=128, vocab_size=200)


def timm_model(name, size=64):
    def make():
        import timm
        return timm.create_model(name), (torch.randn(RECORDED, 3, size, size),)
    return make


def torchvision_model(name, size=96):
    def make():
        import torchvision
        return getattr(torchvision.models, name)(), (torch.randn(RECORDED, 3, size, size),)
    return make


def transformers_model(model, config, **sizes):
    def make():
        import transformers
        made = getattr(transformers, model)(getattr(transformers, config)(**sizes))
        return made, (torch.randint(0, 100, (RECORDED, 32)),)
    return make


MODELS = {
    "xcit": timm_model("xcit_nano_12_p8_224"),
    "poolformer": timm_model("poolformer_s12"),
    "edgenext": timm_model("edgenext_xx_small"),
    "repvit": timm_model("repvit_m0_9"),
    "tiny_vit": timm_model("tiny_vit_5m_224", 224),
    "ghostnet": timm_model("ghostnet_100"),
    "mixnet": timm_model("mixnet_s"),
    "levit": timm_model("levit_128s", 224),
    "res2net": timm_model("res2net50_26w_4s"),
    "skresnet": timm_model("skresnet18"),
    "hrnet": timm_model("hrnet_w18_small"),
    "lcnet": timm_model("lcnet_050"),
    "cait": timm_model("cait_xxs24_224", 224),
    "inception_v4": timm_model("inception_v4", 128),
    "resnest": timm_model("resnest14d"),
    "regnet": torchvision_model("regnet_y_400mf"),
    "shufflenet": torchvision_model("shufflenet_v2_x0_5"),
    "squeezenet": torchvision_model("squeezenet1_1"),
    "mnasnet": torchvision_model("mnasnet0_5"),
    "maxvit": torchvision_model("maxvit_t", 224),
    "googlenet": torchvision_model("googlenet"),
    "albert": transformers_model("AlbertModel", "AlbertConfig", embedding_size=32, **SMALL),
    "electra": transformers_model("ElectraForSequenceClassification", "ElectraConfig", **SMALL),
    "opt": transformers_model("OPTForCausalLM", "OPTConfig", hidden_size=64, num_hidden_layers=2,
                              num_attention_heads=4, ffn_dim=128, vocab_size=200, word_embed_proj_dim=64,
                              max_position_embeddings=64),
    "bloom": transformers_model("BloomForCausalLM", "BloomConfig", hidden_size=64, n_layer=2, n_head=4,
                                vocab_size=200),
    "mistral": transformers_model("MistralForCausalLM", "MistralConfig", num_key_value_heads=2, **SMALL),
    "gemma2": transformers_model("Gemma2ForCausalLM", "Gemma2Config", num_key_value_heads=2, head_dim=16, **SMALL),
    "deberta": transformers_model("DebertaV2ForSequenceClassification", "DebertaV2Config", **SMALL),
    "mpnet": transformers_model("MPNetModel", "MPNetConfig", **SMALL),
    "phi": transformers_model("PhiForCausalLM", "PhiConfig", **SMALL),
}


def difference(ours, measured):
    return "0" if ours == measured else f"{ours - measured:+d} ({100 * (ours / measured - 1):+.3f} %)"


def asked(program, path, optimizer):
    words = [program, path, "--batch", str(ASKED), "--optimizer", optimizer, "--format", "json"]
    report = json.loads(subprocess.run(words, capture_output=True, text=True).stdout)
    if "error" in report:
        raise onnx_mem.Error(report["error"]["code"], report["error"]["message"])
    return report["runs"][0]


def check(program, make, folder):
    torch.manual_seed(0)
    model, args = make()
    path = os.path.join(folder, "model.eager")
    begin = time.process_time()
    onnx_mem.export(model, args, path)
    parts = [f"{time.process_time() - begin:.1f} s"]
    for optimizer in ("adam", "momentum"):
        run = asked(program, path, optimizer)
        measured = onnx_mem.measure(model, args, batch=ASKED, optimizer=optimizer)
        names = ("peak_bytes", "first_step_peak_bytes", "saved_activation_bytes")
        figures = (difference(run["training"][name], getattr(measured, name)) for name in names)
        parts.append(f"{optimizer} {' '.join(figures)}")
    measured = onnx_mem.measure(model, args, batch=ASKED, training=False)
    parts.append(f"inference {difference(run['inference']['peak_bytes'], measured.peak_bytes)}")
    return " | ".join(parts)


def main():
    warnings.simplefilter("ignore")
    program = os.environ["ONNX_MEM_PROGRAM"]
    for name in sys.argv[1:] or MODELS:
        with tempfile.TemporaryDirectory() as folder:
            try:
                print(f"{name:14}", check(program, MODELS[name], folder), flush=True)
            except Exception as error:  # a model that cannot be recorded is a result too
                print(f"{name:14}", type(error).__name__, str(error).splitlines()[0][:160], flush=True)


if __name__ == "__main__":
    main()
