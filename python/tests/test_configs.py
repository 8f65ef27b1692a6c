"""Models of transformers by their configuration alone: built on meta, recorded, answered. Nothing is downloaded."""
import json
import resource
import socket
import types

import pytest
import torch

import onnx_mem

transformers = pytest.importorskip("transformers")

SMALL = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4}
LLAMA = {"model_type": "llama", "architectures": ["LlamaForCausalLM"], "vocab_size": 100, "num_key_value_heads": 2,
         "max_position_embeddings": 128, **SMALL}


@pytest.fixture(autouse=True)
def offline(program, monkeypatch):
    """A connection is a failure."""
    def refused(*_, **__):
        raise AssertionError("a connection was opened")
    monkeypatch.setattr(socket, "create_connection", refused)
    monkeypatch.setattr(socket.socket, "connect", refused)


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "config.json").write_text(json.dumps(LLAMA))
    return tmp_path


def test_a_config_is_the_model_that_it_describes(folder):
    report = onnx_mem.analyze(f"hf:{folder}", batch=4, length=64, optimizer="sgd")
    model = transformers.LlamaForCausalLM(transformers.AutoConfig.from_pretrained(folder, use_cache=False))
    ids = torch.zeros(4, 64, dtype=torch.int64)
    measured = onnx_mem.measure(model, input_ids=ids, labels=ids.clone(), optimizer="sgd")
    assert report.training.peak_bytes == measured.peak_bytes and report.assumptions["loss"] == "the model's own"
    assert report.source == "record" and report.bindings == {"batch": 4}


def test_a_file_a_folder_and_an_object_are_the_same(folder):
    made = transformers.AutoConfig.from_pretrained(folder)
    answers = [onnx_mem.analyze(x, batch=2, length=16).training.peak_bytes
               for x in (f"hf:{folder}", f"hf:{folder}/config.json", made)]
    assert len(set(answers)) == 1
    assert made.use_cache                                     # the caller's own stays as it was


def test_plan_and_fit_of_a_config(folder):
    plan = onnx_mem.plan(f"hf:{folder}", batch=64, length=128, budget="97%")
    assert plan.plans and plan.json["bindings"] == {"batch": 64}
    fit = onnx_mem.fit(f"hf:{folder}", length=128, gpu_memory="2GiB")
    assert fit.safe_batch > 1
    compared = onnx_mem.compare(f"hf:{folder}", transformers.LlamaConfig(**SMALL, vocab_size=200), length=16, batch=2)
    assert compared.delta["training"]["peak_bytes"] > 0


@pytest.mark.parametrize("config, head", [
    (transformers.BertConfig(**SMALL, architectures=["BertForTokenClassification"]), "BertForTokenClassification"),
    (transformers.RobertaConfig(**SMALL, architectures=["RobertaForSequenceClassification"]),
     "RobertaForSequenceClassification"),
    (transformers.GPT2Config(n_layer=2, n_embd=32, n_head=4), "GPT2LMHeadModel"),
    (transformers.ViTConfig(**SMALL, architectures=["ViTForImageClassification"]), "ViTForImageClassification"),
    (transformers.ViTConfig(**SMALL), "ViTForImageClassification"),
    (transformers.T5Config(num_layers=1, d_model=32, d_kv=8, d_ff=64, num_heads=4), "T5ForConditionalGeneration"),
    (transformers.Qwen2Config(**SMALL, num_key_value_heads=2, architectures=["Qwen2ForSequenceClassification"]),
     "Qwen2ForSequenceClassification")], ids=lambda x: x if isinstance(x, str) else "")
def test_the_head_is_the_one_of_the_config(config, head):
    report = onnx_mem.analyze(config, batch=3, mode="train")
    assert report.model["path"].endswith(f"{head}.eager") and report.assumptions["loss"] == "the model's own"


def test_seven_billion_parameters_want_little_memory():
    """Of weights that would be 13 GiB."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    config = transformers.LlamaConfig(architectures=["LlamaForCausalLM"], num_hidden_layers=32, dtype="bfloat16")
    report = onnx_mem.analyze(config, batch=1, length=128, gpu="RTX 4090")
    assert report.model["parameters"] == 6_738_415_616 and report.verdict == "does-not-fit"
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 1024 * 1024          # KiB


@pytest.mark.parametrize("x, code, words", [
    ("hf:no-such/model", "not-found", 'transformers.AutoConfig.from_pretrained("no-such/model")'),
    ("hf:{folder}/other.json", "not-found", "other.json"), ("hf:{folder}/bad.json", "bad-config", "not JSON"),
    ("hf:{folder}/list.json", "bad-config", "no model_type"), ("hf:{folder}/new.json", "bad-config", "'new_model'"),
    (types.SimpleNamespace(model_type="x", to_dict=dict), "bad-config", "no model for")])
def test_what_is_no_config_says_so(folder, x, code, words):
    (folder / "bad.json").write_text("{")
    (folder / "list.json").write_text("[1]")
    (folder / "new.json").write_text('{"model_type": "new_model"}')
    with pytest.raises(onnx_mem.Error) as e:
        onnx_mem.analyze(x.format(folder=folder) if isinstance(x, str) else x)
    assert e.value.code == code and words in str(e.value)


def test_lengths_and_inputs_that_a_config_does_not_take(folder):
    for arguments, options in [((), {"length": 129}), ((), {"length": 0}), ((torch.zeros(2, 3),), {})]:
        with pytest.raises(onnx_mem.Error) as e:
            onnx_mem.analyze(f"hf:{folder}", *arguments, **options)
        assert e.value.code == "bad-argument"
    with pytest.raises(onnx_mem.Error, match='try: dim="seq=8"') as e:
        onnx_mem.analyze("m.onnx", length=8)
    with pytest.raises(onnx_mem.Error, match="images") as e:
        onnx_mem.analyze(transformers.ViTConfig(**SMALL), length=8)


def test_a_name_is_found_in_the_local_cache(folder, monkeypatch):
    import huggingface_hub
    monkeypatch.setattr(huggingface_hub, "try_to_load_from_cache",
                        lambda name, file: str(folder / file) if name == "me/small" else None)
    assert onnx_mem.analyze("hf:me/small", batch=2, length=16).training.peak_bytes > 0
