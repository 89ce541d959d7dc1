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


COUNTED = {**SMALL, "vocabulary": 11, "batch": 3, "learning_rate": 0.02}


def counting(batch, rows=3, length=9):
    return (np.arange(length) + 3 * batch + np.arange(rows)[:, None]) % 11


def test_batches_of_ids_teach_as_a_text_does(tmp_path):
    batches = [counting(i) for i in range(60)]
    trained = heed.train({**SMALL, "learning_rate": 0.02, "vocabulary": 11}, tmp_path / "run",
                         batches=batches, validation_batches=[counting(99)], steps=60, batch=3)  # fmt: skip
    assert trained.validation_loss < 1 and trained.model.info.vocabulary == 11
    assert trained.config["data"] == [] and "Batches of token ids" in (
        tmp_path / "run/model/card.md").read_text()  # fmt: skip


def test_a_batch_may_be_a_list_an_array_or_a_tensor(tmp_path):
    kinds = {"list": lambda rows: rows.tolist(), "array": np.asarray, "small": np.uint8,
             "mixed": lambda rows: [rows[0], rows[1].tolist(), tuple(rows[2])],
             "wrapped": lambda rows: (rows,), "view": lambda rows: rows[:, ::-1][:, ::-1]}  # fmt: skip
    losses = {}
    for name, made in kinds.items():
        trained = heed.train(COUNTED, tmp_path / name, batches=(made(counting(i)) for i in range(6)))
        losses[name] = trained.losses["train_loss"].tolist()
    assert all(found == losses["array"] for found in losses.values())


def test_a_loader_of_torch_is_an_iterable_of_batches(tmp_path):
    torch = pytest.importorskip("torch")
    data = torch.utils.data.TensorDataset(torch.tensor(counting(0, rows=10)))
    loader = torch.utils.data.DataLoader(data, batch_size=3, drop_last=True)
    config = {key: value for key, value in COUNTED.items() if key not in ("batch", "steps")}
    trained = heed.train(config, tmp_path / "run", batches=loader)
    assert (trained.config["batch"], trained.config["steps"]) == (3, 3)
    ours = heed.train(COUNTED, tmp_path / "ours", batches=(rows for (rows,) in loader), steps=3)
    np.testing.assert_array_equal(ours.losses["train_loss"], trained.losses["train_loss"])


def test_rows_may_differ_in_length_and_a_list_begins_again(tmp_path):
    rows = [[1, 2, 3], [4, 5], list(range(9))]
    trained = heed.train(COUNTED, tmp_path / "run", batches=[rows, rows[::-1]])
    assert len(trained.losses) == 6


def test_a_resumed_run_drops_the_batches_of_its_steps(tmp_path):
    def batches():
        return (counting(i) for i in range(6))

    whole = heed.train(COUNTED, tmp_path / "whole", batches=batches())
    heed.train(COUNTED, tmp_path / "run", batches=batches(), on_step=lambda said: said.step < 4)
    ended = heed.train(folder=tmp_path / "run", resume=True, batches=batches())
    np.testing.assert_array_equal(ended.losses["train_loss"], whole.losses["train_loss"])


def test_an_iterator_that_ends_early_keeps_its_steps(tmp_path):
    with pytest.raises(ValueError, match="^train: batches is at its end after 4, expected one for"):
        heed.train(COUNTED, tmp_path / "run", batches=(counting(i) for i in range(4)))
    assert (tmp_path / "run/checkpoint-4.safetensors").exists()
    more = heed.train(folder=tmp_path / "run", resume=True, batches=map(counting, range(6)))
    assert more.finished and len(more.losses) == 6


def test_what_a_loader_raises_comes_out(tmp_path):
    def loader():
        yield counting(0)
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        heed.train(COUNTED, tmp_path / "run", batches=loader())


TOKENS = r"token ids \[rows, tokens\], or a list of rows"
BAD_BATCHES = {
    "no iterable": (5, TypeError, "batches is an int, expected an iterable of batches of token ids"),
    "empty": ([], ValueError, "batches is empty, expected one for every pass"),
    "one row": ([[1, 2, 3]], ValueError, rf"batches\[0\]\[0\] is an int of shape \[\], expected {TOKENS}"),
    "flat": ([np.arange(3)], ValueError, rf"batches\[0\] is a ndarray of shape \[3\], expected {TOKENS}"),
    "texts": ([["a cat"]], ValueError, rf"batches\[0\]\[0\] is a str of shape \[\], expected {TOKENS}"),
    "floats": ([counting(0) / 2], TypeError, r"batches\[0\] is float64 elements, expected whole numb"),
    "a dict": ([{"input_ids": counting(0)}], TypeError, r"batches\[0\] is a dict.*\[\"input_ids\"\]"),
    "id": ([counting(0) + 1], ValueError, r"batches\[0\] is 11 in row 2, column 8, expected ids from 0 to 10"),
    "negative": ([-counting(0)], ValueError, r"batches\[0\] is -1 in row 0, column 1, expected ids"),
    "long": ([counting(0, length=10)], ValueError, r"batches\[0\] is 10 tokens in row 0, expected 2 to 9"),
    "rows": ([counting(0, rows=2)], ValueError, r"batches\[0\] is 2 rows, expected 3 \(batch\)"),
    "ragged": ([[[1, [2]]]], TypeError, r"batches\[0\]\[0\] is a list \("),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD_BATCHES)
def test_bad_batches(tmp_path, name):
    batches, kind, said = BAD_BATCHES[name]
    with pytest.raises(kind, match=said):
        heed.train(COUNTED, tmp_path / "run", batches=batches)


def test_batches_take_the_place_of_texts(text, tmp_path):
    with pytest.raises(ValueError, match="data is given beside batches, expected one of them"):
        heed.train(COUNTED, tmp_path / "run", batches=[counting(0)], data=text)
    with pytest.raises(ValueError, match="validation_batches is given without batches"):
        heed.train(SMALL, tmp_path / "run", data=text, validation_batches=[counting(0)])
