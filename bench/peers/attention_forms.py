"""Forms of attention that leave other libraries' fast path, beside heed: time and memory, forward,
and forward with backward.

Each case runs in a process of its own, in heed (`heed bench attention` and `heed bench backward`)
and in PyTorch: scaled_dot_product_attention where it has the form, else the plain composition.

    python bench/peers/attention_forms.py build/release/heed [--threads 2] [--case bias ...]
"""
import argparse
import json
import resource
import statistics
import subprocess
import sys
import time

LENGTH, HEADS, SIZE = 2048, 8, 64


def sdpa(**options):
    from torch.nn.functional import scaled_dot_product_attention
    return lambda q, k, v, bias: scaled_dot_product_attention(q, k, v, attn_mask=bias, **options)


def sigmoid(q, k, v, _):
    return (q @ k.transpose(-1, -2) * SIZE**-0.5).sigmoid() @ v


def gaussian(q, k, v, _):
    squares = q.square().sum(-1)[..., None] + k.square().sum(-1)[..., None, :]
    return (2 * (q @ k.transpose(-1, -2)) - squares).softmax(-1) @ v


# name: how PyTorch computes it, size of values, shape of the bias
FORMS = {
    "plain": (lambda: sdpa(), SIZE, None),
    "causal": (lambda: sdpa(is_causal=True), SIZE, None),
    "dropout": (lambda: sdpa(dropout_p=0.1), SIZE, None),
    "bias": (lambda: sdpa(), SIZE, (1, HEADS, LENGTH, LENGTH)),
    "shared-bias": (lambda: sdpa(), SIZE, (1, 1, LENGTH, LENGTH)),
    "wide-values": (lambda: sdpa(), 128, None),
    "sigmoid": (lambda: sigmoid, SIZE, None),
    "gaussian": (lambda: gaussian, SIZE, None),
}


def megabytes():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def median_of(work):
    work()
    times = []
    while len(times) < 5 or sum(times) < 0.5 and len(times) < 100:
        begin = time.perf_counter()
        work()
        times.append(time.perf_counter() - begin)
    return statistics.median(times)


def torch_side(name, threads, backward):
    """Seconds and megabytes of one form, in this process."""
    import torch
    torch.set_num_threads(threads)
    make, value_size, bias_shape = FORMS[name]
    attend = make()
    shapes = [(1, HEADS, LENGTH, SIZE)] * 2 + [(1, HEADS, LENGTH, value_size)]
    q, k, v = (torch.randn(shape, requires_grad=backward) for shape in shapes)
    bias = torch.randn(bias_shape, requires_grad=backward) if bias_shape else None
    dout = torch.randn(shapes[2])
    wanted = [x for x in (q, k, v, bias) if x is not None]

    def work():
        out = attend(q, k, v, bias)
        if backward:
            torch.autograd.grad(out, wanted, dout)

    before = megabytes()
    seconds = median_of(work)
    print(json.dumps({"seconds": seconds, "megabytes": megabytes() - before}))


def in_torch(name, threads, backward):
    command = [sys.executable, __file__, "-", "--threads", str(threads), "--one", name]
    return json.loads(subprocess.check_output(command + ["--backward"] * backward))


def in_heed(program, name, threads, kind):
    command = [program, "bench", kind, "--case", f"{name}-n{LENGTH}-d{SIZE}",
               "--threads", str(threads), "--json"]
    case = json.loads(subprocess.check_output(command))[0]
    return case | {"megabytes": case.get("peak_bytes", 0) / 2**20}


def compare(program, name, threads):
    forward = in_heed(program, name, threads, "attention")
    theirs = in_torch(name, threads, False)
    backward = in_heed(program, name, threads, "backward")
    both = forward["seconds"] + backward["seconds"]
    theirs_both = in_torch(name, threads, True)
    rows = (("forward", forward["seconds"], forward, theirs),
            ("with backward", both, backward, theirs_both))
    for label, seconds, ours, peer in rows:
        print(f"{name:<12} {label:<14} {ours['kernel']:<11} {seconds * 1e3:>9.1f} "
              f"{ours['fraction_of_peak'] * 100:>7.0f} % {ours['megabytes']:>8.0f}"
              f"{peer['seconds'] * 1e3:>11.1f} {peer['megabytes']:>8.0f}"
              f"{peer['seconds'] / seconds:>9.1f} x", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--case", nargs="+", choices=FORMS, default=list(FORMS))
    parser.add_argument("--one", choices=FORMS, help=argparse.SUPPRESS)
    parser.add_argument("--backward", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        torch_side(options.one, options.threads, options.backward)
        return
    print(f"N {LENGTH}, {HEADS} heads, D {SIZE}, f32, {options.threads} threads; MiB are those "
          "beyond the inputs\n"
          "case         pass           kernel             ms   of peak      MiB"
          "   torch ms      MiB   faster")
    for name in options.case:
        compare(options.program, name, options.threads)


if __name__ == "__main__":
    main()
