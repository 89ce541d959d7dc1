"""What docs/attention.md says of PyTorch, tried on PyTorch. Two queries and three keys
whose scores are all 0, with the values 1, 2 and 4: a row that sees n of them has their mean.

Runs where torch is installed, else says why it does not.
"""

import sys

SKIPPED = 77  # the exit status by which CTest knows a skipped test

try:
    import torch
    from torch.nn.attention.bias import causal_lower_right
    from torch.nn.functional import scaled_dot_product_attention
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(SKIPPED)

NAN = float("nan")
VALUES = torch.tensor([[[[1.0], [2.0], [4.0]]]])


def sdpa(values=VALUES, **options):
    q, k = torch.zeros(1, 1, 2, 4), torch.zeros(1, 1, 3, 4)
    return scaled_dot_product_attention(q, k, values, **options).flatten()


def of_module(mask):
    x = torch.zeros(1, 2, 4)
    module = torch.nn.MultiheadAttention(4, 1, batch_first=True)
    return module(x, x, x, attn_mask=torch.tensor(mask))[1].detach()[0, 0]


LOWER = torch.tensor([[True, False, False], [True, True, False]])
CLAIMS = [
    ("SDPA: true may attend", sdpa(attn_mask=LOWER), [1, 1.5]),
    ("nn.MultiheadAttention: true may not", of_module([[False, True], [False, False]]), [1, 0]),
    ("is_causal is top-left", sdpa(is_causal=True), [1, 1.5]),
    ("causal_lower_right is bottom-right", sdpa(attn_mask=causal_lower_right(2, 3)), [1.5, 7 / 3]),
    ("SDPA: a row that sees nobody is 0", sdpa(attn_mask=LOWER & False), [0, 0]),
    ("nn.MultiheadAttention: it is NaN", of_module([[True, True], [False, False]]), [NAN, NAN]),
    ("a mask of the lowest number: it is the mean",
     sdpa(attn_mask=torch.full((2, 3), torch.finfo(torch.float32).min)), [7 / 3, 7 / 3]),
    ("SDPA: a NaN under the mask reaches the output",
     sdpa(torch.tensor([[[[1.0], [2.0], [NAN]]]]), attn_mask=LOWER), [NAN, NAN]),
]


def main():
    failed = 0
    for claim, found, expected in CLAIMS:
        same = torch.allclose(found, torch.tensor(expected, dtype=torch.float32), equal_nan=True)
        print(f"{'holds' if same else 'FAILS'}: {claim}: {found.tolist()}")
        failed += not same
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
