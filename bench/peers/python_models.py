"""Models of transformers with PyTorch's attention and with heed's, with random weights: the shape of
GPT-2 small (124 M), or of Llama 3.2 1B.

    PYTHONPATH=build/python-site python bench/peers/python_models.py [--tokens 1024 2048 4096]
        [--threads 2] [--rounds 3] [--only forward edits training call question] [--model gpt2|llama]
        [--device cpu|cuda] [--dtype float32|bfloat16]

forward: one text, the logits of its last token. Implementations: sdpa; eager with output_attentions, which
keeps every weight; heed; sdpa and heed inside of `watch`, which keeps q, k, v and the output or the
log-sum-exp. question: the first question about a layer that `watch` saw. edits: the pass of sdpa with one edit of
a head in every layer. training: loss, gradients and a step of AdamW, without dropout. call: the seconds of the
function that transformers calls, beside the bare `heed.attention`.
Each case runs in a process of its own. Seconds are the median of `--rounds`, after one round that is not counted.
The peak of memory is the process's (on a GPU, PyTorch's allocations there) less what it had before the rounds.
heed's own attention runs on the CPU alone.
"""
import argparse
import json
import statistics
import subprocess
import sys
import time

import torch
import transformers

import heed
import heed.transformers

FORWARD = ("sdpa", "sdpa+watch", "eager+weights", "heed", "heed+watch")
EDITS = {  # of head 0 in every layer; `seen` is a run of another text
    "none": None,
    "ablate": lambda edits, seen: edits.ablate(None, 0),
    "remove": lambda edits, seen: edits.remove(to=range(8), heads=0),
    "temperature": lambda edits, seen: edits.temperature(None, 0, 2.0),
    "steer": lambda edits, seen: edits.steer(range(8), 1.0, heads=0),
    "freeze": lambda edits, seen: edits.freeze(seen, heads=0),
    "patch": lambda edits, seen: edits.patch(seen, None, 0),
}
TRAINING = ("sdpa", "heed")
HEADS, SIZE = 12, 64


def made(options, implementation, tokens):
    torch.manual_seed(1)
    if options.model == "gpt2":
        kind = transformers.GPT2LMHeadModel
        config = transformers.GPT2Config(
            n_positions=max(tokens, 4096), attn_pdrop=0.0, resid_pdrop=0.0, embd_pdrop=0.0, bos_token_id=0,
            eos_token_id=0)
    else:
        kind = transformers.LlamaForCausalLM
        config = transformers.LlamaConfig(
            vocab_size=128256, hidden_size=2048, intermediate_size=8192, num_hidden_layers=16,
            num_attention_heads=32, num_key_value_heads=8, max_position_embeddings=131072,
            tie_word_embeddings=True)
    with torch.device(options.device):
        dtype = getattr(torch, options.dtype)
        return kind._from_config(config, attn_implementation=implementation, dtype=dtype).to(options.device)


def ids_of(tokens, device):
    return torch.randint(0, 50257, (1, tokens), generator=torch.Generator().manual_seed(2)).to(device)


def forward(model, ids, way):
    """One pass; the bytes that stay to be looked at."""
    with torch.inference_mode():
        if way.endswith("+watch"):
            with heed.transformers.watch(model) as seen:
                model(ids, logits_to_keep=1, use_cache=False)
            return seen.nbytes
        output = model(ids, logits_to_keep=1, use_cache=False, output_attentions=way == "eager+weights")
        return sum(each.nbytes for each in output.attentions) if way == "eager+weights" else 0


def edited(model, ids, name):
    """A function that makes one pass under an edit."""
    change = EDITS[name]
    with torch.inference_mode(), heed.transformers.watch(model) as seen:
        if name in ("freeze", "patch"):
            model(ids.flip(1), logits_to_keep=1, use_cache=False)

    def run():
        with torch.inference_mode():
            if change is None:
                model(ids, logits_to_keep=1, use_cache=False)
                return 0
            with heed.transformers.edit(model) as edits:
                change(edits, seen)
                model(ids, logits_to_keep=1, use_cache=False)
        return seen.nbytes

    return run


def question(model, ids):
    """Seconds of the first question about layer 1."""
    with torch.inference_mode(), heed.transformers.watch(model, layers=[1]) as seen:
        model(ids, logits_to_keep=1, use_cache=False)
    synchronize()
    begin = time.perf_counter()
    seen.attention(1).weights[0, 0, -1]
    return time.perf_counter() - begin


def training_step(model):
    optimizer = torch.optim.AdamW(model.parameters())

    def step(ids):
        optimizer.zero_grad()
        model(ids, labels=ids, use_cache=False).loss.backward()
        optimizer.step()
        return 0

    return step


def resident(part):
    """Megabytes: "VmRSS", that the process has, or "VmHWM", the most that it had since `forget_peak`."""
    for line in open("/proc/self/status"):
        if line.startswith(part):
            return int(line.split()[1]) * 1024 / 1e6


def memory_now(device):
    return torch.cuda.memory_allocated() / 1e6 if device == "cuda" else resident("VmRSS")


def peak(device):
    return torch.cuda.max_memory_allocated() / 1e6 if device == "cuda" else resident("VmHWM")


def forget_peak(device):
    if device == "cuda":
        return torch.cuda.reset_peak_memory_stats()
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")


def synchronize():
    if torch.cuda.is_initialized():
        torch.cuda.synchronize()


def measure(work, rounds):
    times = []
    for _ in range(rounds + 1):
        synchronize()
        begin = time.perf_counter()
        kept = work()
        synchronize()
        times.append(time.perf_counter() - begin)
    return statistics.median(times[1:]), kept


def one_case(options):
    """In a process of its own: prints one line of json."""
    kind, way, tokens = options.case.split(",")
    model, ids = made(options, way.partition("+")[0], int(tokens)), ids_of(int(tokens), options.device)
    if kind == "question":
        times = [question(model.eval(), ids) for _ in range(options.rounds + 1)][1:]
        print(json.dumps({"seconds": statistics.median(times), "peak": 0, "kept": 0}))
        return
    if kind == "edits":
        work = edited(model.eval(), ids, way.partition("+")[2])
    elif kind == "forward":
        model.eval()
        work = lambda: forward(model, ids, way)
    else:
        step = training_step(model.train())
        work = lambda: step(ids)
    before = memory_now(options.device)
    forget_peak(options.device)
    seconds, kept = measure(work, options.rounds)
    print(json.dumps({"seconds": seconds, "peak": peak(options.device) - before, "kept": kept}))


def run(kind, way, tokens, options):
    command = [sys.executable, __file__, "--case", f"{kind},{way},{tokens}", "--threads", str(options.threads),
               "--rounds", str(options.rounds), "--model", options.model, "--device", options.device,
               "--dtype", options.dtype]
    done = subprocess.run(command, text=True, capture_output=True)
    if done.returncode:
        return None  # out of memory, most likely
    return json.loads(done.stdout.splitlines()[-1])


def table(kind, ways, options):
    print(f"\n{kind:<9} {'':<16} {'tokens':>6} {'seconds':>8} {'MB more':>8} {'kept, bytes a token':>20}")
    too_long = set()
    for tokens in options.tokens:
        for way in [each for each in ways if each not in too_long]:
            found = run(kind, way, tokens, options)
            if found is None:
                print(f"{'':<9} {way:<16} {tokens:>6} {'did not end':>8}", flush=True)
                too_long.add(way)
                continue
            print(f"{'':<9} {way:<16} {tokens:>6} {found['seconds']:>8.3f} {found['peak']:>8.0f} "
                  f"{found['kept'] / tokens:>20,.0f}", flush=True)


def calls(options):
    """Microseconds of a call, bare and as transformers makes it."""
    print(f"\n{'call':<9} {'tokens':>6} {'bare us':>9} {'transformers us':>16} {'more':>7}")
    module = torch.nn.Module()
    for tokens in (1, 16, 128, *options.tokens):
        q, k, v = (torch.randn(1, tokens, HEADS, SIZE).transpose(1, 2) for _ in range(3))
        pattern = heed.transformers.mask(1, tokens, tokens)
        mask = heed.causal()
        bare = lambda: heed.attention(q, k, v, mask=mask, out=torch.empty(1, tokens, HEADS, SIZE).transpose(1, 2))
        theirs = lambda: heed.transformers.attention(module, q, k, v, pattern, scaling=SIZE**-0.5)
        found = [[], []]
        begin = time.perf_counter()
        with torch.inference_mode():
            while time.perf_counter() - begin < 3 or len(found[0]) < 7:
                for times, work in zip(found, (bare, theirs)):
                    start = time.perf_counter()
                    work()
                    times.append(time.perf_counter() - start)
        ours, through = (statistics.median(times) * 1e6 for times in found)
        print(f"{'':<9} {tokens:>6} {ours:>9.1f} {through:>16.1f} {through / ours - 1:>7.1%}", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tokens", type=int, nargs="*", default=[1024, 2048, 4096])
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", nargs="*", default=["forward", "edits", "training", "call"])
    parser.add_argument("--model", choices=["gpt2", "llama"], default="gpt2")
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    parser.add_argument("--dtype", default="float32")
    parser.add_argument("--case", help=argparse.SUPPRESS)
    options = parser.parse_args()
    transformers.logging.set_verbosity_error()
    torch.set_num_threads(options.threads)
    heed.set_thread_count(options.threads)
    if options.case:
        return one_case(options)
    print(f"PyTorch {torch.__version__}, transformers {transformers.__version__}, threads: {options.threads}, "
          f"{options.model} in {options.dtype} on "
          f"{torch.cuda.get_device_name() if options.device == 'cuda' else 'the CPU'}")
    if "forward" in options.only:
        ways = FORWARD if options.device == "cpu" else [way for way in FORWARD if "heed" not in way]
        table("forward", ways, options)
    if "question" in options.only:
        table("question", ["sdpa+watch"], options)
    if "edits" in options.only:
        table("edits", [f"sdpa+{name}" for name in EDITS], options)
    if "training" in options.only:
        table("training", TRAINING, options)
    if "call" in options.only:
        calls(options)


if __name__ == "__main__":
    main()
