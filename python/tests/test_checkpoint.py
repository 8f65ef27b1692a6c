"""Plans on live models: what must not change, and what is refused with a sentence."""
import copy
import io
import pickle
import warnings

import pytest
import torch
from torch import nn

import onnx_mem


class Net(nn.Module):
    """Blocks in a list, a Sequential with BatchNorm and in-place activations, dropout."""

    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(inplace=True), nn.Conv2d(8, 8, 3),
                                  nn.BatchNorm2d(8), nn.Hardswish(inplace=True))
        self.blocks = nn.ModuleList(nn.Sequential(nn.Linear(8, 32), nn.GELU(), nn.Dropout(0.2), nn.Linear(32, 8))
                                    for _ in range(3))
        self.head = nn.Linear(8, 4)

    def forward(self, x):
        x = self.stem(x).mean((2, 3))
        for block in self.blocks:
            x = x + block(x)
        return self.head(x)


PLAN = [["stem.0", "stem.1", "stem.2"], ["stem.4"], ["blocks.1"]]
X = torch.randn(4, 3, 10, 10)


def net():
    torch.manual_seed(0)
    return Net()


def step(model, run=None):
    """Loss, gradients, buffers and the generator's state of two steps."""
    for seed in (1, 2):
        torch.manual_seed(seed)
        model.zero_grad()
        loss = (model if run is None else run)(X).pow(2).sum()
        loss.backward()
    return [loss.detach(), *(p.grad for p in model.parameters()), *model.buffers(), torch.get_rng_state()]


def same(a, b):
    return len(a) == len(b) and all(map(torch.equal, a, b))


def saved(model):
    file = io.BytesIO()
    torch.save(model, file)
    file.seek(0)
    return torch.load(file, weights_only=False)


@pytest.mark.parametrize("copied", [lambda m: m, copy.deepcopy, saved, lambda m: pickle.loads(pickle.dumps(m)),
                                    lambda m: torch.optim.swa_utils.AveragedModel(m).module])
def test_a_planned_model_and_its_copies_compute_the_same(copied):
    planned = onnx_mem.checkpoint(net(), PLAN)
    made = copied(planned)
    if made is not planned:
        with torch.no_grad():
            for t in planned.parameters():
                t.zero_()
    assert same(step(made), step(net()))
    assert list(made.state_dict()) == list(net().state_dict())


def test_segments_run_twice():
    calls = []
    model = onnx_mem.checkpoint(net(), PLAN)
    model.blocks[1][0].register_forward_hook(lambda *a: calls.append(1))
    model.blocks[0][0].register_forward_hook(lambda *a: calls.append(0))
    model(X).sum().backward()
    assert calls == [0, 1, 1]
    model.eval()
    with torch.no_grad():
        model(X)
    assert calls == [0, 1, 1, 0, 1]


def test_backward_twice_leaves_the_statistics_alone():
    model = onnx_mem.checkpoint(net(), PLAN)
    loss = model(X).sum()
    loss.backward(retain_graph=True)
    before = [b.clone() for b in model.buffers()]
    loss.backward()
    assert same(before, list(model.buffers())) and model.stem[4].num_batches_tracked == 1


def test_compiled_and_exported():
    plain = net()
    plain.blocks[1][2].p = 0.0
    model = onnx_mem.checkpoint(copy.deepcopy(plain), PLAN)
    torch._dynamo.reset()
    compiled = step(model, torch.compile(model, backend="aot_eager", fullgraph=True))
    torch._dynamo.reset()
    assert same(compiled, step(plain, torch.compile(plain, backend="aot_eager", fullgraph=True)))
    assert torch.export.export(model, (X,)).module()(X).shape == (4, 4)


def test_restore_undoes_it():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = onnx_mem.checkpoint(net(), [["stem.2", "stem.3"]])
    assert model.stem[2].inplace is False
    onnx_mem.restore(model)
    assert [type(m) for m in model.modules()] == [type(m) for m in net().modules()]
    assert model.stem[2].inplace is True and model.__dict__.keys() == net().__dict__.keys()
    assert same(step(model), step(net()))


def test_applying_twice_is_refused():
    model = onnx_mem.checkpoint(net(), PLAN)
    with pytest.raises(onnx_mem.Error, match="applied to this model already") as e:
        onnx_mem.checkpoint(model, PLAN)
    assert e.value.code == "cannot-apply"


@pytest.mark.parametrize("plan, why", [
    ([["stem.9"]], "no module 'stem.9'; 'stem' holds 0, 1, 2, 3, 4, 5"),
    ([["blocks"]], "'blocks' is a ModuleList, which is not called itself"),
    ([["head"], ["head"]], "in two segments"),
    ([{"modules": ["head"], "parameters": [99]}], "'head' has 36 parameters, in the analysed model 99"),
    ([{"nodes": ["/Relu"]}], "names operators"),
])
def test_what_does_not_fit_the_model_is_named(plan, why):
    with pytest.raises(onnx_mem.Error, match=why):
        onnx_mem.checkpoint(net(), plan)
    assert same(step(net()), step(net()))


def test_children_between_the_ends_of_a_run_are_in_it():
    """The file shows none that has nothing to run: mlp.2 of torchvision's ViT is Dropout(0.0)."""
    torch.manual_seed(0)
    plain = nn.Sequential(nn.Linear(4, 8), nn.GELU(), nn.Dropout(0.0), nn.Linear(8, 4), nn.Dropout(0.5))
    model, x = copy.deepcopy(plain), torch.randn(2, 4)
    calls = []
    onnx_mem.checkpoint(model, [["1", "3"]])
    for child in model:
        child.register_forward_hook(lambda m, *a: calls.append(type(m).__name__))
    for m in (plain, model):
        torch.manual_seed(1)
        m(x).sum().backward()
    assert calls == ["Linear", "GELU", "Dropout", "Linear", "Dropout", "GELU", "Dropout"]    # early stop
    assert same([p.grad for p in plain.parameters()], [p.grad for p in model.parameters()])


class Module(nn.Module):
    """As a LightningModule: the network is an attribute, and training has things of its own beside it."""

    def __init__(self, model):
        super().__init__()
        self.model, self.criterion = model, nn.CrossEntropyLoss()

    def forward(self, x):
        return self.model(x)


def test_a_plan_of_the_network_serves_the_module_that_holds_it():
    module = onnx_mem.checkpoint(Module(net()), PLAN)
    assert "_onnx_mem_segment" in module.model.blocks[1].__dict__
    assert same(step(module), step(net()))
    assert same(step(onnx_mem.checkpoint(nn.DataParallel(Module(net())), PLAN).module), step(net()))


def test_a_plan_of_the_module_serves_the_network_in_it():
    plan = [["model." + name for name in segment] for segment in PLAN]
    assert same(step(onnx_mem.checkpoint(Module(net()), plan)), step(net()))
    model = onnx_mem.checkpoint(net(), plan)
    assert "_onnx_mem_segment" in model.blocks[1].__dict__
    assert same(step(model), step(net()))


def test_a_number_alone_is_no_name_to_look_for():
    """"stem.0" without its first part is "0", which every nn.Sequential has."""
    with pytest.raises(onnx_mem.Error, match="no module 'stem.0'"):
        onnx_mem.checkpoint(nn.Sequential(nn.Linear(4, 4)), [["stem.0"]])


def test_two_copies_of_the_network_are_no_place_for_a_plan():
    module = Module(net())
    module.ema = copy.deepcopy(module.model)
    with pytest.raises(onnx_mem.Error, match="more than once .*model.stem.0, ema.stem.0.*; apply it to the part"):
        onnx_mem.checkpoint(module, PLAN)
    onnx_mem.checkpoint(module.model, PLAN)
    module.ema = module.model
    onnx_mem.checkpoint(onnx_mem.restore(module), PLAN)    # one network under two names


def test_settings_that_the_environment_lacks_are_said(monkeypatch):
    plan = {"settings": {"PYTORCH_ALLOC_CONF": "expandable_segments:True"}, "segments": [{"modules": ["blocks.1"]}]}
    for name in ("PYTORCH_ALLOC_CONF", "PYTORCH_CUDA_ALLOC_CONF"):
        monkeypatch.delenv(name, raising=False)
    with pytest.warns(UserWarning, match="needs PYTORCH_ALLOC_CONF=expandable_segments:True in the "
                                        "environment, and exp.* is missing"):
        onnx_mem.checkpoint(net(), plan)
    for name in ("PYTORCH_ALLOC_CONF", "PYTORCH_CUDA_ALLOC_CONF"):
        with monkeypatch.context() as there, warnings.catch_warnings():
            there.setenv(name, "max_split_size_mb:128, expandable_segments:True")
            warnings.simplefilter("error")
            onnx_mem.checkpoint(net(), plan)
            onnx_mem.checkpoint(net(), {**plan, "settings": {}})


def test_a_step_with_a_plan_is_measured():
    model = net()
    with_plan = onnx_mem.measure(model, (X,), plan=PLAN, batch=64)
    assert with_plan.peak_bytes < onnx_mem.measure(model, (X,), batch=64).peak_bytes
    assert with_plan == onnx_mem.measure(onnx_mem.checkpoint(net(), PLAN), (X,), batch=64)
    assert [type(m) for m in model.modules()] == [type(m) for m in net().modules()]


def test_a_segment_that_begins_in_place_keeps_its_input():
    with pytest.warns(UserWarning, match="Hardswish is no longer in place"):
        model = onnx_mem.checkpoint(net(), [["stem.5"]])
    assert same(step(model), step(net()))


class Deep(nn.Module):
    """Writes over its input, by an activation that no nn.Sequential leads to or by an operator."""

    def __init__(self, module):
        super().__init__()
        self.act, self.fc = nn.ReLU(inplace=True) if module else torch.relu_, nn.Linear(8, 8)

    def forward(self, x):
        return self.fc(self.act(x))


def test_what_writes_over_its_input_is_found_in_the_first_forward():
    def made(module):
        torch.manual_seed(0)
        return nn.Sequential(nn.Linear(3, 8), nn.Identity(), Deep(module))
    x = torch.randn(4, 3)
    model = onnx_mem.checkpoint(made(True), [["2"]])
    with pytest.warns(UserWarning, match="ReLU is no longer in place"):
        loss = model(x).sum()
    loss.backward()
    plain = made(True)
    plain(x).sum().backward()
    assert same([p.grad for p in model.parameters()], [p.grad for p in plain.parameters()])
    with pytest.raises(RuntimeError, match="segment 2 writes over its input"):
        onnx_mem.checkpoint(made(False), [["2"]])(x)


def test_a_forward_that_moves_its_buffers_is_refused():
    model = nn.Sequential(nn.utils.parametrizations.spectral_norm(nn.Linear(4, 4)), nn.Tanh())
    with pytest.raises(RuntimeError, match="writes over the buffer"):
        onnx_mem.checkpoint(model, [["0"]])(torch.randn(2, 4))


class Loop(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(6, 6) for _ in range(4))

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x


def test_modules_of_a_loop_as_one():
    torch.manual_seed(0)
    model, x = Loop(), torch.randn(2, 6)
    model(x).sum().backward()
    plain = [p.grad for p in model.parameters()]
    model.zero_grad()
    onnx_mem.checkpoint(model, [["layers.1", "layers.2"]])
    copy.deepcopy(model)(x).sum().backward()
    assert all(p.grad is None for p in model.parameters())
    model(x).sum().backward()
    assert same(plain, [p.grad for p in model.parameters()])
    seen = []
    for layer in (*model.layers, *onnx_mem.restore(copy.deepcopy(model)).layers):
        layer.register_forward_hook(lambda m, args, out: seen.append(out.detach().clone()))
    model(x)
    onnx_mem.restore(copy.deepcopy(model))(x)
    assert same(seen[:4], seen[4:])


class Scaled(nn.Module):
    """Called with arguments of its own, returns a tuple."""

    def __init__(self):
        super().__init__()
        self.fc, self.drop = nn.Linear(6, 6), nn.Dropout(0.3)

    def forward(self, x, *, mask, mode="plain"):
        y = self.drop(torch.tanh(self.fc(x[0] if isinstance(x, tuple) else x))) * mask
        return y if mode == "plain" else y.sin(), {"of": mode}


class Mixed(nn.Module):
    """A norm that takes one tensor, then blocks each with a mask and a flag of its own."""

    def __init__(self):
        super().__init__()
        self.norm, self.blocks, self.head = nn.LayerNorm(6), nn.ModuleList(Scaled() for _ in range(3)), nn.Linear(6, 6)

    def forward(self, x, masks):
        x = self.norm(x)
        for i, block in enumerate(self.blocks):
            x, _ = block(x, mask=masks[i], mode="plain" if i % 2 else "sine")
        return self.head(x)


WAYS = [{}, {"keep": ["addmm"]}, {"keep": {}, "skip": []}, {"keep": {"blocks.1.fc:addmm#0": []}, "skip": []}]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("modules", [["norm", "blocks.0"], ["norm", "blocks.0", "blocks.1", "blocks.2", "head"],
                                     ["blocks.1", "blocks.2"]])
def test_each_module_of_a_run_has_its_own_arguments(modules, way):
    if "blocks.1" not in modules and way.get("keep"):
        way = {"keep": {"norm:aten.native_layer_norm.default#0": [1, 2]}, "skip": []}
    torch.manual_seed(0)
    model, x, masks = Mixed(), torch.randn(4, 6, requires_grad=True), torch.randn(3, 6)

    def run(model, compiled=False):
        torch._dynamo.reset()
        torch.manual_seed(1)
        x.grad = None
        out = (torch.compile(model, backend="aot_eager") if compiled else model)(x, masks.clone())
        out.pow(2).sum().backward()
        return [out, x.grad, *(p.grad for p in model.parameters()), torch.get_rng_state()]
    for compiled in (False, True):
        planned = onnx_mem.checkpoint(copy.deepcopy(model), [{"modules": modules, **way}])
        assert same(run(copy.deepcopy(model), compiled), run(planned, compiled)), compiled


def test_modules_of_a_run_that_do_not_follow_each_other_are_refused():
    torch.manual_seed(0)
    model, x, masks = Mixed(), torch.randn(4, 6), torch.randn(3, 6)
    onnx_mem.checkpoint(model, [["norm", "blocks.1"]])
    with pytest.raises(RuntimeError, match="norm, blocks.1 do not run one after another, each on what the one before"):
        model(x, masks)
    # A forward that ends within the run: what was kept is no whole segment.
    onnx_mem.checkpoint(onnx_mem.restore(model), [{"modules": ["norm", "blocks.0"], "keep": {}, "skip": []}])
    with pytest.raises(RuntimeError, match="segment that begins with norm has not run to its end"):
        model.norm(x).sum().backward()


def test_ways_of_naming_a_plan(tmp_path):
    path = tmp_path / "plan.json"
    path.write_text('{"segments": [{"modules": ["blocks.1"], "nodes": ["/x"]}]}')
    for plan in (path, str(path), ["blocks.1"], [{"modules": ["blocks.1"]}], {"segments": [{"modules": ["blocks.1"]}]}):
        assert same(step(onnx_mem.checkpoint(net(), plan)), step(net()))
    with pytest.raises(onnx_mem.Error, match="a budget wants example inputs"):
        onnx_mem.checkpoint(net(), "4GiB")


def test_wrappers_are_looked_through():
    model = net()
    onnx_mem.checkpoint(nn.DataParallel(model), PLAN)
    replica = model.blocks[1]._replicate_for_data_parallel()
    assert "_onnx_mem_segment" in replica.__dict__ and replica.forward.__self__ is replica
    assert same(step(model), step(net()))


@pytest.fixture
def one_process(tmp_path):
    if not torch.distributed.is_available():
        pytest.skip("this torch has no distributed package")
    torch.distributed.init_process_group("gloo", init_method=f"file://{tmp_path}/store", rank=0, world_size=1)
    yield
    torch.distributed.destroy_process_group()


def test_distributed(one_process):
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard
    plain = step(net())
    model = onnx_mem.checkpoint(net(), PLAN)
    assert same(step(model, nn.parallel.DistributedDataParallel(model)), plain)
    mesh = init_device_mesh("cpu", (1,))
    for planned_first in (True, False):
        model = onnx_mem.checkpoint(net(), PLAN) if planned_first else net()
        for module in (*model.blocks, model):
            fully_shard(module, mesh=mesh)
        if not planned_first:
            onnx_mem.checkpoint(model, PLAN)
        assert same([t.full_tensor() if hasattr(t, "full_tensor") else t for t in step(model)], plain)
        if planned_first:
            with pytest.raises(onnx_mem.Error, match="changed after the plan was applied"):
                onnx_mem.restore(model)


def test_a_segment_across_units_of_fsdp_is_refused(one_process):
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard
    mesh = init_device_mesh("cpu", (1,))
    torch.manual_seed(0)
    x = torch.randn(2, 6)

    def sharded(*units):
        torch.manual_seed(1)
        model = Loop()
        for unit in units:
            fully_shard(model.layers[unit], mesh=mesh)
        return fully_shard(model, mesh=mesh)
    for units in ((1, 2), (1,), (2,)):
        with pytest.raises(onnx_mem.Error, match="layers.1, layers.2 are in several units of FSDP") as e:
            onnx_mem.checkpoint(sharded(*units), [["layers.1", "layers.2"]])
        assert e.value.code == "cannot-apply"
    plain = sharded(0, 3)
    model = onnx_mem.checkpoint(sharded(0, 3), [["layers.1", "layers.2"]])    # both of the root's unit
    for m in (plain, model):
        m(x).sum().backward()
    assert same([p.grad.full_tensor() for p in plain.parameters()], [p.grad.full_tensor() for p in model.parameters()])


def test_names_within_units_of_fsdp1(one_process):
    from torch.distributed.fsdp import FullyShardedDataParallel

    def sharded(*units):
        torch.manual_seed(1)
        model = Loop()
        for unit in units:
            model.layers[unit] = FullyShardedDataParallel(model.layers[unit], use_orig_params=True,
                                                          device_id=torch.device("cpu"))
        return FullyShardedDataParallel(model, use_orig_params=True, device_id=torch.device("cpu"))
    x = torch.randn(2, 6)
    expected = sharded(1, 2)(x)
    assert torch.equal(onnx_mem.checkpoint(sharded(1, 2), [["layers.1"], ["layers.3"]])(x), expected)
    assert torch.equal(onnx_mem.checkpoint(sharded(3), [["layers.1", "layers.2"]])(x), expected)
    with pytest.raises(onnx_mem.Error, match="several units of FSDP"):
        onnx_mem.checkpoint(sharded(1, 2), [["layers.1", "layers.2"]])
