"""Steps of trainers' loops, measured and recorded, against the same loops run on the CPU with data.

Attention is the one kernel that differs there: what a CPU takes in the framework's choice is measured with the operator
that it runs (aten/src/ATen/native/transformers/sdp_utils_cpp.cpp), so that all around it is held against the truth."""
import logging
import math
import warnings

import pytest
import torch
from test_own_step import really

import onnx_mem

transformers = pytest.importorskip("transformers")
TOKENS, BATCH = 16, 9
warnings.filterwarnings("ignore")


@pytest.fixture(autouse=True)
def quiet():
    logging.disable(logging.WARNING)
    yield
    logging.disable(logging.NOTSET)


def of_the_cpu(query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None, enable_gqa=False):
    if attn_mask is not None and attn_mask.dtype == torch.bool:
        attn_mask = torch.where(attn_mask.logical_not(), -math.inf,
                                torch.scalar_tensor(0.0, dtype=query.dtype, device=query.device))
    return torch.ops.aten._scaled_dot_product_flash_attention_for_cpu(
        query, key, value, dropout_p, is_causal, attn_mask=attn_mask, scale=scale)[0]


@pytest.fixture
def as_the_cpu(monkeypatch):
    monkeypatch.setattr("onnx_mem._fake.tensors.attention", of_the_cpu)


def llama(attention):
    return transformers.LlamaForCausalLM(transformers.LlamaConfig(
        hidden_size=64, intermediate_size=128, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
        vocab_size=200, max_position_embeddings=64, attn_implementation=attention))


def adamw(model):
    return torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], foreach=True)


def trainer(attention, folder):
    model = llama(attention)
    arguments = transformers.TrainingArguments(folder, report_to=[], use_cpu=True, disable_tqdm=True)
    loop = transformers.Trainer(model, arguments)
    loop.optimizer = optimizer = adamw(model)
    loop.current_gradient_accumulation_steps = 1

    def step(input_ids, labels):
        loop.training_step(model, {"input_ids": input_ids, "labels": labels})
        loop.accelerator.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        model.zero_grad()
    return step


def accelerated(attention, _):
    accelerate = pytest.importorskip("accelerate")
    model = llama(attention)
    accelerator = accelerate.Accelerator(cpu=True)
    model, optimizer = accelerator.prepare(model, adamw(model))

    def step(input_ids, labels):
        loss = model(input_ids=input_ids, labels=labels).loss
        accelerator.backward(loss)
        optimizer.step()
        optimizer.zero_grad()
    return step


def adapters(attention, _):
    peft = pytest.importorskip("peft")
    model = peft.get_peft_model(llama(attention), peft.LoraConfig(r=4, target_modules=["q_proj", "v_proj"]))
    optimizer = adamw(model)

    def step(input_ids, labels):
        model(input_ids=input_ids, labels=labels).loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    return step


def lightning(attention, _):
    """The closure of automatic optimization, which the optimizer runs."""
    pl = pytest.importorskip("lightning")

    class Module(pl.LightningModule):
        def __init__(self):
            super().__init__()
            self.model = llama(attention)

        def training_step(self, batch, _):
            return self.model(**batch).loss
    module = Module()
    optimizer = adamw(module)

    def step(input_ids, labels):
        def closure():
            loss = module.training_step({"input_ids": input_ids, "labels": labels}, 0)
            optimizer.zero_grad()
            loss.backward()
            return loss
        optimizer.step(closure)
    return step


def fabric(attention, _):
    pl = pytest.importorskip("lightning")
    fabric = pl.Fabric(accelerator="cpu", devices=1)
    model = llama(attention)
    model, optimizer = fabric.setup(model, adamw(model))

    def step(input_ids, labels):
        optimizer.zero_grad()
        fabric.backward(model(input_ids=input_ids, labels=labels).loss)
        optimizer.step()
    return step


def inputs(batch):
    ids = torch.zeros(batch, TOKENS, dtype=torch.long)
    return ids, ids.clone()


LOOPS = [(trainer, "eager"), *((f, "sdpa") for f in (trainer, accelerated, adapters, lightning, fabric))]


@pytest.mark.parametrize("loop,attention", LOOPS, ids=lambda x: getattr(x, "__name__", x))
def test_a_loop_takes_what_it_takes_with_data(loop, attention, tmp_path, program, as_the_cpu):
    def make():
        return loop(attention, str(tmp_path))
    make()(*inputs(2))                                    # what the libraries make once in a process
    record = onnx_mem.record(step=make(), args=inputs(4))
    m = onnx_mem.measure(step=make(), args=inputs(4), batch=BATCH)
    assert (m.first_step_peak_bytes, m.peak_bytes) == really(make, BATCH, inputs)
    training = onnx_mem.analyze(record, batch=BATCH).training
    assert (training.first_step_peak_bytes, training.peak_bytes) == (m.first_step_peak_bytes, m.peak_bytes)
    assert {k: n for k, n in training.breakdown.items() if n} == m.breakdown


def supervised(attention, folder):
    """trl's loop, whose loss comes from kernels written in Triton."""
    trl, datasets = pytest.importorskip("trl"), pytest.importorskip("datasets")
    from tokenizers import Tokenizer, models
    words = {f"w{i}": i for i in range(199)} | {"<end>": 199}
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=Tokenizer(models.WordLevel(words, unk_token="w0")), pad_token="<end>", eos_token="<end>")
    arguments = trl.SFTConfig(folder, report_to=[], use_cpu=True, disable_tqdm=True, bf16=False,
                              gradient_checkpointing=False)
    rows = datasets.Dataset.from_list([{"input_ids": [0] * TOKENS}] * 8)
    loop = trl.SFTTrainer(llama(attention), arguments, processing_class=tokenizer, train_dataset=rows)
    loop.optimizer = optimizer = adamw(loop.model)
    loop.current_gradient_accumulation_steps = 1

    def step(input_ids, labels, attention_mask):
        loop.training_step(loop.model, {"input_ids": input_ids, "labels": labels, "attention_mask": attention_mask})
        loop.accelerator.clip_grad_norm_(loop.model.parameters(), 1.0)
        optimizer.step()
        loop.model.zero_grad()
    return step


def test_supervised_fine_tuning_takes_what_it_takes_with_data(tmp_path, program, monkeypatch, as_the_cpu):
    """The run on the CPU takes the path of a card, its launches left out."""
    jit, kernels = pytest.importorskip("triton.runtime.jit"), pytest.importorskip("trl.kernels.chunked_logprob")
    utils = pytest.importorskip("trl.trainer.utils")

    def given(batch):
        return *inputs(batch), torch.ones(batch, TOKENS, dtype=torch.long)

    def make():
        return supervised("sdpa", str(tmp_path))
    make()(*given(2))
    record = onnx_mem.record(step=make(), args=given(4))
    m = onnx_mem.measure(step=make(), args=given(4), batch=BATCH)
    for module in (kernels, utils):
        monkeypatch.setattr(module, "_use_triton", lambda _: True)
    monkeypatch.setattr(jit.KernelInterface, "__getitem__", lambda *_: lambda *_, **__: None)
    assert (m.first_step_peak_bytes, m.peak_bytes) == really(make, BATCH, given)
    assert onnx_mem.analyze(record, batch=BATCH).training.peak_bytes == m.peak_bytes
