"""The operators beside attention, against their formulas, and their gradients against slopes."""

from __future__ import annotations

import numpy as np
import pytest

import heed


def slope(function, x, direction, step=1e-6):
    return (function(x + step * direction) - function(x - step * direction)) / (2 * step)


def check_gradient(function, gradient, x, rng):
    """`function` gives a number; `gradient` is its by x."""
    direction = rng.normal(size=x.shape)
    np.testing.assert_allclose(
        (gradient * direction).sum(), slope(function, x, direction), rtol=1e-6
    )


def test_rope_turns_pairs(rng):
    x = rng.normal(size=(2, 3, 4, 6))
    angle = (np.arange(4) + 5)[:, None] * 10000.0 ** (-2 * np.arange(3) / 6)
    turned = (x[..., :3] + 1j * x[..., 3:]) * np.exp(1j * angle)
    np.testing.assert_allclose(
        heed.rope(x, offset=5), np.concatenate([turned.real, turned.imag], -1), atol=1e-12
    )
    turned = (x[..., ::2] + 1j * x[..., 1::2]) * np.exp(1j * angle)
    y = heed.rope(x, pairs="neighbours", positions=np.arange(5, 9)[None])
    np.testing.assert_allclose(y[..., ::2], turned.real, atol=1e-12)
    np.testing.assert_allclose(heed.rope_backward(x, heed.rope(x)), x, atol=1e-12)
    with pytest.raises(ValueError, match='pairs is "both"'):
        heed.rope(x, pairs="both")


def test_layer_norm(rng):
    x, weight, bias, dy = (rng.normal(size=s) for s in ((3, 4, 8), (8,), (8,), (3, 4, 8)))
    y = heed.layer_norm(x, weight, bias)
    wanted = (x - x.mean(-1, keepdims=True)) / np.sqrt(
        x.var(-1, keepdims=True) + 1e-5
    ) * weight + bias
    np.testing.assert_allclose(y, wanted, atol=1e-12)
    dx, dweight, dbias = heed.layer_norm_backward(x, weight, bias, dy)
    check_gradient(lambda x: (heed.layer_norm(x, weight, bias) * dy).sum(), dx, x, rng)
    check_gradient(lambda w: (heed.layer_norm(x, w, bias) * dy).sum(), dweight, weight, rng)
    np.testing.assert_allclose(dbias, dy.sum((0, 1)), atol=1e-12)


def test_rms_norm(rng):
    x, weight, dy = (rng.normal(size=s) for s in ((3, 4, 8), (8,), (3, 4, 8)))
    wanted = x / np.sqrt((x**2).mean(-1, keepdims=True) + 1e-6) * weight
    np.testing.assert_allclose(heed.rms_norm(x, weight, 1e-6), wanted, atol=1e-12)
    dx, dweight = heed.rms_norm_backward(x, weight, dy)
    check_gradient(lambda x: (heed.rms_norm(x, weight) * dy).sum(), dx, x, rng)
    check_gradient(lambda w: (heed.rms_norm(x, w) * dy).sum(), dweight, weight, rng)


def test_softmax(rng):
    x, dy = rng.normal(size=(3, 4, 5)), rng.normal(size=(3, 4, 5))
    y = heed.softmax(x, axis=1)
    np.testing.assert_allclose(y, np.exp(x) / np.exp(x).sum(1, keepdims=True), atol=1e-12)
    check_gradient(
        lambda x: (heed.softmax(x, axis=1) * dy).sum(), heed.softmax_backward(y, dy, 1), x, rng
    )


def test_linear_attention_is_its_quadratic_form(rng):
    q, k = rng.normal(size=(1, 4, 6, 3)), rng.normal(size=(1, 2, 6, 3))
    v = rng.normal(size=(1, 2, 6, 5))
    out, state = heed.linear_attention(q, k, v, features="elu_plus_one", normalised=True)

    def phi(x):
        return np.where(x > 0, x + 1, np.exp(np.minimum(x, 0)))

    weights = np.tril(phi(q) @ phi(np.repeat(k, 2, 1)).swapaxes(-1, -2))
    weights /= weights.sum(-1, keepdims=True)
    np.testing.assert_allclose(out, weights @ np.repeat(v, 2, 1), atol=1e-12)
    assert state.shape == (1, 2, 3, 6)


def test_linear_attention_continues_from_its_state(rng):
    q, k, v = (rng.normal(size=(1, 2, 6, 4)) for _ in range(3))
    beta = rng.random((1, 2, 6))
    whole, last = heed.linear_attention(q, k, v, rule="delta", beta=beta)
    state = None
    for t in range(6):
        part = slice(t, t + 1)
        arrays = (x[:, :, part] for x in (q, k, v))
        out, state = heed.linear_attention(*arrays, rule="delta", beta=beta[..., part], state=state)
        assert np.array_equal(out, whole[:, :, part])
    assert np.array_equal(state, last)


def test_linear_attentions_gradients_are_slopes(rng):
    given = {name: rng.normal(size=(1, 2, 6, 4)) for name in "qkv"}
    dout = rng.normal(size=(1, 2, 6, 4))
    gates = {"decay": -rng.random((1, 2, 6, 1)), "beta": rng.random((1, 2, 6))}
    for settings, arrays in [
        ({"features": "relu"}, given),
        ({"rule": "gated"}, {**given, "decay": gates["decay"]}),
        ({"rule": "delta"}, {**given, "beta": gates["beta"]}),
        ({"rule": "gated_delta"}, {**given, **gates}),
    ]:
        dq, dk, dv, _, *of_gates = heed.linear_attention_backward(**arrays, dout=dout, **settings)
        for name, gradient in zip(arrays, [dq, dk, dv, *of_gates], strict=True):

            def loss(x, name=name, settings=settings, arrays=arrays):
                return (heed.linear_attention(**{**arrays, name: x}, **settings)[0] * dout).sum()

            check_gradient(loss, gradient, arrays[name], rng)


def test_linear_attention_says_what_it_does_not_know(rng):
    q = rng.normal(size=(1, 2, 6, 4))
    with pytest.raises(ValueError, match='rule is "all", expected one of "sum", "gated"'):
        heed.linear_attention(q, q, q, rule="all")
    with pytest.raises(TypeError, match="unexpected keyword argument 'window'"):
        heed.linear_attention(q, q, q, window=3)


def test_random_features_approach_the_softmax(rng):
    q, k, v = (0.5 * rng.normal(size=(1, 1, 8, 4)) for _ in range(3))
    projection = heed.random_projection(4096, 4, seed=0, dtype=np.float64)
    settings = dict(features="random_exponential", projection=projection, feature_scale=4**-0.25)
    out, _ = heed.linear_attention(q, k, v, causal=False, normalised=True, **settings)
    np.testing.assert_allclose(out, heed.attention(q, k, v), atol=2e-2)


def test_hopfields_network_recalls_a_damaged_pattern():
    patterns = np.sign(np.random.default_rng(1).normal(size=(3, 100)))
    couplings = heed.hopfield.couplings(patterns)
    damaged = patterns[0].copy()
    damaged[:10] *= -1
    found = heed.hopfield.recall(couplings, damaged)
    assert found.settled and np.array_equal(found.state, patterns[0])
    assert (np.diff(found.energies) <= 0).all()
    energy = heed.hopfield.energies(couplings, patterns)
    np.testing.assert_allclose(energy, [-0.5 * p @ couplings @ p for p in patterns])
    np.testing.assert_allclose(found.energies[-1], energy[0])


def test_one_step_of_the_modern_network_is_attention(rng):
    patterns, state = rng.normal(size=(6, 4)), rng.normal(size=(2, 4))
    one = heed.hopfield.retrieve(patterns, state, beta=2.0)
    same = heed.attention(state[None, None], patterns[None, None], patterns[None, None], scale=2.0)
    assert np.array_equal(one.state, same[0, 0])
    many = heed.hopfield.retrieve(patterns, state, beta=2.0, steps=50, tolerance=1e-9)
    assert many.settled and many.energies.shape == (many.steps + 1, 2)
    assert (np.diff(many.energies, axis=0) <= 1e-12).all()


def test_message_passing(rng):
    x, dy = rng.normal(size=(3, 4)), rng.normal(size=(3, 4))
    starts, columns = np.array([0, 2, 2, 3]), np.array([0, 2, 1])
    y = heed.message_passing(x, starts, columns)
    weights = np.exp(x[0] @ x[[0, 2]].T / 2)
    np.testing.assert_allclose(y[0], weights @ x[[0, 2]] / weights.sum(), atol=1e-12)
    assert (y[1] == 0).all() and np.array_equal(y[2], x[1])
    dx = heed.message_passing_backward(x, starts, columns, dy)
    check_gradient(lambda x: (heed.message_passing(x, starts, columns) * dy).sum(), dx, x, rng)
    with pytest.raises(ValueError, match="row_starts"):
        heed.message_passing(x, starts[:2], columns)


def test_quantised_values_are_near(rng):
    x = rng.normal(size=(2, 70)).astype(np.float32)
    values, scales = heed.quantise(x)
    assert values.dtype == np.int8 and scales.shape == (2, 3)
    assert abs(heed.dequantise(values, scales) - x).max() <= abs(x).max() / 127
