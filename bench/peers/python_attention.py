"""The overhead of a call of heed.attention and of PyTorch's scaled_dot_product_attention from Python,
microseconds, causal, where there is little to compute; `heed.torch` is the function that takes
PyTorch's place.

    PYTHONPATH=build/release/python-site python bench/peers/python_attention.py [--threads 2]

What transformers calls is in python_models.py; forms and sizes are `heed bench attention --peers`.
"""
import argparse
import time

import torch

import heed
import heed.torch


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


def calls():
    from torch.nn.functional import scaled_dot_product_attention as sdpa
    print(f"{'call, us':<16}{'heed':>8}{'numpy':>8}{'heed.torch':>11}{'torch':>8}")
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
    print(f"PyTorch {torch.__version__}, {options.threads} threads")
    calls()


if __name__ == "__main__":
    main()
