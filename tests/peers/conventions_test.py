"""What docs/attention.md says of PyTorch and JAX, tried on them. Two queries and three keys whose
scores are all 0, with the values 1, 2 and 4: a row that sees n of them has their mean.

Runs what is installed, and says why it does not run the rest.
"""

import math
import sys

from places import SKIPPED
NAN, INFINITY = float("nan"), float("inf")
VALUES = [1.0, 2.0, 4.0]
LOWER = [[True, False, False], [True, True, False]]
NOBODY = [[False] * 3] * 2
MEAN = 7 / 3


def of_torch():
    """(claim, found, expected), found as lists of numbers."""
    import torch
    from torch.nn.attention.bias import causal_lower_right
    from torch.nn.functional import scaled_dot_product_attention

    def sdpa(values=VALUES, **options):
        q, k = torch.zeros(1, 1, 2, 4), torch.zeros(1, 1, 3, 4)
        v = torch.tensor(values).reshape(1, 1, 3, 1)
        return scaled_dot_product_attention(q, k, v, **options).flatten().tolist()

    def of_module(mask):
        x = torch.zeros(1, 2, 4)
        module = torch.nn.MultiheadAttention(4, 1, batch_first=True)
        return module(x, x, x, attn_mask=torch.tensor(mask))[1].detach()[0, 0].tolist()

    lower, nobody = torch.tensor(LOWER), torch.tensor(NOBODY)
    lowest = torch.full((2, 3), torch.finfo(torch.float32).min)
    return torch.__version__, [
        ("SDPA: true may attend", sdpa(attn_mask=lower), [1, 1.5]),
        ("SDPA: a float is added, -inf hides",
         sdpa(attn_mask=torch.where(lower, 0.0, -INFINITY)), [1, 1.5]),
        ("nn.MultiheadAttention: true may not", of_module([[False, True], [False, False]]), [1, 0]),
        ("is_causal is top-left", sdpa(is_causal=True), [1, 1.5]),
        ("causal_lower_right is bottom-right", sdpa(attn_mask=causal_lower_right(2, 3)),
         [1.5, MEAN]),
        ("SDPA: a row that sees nobody is 0", sdpa(attn_mask=nobody), [0, 0]),
        ("nn.MultiheadAttention: it is NaN", of_module([[True, True], [False, False]]), [NAN, NAN]),
        ("a mask of the lowest number: it is the mean", sdpa(attn_mask=lowest), [MEAN, MEAN]),
        ("SDPA: a NaN under the mask reaches the output",
         sdpa([1.0, 2.0, NAN], attn_mask=lower), [NAN, NAN]),
    ]


def of_jax():
    import jax
    import jax.numpy as jnp

    def both(values=VALUES, queries=2, **options):
        q, k = jnp.zeros((1, queries, 1, 4)), jnp.zeros((1, len(values), 1, 4))
        v = jnp.zeros((1, len(values), 1, 4)).at[0, :, 0, 0].set(jnp.array(values))
        out, lse = jax.nn.dot_product_attention(q, k, v, return_residual=True, **options)
        return out[0, :, 0, 0], lse.ravel()

    def out(*args, **options):
        return both(*args, **options)[0].tolist()

    def lse(**options):
        return both(**options)[1].tolist()

    def gradient(**options):
        return jax.grad(lambda v: both(v, **options)[0].sum())(jnp.array(VALUES)).tolist()

    lower, nobody = jnp.array(LOWER)[None, None], jnp.array(NOBODY)[None, None]
    hidden = jnp.where(lower, 0, -INFINITY)
    powers = [1.0, 2.0, 4.0, 8.0, 16.0]
    lowest = -0.7 * float(jnp.finfo(jnp.float32).max)
    return jax.__version__, [
        ("true may attend", out(mask=lower), [1, 1.5]),
        ("a bias is added, -inf hides", out(bias=hidden), [1, 1.5]),
        ("is_causal is top-left", out(is_causal=True), [1, 1.5]),
        ("the sides of local_window_size count keys beside the own one",
         out(powers, 5, local_window_size=(2, 1)), [1.5, MEAN, 3.75, 7.5, 28 / 3]),
        ("local_window_size is top-left",
         out(powers, local_window_size=(2, 1)), [1.5, MEAN]),
        ("-1 in local_window_size is not open: nobody is seen, which is the mean",
         out(powers, local_window_size=(-1, 0)), [6.2, 6.2]),
        ("a row that the mask hides from all is the mean", out(mask=nobody), [MEAN, MEAN]),
        ("its lse is a large negative number", lse(mask=nobody), [lowest, lowest]),
        ("it has gradients", gradient(mask=nobody), [2 / 3] * 3),
        ("a row whose bias hides all is NaN",
         out(bias=jnp.full((1, 1, 2, 3), -INFINITY)), [NAN, NAN]),
        ("rows past query_seq_lengths are 0",
         out(query_seq_lengths=jnp.array([1]), key_value_seq_lengths=jnp.array([2])), [1.5, 0]),
        ("the log-sum-exp is natural", lse(), [math.log(3)] * 2),
        ("and of what is visible", lse(mask=lower), [0, math.log(2)]),
        ("a NaN under the mask reaches the output", out([1.0, 2.0, NAN], mask=lower), [NAN, NAN]),
    ]


def close(found, expected):
    def one(x, y):
        return math.isclose(x, y, rel_tol=1e-6, abs_tol=1e-6) or (x != x and y != y)
    return len(found) == len(expected) and all(map(one, found, expected))


def main():
    failed, ran = 0, 0
    for name, claims in (("PyTorch", of_torch), ("JAX", of_jax)):
        try:
            version, tried = claims()
        except ImportError as error:
            print(f"skipped: {name}: {error}")
            continue
        ran += 1
        for claim, found, expected in tried:
            same = close(found, expected)
            print(f"{'holds' if same else 'FAILS'}: {name} {version}: {claim}: {found}")
            failed += not same
    sys.exit(1 if failed else 0 if ran else SKIPPED)


if __name__ == "__main__":
    main()
