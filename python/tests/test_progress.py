"""What is shown while a model is recorded: on a terminal, in a notebook, elsewhere."""
import io
import types

import pytest

from onnx_mem import _progress


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def shown(monkeypatch):
    monkeypatch.delenv(_progress.VARIABLE, raising=False)

    def run(err, shell=None, wish=None):
        out = io.StringIO()
        monkeypatch.setattr("sys.stderr", err)
        monkeypatch.setattr("sys.stdout", out)
        if shell:
            monkeypatch.setitem(__import__("sys").modules, "IPython", types.SimpleNamespace(get_ipython=lambda: shell))
        if wish is not None:
            monkeypatch.setenv(_progress.VARIABLE, wish)
        with _progress.doing("recording Net"):
            _progress.step("train, batch 3")
        _progress.step("nothing runs")
        return err.getvalue(), out.getvalue()
    return run


def test_a_terminal_has_one_line_that_is_gone_at_the_end(shown):
    err, out = shown(Terminal())
    assert "recording Net (train, batch 3) ..." in err and err.endswith(_progress._CLEAR)
    assert "\n" not in err and not out


def test_elsewhere_nothing(shown):
    assert shown(io.StringIO()) == ("", "")


def test_elsewhere_a_line_where_it_is_wished_for(shown):
    err, _ = shown(io.StringIO(), wish="1")
    assert err.startswith("onnx-mem: recording Net ...") and err.count("\n") == 1


def test_a_notebook_has_one_line(shown):
    class ZMQInteractiveShell:
        pass
    err, out = shown(io.StringIO(), ZMQInteractiveShell())
    assert not err and out.startswith("onnx-mem: recording Net ...") and out.count("\n") == 1


def test_no_line_where_none_is_wished_for(shown):
    assert shown(Terminal(), wish="0") == ("", "")
