"""heed on JAX's arrays."""

from __future__ import annotations

import numpy as np
import pytest

jax = pytest.importorskip("jax", reason="skipped: JAX is not installed")

import jax.numpy as jnp  # noqa: E402

import heed  # noqa: E402


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_the_output_is_an_array_of_jax(qkv, dtype):
    q, k, _ = (jnp.asarray(x, dtype) for x in qkv)
    v = k[..., ::-1]
    out, seen = heed.attention(q, k, v, mask=heed.causal(), seen=True)
    assert isinstance(out, jax.Array) and out.dtype == q.dtype
    k, v = (jnp.repeat(x, 2, axis=1) for x in (k, v))
    allowed = jnp.arange(7)[None] <= jnp.arange(5)[:, None] + 2
    wanted = jax.nn.dot_product_attention(
        *(x.swapaxes(1, 2) for x in (q, k, v)), mask=allowed[None, None]
    ).swapaxes(1, 2)
    bound = {"float32": 2e-6, "float16": 4e-3, "bfloat16": 3e-2}[dtype]
    np.testing.assert_allclose(out.astype("float32"), wanted.astype("float32"), atol=bound)
    assert isinstance(seen.entropy(), jax.Array)
    assert isinstance(seen.weights[0, 0, 1], jax.Array)


def test_gradients_are_jaxs(qkv):
    q, k, _ = (jnp.asarray(x) for x in qkv)
    v = k[..., ::-1]
    out, seen = heed.attention(q, k, v, seen=True)

    def loss(q, k, v):
        k, v = (jnp.repeat(x, 2, axis=1) for x in (k, v))
        return jax.nn.dot_product_attention(*(x.swapaxes(1, 2) for x in (q, k, v))).sum()

    wanted = jax.grad(loss, (0, 1, 2))(q, k, v)
    for mine, other in zip(seen.backward(jnp.ones_like(out)), wanted):
        np.testing.assert_allclose(mine, other, atol=2e-6)


def test_an_array_of_jax_is_not_written_to(qkv):
    q, k, v = (jnp.asarray(x) for x in qkv)
    with pytest.raises(ValueError, match="out is read-only"):
        heed.attention(q, k, v, out=jnp.zeros((2, 4, 5, 6)))


def test_a_traced_array_is_refused(qkv):
    q, k, v = (jnp.asarray(x) for x in qkv)
    with pytest.raises((ValueError, TypeError), match="q is"):
        jax.jit(lambda q: heed.attention(q, k, v))(q)
