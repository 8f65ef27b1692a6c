"""Models whose forward asks for what their own code makes or holds; what is refused has a way out that works."""
import functools
import warnings
import weakref

import pytest
import torch
from torch import nn

import onnx_mem


class Scaled(nn.Module):
    """A number of the code becomes a tensor, and is read back where it is used, as the kernels of LyCORIS do."""

    def __init__(self, scale=0.5):
        super().__init__()
        self.layer, self.scale = nn.Linear(4, 4), scale

    def forward(self, x):
        scale = torch.tensor(self.scale, dtype=x.dtype, device=x.device)
        if scale > 1:
            return self.layer(x).exp()
        halves = torch.tensor([self.scale] * 2).to(x.device)
        return self.layer(x) * float(scale.view(1).double()) + halves.sum().item()


class Chosen(nn.Module):
    """Writes into the columns that a mask of its own names, as the merged layers of loralib do."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 5)
        self.register_buffer("columns", torch.tensor([True, False, True, False, True, True, False, True]))

    def forward(self, x):
        y = self.layer(x).t()
        result = y.new_zeros(len(self.columns), y.shape[1])
        result[self.columns] = y
        return result.t()


class Places(Chosen):
    """The same, by the places that the mask names."""

    def __init__(self):
        super().__init__()
        self.columns, self.places = None, torch.tensor([0, 2, 4, 5, 7])

    def forward(self, x):
        y = self.layer(x).t()
        result = y.new_zeros(8, y.shape[1])
        result[self.places] = y
        return result.t()


class Dispatched(nn.Module):
    """Chooses a function by the library that made its argument, as paderbox does."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 4)

    def forward(self, x):
        return {"numpy": None, "torch": torch.abs}[type(x).__module__](self.layer(x))


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("make", [Scaled, Chosen, Dispatched])
def test_what_code_makes_or_holds_is_known(program, make, training):
    x = torch.zeros(6, 4)
    with warnings.catch_warnings():
        warnings.simplefilter("error")                   # no value of the example is needed
        record = onnx_mem.record(make(), x)
        verified = onnx_mem.verify(record, make(), x, batch=24, training=training)
    assert verified.same, str(verified)


def test_the_number_decides_what_runs():
    def operators(scale):
        return [line.get("op") for line in onnx_mem.record(Scaled(scale), torch.zeros(6, 4)).programs["train"]["lines"]]
    assert "exp" in operators(2.0) and "exp" not in operators(0.5)


def test_a_mask_counts_as_many_as_it_chooses():
    x = torch.zeros(6, 4)
    five_integers, mask_of_eight = 5 * 8, 8
    assert onnx_mem.measure(Chosen(), x).peak_bytes - mask_of_eight == (
        onnx_mem.measure(Places(), x).peak_bytes - five_integers)


def test_a_number_that_weights_are_written_into_is_not_known():
    class Reads(Scaled):
        def forward(self, x):
            total = torch.tensor(0.0, device=x.device)
            torch._foreach_add_([total], [self.layer.weight.detach().sum()])
            return self.layer(x) if total > 0 else x
    with pytest.raises(onnx_mem.CannotRecord, match="a value of a tensor is read"):
        onnx_mem.record(Reads(), torch.zeros(6, 4))


def test_a_state_that_a_step_sets_is_not_known():
    class Initialized(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(4, 4)
            self.register_buffer("ready", torch.tensor([False]))

        def forward(self, x):
            if not self.ready:
                self.ready.fill_(True)
                return self.layer(x).exp()
            return self.layer(x)
    with pytest.raises(onnx_mem.CannotRecord, match="a value of a tensor is read"):
        onnx_mem.record(Initialized(), torch.zeros(6, 4))


class Marks(nn.Module):
    """Rows that their own values choose become one learned row, as in masked pre-training."""

    def __init__(self, where=False):
        super().__init__()
        self.layer, self.row, self.where = nn.Linear(4, 4), nn.Parameter(torch.zeros(4)), where

    def forward(self, x):
        marked, y = x.mean(-1) > 0, self.layer(x)
        if self.where:
            return torch.where(marked[:, None], self.row, y).exp()
        y = y.clone()
        y[marked] = self.row
        return y.exp()


def test_ways_out_of_a_mask_that_data_decides_work(program):
    x = torch.zeros(6, 4)
    with pytest.raises(onnx_mem.Error, match=r"a shape depends on data.* torch.where\(mask, a, b\).*in backward alone.*"
                                             r"onnx_mem.analyze\(model, x\) answers"):
        onnx_mem.measure(Marks(), x)
    assert onnx_mem.analyze(Marks(), x).source == "record"
    record = onnx_mem.record(Marks(where=True), x)
    assert onnx_mem.verify(record, Marks(where=True), x, batch=24, training=True).same


class Keeps(nn.Module):
    """Has its input as an attribute from one call to the next, as Zero-DCE has."""

    def __init__(self):
        super().__init__()
        self.layer, self.seen = nn.Linear(64, 4), {}

    def forward(self, x):
        self.x0 = x
        self.seen["x"] = self.x0
        return (self.layer(self.x0 * 2) + self.layer(self.x0)).exp()


@pytest.mark.parametrize("training", [True, False])
def test_an_input_that_a_module_keeps_is_no_other_tensor(program, training):
    x = torch.zeros(6, 64)
    model = Keeps()
    verified = onnx_mem.verify(onnx_mem.record(model, x), model, x, batch=24, training=training)
    assert verified.same, str(verified)
    assert not hasattr(model, "x0")


def spaced():
    model = nn.Sequential()
    model.add_module("layer 1", nn.Linear(64, 8))
    model.add_module("100% out", nn.Linear(8, 4))
    return model


def test_names_of_modules_may_have_spaces(program, tmp_path):
    x = torch.zeros(6, 64)
    record = onnx_mem.record(spaced(), x)
    assert onnx_mem.Record.from_text(record.text()) == record
    assert onnx_mem.verify(record, spaced(), x, batch=24, training=True).same
    path = onnx_mem.export(spaced(), x, tmp_path / "model.onnx")
    assert onnx_mem.analyze(path or tmp_path / "model.onnx").source == "record"

    def step(model, x):
        model(x).sum().backward()
    stepped = onnx_mem.record(spaced(), x, step=step)
    assert onnx_mem.Record.from_text(stepped.text()) == stepped
    report = onnx_mem.analyze(stepped)
    assert report.source == "record"


class Moves(nn.Module):
    """Moves what it is given to the device that it was made for, as a tabular network of AutoGluon does."""

    def __init__(self, device):
        super().__init__()
        self.layer, self.device = nn.Linear(4, 4, device=device), device

    def forward(self, x):
        mask = torch.ones(x.shape[0], 4, device=self.device)
        return self.layer(x.to(self.device)) * mask


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("device", ["cpu", torch.device("cpu")])
def test_the_device_that_a_model_was_made_for_is_the_one_it_is_on(program, device, training):
    model, x = Moves(device), torch.zeros(6, 4)
    with pytest.warns(UserWarning, match="the model names the CPU as its device"):
        record = onnx_mem.record(model, x)
    with pytest.warns(UserWarning, match="the model names the CPU as its device"):
        verified = onnx_mem.verify(record, model, x, batch=24, training=training)
    assert verified.same, str(verified)
    model.device = "cuda"
    assert verified.model.peak_bytes == onnx_mem.measure(model, x, batch=24, training=training).peak_bytes


class Fails(Moves):
    def forward(self, x):
        return super().forward(x)[self.no_such_attribute]


def test_what_fails_on_the_device_that_is_meant_is_said():
    for ask in (onnx_mem.record, onnx_mem.measure):
        with pytest.raises(onnx_mem.Error, match="no_such_attribute"):
            ask(Fails("cpu"), torch.zeros(6, 4))


class Surrogate(torch.autograd.Function):
    """Spikes whose slope is a tensor that no operator reads, as norse's are."""

    @staticmethod
    def forward(ctx, x, slope):
        ctx.save_for_backward(x)
        return (x > 0).to(x.dtype)

    @staticmethod
    def backward(ctx, gradient):
        x, = ctx.saved_tensors
        return gradient / (x.abs() + 1).pow(2), None


class Spikes(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer, self.slope = nn.Linear(4, 4), torch.tensor(100.0)

    def forward(self, x):
        return Surrogate.apply(self.layer(x), self.slope)


@pytest.mark.parametrize("training", [True, False])
def test_a_table_whose_device_alone_is_asked_for_is_not_read(program, training):
    verified = onnx_mem.verify(onnx_mem.record(Spikes(), torch.zeros(6, 4)), Spikes(), torch.zeros(6, 4), batch=24,
                               training=training)
    assert verified.same, str(verified)


def test_a_model_on_no_device_means_the_cpu_where_it_says_so():
    model = Moves("meta")
    model.device = "cpu"
    with pytest.raises(onnx_mem.CannotRecord, match="two devices"):
        onnx_mem.record(model, torch.zeros(6, 4))


class Reverses(torch.autograd.Function):
    """Gives its input as it is and keeps a number for the way back, as pytorch-revgrad does."""

    @staticmethod
    def forward(ctx, x, factor):
        ctx.save_for_backward(x, factor)
        return x

    @staticmethod
    def backward(ctx, gradient):
        _, factor = ctx.saved_tensors
        return -gradient * factor, None


class ReversesTwo(Reverses):
    """The same beside a result of its own."""

    @staticmethod
    def forward(ctx, x, factor):
        ctx.save_for_backward(factor)
        return x, x * factor, x

    @staticmethod
    def backward(ctx, gradient, other, again):
        factor, = ctx.saved_tensors
        return -gradient * factor + other + again, None


class Reversed(nn.Module):
    def __init__(self, function=Reverses):
        super().__init__()
        self.first, self.second, self.factor = nn.Linear(4, 4), nn.Linear(4, 4), torch.tensor(0.5)
        self.function = function

    def forward(self, x):
        y = self.function.apply(self.first(x), self.factor)
        return self.second(y if isinstance(y, torch.Tensor) else y[0].exp() + y[1] + y[2].view(-1, 4))


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("function", [Reverses, ReversesTwo])
def test_a_function_that_gives_its_input_saves_before_its_backward_is_run(program, function, training):
    model, x = Reversed(function), torch.zeros(6, 4)
    verified = onnx_mem.verify(onnx_mem.record(model, x), model, x, batch=24, training=training)
    assert verified.same, str(verified)


class Outputs(nn.Module):
    """Three results, each of which has a part in the loss."""

    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(4, 4) for _ in range(3))

    def forward(self, x):
        return [layer(x) for layer in self.layers]


def test_no_part_of_a_loss_outlives_its_sum(program):
    verified = onnx_mem.verify(onnx_mem.record(Outputs(), torch.zeros(6, 4)), Outputs(), torch.zeros(6, 4), batch=24)
    assert verified.same, str(verified)


class Normalized(nn.Module):
    """Writes into its buffers with out=, as a spectral norm does."""

    def __init__(self):
        super().__init__()
        self.layer = nn.utils.spectral_norm(nn.Conv1d(16, 8, 1))

    def forward(self, x):
        return self.layer(x.view(-1, 16, 4)).flatten(1)


def test_what_is_written_with_out_takes_nothing(program):
    x = torch.zeros(6, 64)
    verified = onnx_mem.verify(onnx_mem.record(Normalized(), x), Normalized(), x, batch=24)
    assert verified.same, str(verified)


class Charges(nn.Module):
    """Keeps its state with its graph, as spiking layers do, whose loops reset them; a Function reads it."""

    def __init__(self):
        super().__init__()
        self.layer, self.state = nn.Linear(4, 4), 0.

    def forward(self, x):
        charge = self.layer(x)
        if isinstance(self.state, torch.Tensor):
            charge = Reverses.apply(self.state, torch.tensor(0.5, device=x.device)) + charge
        self.state = charge.mean(0)
        return charge


def test_a_state_that_the_loop_resets_has_a_step_of_its_own(program, tmp_path):
    model, x = Charges(), torch.zeros(6, 4)
    for ask in (onnx_mem.record, onnx_mem.measure):
        with pytest.raises(onnx_mem.Error, match=r"measure\(step=step, args=\(x,\)\)"):
            ask(model, x)
    optimizer = torch.optim.SGD(model.parameters(), 0.1)

    def step(x):
        optimizer.zero_grad()
        model(x).mean().backward()
        optimizer.step()
        model.state = 0.
    path = onnx_mem.record(step=step, args=(x,)).save(tmp_path / "step.eager")
    measured = onnx_mem.measure(step=step, args=(x,), batch=24)
    assert onnx_mem.analyze(path, batch=24).training.peak_bytes == measured.peak_bytes


class Differentiates(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone = nn.Linear(4, 4)

    def forward(self, x):
        y = self.backbone(x)
        return y + torch.func.vmap(torch.func.grad(lambda row: row.pow(2).sum()))(x)


def test_gradients_inside_forward_have_a_way_out():
    model, x = Differentiates(), torch.zeros(6, 4)
    for ask in (onnx_mem.record, onnx_mem.measure):
        with pytest.raises(onnx_mem.Error, match=r"autograd itself \(torch.func.grad.*\(model.backbone, x\)"):
            ask(model, x)
    assert onnx_mem.measure(model.backbone, x).peak_bytes > 0


class OfItsClass(torch.autograd.Function):
    """Its methods are of its class, as those of entmax are."""

    @classmethod
    def forward(cls, ctx, x):
        y = cls.rule(x)
        ctx.save_for_backward(y)
        return y

    @classmethod
    def rule(cls, x):
        return x.clamp(min=0) ** 2

    @classmethod
    def backward(cls, ctx, gradient):
        y, = ctx.saved_tensors
        return gradient * y.sqrt()


class SetsUp(OfItsClass):
    """The same, saved apart."""

    @classmethod
    def forward(cls, x):
        return cls.rule(x)

    @classmethod
    def setup_context(cls, ctx, inputs, output):
        ctx.save_for_backward(output)


class OfAClass(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.first, self.second, self.function = nn.Linear(4, 4), nn.Linear(4, 4), function

    def forward(self, x):
        return self.function.apply(self.second(self.function.apply(self.first(x))))


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("function", [OfItsClass, SetsUp])
def test_a_function_whose_methods_are_of_its_class(program, function, training):
    model, x = OfAClass(function), torch.zeros(6, 4)
    record = onnx_mem.record(model, x)
    verified = onnx_mem.verify(record, model, x, batch=24, training=training)
    assert verified.same, str(verified)
    assert ("function" in record.text()) and function.forward.__self__ is function


class Stepped(nn.Module):
    """Takes its step as a number or as a tensor, and looks at the type itself, as a U-Net of audiocraft does."""

    def __init__(self):
        super().__init__()
        self.layer, self.steps = nn.Linear(4, 4), nn.Embedding(20, 4)

    def forward(self, x, step):
        if type(step) is torch.Tensor:
            places = step
        else:
            places = torch.tensor([step], device=x.device).expand(len(x))
        return self.layer(x) + self.steps(places)


@pytest.mark.parametrize("ask", [onnx_mem.record, onnx_mem.measure])
def test_a_type_that_is_compared_has_a_way_out(ask):
    x, step = torch.zeros(6, 4), torch.zeros(6, dtype=torch.int64)
    with pytest.raises(onnx_mem.Error, match=r"isinstance\(step, torch.Tensor\) there, or give step as a number"):
        ask(Stepped(), x, step)
    assert ask(Stepped(), x, 3)


def wrapped(module):
    """Its forward has the module by a weak reference, as a wrapper of fairscale leaves it."""
    def forward(of, scale, x):
        return type(of()).forward(of(), x) * scale
    module.forward = functools.partial(forward, weakref.ref(module), 2.0)
    return module


@pytest.mark.parametrize("training", [True, False])
def test_a_module_that_is_reached_by_a_weak_reference_is_the_copy(program, training):
    model, x = nn.Sequential(wrapped(nn.Linear(4, 4)), nn.ReLU(), wrapped(nn.Linear(4, 4))), torch.zeros(6, 4)
    verified = onnx_mem.verify(onnx_mem.record(model, x), model, x, batch=24, training=training)
    assert verified.same, str(verified)
    assert model[0].forward.args[0]() is model[0]
