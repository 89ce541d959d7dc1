"""Training from Python."""

from __future__ import annotations

import json
import subprocess

import numpy as np
import pytest
from conftest import program

import heed

SMALL = {
    "layers": 1, "heads": 2, "width": 16, "block": 8, "batch": 2, "steps": 6, "warmup": 2,
    "evaluate_every": 3, "checkpoint_every": 3,
}  # fmt: skip


@pytest.fixture
def text(tmp_path):
    file = tmp_path / "text.txt"
    file.write_text("the cat sat on the mat. a dog ran home. " * 30)
    return file


def test_it_writes_a_model_and_tells_each_step(text, tmp_path):
    heard = []
    trained = heed.train({**SMALL, "data": [str(text)]}, tmp_path / "run", on_step=heard.append)
    assert trained.finished and trained.folder == tmp_path / "run"
    assert [step.step for step in heard] == [1, 2, 3, 4, 5, 6]
    assert all(step.steps == 6 and step.loss > 0 and step.gradient_norm > 0 for step in heard)
    assert [step.validation_loss is None for step in heard] == [True, True, False] * 2
    losses = [step.loss for step in heard]
    np.testing.assert_allclose(trained.losses["train_loss"], losses, rtol=1e-6)
    assert trained.best_loss <= trained.validation_loss and trained.best_step in (3, 6)
    assert trained.model.info.layers == 1 and trained.model.look("the cat").weights.shape[1] == 2
    assert trained.config["steps"] == 6 and "6 steps" in repr(trained)


def test_losses_are_the_programs(text, tmp_path):
    trained = heed.train(SMALL, tmp_path / "ours", data=text)
    config = tmp_path / "config.json"
    config.write_text(json.dumps({**SMALL, "data": [str(text)]}))
    subprocess.run([program(), "train", config, "-o", tmp_path / "theirs"], check=True,
                   capture_output=True)  # fmt: skip
    theirs = np.genfromtxt(tmp_path / "theirs/loss.csv", delimiter=",", names=True)
    np.testing.assert_array_equal(trained.losses["train_loss"], theirs["train_loss"])
    again = heed.train(config, tmp_path / "again", seed=2)
    assert again.config["seed"] == 2 and again.loss != trained.loss


def test_a_callback_that_returns_false_ends_it_and_the_run_goes_on(text, tmp_path):
    whole = heed.train(SMALL, tmp_path / "whole", data=str(text))
    begun = heed.train(SMALL, tmp_path / "run", data=str(text), on_step=lambda said: said.step < 4)
    assert not begun.finished and len(begun.losses) == 4
    ended = heed.train(folder=tmp_path / "run", resume=True)
    assert ended.finished
    np.testing.assert_array_equal(ended.losses["train_loss"], whole.losses["train_loss"])


def test_what_a_callback_raises_comes_out(text, tmp_path):
    def raises(said):
        if said.step == 2:
            raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        heed.train(SMALL, tmp_path / "run", data=str(text), on_step=raises)
    assert heed.train(folder=tmp_path / "run", resume=True).finished


BAD = {
    "folder": (dict(folder=None), ValueError, "folder is not given"),
    "data": (dict(data=[]), ValueError, "data is"),
    "no file": (dict(data="no-such.txt"), (ValueError, LookupError, OSError), "no-such.txt"),
    "key": (dict(layer=2), ValueError, '^train: unknown key "layer".*"layers"'),
    "another's key": (dict(lr=1), ValueError, '^train: unknown key "lr"; did you mean learning_rate'),
    "threads": (dict(threads=2), ValueError,
                '^train: unknown key "threads"; heed.set_thread_count sets how many threads compute$'),
    "half a step": (dict(steps=10.5), ValueError, "^train: steps is 10.5, expected a whole number$"),
    "range": (dict(heads=3), ValueError, "heads is 3, expected a divisor of width"),
    "kind": (dict(steps="six"), ValueError, "steps"),
    "no config": (dict(config=5), TypeError, "config is an int, expected a dict"),
    "call": (dict(on_step=5), TypeError, "on_step is an int, expected a function"),
    "no json": (dict(steps=object()), TypeError, "train: steps is an object, expected a number"),
    "no number": (dict(learning_rate=float("nan")), ValueError, "learning_rate is nan, expected a"),
    "infinite": (dict(dropout=np.float32("inf")), ValueError, "dropout is inf, expected a finite"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input(text, tmp_path, name):
    changed, kind, said = BAD[name]
    with pytest.raises(kind, match=said):
        heed.train(**{"config": SMALL, "folder": tmp_path / "run", "data": str(text), **changed})


def test_a_folder_without_a_run_is_not_resumed(tmp_path):
    with pytest.raises(FileNotFoundError, match="expected the folder of a run that could be resum"):
        heed.train(folder=tmp_path / "run", resume=True)


def test_a_folder_that_holds_a_run_is_not_touched(text, tmp_path):
    heed.train(SMALL, tmp_path / "run", data=str(text))
    with pytest.raises(ValueError, match=r"holds a run already; continue it with --resume \(in Python resume=True\)"):
        heed.train(SMALL, tmp_path / "run", data=str(text))


def test_a_step_has_the_model_as_it_is(text, tmp_path):
    models, kept = {}, []

    def on_step(step):
        models[step.step] = step.model()
        kept.append(step)

    trained = heed.train(SMALL, tmp_path / "run", data=text, on_step=on_step, learning_rate=0.01)
    logits = {step: model.look("the cat").logits for step, model in models.items()}
    assert not np.allclose(logits[1], logits[2], atol=1e-3)
    assert trained.best_step in logits
    best = trained.model.look("the cat").logits
    np.testing.assert_array_equal(logits[trained.best_step], best)
    with pytest.raises(ValueError, match="a step that is over"):
        kept[0].model()


class Scalars:
    """Hears what a SummaryWriter hears."""

    def __init__(self):
        self.heard = []

    def add_scalar(self, tag, value, step):
        self.heard.append((tag, value, step))


def test_a_writer_gets_each_steps_numbers(text, tmp_path):
    writer = Scalars()
    trained = heed.train(SMALL, tmp_path / "run", data=str(text), writer=writer)
    losses = [value for tag, value, _ in writer.heard if tag == "loss/train"]
    np.testing.assert_allclose(losses, trained.losses["train_loss"], rtol=1e-6)
    assert [step for tag, _, step in writer.heard if tag == "loss/validation"] == [3, 6]
    with pytest.raises(TypeError, match="writer is a str, expected a SummaryWriter, or None"):
        heed.train(SMALL, tmp_path / "other", data=str(text), writer="runs")
