"""The Python that the README and the documents show runs as it stands, page by page."""
import pathlib
import re

import pytest

import onnx_mem

torch = pytest.importorskip("torch")
pytest.importorskip("torchvision")
transformers = pytest.importorskip("transformers")

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGES = [page for page in (ROOT / "README.md", *sorted(ROOT.glob("docs/**/*.md"))) if "```python\n" in page.read_text()]


def lines_of(page: pathlib.Path) -> str:
    return "\n".join(re.findall(r"^```python\n(.*?)^```$", page.read_text(), flags=re.S | re.M))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_lines_run(page: pathlib.Path, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for model in ROOT.glob("testdata/*/*.onnx"):
        (tmp_path / model.name).symlink_to(model)
    monkeypatch.chdir(tmp_path)
    config = transformers.BertConfig(num_hidden_layers=2, architectures=["BertForSequenceClassification"])
    config.save_pretrained(tmp_path)
    model = torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3), torch.nn.ReLU(), torch.nn.Flatten(),
                                torch.nn.Linear(8 * 14 * 14, 10))
    exec(compile(lines_of(page), str(page), "exec"),
         {"torch": torch, "onnx_mem": onnx_mem, "model": model, "x": torch.randn(2, 3, 16, 16)})
