"""What a record holds of a model."""
import random
import re
import warnings

import pytest
import torch
from models import SMALL
from torch import nn

import onnx_mem


def lines_of(name, mode="train"):
    model, args, kwargs = SMALL[name]()
    program = onnx_mem.record(model, args, kwargs).text().split("program train\n")[mode == "train"]
    return [line.strip() for line in program.splitlines()]


def test_in_place_operators_keep_their_names():
    words = " ".join(lines_of("in_place"))
    for op in ("= elu_ ", "= leaky_relu_ ", "= add_.Tensor ", "= clamp "):
        assert op in words


def test_frozen_parameters_no_grad_spans_and_leaves():
    lines = lines_of("frozen")
    assert sum(x.endswith(" frozen") for x in lines) == 4
    assert lines.index("grad off") < lines.index("grad on")
    assert any(x.startswith("leaf ") for x in lines)
    assert sum(" = detach " in x for x in lines) == 2               # detach(), and .data


def test_tied_parameters_and_first_call_tables():
    lines = lines_of("tied_with_cache")
    assert "tied %0 head.weight" in lines
    assert any(" const f32[12,32]" in x for x in lines)


def test_custom_functions_with_what_they_save_and_their_backward():
    lines = lines_of("custom_functions")
    assert sum(x == "function models.Swish" for x in lines) == 2   # once by a name bound at import
    start = lines.index("function models.NormTwoD")
    end = next(i for i in range(start, len(lines)) if lines[i].startswith("endfunction"))
    assert " held " in lines[end] and lines[end + 1].startswith("backward ")
    assert any(x.startswith("endbackward ") and x.count(" to ") == 2 for x in lines)
    assert not any(x.startswith("backward") for x in lines_of("custom_functions", "eval"))


def test_recurrent_layers_are_one_line():
    assert sum(" = lstm " in x or " = gru " in x for x in lines_of("recurrent")) == 2


def test_inputs_have_the_names_of_forward():
    names = [x.split()[2] for x in lines_of("dict_in_out") if " input " in x]
    assert names == ["batch.image", "batch.ids", "scale"]


def test_the_models_own_loss_is_marked():
    assert any(x.startswith("loss %") for x in lines_of("own_loss"))


def test_batch_dim_by_name():
    class TwoLayouts(nn.Module):
        def forward(self, time_first, batch_first, table):
            return time_first.transpose(0, 1) + batch_first + table
    record = onnx_mem.record(TwoLayouts(), (torch.zeros(5, 3), torch.zeros(3, 5), torch.zeros(1, 5)),
                             batch_dim={"time_first": 1, "batch_first": 0})
    shapes = [v["shape"] for v in record.programs["eval"]["values"] if v["kind"] == "input"]
    b = {"B": ["1", "0"]}
    assert shapes == [[5, b], [b, 5], [1, 5]]


def test_the_model_stays_as_it_was():
    model, args, kwargs = SMALL["tied_with_cache"]()
    model.eval()
    before = {k: v.clone() for k, v in model.state_dict().items()}
    onnx_mem.record(model, args, kwargs)
    assert not model.training and model.positions is None and not model._forward_hooks
    assert all(torch.equal(v, before[k]) for k, v in model.state_dict().items())


def test_numbers_that_python_draws_are_the_callers():
    before = random.getstate()
    onnx_mem.record(Does(lambda model, x: x * random.random()), torch.zeros(2, 3))
    assert random.getstate() == before


def test_a_model_on_meta_gives_the_same_record():
    model, args, kwargs = SMALL["named_locals"]()
    record = onnx_mem.record(model, args, kwargs)
    assert onnx_mem.record(model.to("meta"), args, kwargs) == record


def test_tensors_made_without_a_device_stand_where_a_user_would_put_them():
    class MakesMask(nn.Module):
        def forward(self, x):
            return x + torch.ones(x.shape[-1])
    record = onnx_mem.record(MakesMask(), torch.zeros(2, 3))
    assert all(v["device"] == "cuda" for v in record.programs["eval"]["values"])


class CallsCompiled(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(3, 2)

    @torch.compile
    def inner(self, x):
        return self.a(x).sin()

    def forward(self, x):
        return self.inner(x)


def compiled_in_place():
    model = nn.Sequential(nn.Linear(3, 2))
    model[0].compile()
    return model


@pytest.mark.parametrize("make", [lambda: torch.compile(nn.Linear(3, 2)), compiled_in_place, CallsCompiled])
def test_compiled_modules_are_told(make):
    with pytest.warns(UserWarning, match="compiled"):
        onnx_mem.record(make(), torch.zeros(2, 3))


class Item(nn.Module):
    def forward(self, x):
        return x * x.sum().item()


class Wraps(nn.Module):
    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def forward(self, x):
        return self.inner(x)


class BranchOnBatch(nn.Module):
    def forward(self, x):
        return x.relu() if x.shape[0] > 2 else x


class Quadratic(nn.Module):
    def forward(self, x):
        return x.new_zeros(x.shape[0] * x.shape[0])


class Masked(nn.Module):
    def forward(self, x):
        return x[x > 0]


class GradInside(nn.Module):
    def forward(self, x):
        x = x.detach().requires_grad_(True)
        y = x.square().sum()
        return torch.autograd.grad(y, x)[0]


class OwnEngine(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.tanh()

    @staticmethod
    def backward(ctx, g):
        x, = ctx.saved_tensors
        with torch.enable_grad():
            x = x.detach().requires_grad_(True)
            y = x.exp().tanh()                   # another function than its forward
        return torch.autograd.grad(y, x, g)


class UsesOwnEngine(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(3, 3)

    def forward(self, x):
        return OwnEngine.apply(self.a(x))


class Selective(UsesOwnEngine):
    def forward(self, x):
        import functools

        from torch.utils.checkpoint import checkpoint, create_selective_checkpoint_contexts
        keep = functools.partial(create_selective_checkpoint_contexts, [torch.ops.aten.mm.default])
        return checkpoint(self.a, x, use_reentrant=False, context_fn=keep)


class Resizes(nn.Module):
    def forward(self, x):
        return x.clone().resize_(1)


class KeepsMore(nn.Module):
    def __init__(self):
        super().__init__()
        self.seen = []

    def forward(self, x):
        self.seen.append(x * 2 + torch.zeros(2000, 1, 1, device=x.device))
        return self.seen[-1].sum(0)


class Subclass(torch.Tensor):
    """Its operators are its own."""

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        return func(*args, **kwargs or {})


class Does(nn.Module):
    """A layer, and `what` with its result."""

    def __init__(self, what):
        super().__init__()
        self.a, self.b, self.what = nn.Linear(3, 3), nn.Linear(3, 3), what

    def forward(self, x):
        return self.what(self, self.a(x))


def offloads(model, x):
    with torch.autograd.graph.save_on_cpu():
        return model.b(x.sin())


def drops_layers(model, x):
    return x if random.random() < 0.5 else model.b(x)


def attends(model, x):
    from torch.nn.attention.flex_attention import flex_attention
    q = x[:, None, None].expand(-1, 1, 128, 3)
    return flex_attention(q, q, q)


def masks(model, x):
    from torch.masked import masked_tensor
    return masked_tensor(x, torch.ones_like(x, dtype=torch.bool)).sum(1)


def sparse():
    return nn.Embedding(10, 4, sparse=True), torch.zeros(2, 3, dtype=torch.int64)


@pytest.mark.parametrize("make, words", [
    (lambda: (Wraps(Item()), torch.zeros(2, 3)), ["eval", "item", "inner", "test_record.py"]),
    (lambda: (Masked(), torch.zeros(2, 3)), ["shape depends on data"]),
    (sparse, ["sparse"]),
    (lambda: (nn.Linear(3, 2), torch.zeros(2, 3).as_subclass(Subclass)), ["Subclass"]),
    (lambda: (torch.jit.script(nn.Linear(3, 2)), torch.zeros(2, 3)), ["TorchScript"]),
    (lambda: (nn.DataParallel(nn.Linear(3, 2)), torch.zeros(2, 3)), ["DataParallel", "before it is wrapped"]),
    (lambda: (nn.LazyLinear(2), torch.zeros(2, 3)), ["lazy"]),
    (lambda: (GradInside(), torch.zeros(2, 3)), ["eval"]),
    (lambda: (UsesOwnEngine(), torch.zeros(2, 3)), ["train", "OwnEngine"]),
    (lambda: (Selective(), torch.zeros(2, 3)), ["context_fn"]),
    (lambda: (Resizes(), torch.zeros(2, 3)), ["resize_"]),
    (lambda: (nn.Linear(3, 2), torch.zeros(())), ["batch dimension"]),
    (lambda: (Wraps(KeepsMore()), torch.zeros(2, 3)), ["tensors behind in attributes of modules"]),
    (lambda: (Does(lambda model, x: x.as_subclass(Subclass)), torch.zeros(2, 3)), ["makes a Subclass"]),
    (lambda: (Does(masks), torch.zeros(2, 3)), ["makes a", "MaskedTensor"]),
    (lambda: (Does(lambda model, x: model.b(x.cpu().cuda())), torch.zeros(2, 3)), ["train", "gradients", "host"]),
    (lambda: (Does(lambda model, x: x.cpu()), torch.zeros(2, 3)), ["train", "a tensor on the host"]),
    (lambda: (Does(offloads), torch.zeros(2, 3)), ["save_on_cpu", "what autograd keeps"]),
    (lambda: (Does(lambda model, x: (y for y in [x])), torch.zeros(2, 3)), ["generator"]),
    (lambda: (Does(attends), torch.zeros(2, 3)), ["flex_attention", "functions"]),
    (lambda: (Does(drops_layers), torch.zeros(2, 3)), ["draws numbers in Python", "another path"]),
], ids=["item", "mask", "sparse", "subclass", "script", "parallel", "lazy", "grad", "engine",
        "selective", "resize", "no_batch", "growth", "makes_subclass", "makes_wrapper", "host", "host_result",
        "offload", "generator", "functional", "chance"])
def test_refused_with_a_reason(make, words):
    model, x = make()
    with warnings.catch_warnings(), pytest.raises(onnx_mem.CannotRecord) as e:
        warnings.simplefilter("ignore")
        onnx_mem.record(model, (x,))
    assert e.value.code == "cannot-record"
    for word in words:
        assert word in str(e.value)


@pytest.mark.parametrize("model", [BranchOnBatch(), Quadratic()], ids=["branch", "quadratic"])
def test_a_model_that_follows_no_batch_is_recorded_at_its_own(model):
    with pytest.warns(UserWarning, match="the record holds for batch 2 alone"):
        record = onnx_mem.record(model, (torch.zeros(2, 3),))
    assert record.batches == (2, 2)
    with pytest.raises(onnx_mem.Error, match=r"try: onnx_mem.record\(model, x\)   # with x of batch 3"):
        record.holds_at(3)


class PacksOrNot(nn.Module):
    """Masks the samples that are packed in one row, as the positions tell: most rows are one sample."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(8, 8)

    def forward(self, x):
        positions = torch.arange(x.shape[1], device=x.device).expand(x.shape[0], -1)
        if (positions.diff(dim=-1) != 1).any():
            x = x * (positions > 0)[..., None]
        ones = torch.ones(x.shape[:2], device=x.device)
        if not ones.all():
            x = x * ones[..., None]
        return self.layer(x)


def test_values_that_follow_from_sizes_are_known():
    program = onnx_mem.record(PacksOrNot(), torch.zeros(4, 6, 8)).text()
    assert " = diff" in program or " = sub" in program
    assert " = mul" not in program, "neither branch runs"


def test_values_that_were_written_over_are_not():
    class Written(nn.Module):
        def forward(self, x):
            mask = torch.ones(3, device=x.device)
            mask[:2].copy_(x[0, :2])
            return x * 2 if mask.all() else x

    with pytest.raises(onnx_mem.Error, match="data|value"):
        onnx_mem.record(Written(), torch.zeros(4, 6))


def test_a_mask_that_nobody_gave_is_none():
    """transformers keeps a mask for fake tensors, which a running model leaves out: the call is causal and grouped."""
    transformers = pytest.importorskip("transformers")
    config = transformers.LlamaConfig(hidden_size=32, num_hidden_layers=1, num_attention_heads=4, num_key_value_heads=2,
                                      intermediate_size=64, vocab_size=50, use_cache=False)
    model, ids = transformers.LlamaForCausalLM(config), torch.zeros(2, 16, dtype=torch.int64)
    asked = []
    real = torch.nn.functional.scaled_dot_product_attention
    try:
        torch.nn.functional.scaled_dot_product_attention = (
            lambda *args, **kwargs: asked.append(kwargs) or real(*args, **kwargs))
        model(ids)
    finally:
        torch.nn.functional.scaled_dot_product_attention = real
    assert asked[0].get("attn_mask") is None and asked[0].get("is_causal")
    program = onnx_mem.record(model, ids).text()
    if tuple(map(int, torch.__version__.split(".")[:2])) >= (2, 14):       # which takes grouped heads
        assert re.search(r"_efficient_attention %\d+ %\d+ %\d+ - [FT] 0\.0 T ", program), "no mask, and causal"
    else:
        assert " = tril " in program, "of a causal call without a fused kernel"
    assert " = bitwise_and" not in program


class Ghost(nn.Module):
    """Normalizes pieces of 16 samples, as TabNet does."""

    def __init__(self):
        super().__init__()
        self.norm = nn.BatchNorm1d(8)

    def forward(self, x):
        return torch.cat([self.norm(piece) for piece in x.chunk(-(-len(x) // 16))])


@pytest.mark.parametrize("batch", [2, 14])       # 14, 15 and 17 lie on both sides
def test_a_branch_on_the_batch_is_told(batch):
    with pytest.warns(UserWarning, match="another path from batch 17 on: the record holds for batches 1 to 16"):
        record = onnx_mem.record(Ghost(), torch.zeros(batch, 8))
    assert record.batches == (1, 16)
    assert onnx_mem.Record.from_text(record.text()) == record
    with pytest.raises(onnx_mem.Error, match="holds for batches 1 to 16, not for 17") as told:
        record.holds_at(17)
    assert told.value.code == "record-sizes"


def test_a_branch_below_the_batch_is_told():
    class Large(nn.Linear):
        def forward(self, x):
            return super().forward(x) if len(x) > 9 else super().forward(x).relu()

    with pytest.warns(UserWarning, match="another path below batch 10: the record holds for batch 10 and more"):
        assert onnx_mem.record(Large(4, 4), torch.zeros(32, 4)).batches == (10, None)
    assert onnx_mem.record(nn.Linear(4, 4), torch.zeros(32, 4)).batches == (1, None)


def test_a_module_is_moved_in_forward():
    class Moves(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm = nn.BatchNorm1d(4)
            self.layer = nn.Linear(4, 4)

        def forward(self, x):
            return self.layer.to(x.device)(self.norm.to(x.device, x.dtype)(x))

    def operators(model):
        return [[x["op"] for x in p["lines"] if "op" in x]
                for p in onnx_mem.record(model, torch.zeros(2, 4)).programs.values()]
    assert operators(Moves()) == operators(nn.Sequential(nn.BatchNorm1d(4), nn.Linear(4, 4)))
    halved = onnx_mem.record(Halves(), torch.zeros(2, 4)).programs["train"]
    assert {v["dtype"] for v in halved["values"] if v["kind"] == "param"} == {"bfloat16"}


class Halves(nn.Linear):
    def __init__(self):
        super().__init__(4, 4)

    def forward(self, x):
        return super().forward(x.bfloat16()) if self.bfloat16() is self else None


@torch.jit.script
def _scan(x: torch.Tensor, decay: torch.Tensor) -> torch.Tensor:
    state, states = torch.zeros_like(x[:, 0]), []
    for i in range(x.shape[1]):
        state = state * decay + x[:, i]
        states.append(state)
    return torch.stack(states, 1)


def test_a_scripted_scan_is_recorded():
    class Scan(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer, self.decay, self.scan = nn.Linear(4, 4), nn.Parameter(torch.ones(4)), _scan

        def forward(self, x):
            return self.scan(self.layer(x), self.decay.sigmoid())
    operators = [x["op"] for x in onnx_mem.record(Scan(), torch.zeros(2, 5, 4)).programs["train"]["lines"] if "op" in x]
    assert operators.count("add.Tensor") == operators.count("mul.Tensor") == 5
    assert onnx_mem.measure(Scan(), torch.zeros(2, 5, 4)).saved_activation_bytes > 0


class Doubled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * 2

    @staticmethod
    def backward(ctx, gradient):
        return gradient * ctx.saved_tensors[0]


def test_what_a_function_gives_is_let_go_of_like_any_value():
    """The operator behind a Function saves its result before it is seen to run."""
    class Model(nn.Linear):
        def forward(self, x):
            y = Doubled.apply(super().forward(x))
            y = y.log() + y            # a logarithm saves what it is taken of
            return y.tanh()

    program = onnx_mem.record(Model(4, 4), torch.zeros(2, 4)).programs["train"]
    end = next(i for i, x in enumerate(program["lines"]) if "endfunction" in x)
    result = next(x for x in program["lines"][end::-1] if "op" in x)["outs"][0]
    assert any(result in x["drops"] for x in program["lines"] if x.get("op") == "add.Tensor")
