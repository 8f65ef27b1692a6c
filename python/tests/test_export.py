"""Files with a record in them."""
import warnings

import onnx
import pytest
import torch
import torch.nn.functional as F
from models import SMALL

import onnx_mem
from onnx_mem import metadata


def test_graph_and_record_in_one_file(tmp_path):
    model, args, kwargs = SMALL["named_locals"]()
    path = onnx_mem.export(model, args, tmp_path / "m.onnx", kwargs=kwargs)
    proto = onnx.load(str(path), load_external_data=False)
    assert any(n.op_type == "Conv" for n in proto.graph.node)
    assert {p.key for p in proto.metadata_props} >= {"onnx_mem.version", "onnx_mem.graph_hash", "onnx_mem.program"}
    assert proto.graph.input[0].type.tensor_type.shape.dim[0].dim_param
    assert all(t.data_location == onnx.TensorProto.EXTERNAL for t in proto.graph.initializer)
    record, fresh = onnx_mem.read_record(path)
    assert fresh and record == onnx_mem.record(model, args, kwargs)


def test_an_edited_graph_is_told(tmp_path):
    model, args, kwargs = SMALL["named_locals"]()
    path = onnx_mem.export(model, args, tmp_path / "m.onnx", kwargs=kwargs)
    proto = onnx.load(str(path), load_external_data=False)
    del proto.graph.node[0]
    path.write_bytes(proto.SerializeToString())
    record, fresh = onnx_mem.read_record(path)
    assert record is not None and not fresh


def test_long_records_are_compressed(tmp_path, monkeypatch):
    model, args, kwargs = SMALL["named_locals"]()
    monkeypatch.setattr(metadata, "PLAIN_LIMIT", 10)
    proto = onnx.helper.make_model(onnx.helper.make_graph([], "g", [], []))
    record = onnx_mem.record(model, args, kwargs)
    metadata.attach(proto, record)
    metadata.attach(proto, record)                              # in place of the first
    assert [p.value[:5] for p in proto.metadata_props if p.key == metadata.PROGRAM] == ["zlib:"]
    path = tmp_path / "m.onnx"
    path.write_bytes(proto.SerializeToString())
    assert onnx_mem.read_record(path) == (record, True)


def test_without_an_exporter_the_file_holds_the_record(tmp_path, monkeypatch):
    def fails(*args, **kwargs):
        raise RuntimeError("no such operator")
    monkeypatch.setattr(torch.onnx, "export", fails)
    model, args, kwargs = SMALL["dict_in_out"]()
    with pytest.warns(UserWarning, match="no such operator"):
        path = onnx_mem.export(model, args, tmp_path / "m.onnx", kwargs=kwargs)
    proto = onnx.load(str(path), load_external_data=False)
    assert [i.name for i in proto.graph.input] == ["batch.image", "batch.ids", "scale"]
    assert {name for name, p in model.named_parameters() if p.dim()} <= {t.name for t in proto.graph.initializer}
    assert len(proto.graph.output) == 3 and not proto.graph.node
    assert onnx_mem.read_record(path)[1]


class KeepsItsLastInput(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("last", torch.zeros(4))
        self.fc = torch.nn.Linear(4, 4)

    def forward(self, x):
        self.last = x * 2
        return self.fc(x) + self.last


@pytest.mark.parametrize("exporter_works", [True, False])
def test_a_buffer_that_follows_the_batch_is_not_stored(tmp_path, monkeypatch, program, exporter_works):
    def fails(*args, **kwargs):
        raise RuntimeError("no such operator")
    x = torch.zeros(2, 4)
    if not exporter_works:
        monkeypatch.setattr(torch.onnx, "export", fails)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        path = onnx_mem.export(KeepsItsLastInput(), x, tmp_path / "m.onnx")
    stored = {t.name for t in onnx.load(str(path), load_external_data=False).graph.initializer}
    assert "fc.weight" in stored and "last" not in stored
    assert onnx_mem.verify(path, KeepsItsLastInput(), x, batch=5).same


def test_bare_text_and_a_loss(tmp_path):
    model, args, kwargs = SMALL["named_locals"]()
    target = torch.zeros(2, dtype=torch.int64)
    path = onnx_mem.export(model, args, tmp_path / "m.eager", kwargs=kwargs, loss=(F.cross_entropy, target))
    text = path.read_text()
    assert text.startswith("eager 1\n") and "\nloss %" in text and "nll_loss_forward" in text
    assert "param conv.weight" in text and "call conv" in text and "input targets.0" in text
    assert text == onnx_mem.read_record(path)[0].text()


def test_weights_are_written_when_asked(tmp_path):
    model = torch.nn.Linear(3, 2).eval()
    path = onnx_mem.export(model, torch.zeros(2, 3), tmp_path / "m.onnx", weights=True)
    proto = onnx.load(str(path))
    found = {t.name: onnx.numpy_helper.to_array(t) for t in proto.graph.initializer}
    assert any((w == model.weight.detach().numpy()).all() for w in found.values() if w.shape == (2, 3))


def test_other_suffixes_are_refused(tmp_path):
    with pytest.raises(onnx_mem.Error) as e:
        onnx_mem.export(torch.nn.Linear(3, 2), torch.zeros(2, 3), tmp_path / "m.pt")
    assert e.value.code == "bad-argument"


def test_nothing_is_written_where_there_is_no_record(tmp_path):
    class Item(torch.nn.Module):
        def forward(self, x):
            return x * x.sum().item()
    with pytest.raises(onnx_mem.CannotRecord):
        onnx_mem.export(Item(), torch.zeros(2, 3), tmp_path / "m.onnx")
    assert not list(tmp_path.iterdir())


def test_the_path_comes_last_or_by_name(tmp_path):
    model, x = torch.nn.Linear(3, 2), torch.zeros(2, 3)
    made = [onnx_mem.export(model, (x,), tmp_path / "a.onnx"), onnx_mem.export(model, x, tmp_path / "b.onnx"),
            onnx_mem.export(model, path=tmp_path / "c.onnx", input=x),
            onnx_mem.export(model, tmp_path / "d.onnx", input=x)]
    assert len({onnx_mem.read_record(p)[0].text() for p in made}) == 1
    for wrong in [lambda: onnx_mem.export(model, x), lambda: onnx_mem.export(model, x, tmp_path / "no" / "a.onnx")]:
        with pytest.raises(onnx_mem.Error):
            wrong()


def test_the_file_says_that_it_holds_no_weights(tmp_path):
    model, x = torch.nn.Linear(3, 2).eval(), torch.zeros(2, 3)
    without = onnx.load(str(onnx_mem.export(model, x, tmp_path / "a.onnx")), load_external_data=False)
    assert "no weights" in without.doc_string and "weights=True" in without.doc_string
    assert not onnx.load(str(onnx_mem.export(model, x, tmp_path / "b.onnx", weights=True))).doc_string


def test_a_reason_of_the_exporter_is_plain_text(tmp_path, monkeypatch):
    def fails(*args, **kwargs):
        raise RuntimeError("\x1b[96mThis is step 1/3\x1b[0m of exporting")
    monkeypatch.setattr(torch.onnx, "export", fails)
    with pytest.warns(UserWarning, match="RuntimeError: This is step 1/3 of exporting"):
        onnx_mem.export(torch.nn.Linear(3, 2), torch.zeros(2, 3), tmp_path / "m.onnx")


def test_a_terminal_sees_what_is_done(tmp_path, monkeypatch, capsys):
    import sys
    onnx_mem.export(torch.nn.Linear(3, 2), torch.zeros(2, 3), tmp_path / "m.onnx")
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    onnx_mem.export(torch.nn.Linear(3, 2), torch.zeros(2, 3), tmp_path / "m.onnx", free={"n": 1})
    shown = capsys.readouterr().err
    assert "recording Linear" in shown and shown.rstrip().endswith("onnx_mem.export(..., weights=True)")


@pytest.mark.parametrize("text, code", [("", "bad-plan"), ("[1]", "bad-plan"), (None, "not-found")])
def test_what_holds_no_plan_is_an_error_of_the_package(tmp_path, text, code):
    path = tmp_path / "plan.json"
    if text is not None:
        path.write_text(text)
    with pytest.raises(onnx_mem.Error) as e:
        onnx_mem.checkpoint(torch.nn.Linear(3, 2), str(path))
    assert e.value.code == code
    (tmp_path / "no.onnx").write_bytes(b"no model")
    with pytest.raises(onnx_mem.Error) as e:
        onnx_mem.read_record(tmp_path / "no.onnx")
    assert e.value.code == "bad-model"


class WithHead(torch.nn.Module):
    """Has a head that training alone runs."""

    def __init__(self):
        super().__init__()
        self.norm, self.body = torch.nn.BatchNorm1d(4), torch.nn.Linear(4, 3)
        self.head = torch.nn.Linear(4, 5)

    def forward(self, x):
        x = self.norm(x)
        return (self.body(x), self.head(x)) if self.training else self.body(x)


@pytest.mark.parametrize("weights", [False, True])
def test_the_graph_names_all_that_the_record_has(program, tmp_path, weights):
    model, x = WithHead(), torch.zeros(2, 4)
    path = onnx_mem.export(model, x, tmp_path / "m.onnx", weights=weights)
    proto = onnx.load(str(path), load_external_data=False)
    stored = {t.name: t for t in proto.graph.initializer}
    assert {"head.weight", "head.bias", "norm.running_mean", "body.weight"} <= set(stored)
    if weights:
        assert (onnx.numpy_helper.to_array(stored["head.bias"]) == model.head.bias.detach().numpy()).all()
    report = onnx_mem.analyze(path, batch=8)
    assert report.source == "record"
    assert report.training.peak_bytes == onnx_mem.analyze(onnx_mem.record(model, x), batch=8).training.peak_bytes


class WithLoss(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = torch.nn.Embedding(10, 10)

    def forward(self, ids, labels):
        scores = self.embed(ids)
        return torch.nn.functional.cross_entropy(scores.flatten(0, 1), labels.flatten()), scores


@pytest.mark.parametrize("exporter_works", [True, False])
def test_one_tensor_may_be_given_as_two_inputs(program, tmp_path, monkeypatch, exporter_works):
    def fails(*args, **kwargs):
        raise RuntimeError("no such operator")
    ids = torch.zeros(2, 4, dtype=torch.long)
    if not exporter_works:
        monkeypatch.setattr(torch.onnx, "export", fails)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        path = onnx_mem.export(WithLoss(), tmp_path / "m.onnx", ids=ids, labels=ids)
    assert [i.name for i in onnx.load(str(path), load_external_data=False).graph.input] == ["ids", "labels"]
    one = onnx_mem.analyze(path, batch=8)
    assert one.source == "record"
    two = onnx_mem.analyze(onnx_mem.record(WithLoss(), ids=ids, labels=ids.clone()), batch=8)
    assert two.training.peak_bytes - one.training.peak_bytes == 8 * 4 * 8


def test_a_record_beside_the_graph_of_another_model_is_refused(program, tmp_path):
    path = onnx_mem.export(WithHead(), torch.zeros(2, 4), tmp_path / "m.onnx")
    for other in (torch.nn.Linear(4, 3), torch.nn.Sequential(torch.nn.Linear(4, 3)), WithHead().half()):
        x = torch.zeros(2, 4, dtype=next(other.parameters()).dtype)
        proto = onnx.load(str(path), load_external_data=False)
        metadata.attach(proto, onnx_mem.record(other, x))
        lying = tmp_path / "lying.onnx"
        lying.write_bytes(proto.SerializeToString())
        with pytest.raises(onnx_mem.Error) as told:
            onnx_mem.analyze(lying, batch=8)
        assert told.value.code == "record-mismatch"
