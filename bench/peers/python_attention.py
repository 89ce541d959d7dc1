"""heed.attention and PyTorch's scaled_dot_product_attention, both called from Python on tensors.

    PYTHONPATH=build/release/python-site python bench/peers/python_attention.py [--threads 2]

forms: the cases of attention_forms.py, forward, milliseconds, and how far the results lie apart.
calls: the overhead of a call where there is little to compute, microseconds, causal; `heed.torch` is the
function that takes PyTorch's place. What transformers calls is in python_models.py.
"""
import argparse
import time

import torch
from attention_forms import FORMS, HEADS, LENGTH, SIZE

import heed
import heed.torch

HEED = {  # what says the form to heed.attention, where it is no bias
    "causal": {"mask": heed.causal(), "q_offset": 0},
    "dropout": {"dropout": 0.1, "seed": 1},
    "sigmoid": {"normaliser": "sigmoid"},
    "gaussian": {"similarity": "gaussian"},
}


def best(*works, seconds=1.0):
    """The best time of each, taken in turns."""
    times = [float("inf")] * len(works)
    for work in works:
        work()
    begin = time.perf_counter()
    while time.perf_counter() - begin < seconds:
        for at, work in enumerate(works):
            start = time.perf_counter()
            work()
            times[at] = min(times[at], time.perf_counter() - start)
    return times


def forms():
    print(f"{'form':<14}{'heed ms':>10}{'torch ms':>10}{'faster':>8}{'apart':>10}")
    for name, (make, value_size, bias_shape) in FORMS.items():
        shapes = [(1, HEADS, LENGTH, SIZE)] * 2 + [(1, HEADS, LENGTH, value_size)]
        q, k, v = (torch.randn(shape) for shape in shapes)
        bias = torch.randn(bias_shape) if bias_shape else None
        attend, settings = make(), HEED.get(name, {})
        ours, theirs = (lambda: heed.attention(q, k, v, bias=bias, **settings)), (lambda: attend(q, k, v, bias))
        apart = "-" if name == "dropout" else f"{(ours() - theirs()).abs().max():.0e}"
        mine, other = best(ours, theirs, seconds=2)
        print(f"{name:<14}{mine * 1e3:>10.1f}{other * 1e3:>10.1f}{other / mine:>7.1f}x{apart:>10}", flush=True)


def calls():
    from torch.nn.functional import scaled_dot_product_attention as sdpa
    print(f"\n{'call, us':<16}{'heed':>8}{'numpy':>8}{'heed.torch':>11}{'torch':>8}")
    for tokens in (1, 16, 128, 512):
        q, k, v = (torch.randn(1, 8, tokens, 64) for _ in range(3))
        arrays = [each.numpy() for each in (q, k, v)]
        mask = heed.causal()
        works = [lambda: heed.attention(q, k, v, mask=mask), lambda: heed.attention(*arrays, mask=mask),
                 lambda: heed.torch.scaled_dot_product_attention(q, k, v, is_causal=True),
                 lambda: sdpa(q, k, v, is_causal=True)]
        with torch.inference_mode():
            found = best(*works)
        print(f"[1, 8, {tokens:>3}, 64] " + "".join(
            f"{each * 1e6:>{width}.1f}" for each, width in zip(found, (8, 8, 11, 8))), flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    heed.set_thread_count(options.threads)
    print(f"PyTorch {torch.__version__}, {options.threads} threads; N {LENGTH}, {HEADS} heads, D {SIZE}, f32")
    forms()
    calls()


if __name__ == "__main__":
    main()
