"""Answers as a notebook shows them: whole, without script or style sheet, in the colours of the page around them."""
import html.parser
import pathlib
import re

import pytest

import onnx_mem
from onnx_mem import _html

MODELS = pathlib.Path(__file__).resolve().parents[2] / "testdata/models"
RESNET, LENET = MODELS / "resnet18.train.ts.op17.onnx", MODELS / "lenet5.train.ts.op17.onnx"
ANSWERS = {
    "report": lambda: onnx_mem.analyze(RESNET, batch=64, gpu="T4"),
    "batches": lambda: onnx_mem.analyze(RESNET, batch=[1, 8], gpu="T4"),
    "inference": lambda: onnx_mem.analyze(RESNET, batch=8, mode="infer"),
    "plan": lambda: onnx_mem.plan(RESNET, batch=64, budget="2.2GiB"),
    "no plan": lambda: onnx_mem.plan(RESNET, batch=64, budget="1MiB"),
    "fit": lambda: onnx_mem.fit(RESNET, batch=4000, gpu="T4"),
    "compare": lambda: onnx_mem.compare(RESNET, MODELS / "resnet18.fp16.train.ts.op17.onnx", batch=8),
    "measured": lambda: onnx_mem.compare(LENET, batch=8, measured="1GiB"),
}


class Checked(html.parser.HTMLParser):
    """Every tag is closed, in order; nothing is loaded and nothing runs."""

    def __init__(self):
        super().__init__()
        self.open, self.seen, self.texts = [], [], []

    def handle_starttag(self, tag, attrs):
        self.seen.append(tag)
        assert tag not in ("script", "style", "link", "img", "iframe", "input", "html", "body"), tag
        for name, value in attrs:
            assert not name.startswith("on") and name not in ("href", "src", "id"), (tag, name)
            assert "url(" not in (value or "")
        self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        self.open.pop()

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)


@pytest.mark.parametrize("name", ANSWERS)
def test_what_is_shown_is_one_piece(program, name):
    answer = ANSWERS[name]()
    text = answer._repr_html_()
    page = Checked()
    page.feed(text)
    assert not page.open and "table" in page.seen
    assert ("svg" in page.seen) == (name in ("report", "inference", "plan", "no plan"))
    assert str(answer).strip() in "".join(page.texts)      # the screen, to unfold
    assert "None" not in re.sub(r"<pre>.*</pre>", "", text, flags=re.S)
    assert len(text) < 100_000


@pytest.mark.parametrize("name", ["report", "plan"])
def test_text_and_lines_have_the_colour_of_the_page(program, name):
    text = ANSWERS[name]()._repr_html_()
    colours = set(re.findall(r'(?:fill|stroke|background|color)[=:]"?([#\w]+)', text))
    assert "currentColor" in colours and not colours & {"black", "white", "#000", "#fff", "#ffffff", "#1c2126"}


def test_the_figures_are_those_of_the_answer(program):
    report = ANSWERS["report"]()
    text = report._repr_html_()
    for size in (report.training.device_bytes, report.training.allocated_peak_bytes, report.inference.device_bytes,
                 *report.training.device_interval_bytes, report.training.breakdown["saved_activations"]):
        assert _html.size(size) in text
    assert "<b>fits</b>" in text and "Tesla T4" in text


def test_a_path_is_the_polygon_that_it_was_made_of(program):
    picture = ANSWERS["report"]().picture
    (points,) = re.findall(r'<polygon class="c0" points="([^"]*)"', picture)
    corners = [tuple(map(float, p.split(","))) for p in points.split()]
    walked, x, y = [], 0.0, 0.0
    for kind, numbers in re.findall(r"([MLHV])([-\d. ]+)", _html._path(points)):
        values = [float(n) for n in numbers.split()]
        x, y = (values[0], y) if kind == "H" else (x, values[0]) if kind == "V" else (values[0], values[1])
        walked.append((x, y))
    assert set(walked) <= set(corners) and len(walked) < len(corners)

    def area(outline):
        return sum(a[0] * b[1] - b[0] * a[1] for a, b in zip(outline, outline[1:] + outline[:1], strict=True))
    assert area(walked) == pytest.approx(area(corners)) and area(walked) != 0


def test_names_are_escaped(tmp_path, program):
    path = tmp_path / "<b>x.onnx"
    path.write_bytes(LENET.read_bytes())
    page = Checked()
    text = onnx_mem.analyze(path, batch=8)._repr_html_()
    page.feed(text)
    assert "<b>x" not in text and "<b>x.onnx" in "".join(page.texts)
    assert "x.onnx" in repr(onnx_mem.analyze(path, batch=8))


@pytest.mark.parametrize("suffix", [".json", ".html", ".txt", ".svg", ".md", ".csv"])
def test_an_answer_is_saved_as_the_program_writes_it(program, tmp_path, suffix):
    report = onnx_mem.analyze(LENET, batch=8)
    path = report.save(tmp_path / f"r{suffix}")
    text = path.read_text()
    assert text.startswith({".json": "{", ".html": "<!", ".svg": "<svg", ".md": "", ".csv": ""}.get(suffix, "lenet5"))
    if suffix == ".json":
        again = onnx_mem.analyze(path)
        assert again.training.peak_bytes == report.training.peak_bytes and report.layers == []
        assert onnx_mem.compare(path, report).delta["training"]["peak_bytes"] == 0
    if suffix == ".txt":
        assert text == str(report)


def test_an_answer_of_a_file_that_has_changed_is_not_saved_as_another(program, tmp_path):
    path = tmp_path / "m.onnx"
    path.write_bytes(LENET.read_bytes())
    report = onnx_mem.analyze(path, batch=8)
    path.write_bytes(RESNET.read_bytes())
    with pytest.raises(onnx_mem.Error) as e:
        report.save(tmp_path / "r.html")
    assert e.value.code == "changed" and not (tmp_path / "r.html").exists()
