"""heed.attention on NumPy's arrays, beside the formula."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import formula

import heed


def positions(tq, tk):
    """Those of queries and keys, bottom-right aligned."""
    return np.arange(tq)[:, None] + tk - tq, np.arange(tk)[None]


MASKS = {
    "causal": (heed.causal(), lambda i, j: j <= i),
    "band": (heed.band(2, 1), lambda i, j: (i - 2 <= j) & (j <= i + 1)),
    "prefix or causal": (heed.causal() | heed.prefix(3), lambda i, j: (j <= i) | (j < 3)),
    "band and segments": (
        heed.band(3, 0) & heed.segments(np.arange(5) // 3, np.arange(7) // 4),
        lambda i, j: (i - 3 <= j) & (j <= i) & ((i - 2) // 3 == j // 4),
    ),
    "custom": (heed.custom(lambda b, h, i, j: (i + j) % 3 != 0), lambda i, j: (i - 2 + j) % 3 != 0),
    "blocks": (
        heed.blocks(np.array([[True, False], [False, True], [True, True]]), rows=2, keys=4),
        lambda i, j: ((i - 2) // 2 == 2) | ((i - 2) // 2 == j // 4),
    ),
    "edges": (
        heed.edges(np.array([0, 1, 1, 3, 4, 6]), np.array([2, 0, 6, 3, 1, 5])),
        lambda i, j: np.array(
            [[j in row for j in range(7)] for row in ({2}, {}, {0, 6}, {3}, {1, 5})]
        ),
    ),
}


@pytest.mark.parametrize("name", MASKS)
def test_every_mask_selects_what_the_formula_selects(qkv, name):
    mask, allowed = MASKS[name]
    out = heed.attention(*qkv, mask=mask)
    wanted, _ = formula(*qkv, allowed=allowed(*positions(5, 7)))
    np.testing.assert_allclose(out, wanted, rtol=0, atol=2e-6)


def test_keep_broadcasts_and_is_not_copied(qkv, rng):
    keep = rng.random((2, 1, 5, 7)) < 0.5
    mask = heed.keep(keep)
    np.testing.assert_allclose(heed.attention(*qkv, mask=mask), formula(*qkv, keep)[0], atol=2e-6)
    keep[:] = True
    np.testing.assert_allclose(heed.attention(*qkv, mask=mask), formula(*qkv)[0], atol=2e-6)


@pytest.mark.parametrize("name", MASKS)
def test_a_mask_can_be_an_array(qkv, name):
    mask, allowed = MASKS[name]
    array = mask.to_array((2, 4, 5, 7))
    assert array.dtype == bool
    assert np.array_equal(array, np.broadcast_to(allowed(*positions(5, 7)), (2, 4, 5, 7)))


def test_ids_may_be_lists():
    ids = [0, 0, 1, 1]
    visible = heed.segments(ids).to_array((1, 1, 4, 4))
    assert np.array_equal(visible, heed.segments(np.array(ids)).to_array((1, 1, 4, 4)))
    visible = heed.edges([0, 1, 3], [1, 0, 1]).to_array((1, 1, 2, 2))[0, 0]
    assert visible.tolist() == [[False, True], [True, True]]
    for ids in ([0.5, 1.0], ["a"], [[0, 1], [2]]):
        with pytest.raises(TypeError, match="query_ids"):
            heed.segments(ids)


def test_an_array_of_a_mask_has_the_masks_shape():
    assert heed.causal().to_array((1, 1, 2, 3), q_offset=0)[0, 0].sum(1).tolist() == [1, 2]
    with pytest.raises(ValueError, match="keep.shape is"):
        heed.keep(np.ones((3, 3), bool)).to_array((1, 1, 5, 5))


def test_top_left_is_q_offset_0(qkv):
    i, j = np.arange(5)[:, None], np.arange(7)[None]
    out = heed.attention(*qkv, mask=heed.causal(), q_offset=0)
    np.testing.assert_allclose(out, formula(*qkv, allowed=j <= i)[0], atol=2e-6)


@pytest.mark.parametrize(
    "dtype, error", [(np.float64, 1e-14), (np.float32, 2e-6), (np.float16, 2e-3)]
)
def test_the_output_has_the_type_of_q(qkv, dtype, error):
    arrays = [x.astype(dtype) for x in qkv]
    out = heed.attention(*arrays)
    assert out.dtype == dtype
    np.testing.assert_allclose(out.astype(np.float64), formula(*arrays)[0], atol=error)


def test_bfloat16_of_ml_dtypes(qkv):
    bfloat16 = pytest.importorskip("ml_dtypes").bfloat16
    arrays = [x.astype(bfloat16) for x in qkv]
    out, seen = heed.attention(*arrays, seen=True)
    assert out.dtype == bfloat16
    wanted = formula(*(x.astype(np.float32) for x in arrays))[0]
    np.testing.assert_allclose(out.astype(np.float32), wanted, atol=2e-2)
    assert seen.backward(out)[1].dtype == bfloat16


def test_keys_may_have_a_narrower_type(qkv):
    q, k, v = qkv
    out = heed.attention(q, k.astype(np.float16), v.astype(np.float16))
    wanted = formula(q, k.astype(np.float16), v.astype(np.float16))[0]
    np.testing.assert_allclose(out, wanted, atol=2e-6)


def test_int8_keys_with_scales(qkv):
    q, k, v = qkv
    (k8, k_scales), (v8, v_scales) = heed.quantise(k), heed.quantise(v)
    out = heed.attention(q, k8, v8, k_scales=k_scales, v_scales=v_scales)
    same = heed.attention(q, heed.dequantise(k8, k_scales), heed.dequantise(v8, v_scales))
    assert np.array_equal(out, same)


def test_strides_are_taken_as_they_are(qkv):
    plain = heed.attention(*qkv)
    by_token = [np.ascontiguousarray(x.transpose(0, 2, 1, 3)).transpose(0, 2, 1, 3) for x in qkv]
    backwards = [np.ascontiguousarray(x[..., ::-1])[..., ::-1] for x in qkv]
    wide = [np.repeat(x, 2, axis=2)[:, :, ::2] for x in qkv]
    for arrays in (by_token, backwards, wide):
        assert np.array_equal(heed.attention(*arrays), plain)


def test_out_is_written_with_any_strides(qkv):
    memory = np.full((2, 5, 4, 6), np.nan, np.float32)
    out = memory.transpose(0, 2, 1, 3)
    assert heed.attention(*qkv, out=out) is out
    assert np.array_equal(memory.transpose(0, 2, 1, 3), heed.attention(*qkv))


def test_scores(qkv, rng):
    q, k, v = qkv
    bias = rng.normal(size=(4, 5, 7))
    out = heed.attention(q, k, v, scale=0.5, softcap=2.0, bias=bias)
    np.testing.assert_allclose(out, formula(q, k, v, bias=bias, scale=0.5, softcap=2)[0], atol=2e-6)
    by_head = heed.attention(q, k, v, scale=[0.5, 1.0, 2.0, 4.0])
    np.testing.assert_allclose(by_head[:, 2], formula(q, k, v, scale=2.0)[0][:, 2], atol=2e-6)
    assert np.array_equal(by_head, heed.attention(q, k, v, scale=2.0 ** np.arange(-1, 3)))


def test_alibi_is_a_bias_of_distances(qkv):
    slopes = np.array([0.5, 0.25, 0.125, 0.0625], np.float32)
    i, j = positions(5, 7)
    bias = -slopes[:, None, None] * abs(i - j)
    wanted = heed.attention(*qkv, bias=bias)
    np.testing.assert_allclose(heed.attention(*qkv, alibi=slopes), wanted, atol=1e-6)


def test_a_sink_takes_its_share(qkv):
    sink = np.array([0.0, 1.0, -1.0, -np.inf], np.float32)
    out, seen = heed.attention(*qkv, sink=sink, seen=True)
    share = seen.sink_share()
    plain = formula(*qkv)[0]
    np.testing.assert_allclose(out, plain * (1 - share[..., None]), atol=2e-6)
    assert (share[:, 3] == 0).all() and (share[:, :3] > 0).all()


@pytest.mark.parametrize("similarity", ["cosine", "gaussian", "absolute"])
def test_similarities(qkv, similarity):
    q, k, v = (x.astype(np.float64) for x in qkv)
    kk = np.repeat(k, 2, axis=1)
    length = np.linalg.norm(q, axis=-1)[..., None] * np.linalg.norm(kk, axis=-1)[:, :, None]
    difference = q[:, :, :, None] - kk[:, :, None]
    scores = {
        "cosine": np.einsum("bhid,bhjd->bhij", q, kk) / length,
        "gaussian": -(difference**2).sum(-1),
        "absolute": -abs(difference).sum(-1),
    }[similarity]
    out = heed.attention(q, k, v, similarity=similarity)
    np.testing.assert_allclose(out, formula(q, k, v, bias=scores, scale=0)[0], atol=1e-12)


def test_sigmoid_weighs_each_key_alone(qkv):
    out, seen = heed.attention(*qkv, normaliser="sigmoid", seen=True)
    scores = np.asarray(seen.scores)
    np.testing.assert_allclose(np.asarray(seen.weights), 1 / (1 + np.exp(-scores)), atol=1e-6)
    assert seen.lse is None


def test_dropout_follows_its_seed(qkv):
    ones = np.ones_like(qkv[2])
    q, k, _ = qkv
    first = heed.attention(q, k, ones, dropout=0.5, seed=1)
    assert np.array_equal(first, heed.attention(q, k, ones, dropout=0.5, seed=1))
    assert not np.array_equal(first, heed.attention(q, k, ones, dropout=0.5, seed=2))
    assert not np.array_equal(
        first, heed.attention(q, k, ones, dropout=0.5, seed=1, dropout_offset=1)
    )
    assert np.array_equal(heed.attention(q, k, ones, seed=1), heed.attention(q, k, ones))


def test_padding_is_never_read(qkv):
    q, k, v = (x.copy() for x in qkv)
    k[0, :, 4:], v[0, :, 4:] = np.nan, np.nan
    out = heed.attention(q, k, v, key_length=[4, 7], query_length=[3, 5])
    np.testing.assert_allclose(
        out[0, :, :3], formula(q, k[:, :, :4], v[:, :, :4])[0][0, :, :3], atol=2e-6
    )
    assert (out[0, :, 3:] == 0).all()
    left = heed.attention(q[:1], k[:1, :, ::-1], v[:1, :, ::-1], key_begin=3)
    np.testing.assert_allclose(left, formula(q[:1], k[:1, :, :4], v[:1, :, :4])[0], atol=2e-6)


def test_packed_sequences_are_those_alone(rng):
    q, k, v = (rng.normal(size=(2, 9, 4)).astype(np.float32) for _ in range(3))
    packed = heed.attention(
        q, k, v, mask=heed.causal(), query_starts=[0, 4, 9], key_starts=[0, 4, 9]
    )
    for begin, end in ((0, 4), (4, 9)):
        alone = heed.attention(*(x[None, :, begin:end] for x in (q, k, v)), mask=heed.causal())
        assert np.array_equal(packed[:, begin:end], alone[0])


def test_pages_and_a_ring_give_the_bits_of_one_row(qkv):
    q, k, v = (x[:1] for x in qkv)
    plain = heed.attention(q, k, v)
    pages = [np.zeros((3, 2, 3, x.shape[-1]), np.float32) for x in (k, v)]
    for to, x in zip(pages, (k, v)):
        for place, page in enumerate((2, 0, 1)):
            part = x[0, :, 3 * place : 3 * place + 3]
            to[page, :, : part.shape[1]] = part
    table = np.array([[2, 0, 1]], np.int32)
    assert np.array_equal(heed.attention(q, *pages, page_table=table, key_length=7), plain)
    rolled = [np.roll(x, 2, axis=2) for x in (k, v)]
    assert np.array_equal(heed.attention(q, *rolled, ring_begin=2), plain)


def test_extents_may_be_0(qkv):
    q, k, v = qkv
    assert heed.attention(q[:0], k[:0], v[:0]).shape == (0, 4, 5, 6)
    assert heed.attention(q[:, :, :0], k, v).shape == (2, 4, 0, 6)
    assert (heed.attention(q, k[:, :, :0], v[:, :, :0]) == 0).all()
    assert heed.attention(q, k, v[..., :0]).shape == (2, 4, 5, 0)


def test_what_is_masked_has_no_influence(qkv):
    q, k, v = (x.copy() for x in qkv)
    plain = heed.attention(q, k, v, mask=heed.causal())
    k[:, :, -1], v[:, :, -1] = np.nan, np.inf
    assert np.array_equal(heed.attention(q, k, v, mask=heed.causal())[:, :, :-1], plain[:, :, :-1])


def test_two_parts_merge_to_the_whole(qkv):
    q, k, v = qkv
    whole, seen = heed.attention(q, k, v, seen=True)
    parts = [
        heed.attention(q, k[:, :, part], v[:, :, part], seen=True)
        for part in (slice(3), slice(3, 7))
    ]
    (out_a, a), (out_b, b) = parts
    out, lse, low = heed.merge(out_a, a.lse, out_b, b.lse, lse_low_a=a.lse_low, lse_low_b=b.lse_low)
    np.testing.assert_allclose(out, whole, atol=2e-7)
    np.testing.assert_allclose(lse, seen.lse, atol=1e-6)


def test_gradients_through_parts_are_those_of_the_whole(qkv, rng):
    q, k, v = (x.astype(np.float64) for x in qkv)
    out, seen = heed.attention(q, k, v, seen=True)
    dout, dlse = rng.normal(size=out.shape), rng.normal(size=out.shape[:3])
    parts = [
        heed.attention(q, k[:, :, at], v[:, :, at], seen=True) for at in (slice(3), slice(3, 7))
    ]
    (out_a, a), (out_b, b) = parts
    merged = heed.merge(out_a, a.lse, out_b, b.lse)
    grads = heed.merge_backward(out_a, a.lse, out_b, b.lse, merged, dout, dlse=dlse)
    dq_a, dk_a, _ = a.backward(grads[0], dlse=grads[1])
    dq_b, dk_b, _ = b.backward(grads[2], dlse=grads[3])
    assert grads[4] is None
    dq, dk, _ = seen.backward(dout, dlse=dlse)
    np.testing.assert_allclose(dq_a + dq_b, dq, atol=1e-12)
    np.testing.assert_allclose(np.concatenate([dk_a, dk_b], axis=2), dk, atol=1e-12)


def test_memoryviews_become_numpy_arrays(qkv):
    out = heed.attention(*(memoryview(x) for x in qkv))
    assert isinstance(out, np.ndarray)
    assert np.array_equal(out, heed.attention(*qkv))


def test_explain_says_which_kernel_runs(qkv):
    plan = heed.explain(*qkv, mask=heed.causal(), similarity="cosine")
    assert plan.kernel == heed.explain(*qkv).kernel  # every kernel serves every problem
    assert plan.allowed_pairs == 2 * 4 * (3 + 4 + 5 + 6 + 7)
    assert all("CPU" in reason or "HEED_ISA" in reason for _, reason in plan.refusals)
    assert "mask       band(left=-1, right=0), bottom-right\n" in str(plan)
    assert "mask       none\n" in str(heed.explain(*qkv))
    assert heed.explain(*qkv, kernel="reference").kernel == "reference"
    assert heed.explain(*qkv, backward=("q", "scale")).kernel == plan.kernel


@pytest.mark.parametrize("answer", [None, "no", 0.5])
def test_a_custom_mask_answers_in_bool(qkv, answer):
    """One that forgot to return would hide everything without a word."""
    q, k, v = qkv
    with pytest.raises(TypeError, match="custom: the result of mine is of type .*, expected bool"):
        heed.attention(q, k, v, mask=heed.custom(lambda b, h, i, j: answer, name="mine"))
