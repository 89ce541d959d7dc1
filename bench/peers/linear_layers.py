"""The linear layers of `heed bench matmul` beside PyTorch's, case by case in turn.

    python bench/peers/linear_layers.py build/release/heed [--threads 2] [--case 768x768-r1-f32 ...]

Rates are GFLOP/s over weights that stay in the cache and over weights from memory; heed's share of
what the machine allows stands behind each.
"""
import argparse
import json
import re
import statistics
import subprocess
import time

import torch

TYPES = {"f32": torch.float32, "bf16": torch.bfloat16, "f16": torch.float16}
BYTES_OUT_OF_CACHE = 400 << 20


def median_of(work):
    work()
    times = []
    while len(times) < 5 or sum(times) < 0.5 and len(times) < 1000:
        begin = time.perf_counter()
        work()
        times.append(time.perf_counter() - begin)
    return statistics.median(times)


def torch_rates(rows, inputs, outputs, dtype):
    one = torch.randn(outputs, inputs).to(dtype)
    weights = [one.clone() for _ in range(BYTES_OUT_OF_CACHE // (one.numel() * one.element_size()) + 1)]
    x = torch.randn(rows, inputs).to(dtype)
    bias = torch.randn(outputs).to(dtype)
    turn = iter(range(1 << 60))
    work = 2e-9 * rows * inputs * outputs
    with torch.inference_mode():
        warm = median_of(lambda: torch.nn.functional.linear(x, weights[0], bias))
        cold = median_of(
            lambda: torch.nn.functional.linear(x, weights[next(turn) % len(weights)], bias))
    return work / warm, work / cold


def heed(program, *arguments):
    return subprocess.run([program, "bench", "matmul", *arguments], check=True, text=True,
                          capture_output=True)


def all_cases(program):
    listed = subprocess.run([program, "bench", "matmul", "--case", "?"], text=True,
                            capture_output=True).stderr
    return re.findall(r"\d+x\d+-r\d+-\w+", listed)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--case", nargs="*")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    print(f"PyTorch {torch.__version__}, threads: {options.threads}")
    print(f"{'case':<19}  {'heed':>7} {'of limit':>8}  {'PyTorch':>7}  |  "
          f"{'memory':>7} {'of limit':>8}  {'PyTorch':>7}")
    for case in options.case or all_cases(options.program):
        mine = json.loads(heed(options.program, "--json", "--threads", str(options.threads),
                               "--case", case).stdout)[0]
        warm, cold = torch_rates(mine["rows"], mine["in"], mine["out"], TYPES[mine["dtype"]])
        print(f"{case:<19}  {mine['gflops']:7.1f} {mine['gflops'] / mine['limit_gflops']:8.1%}  "
              f"{warm:7.1f}  |  {mine['memory_gflops']:7.1f} "
              f"{mine['memory_gflops'] / mine['memory_limit_gflops']:8.1%}  {cold:7.1f}", flush=True)


if __name__ == "__main__":
    main()
