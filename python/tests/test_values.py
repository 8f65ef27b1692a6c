"""Models that read values of their inputs: positions of images among tokens, lengths, labels that are left out."""
import warnings

import pytest
import torch
from torch import nn

import onnx_mem

IMAGE = 99


class Tokens(nn.Module):
    """Features take the places of the tokens that stand for images, as in LLaVA."""

    def __init__(self):
        super().__init__()
        self.embed, self.project, self.head = nn.Embedding(100, 8), nn.Linear(5, 8), nn.Linear(8, 100)

    def forward(self, ids, images):
        x, found = self.embed(ids), self.project(images).reshape(-1, 8)
        places = ids == IMAGE
        if places.sum() != found.shape[0]:
            raise ValueError(f"{int(places.sum())} places for {found.shape[0]} features")
        return self.head(x.masked_scatter(places[..., None].expand_as(x), found))


class Labelled(nn.Module):
    """A loss of the labelled tokens alone, picked by a mask and by their positions."""

    def __init__(self):
        super().__init__()
        self.embed, self.head = nn.Embedding(100, 8), nn.Linear(8, 5)

    def forward(self, ids, labels):
        scores, there = self.head(self.embed(ids)), labels >= 0
        at = there.nonzero()
        picked = scores[there] + scores[at[:, 0], at[:, 1]]
        scale = scores.masked_select(there[..., None]).mean()
        return {"loss": nn.functional.cross_entropy(picked, labels[there]) * scale}


class Samples(nn.Module):
    """Patches of all images in one row, of each as many as its grid says: a loop over the samples."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 4)

    def forward(self, grids, patches):
        ids = torch.zeros(len(grids), 2, dtype=torch.int64, device=grids.device)
        for i, grid in enumerate(grids):
            ids[i] += grid
        counts = ids.prod(1).tolist()
        ends = torch.tensor([ids[0, 0] + 1, ids[0, 1]]).sum().item()
        return torch.stack([x.sum(0) for x in self.layer(patches).split(counts)]) * ends


class DropsLayers(nn.Module):
    def __init__(self, probability=0.1):
        super().__init__()
        self.layer, self.probability = nn.Linear(3, 3), probability

    def forward(self, x):
        return self.layer(x) if self.training and torch.rand([]) < self.probability else x + self.layer(x)


def tokens():
    ids = torch.arange(2 * 6).reshape(2, 6)
    ids[:, 1:4] = IMAGE
    return Tokens(), dict(ids=ids, images=torch.zeros(2, 3, 5))


def labelled():
    labels = torch.tensor([[1, -100, -100, 2, 3, 4]] * 2)
    return Labelled(), dict(ids=torch.zeros(2, 6, dtype=torch.int64), labels=labels)


def samples():
    return Samples(), dict(grids=torch.tensor([[1, 2], [2, 2]]), patches=torch.zeros(6, 4))


@pytest.mark.parametrize("make, batches", [(tokens, (2, 3, 7)), (labelled, (2, 3, 7)), (samples, (2,))],
                         ids=["tokens", "labelled", "samples"])
def test_the_record_is_that_of_the_values_given_over_and_over(make, batches):
    model, inputs = make()
    with pytest.warns(UserWarning, match="forward reads values of its inputs"):
        record = onnx_mem.record(model, **inputs)
    for batch in batches:
        for training in (True, False):
            verified = onnx_mem.verify(record, model, batch=batch, training=training, **inputs)
            assert verified.same, str(verified)


def test_values_of_the_example_are_left_alone():
    model, inputs = samples()
    was = {name: t.clone() for name, t in inputs.items()}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        onnx_mem.record(model, **inputs)
    assert all(torch.equal(inputs[name], t) for name, t in was.items())


def test_a_model_that_asks_for_no_value_is_told_none():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        onnx_mem.record(nn.Embedding(10, 4), torch.zeros(2, 3, dtype=torch.int64))


def test_a_number_drawn_by_the_framework_has_a_way_out():
    with pytest.raises(onnx_mem.CannotRecord, match="a number drawn at random decides what runs; set what it"):
        onnx_mem.record(DropsLayers(), torch.zeros(2, 3))


@pytest.mark.parametrize("probability, adds", [(0.0, True), (1.0, False)])
def test_a_number_drawn_by_the_framework_decides_nothing_at_0_or_1(probability, adds):
    lines = onnx_mem.record(DropsLayers(probability), torch.zeros(2, 3)).programs["train"]["lines"]
    assert ("add.Tensor" in [line.get("op") for line in lines]) == adds


def test_values_that_follow_from_weights_are_not_known():
    class Reads(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(3, 3)

        def forward(self, x):
            y = self.layer(x)
            return y if y.sum() > 0 else -y
    with pytest.raises(onnx_mem.CannotRecord, match="weights, activations or floating inputs; leave out what needs it"):
        onnx_mem.record(Reads(), torch.zeros(2, 3))


class Chooses(nn.Module):
    """Asks whether what it learns is finite, as code does that marks saved weights by infinity."""

    def __init__(self):
        super().__init__()
        self.scores, self.rows = nn.Parameter(torch.zeros(3, 8)), nn.Parameter(torch.zeros(8, 3))

    def forward(self, x):
        if self.scores[0, 0].isinf().any() or torch.isnan(self.scores).any():
            raise RuntimeError("weights of inference")
        best, which = self.scores.topk(2)
        return x @ (best.softmax(-1)[..., None] * self.rows[which]).sum(1)


@pytest.mark.parametrize("training", [True, False])
def test_parameters_that_are_trained_are_finite(program, training):
    record = onnx_mem.record(Chooses(), torch.zeros(4, 3))
    assert onnx_mem.verify(record, Chooses(), torch.zeros(4, 3), batch=24, training=training).same


def test_activations_and_frozen_weights_may_be_infinite():
    class Asks(Chooses):
        def forward(self, x):
            y = super().forward(x)
            return y if y.isinf().any() else -y
    with pytest.raises(onnx_mem.CannotRecord, match="a value of a tensor is read"):
        onnx_mem.record(Asks(), torch.zeros(4, 3))
    with pytest.raises(onnx_mem.CannotRecord, match="a value of a tensor is read"):
        onnx_mem.record(Chooses().requires_grad_(False), torch.zeros(4, 3))


class Sparse(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight, self.values = nn.Parameter(torch.zeros(3, 3)), nn.Parameter(torch.zeros(2))
        self.register_buffer("places", torch.tensor([[0, 1], [2, 0]]))

    def forward(self, x):
        weight = self.weight.clone()
        weight += torch.sparse_coo_tensor(self.places, self.values, (3, 3))
        return x @ weight


class Dense(Sparse):
    def forward(self, x):
        rows, columns = self.places
        return x @ (self.weight + torch.zeros_like(self.weight).index_put((rows, columns), self.values))


def test_a_sparse_tensor_is_named_and_its_way_out_works(program):
    with pytest.raises(onnx_mem.CannotRecord, match="gets a sparse tensor.* or an index_put of its values"):
        onnx_mem.record(Sparse(), torch.zeros(4, 3))
    record = onnx_mem.record(Dense(), torch.zeros(4, 3))
    assert onnx_mem.verify(record, Dense(), torch.zeros(4, 3), batch=24, training=True).same

class Heads(nn.Module):
    """A table in coordinates that no step reads, as whisper has one of its attention heads."""

    def __init__(self, table=None, reads=False):
        super().__init__()
        self.layer, self.reads = nn.Linear(3, 3), reads
        self.register_buffer("heads", table, persistent=False)

    def forward(self, x):
        x = self.layer(x)
        return x * self.heads.to_dense().any() if self.reads else x


COALESCED = torch.tensor([[1, 0, 1], [0, 0, 1]]).bool().to_sparse()
TWICE = torch.sparse_coo_tensor([[0, 0, 1], [1, 1, 2]], torch.ones(3), (4, 6), check_invariants=True)


@pytest.mark.parametrize("table", [COALESCED, TWICE], ids=["coalesced", "a place twice"])
def test_a_sparse_buffer_that_no_step_reads_is_counted(table, program):
    x = torch.zeros(4, 3)
    parts = table._indices().nbytes + table._values().nbytes
    model, without = Heads(table), Heads()
    measured = onnx_mem.measure(model, x)
    assert measured.peak_bytes == onnx_mem.measure(without, x).peak_bytes + parts
    record = onnx_mem.record(model, x)
    assert onnx_mem.verify(record, model, x, batch=8, training=True).same
    assert model.heads is table


def test_a_sparse_buffer_that_a_step_reads_is_refused():
    for run in (onnx_mem.measure, onnx_mem.record):
        with pytest.raises(onnx_mem.Error, match="gets a sparse tensor.*to_dense"):
            run(Heads(COALESCED, reads=True), torch.zeros(4, 3))


class Neuron(nn.Module):
    """State of the call before says how large that of this call is, and no more."""

    def __init__(self):
        super().__init__()
        self.layer, self.state = nn.Linear(3, 3), torch.zeros(0)

    def forward(self, x):
        state = torch.zeros_like(self.state)
        if state.shape != x.shape:
            state = torch.zeros_like(x)
        for _ in range(3):
            state = 0.9 * state + self.layer(x)
        self.state = state
        return state


@pytest.mark.parametrize("training", [True, False])
def test_what_is_read_of_a_state_may_be_its_size_alone(program, training):
    record = onnx_mem.record(Neuron(), torch.zeros(4, 3))
    assert onnx_mem.verify(record, Neuron(), torch.zeros(4, 3), batch=24, training=training).same


def test_measure_says_that_values_are_given_over_and_over():
    model, inputs = tokens()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        onnx_mem.measure(model, **inputs)                   # the example's own
    with pytest.warns(UserWarning, match="given over and over"):
        onnx_mem.measure(model, batch=6, **inputs)


class Policy(nn.Module):
    """torch.distributions checks that what it is given lies within the support: values that nobody has here."""

    def __init__(self):
        super().__init__()
        self.body, self.scores, self.mean = nn.Linear(8, 32), nn.Linear(32, 4), nn.Linear(32, 3)

    def forward(self, x, action):
        hidden = self.body(x).tanh()
        choice = torch.distributions.Categorical(logits=self.scores(hidden))
        step = torch.distributions.Normal(self.mean(hidden), torch.ones(3, device=x.device))
        return choice.log_prob(action) + step.log_prob(step.rsample()).sum(-1), choice.entropy()


@pytest.mark.parametrize("training", [True, False])
def test_checks_of_arguments_pass(program, training):
    inputs = torch.randn(8, 8), torch.zeros(8, dtype=torch.long)
    record = onnx_mem.record(Policy(), *inputs)
    assert onnx_mem.verify(record, Policy(), *inputs, batch=24, training=training).same


class Matches(nn.Module):
    """Pairs what it found with what there is outside of torch, as DETR's loss does (scipy's linear_sum_assignment)."""

    def __init__(self):
        super().__init__()
        self.backbone = nn.Linear(3, 3)

    def forward(self, x):
        cost = self.backbone(x).detach().cpu().numpy()
        return self.backbone(x)[:, int(cost.argmin())]


@pytest.mark.parametrize("run", [onnx_mem.record, onnx_mem.measure])
def test_values_read_outside_of_torch_have_a_way_out(run):
    with pytest.raises(onnx_mem.Error, match=r"measure the parts that do not: onnx_mem.measure\(model.backbone, x\)"):
        run(Matches(), torch.zeros(2, 3))
    assert onnx_mem.measure(Matches().backbone, torch.zeros(2, 3)).peak_bytes > 0


def test_a_model_may_keep_the_keys_of_a_dict():
    class Keeps(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer, self.names = nn.Linear(3, 3), {"a": 1, "b": 2}.keys()

        def forward(self, x):
            return self.layer(x) * len(self.names)
    verified = onnx_mem.verify(onnx_mem.record(Keeps(), torch.zeros(2, 3)), Keeps(), torch.zeros(2, 3))
    assert verified.same, str(verified)
