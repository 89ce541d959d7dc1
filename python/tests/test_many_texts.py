"""Scores of heads over many texts, here and on workers."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import threading
import time
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool

import numpy as np
import pytest
from conftest import said

import heed
from heed import _many_texts
from heed._scored import OwnModel

TEXTS = [f"The {a} sat on the {b}." for a in ("cat", "dog", "king") for b in ("mat", "hill", "sea")]


@pytest.fixture(scope="module")
def wanted(tales):
    return heed.heads.score(tales, TEXTS)


def assert_same_bits(found, wanted):
    assert found.count == wanted.count and found.heads == wanted.heads
    assert found.sum.tobytes() == wanted.sum.tobytes()
    assert found.sum_of_squares.tobytes() == wanted.sum_of_squares.tobytes()


def spawned(workers=2):
    return ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context("spawn"))


def test_the_mean_is_over_the_texts(tales, wanted):
    tables = [tales.look(text).heads() for text in TEXTS]
    assert wanted.count == 9 and wanted.mean.shape == (36, len(wanted.names))
    for column, name in enumerate(wanted.names):
        each = np.array([np.asarray(table[name]) for table in tables])
        np.testing.assert_allclose(wanted.mean[:, column], each.mean(0), atol=1e-12)
        np.testing.assert_allclose(wanted.std[:, column], each.std(0, ddof=1), atol=1e-7)
    table = wanted.table()
    assert len(table) == 36 and {"stack", "layer", "previous", "previous_std"} <= set(table.columns)
    assert "36 heads, 9 texts" in repr(wanted)


def test_parts_add_up(tales, wanted):
    first, rest = heed.heads.score(tales, TEXTS[:4]), heed.heads.score(tales, TEXTS[4:])
    whole = first + rest
    assert whole.count == 9
    np.testing.assert_allclose(whole.mean, wanted.mean, rtol=1e-12)
    # From sums of squares: a head at 1.00 in every text has a std of about 1e-8, which is rounding.
    np.testing.assert_allclose(whole.std, wanted.std, rtol=1e-6, atol=1e-7)
    nothing = heed.heads.score(tales, [])
    assert nothing.count == 0 and (nothing + wanted).count == 9
    assert (wanted + nothing).sum is wanted.sum


def test_a_text_that_fails_is_named_and_left_out(tales, wanted):
    done = []
    found = heed.heads.score(
        tales, [*TEXTS[:3], None, *TEXTS[3:], "\ud800"],
        progress=lambda done_now, of: done.append((done_now, of)),
    )  # fmt: skip
    assert_same_bits(found, wanted)
    assert [failed.index for failed in found.failed] == [3, 10]
    assert "text is a NoneType" in found.failed[0].reason
    assert done == [(n, 11) for n in range(1, 12)]


@pytest.mark.parametrize("name", ["tales", "masks", "enja"])
def test_a_text_without_a_token_pulls_no_mean_down(name):
    if name not in {model.name for model in heed.models() if model.built_in}:
        pytest.skip("the wheel has tales alone")
    model = heed.load(name)
    found = heed.heads.score(model, ["a cat", "", "a dog"])
    assert_same_bits(found, heed.heads.score(model, ["a cat", "a dog"]))
    (failed,) = found.failed
    assert failed.index == 1
    assert failed.reason == "InvalidArgument: look: text is empty, expected at least one word"


def test_a_long_text_is_read_from_its_beginning(tales):
    long = "The cat sat on the mat. " * 100
    found = heed.heads.score(tales, [long])
    first = tales.look(long, cut="first").heads()
    column = found.names.index("previous")
    np.testing.assert_allclose(found.mean[:, column], np.asarray(first["previous"]), atol=1e-12)


@pytest.mark.parametrize("batch", [1, 4, 100])
def test_threads_give_the_same_bits(tales, wanted, batch):
    with ThreadPoolExecutor(3) as engine:
        assert_same_bits(heed.heads.score(tales, TEXTS, engine=engine, batch=batch), wanted)


class Backwards(ThreadPoolExecutor):
    """Answers come in another order than the texts."""

    def submit(self, function, *arguments):
        def late():
            time.sleep(0.02 * (hash(arguments[-1][0]) % 5))
            return function(*arguments)

        return super().submit(late)


def test_the_order_of_answers_changes_no_bit(tales, wanted):
    with Backwards(4) as engine:
        assert_same_bits(heed.heads.score(tales, TEXTS, engine=engine, batch=1), wanted)


class Losing(ThreadPoolExecutor):
    """Loses what it was given as often as it is told to, or always a certain text."""

    def __init__(self, times=0, text=None):
        super().__init__(2)
        self.times, self.text = times, text

    def submit(self, function, *arguments):
        lost = self.times > 0 or self.text in arguments[-1]
        self.times -= 1
        if not lost:
            return super().submit(function, *arguments)
        future = Future()
        future.set_exception(BrokenProcessPool("a worker was lost"))
        return future


def test_what_a_lost_worker_had_is_computed_again(tales, wanted):
    with Losing(times=3) as engine:
        assert_same_bits(heed.heads.score(tales, TEXTS, engine=engine, batch=2), wanted)


def test_a_text_that_ends_its_workers_takes_no_other_along(tales):
    with Losing(text=TEXTS[4]) as engine:
        found = heed.heads.score(tales, TEXTS, engine=engine, batch=4)
    assert found.count == 8
    assert [failed.index for failed in found.failed] == [4]
    assert "worker was lost" in found.failed[0].reason
    rest = heed.heads.score(tales, TEXTS[:4] + TEXTS[5:])
    assert_same_bits(found, rest)


class Refusing(ThreadPoolExecutor):
    def submit(self, function, *arguments):
        raise RuntimeError("the connection is lost")


def test_an_executor_that_takes_nothing_loses_nothing(tales, wanted):
    engines = iter([Refusing(1), ThreadPoolExecutor(2)])
    found = heed.heads.score(tales, TEXTS, engine=lambda: next(engines))
    assert_same_bits(found, wanted)
    left_out = heed.heads.score(tales, TEXTS, engine=lambda: Refusing(1))
    assert left_out.count == 0 and len(left_out.failed) == 9
    assert "no executor took it" in left_out.failed[0].reason


def test_bad_input(tales):
    with pytest.raises(ValueError, match="batch is 0, expected at least 1"):
        heed.heads.score(tales, TEXTS, batch=0)
    with pytest.raises(LookupError, match="no-such"):
        heed.heads.score("no-such", TEXTS)
    with pytest.raises(TypeError, match="score: texts is a str, expected texts, such as a list"):
        heed.heads.score(tales, "one text")
    with pytest.raises(TypeError, match="engine is an int, expected an executor of concurrent.fut"):
        heed.heads.score(tales, TEXTS, engine=3)
    with pytest.raises(TypeError, match="progress is an int, expected a function, or None"):
        heed.heads.score(tales, TEXTS, progress=3)
    with pytest.raises(ValueError, match="tokenizer is a str, expected None: a model of heed has"):
        heed.heads.score(tales, TEXTS, tokenizer="any")


def test_parts_add_up_by_sum(tales, wanted):
    parts = [heed.heads.score(tales, [text]) for text in TEXTS]
    np.testing.assert_allclose(sum(parts).mean, wanted.mean, rtol=1e-12)
    with pytest.raises(TypeError):
        parts[0] + 5


@pytest.mark.slow
def test_processes_give_the_same_bits(tales, wanted):
    with spawned() as engine:
        assert_same_bits(heed.heads.score(tales, TEXTS, engine=engine, batch=2), wanted)


@pytest.mark.slow
def test_a_killed_process_loses_nothing(tales, wanted):
    engine = spawned()
    many = TEXTS * 20
    killed = []

    def kill(done, of):
        if not killed:
            killed.append(next(iter(engine._processes)))
            os.kill(killed[0], signal.SIGKILL)

    found = heed.heads.score(tales, many, engine=engine, batch=3, progress=kill)
    assert killed and found.failed == []
    assert_same_bits(found, heed.heads.score(tales, many))


@pytest.mark.slow
def test_a_cluster_of_dask_gives_the_same_bits(tales, wanted):
    distributed = pytest.importorskip("distributed", reason="skipped: dask is not installed")
    options = dict(n_workers=2, threads_per_worker=1, dashboard_address=None)
    with distributed.LocalCluster(**options) as cluster, distributed.Client(cluster) as client:
        engine = client.get_executor()
        assert_same_bits(heed.heads.score(tales, TEXTS, engine=engine, batch=2), wanted)
        many = TEXTS * 20
        pids = list(client.run(os.getpid).values())

        def kill(done, of):
            if pids:
                os.kill(pids.pop(), signal.SIGKILL)
                pids.clear()

        found = heed.heads.score(tales, many, engine=engine, batch=3, progress=kill)
        assert_same_bits(found, heed.heads.score(tales, many))
        _lose_the_connection(client, tales, many)


def _lose_the_connection(client, tales, many):
    engine = client.get_executor()
    closing = threading.Event()

    def close(done, of):
        if not closing.is_set():
            closing.set()
            client.close()

    found = heed.heads.score(tales, many, engine=engine, batch=3, progress=close)
    assert found.failed == []
    assert_same_bits(found, heed.heads.score(tales, many))


def test_a_worker_loads_its_model_once(tales):
    _many_texts._model_of_worker.cache_clear()
    for _ in range(3):
        _many_texts._score_batch((OwnModel.loaded, str(tales.folder), "float32"), TEXTS[:1])
    assert _many_texts._model_of_worker.cache_info().misses == 1


def of_normal(rows):
    """Scores of one head and one score, whose values are the rows' numbers."""
    rows = np.asarray(rows)
    return heed.heads.CorpusScores(
        [("self", 0, 0)], ["entropy"], len(rows), rows.sum().reshape(1, 1),
        (rows**2).sum().reshape(1, 1),
    )  # fmt: skip


@pytest.mark.parametrize("count, t", [(2, 12.7062), (3, 4.30265), (9, 2.30600), (101, 1.98397)])
def test_the_interval_is_students(count, t):
    scores = of_normal(np.random.default_rng(0).normal(size=count))
    low, high = scores.interval()
    np.testing.assert_allclose(high - low, 2 * t * scores.std / np.sqrt(count), rtol=1e-5)
    np.testing.assert_allclose((low + high) / 2, scores.mean, atol=1e-12)
    narrow, _ = scores.interval(confidence=0.5)
    assert (narrow >= low).all()
    with pytest.raises(ValueError, match="confidence"):
        scores.interval(confidence=1)


@pytest.mark.parametrize("count", [2, 3, 5, 10])
def test_the_interval_of_few_texts_covers_the_mean(count):
    samples = np.random.default_rng(count).normal(3, 2, (4000, count))
    bounds = np.array([of_normal(each).interval() for each in samples]).reshape(-1, 2)
    covered = ((bounds[:, 0] <= 3) & (3 <= bounds[:, 1])).mean()
    assert abs(covered - 0.95) < 0.01  # 1.96 standard errors are .007; of the normal one .70 at 2


def test_the_interval_of_a_share_stays_within_0_and_1(tales):
    scores = heed.heads.score(tales, TEXTS[::4])
    low, high = scores.interval(0.999)
    for column, name in enumerate(scores.names):
        free = name.removesuffix("_adjusted") in ("distance", "entropy", "value_weighted")
        assert free or low[:, column].min() >= 0 and high[:, column].max() <= 1
    assert np.isnan(heed.heads.score(tales, TEXTS[:1]).interval()[0]).all()


def test_the_table_has_the_intervals_ends(wanted):
    low, high = wanted.interval(0.9)
    table = wanted.table(interval=0.9)
    assert len(table) == 36
    np.testing.assert_array_equal(np.asarray(table["sink_low"]), low[:, wanted.names.index("sink")])
    np.testing.assert_array_equal(np.asarray(table["sink_high"]), high[:, wanted.names.index("sink")])
    assert "sink_low" not in wanted.table().columns


def test_the_scores_of_each_text_are_kept(tales, wanted):
    assert wanted.per_text.shape == (9, *wanted.mean.shape)
    np.testing.assert_allclose(wanted.per_text.mean(0), wanted.mean, atol=1e-12)
    parts = heed.heads.score(tales, [TEXTS[0], "", TEXTS[1]]) + heed.heads.score(tales, TEXTS[2:])
    assert np.isnan(parts.per_text[1]).all()
    np.testing.assert_array_equal(np.delete(parts.per_text, 1, 0), wanted.per_text)
    with pytest.raises(ValueError, match=r"not kept by text, expected score\(..., per_text=True\)"):
        heed.heads.score(tales, TEXTS[:2], per_text=False).per_text


def test_roles_know_the_probes_induction(tales, wanted):
    probe = heed.heads.probe(tales)
    roles, plain = wanted.roles(probe=probe), wanted.roles()
    induction = probe.of("induction").ravel()
    assert (induction >= 0.4).any()
    for head, role in enumerate(roles["role"]):
        assert role == ("induction" if induction[head] >= 0.4 else plain["role"][head])
    np.testing.assert_array_equal(np.asarray(roles["induction"]), induction)
    with pytest.raises(ValueError, match="probe is of other heads, expected a probe of the same"):
        wanted.roles(probe=heed.heads.Probe(2, 1, np.zeros((1, 1, 4)), None, None))
    with pytest.raises(TypeError, match="probe is an int"):
        wanted.roles(probe=3)


def test_roles_name_the_largest_share_the_runner_up_and_none(wanted):
    scores = heed.heads.CorpusScores(
        heads=[("self", 0, 0), ("self", 0, 1), ("self", 0, 2)],
        names=["distance", "previous", "sink"],
        count=100,
        sum=np.array([[900.0, 60, 20], [100, 45, 41], [300, 41, 10]]),
        sum_of_squares=np.array([[8100.0, 37, 5], [100, 21, 18], [900, 30, 5]]),
    )
    roles = scores.roles(threshold=0.4)
    assert list(roles["role"]) == ["previous", "previous", "none"]  # .41 is not surely above .40
    assert list(roles["largest"]) == ["previous"] * 3
    assert list(roles["runner_up"]) == ["sink"] * 3
    np.testing.assert_allclose(roles["runner_up_score"], [0.2, 0.41, 0.1])
    assert set(wanted.roles(threshold=1.0)["role"]) == {"none"}


def test_the_probe_is_that_of_the_program(tales):
    theirs = json.loads(said("models", "tales", "--json"))["probe"]
    ours = heed.heads.probe(tales)
    assert (ours.period, ours.sequences) == (theirs["period"], theirs["sequences"])
    for head in theirs["heads"]:
        for name in ("previous", "sink", "duplicate", "induction"):
            assert ours.of(name)[head["layer"], head["head"]] == pytest.approx(head[name], abs=1e-4)
    assert len(ours.table()) == 36 and "16 x 2 x 64 tokens" in repr(ours)
    with pytest.raises(ValueError, match="period is 500, expected 2 to 256"):
        heed.heads.probe(tales, period=500)
    with pytest.raises(ValueError, match="expected one of previous"):
        ours.of("next")
