"""What can be asked after an attention: every answer beside the weights themselves."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import formula

import heed


@pytest.fixture
def seen(qkv):
    return heed.attention(*qkv, mask=heed.causal(), seen=True)[1]


@pytest.fixture
def weights(seen):
    return np.asarray(seen.weights)


def test_weights_are_those_of_the_formula(qkv, weights):
    i, j = np.arange(5)[:, None] + 2, np.arange(7)[None]
    np.testing.assert_allclose(weights, formula(*qkv, allowed=j <= i)[1], atol=1e-6)


INDICES = [
    (0, 3, slice(1, 4)),
    (..., -1, slice(None)),
    (slice(None),),
    (1, slice(None, None, 2), slice(None, None, -2), slice(-3, None)),
    (0, [1, 3], 4),
    (0, [1, -1, 1], slice(None), [6, 0, 0]),
    (np.array([[0], [1]]), np.array([[2, 3]]), 1, 1),
    (None, 0, ..., None),
    (0, 0, np.array([True, False, True, False, True])),
    (slice(0), 1),
    (0, 0, slice(4, 1), []),
    (np.int64(1), 2, 3, 4),
    (1, 2, np.array(3)),
    (np.ones((2, 4), bool),),
]


@pytest.mark.parametrize("index", INDICES, ids=str)
def test_indices_are_numpys(seen, weights, index):
    found = seen.weights[index]
    assert found.shape == weights[index].shape
    assert np.array_equal(found, weights[index])


def test_an_index_computes_what_it_names_alone(rng):
    q = rng.normal(size=(1, 1, 4096, 8)).astype(np.float32)
    _, seen = heed.attention(q, q, q, mask=heed.causal(), seen=True)
    assert seen.weights.nbytes == 4 * 4096**2
    row = seen.weights[0, 0, 4000]
    np.testing.assert_allclose(row.sum(), 1, atol=1e-5)
    assert np.array_equal(row, seen.row(0, 0, 4000))
    assert np.array_equal(seen.column(0, 0, 17)[4000], row[17])


@pytest.mark.parametrize(
    "index, named",
    [
        ((2,), "batch is 2"),
        ((0, -5), "head is -5"),
        ((0, 0, 5), "query is 5"),
        ((0, 0, 0, [7]), "key is 7"),
    ],
)
def test_an_index_out_of_range_is_named(seen, index, named):
    with pytest.raises(IndexError, match=named):
        seen.weights[index]


@pytest.mark.parametrize("index", [(0,) * 5, (..., 0, ...), (0.5,), ("a",)], ids=str)
def test_what_is_no_index_is_refused(seen, index):
    with pytest.raises(IndexError):
        seen.weights[index]


def test_scores_before_each_stage(qkv, rng):
    q, k, v = qkv
    bias = rng.normal(size=(5, 7)).astype(np.float32)
    _, seen = heed.attention(q, k, v, mask=heed.causal(), bias=bias, softcap=2.0, seen=True)
    raw = np.einsum("bhid,bhjd->bhij", q, np.repeat(k, 2, axis=1)) / np.sqrt(8)
    capped = 2 * np.tanh(raw / 2)
    np.testing.assert_allclose(np.asarray(seen.scores_before("softcap")), raw, atol=1e-5)
    np.testing.assert_allclose(np.asarray(seen.scores_before("bias")), capped, atol=1e-5)
    np.testing.assert_allclose(np.asarray(seen.scores_before("mask")), capped + bias, atol=1e-5)
    assert seen.scores[0, 0, 0, 6] == -np.inf
    np.testing.assert_allclose(seen.scores[0, 0, 0, 0], (capped + bias)[0, 0, 0, 0], atol=1e-5)
    with pytest.raises(ValueError, match='expected "softcap", "bias" or "mask"'):
        seen.scores_before("soft")


def test_entropy(seen, weights):
    logs = np.log(weights, out=np.zeros_like(weights), where=weights > 0)
    np.testing.assert_allclose(seen.entropy(), -(weights * logs).sum(-1), atol=1e-5)


def test_top_k(seen, weights):
    found, keys = seen.top_k(3)
    np.testing.assert_allclose(found, -np.sort(-weights, axis=-1)[..., :3], atol=1e-7)
    np.testing.assert_allclose(np.take_along_axis(weights, keys, -1), found, atol=1e-7)
    assert (seen.top_k(7)[1][:, :, 0, 3:] == -1).all()


def test_sums_and_maxima(seen, weights):
    np.testing.assert_allclose(seen.row_max(), weights.max(-1), atol=1e-7)
    np.testing.assert_allclose(seen.received(), weights.sum(2), atol=1e-6)
    np.testing.assert_allclose(seen.received(all_heads=True), weights.sum((1, 2)), atol=1e-5)
    np.testing.assert_allclose(seen.head_mean(), weights.mean(1), atol=1e-6)
    np.testing.assert_allclose(
        seen.head_mean(heads=(1, 3), keys=(2, 5)), weights[:, 1:3, :, 2:5].mean(1), atol=1e-6
    )
    np.testing.assert_array_equal(seen.head_mean(batches=(1, 2)), seen.head_mean()[1:])
    assert (seen.sink_share() == 0).all()


def test_distances(seen, weights):
    distance = np.arange(5)[:, None] + 2 - np.arange(7)
    np.testing.assert_allclose(
        seen.expected_distance(), (weights * abs(distance)).sum(-1), atol=1e-5
    )
    mean, pairs = seen.offset_profile(-1, 2)
    assert pairs[0, 0].tolist() == [0, 5, 5, 5]
    np.testing.assert_allclose(mean[..., 2], weights[..., distance == 1].mean(-1), atol=1e-6)


def test_mass_of_classes(seen, weights):
    mass = seen.mass([0, 0, 1, -1, 1, 0, 2])
    np.testing.assert_allclose(mass[..., 1], weights[..., [2, 4]].sum(-1), atol=1e-6)
    assert mass.shape == (2, 4, 5, 3)


@pytest.mark.parametrize("pool", ["max", "mean", "sum"])
def test_heatmap(seen, weights, pool):
    cells = seen.heatmap(2, 3, pool=pool, rows=(1, 5))
    wanted = getattr(np, pool)(weights[:, :, 1:3, 0:2], axis=(-2, -1))
    np.testing.assert_allclose(cells[:, :, 0, 0], wanted, atol=1e-6)
    assert cells.shape == (2, 4, 2, 3)


@pytest.mark.parametrize(
    "ask, kind, line",
    [
        (lambda seen: seen.top_k("a"), TypeError, "k is a, expected a whole number"),
        (lambda seen: seen.top_k(0), ValueError, "top_k: k is 0, expected 1 to 1048576"),
        (
            lambda seen: seen.heatmap(2, 2, heads=3),
            TypeError,
            "heads is 3, expected a pair: begin and end",
        ),
        (
            lambda seen: seen.heatmap(2, 2, rows=(0, 9)),
            ValueError,
            "region: rows is [0, 9), expected at most [0, 5)",
        ),
        (
            lambda seen: seen.mass([0]),
            ValueError,
            "mass: classes is a list of 1, expected 7 entries (one per key)",
        ),
        (
            lambda seen: seen.mass("abcdefg"),
            TypeError,
            "mass: classes is a str, expected whole numbers, one for each key",
        ),
        (
            lambda seen: seen.mass(np.ones(7)),
            TypeError,
            "mass: classes is an array of float64, expected whole numbers, one for each key",
        ),
        (
            lambda seen: seen.mass(-np.ones(7, int)),
            ValueError,
            "mass: classes is below 0 at every key, expected at least one class from 0 on",
        ),
        (
            lambda seen: seen.mass([0, 0, -2, 0, 0, 0, 0]),
            ValueError,
            "mass: classes[2] is -2, expected -1, or a class from 0 on",
        ),
        (
            lambda seen: seen.mass([]),
            ValueError,
            "mass: classes is empty, expected a class for each key",
        ),
        (
            lambda seen: seen.scores_before("softmax"),
            ValueError,
            "scores_before: stage is 'softmax', expected \"softcap\", \"bias\" or \"mask\"",
        ),
        (
            lambda seen: seen.backward(None),
            ValueError,
            "attention_backward: dout is not given, expected [B, H, Tq, Dv] = [2, 4, 5, 6]",
        ),
    ],
)
def test_questions_say_what_does_not_fit(seen, ask, kind, line):
    with pytest.raises(kind) as caught:
        ask(seen)
    assert str(caught.value) == line
    assert isinstance(caught.value, heed.errors.Error)


def test_what_depends_on_values_that_were_not_given_says_so(qkv):
    q, k, _ = qkv
    without = heed.Seen.of(q, k, mask=heed.causal())
    for ask, op in [
        (lambda: without.backward(np.ones((2, 4, 5, 6), np.float32)), "backward"),
        (lambda: without.row_max(value_norm=True), "row_max"),
    ]:
        with pytest.raises(ValueError, match=f"{op}: v is not given, expected the values"):
            ask()


def test_a_log_sum_exp_of_another_shape_is_named(qkv):
    with pytest.raises(
        ValueError, match=r"lse.shape is \[3\], expected \[B, H, Tq\] = \[2, 4, 5\]"
    ):
        heed.Seen.of(*qkv, lse=np.ones(3, np.float32)).entropy()


def test_a_heatmap_of_another_pool_is_refused(seen):
    with pytest.raises(ValueError, match='pool is "median", expected one of "max", "mean", "sum"'):
        seen.heatmap(2, 2, pool="median")


def test_value_norms_weigh(qkv, seen, weights):
    norms = np.linalg.norm(np.repeat(qkv[2], 2, axis=1), axis=-1)[:, :, None]
    np.testing.assert_allclose(seen.row_max(value_norm=True), (weights * norms).max(-1), atol=1e-5)


def test_several_questions_in_one_pass(seen):
    entropy, (top, keys) = seen.observe("entropy", ("top_k", {"k": 2}))
    assert np.array_equal(entropy, seen.entropy())
    assert np.array_equal(keys, seen.top_k(2)[1])
    with pytest.raises(ValueError, match='name is "entrophy", expected one of entropy'):
        seen.observe("entrophy")
    with pytest.raises(ValueError, match='a setting of top_k is "kk", expected k, value_norm'):
        seen.observe(("top_k", {"k": 2, "kk": 3}))
    with pytest.raises(ValueError, match='a setting of entropy is "k", expected no setting'):
        seen.observe(("entropy", {"k": 2}))


def test_seen_of_somebody_elses_arrays(qkv, seen):
    q, k, _ = qkv
    with_lse = heed.Seen.of(q, k, lse=seen.lse, lse_low=seen.lse_low, mask=heed.causal())
    without = heed.Seen.of(q, k, mask=heed.causal())
    for other in (with_lse, without):
        assert np.array_equal(np.asarray(other.weights), np.asarray(seen.weights))
    np.testing.assert_array_equal(without.lse, seen.lse)


def test_gradients_are_slopes(qkv, rng):
    arrays = dict(zip("qkv", (x.astype(np.float64) for x in qkv)))
    arrays["bias"] = rng.normal(size=(4, 1, 7))
    arrays["sink"] = rng.normal(size=4)
    arrays["alibi"] = rng.random(4)
    dout = rng.normal(size=(2, 4, 5, 6))

    def loss():
        return (heed.attention(**arrays, mask=heed.causal()) * dout).sum()

    _, seen = heed.attention(**arrays, mask=heed.causal(), seen=True)
    for name, gradient in zip(arrays, seen.backward(dout, of=tuple(arrays))):
        assert gradient.shape == arrays[name].shape
        direction = rng.normal(size=gradient.shape)
        before = arrays[name].copy()
        arrays[name] = before + 1e-6 * direction
        above = loss()
        arrays[name] = before - 1e-6 * direction
        slope = (above - loss()) / 2e-6
        arrays[name] = before
        np.testing.assert_allclose((gradient * direction).sum(), slope, rtol=1e-6)


def test_gradients_of_what_is_observed_are_slopes(qkv, rng):
    q, k, v = (x.astype(np.float64) for x in qkv)
    dentropy, dreceived = rng.normal(size=(2, 4, 5)), rng.normal(size=(2, 4, 7))

    def loss(q):
        seen = heed.Seen.of(q, k)
        return (seen.entropy() * dentropy).sum() + (seen.received() * dreceived).sum()

    (dq,) = heed.Seen.of(q, k, v).observed_backward(dentropy=dentropy, dreceived=dreceived, of="q")
    direction = rng.normal(size=q.shape)
    slope = (loss(q + 1e-2 * direction) - loss(q - 1e-2 * direction)) / 2e-2
    np.testing.assert_allclose((dq * direction).sum(), slope, rtol=2e-3)


def test_a_gradient_of_an_unknown_name_is_refused(seen, qkv):
    with pytest.raises(ValueError, match='of is "dq", expected names among q, k, v'):
        seen.backward(np.zeros((2, 4, 5, 6), np.float32), of=("dq",))
