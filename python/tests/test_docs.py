"""Every example of the documentation and of the docstrings gives what it says."""

from __future__ import annotations

import doctest
import importlib
import pathlib
import re

import pytest

import heed

ROOT = pathlib.Path(__file__).parents[2]
NEEDED = {  # marks of examples, and what they need
    doctest.register_optionflag("NOTEBOOK"): ("anywidget",),
    doctest.register_optionflag("TORCH"): ("torch",),
    doctest.register_optionflag("TRANSFORMERS"): ("torch", "transformers"),
}


def runs(example: doctest.Example) -> bool:
    needed = [name for mark, names in NEEDED.items() if example.options.get(mark) for name in names]
    return all(importlib.util.find_spec(name) is not None for name in needed)


def examples_of(text: str, name: str) -> doctest.DocTest:
    """Those of a page whose needs are installed, at its lines."""
    text = re.sub(r"^```\w*$", "", text, flags=re.MULTILINE)
    parsed = doctest.DocTestParser().get_doctest(text, {}, name, name, 0)
    parsed.examples = [each for each in parsed.examples if runs(each)]
    return parsed


def failures_of(text: str, name: str) -> tuple[int, int]:
    """How many examples there are, and how many fail."""
    result = doctest.DocTestRunner().run(examples_of(text, name))
    return result.attempted, result.failed


def test_every_example_of_the_page():
    attempted, failed = failures_of((ROOT / "docs/python.md").read_text(), "docs/python.md")
    assert attempted > 30 and failed == 0


@pytest.mark.parametrize("readme", ["README.md", "python/README.md"])
def test_the_example_of_the_readme(readme, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / readme).read_text(), re.DOTALL)
    assert blocks
    for block in blocks:
        exec(compile(block.replace("4096", "64"), readme, "exec"), {})
        printed = capsys.readouterr().out
        for said in re.findall(r"^print\(.*\) +# (\w+ -> .*)$", block, re.MULTILINE):
            assert said in printed.splitlines()


@pytest.mark.parametrize(
    "name", ["heed", "heed._masks", "heed._models", "heed._tokenizer", "heed.heads", "heed.torch"]
)
def test_docstrings(name):
    if name == "heed.torch":
        pytest.importorskip("torch", reason="skipped: PyTorch is not installed")
    assert doctest.testmod(importlib.import_module(name), extraglobs={"heed": heed}).failed == 0


def test_everything_public_says_what_it_is():
    for name in heed.__all__:
        assert name == "__version__" or getattr(heed, name).__doc__, name


def test_the_settings_stand_in_the_order_that_c_takes():
    import inspect

    from heed import _core

    taken = tuple(inspect.signature(heed.attention).parameters)[3:]
    assert taken == (*_core.SETTINGS, "out", "seen")


def test_attention_hands_every_setting_over(qkv):
    """A setting that is not what its place in the list needs is refused under its own name."""
    for name in heed._core.SETTINGS:
        with pytest.raises((ValueError, TypeError, LookupError), match=name.split("_")[0]):
            heed.attention(*qkv, **{name: object(), **({"dropout": 0.5} if name == "seed" else {})})
