"""Whole decoders beside transformers and llama.cpp: random weights in the shape of GPT-2 small (124 M) and of a
Llama of 110 M, written by transformers, their logits compared, then each program case by case in turn.

    python bench/peers/models.py build/release/heed [--threads 2] [--dtype f32 bf16] [--model gpt2 llama]
    python bench/peers/models.py build/release/heed --gguf 110m 1b [--threads 2] [--dtype Q4_0 Q8_0 Q4_K Q6_K]
        [--case prefill-512 step-10 step-250] [--activations f32|q8]

prefill-N: N tokens at once, the logits of the last one (`logits_to_keep=1`). step-N: one token behind N in the
cache, the mean of 32 in a row. Tokens a second, the median of `--rounds`; the ratios are heed's over theirs.
--gguf: files of tools/random_gguf.py in heed and in llama.cpp alone, the fastest pass of each, with the bytes that heed
reads a second in generation as a share of what reading memory gives.
llama.cpp is the package llama-cpp-python, left out where it is absent: its fastest pass, with the faster of its two
attentions, because its threads wait for each other busily and lose most where other programs run.
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import torch
import transformers
from safetensors.torch import save_file

try:
    from llama_cpp_model import VERSION as LLAMA_CPP
    from llama_cpp_model import llama_cpp_rates
except (ImportError, OSError):
    LLAMA_CPP = None

TOOLS = pathlib.Path(__file__).resolve().parents[2] / "tools"
sys.path.insert(0, str(TOOLS))
from performance import cpu_name

CASES = ("prefill-512", "prefill-2048", "step-250")
GGUF_CASES = ("prefill-512", "step-10", "step-250")
BLOCKS = ("Q4_0", "Q8_0", "Q4_K", "Q6_K")
STEPS = 32
TYPES = {"f32": torch.float32, "bf16": torch.bfloat16}


def config_of(name):
    if name == "gpt2":
        return transformers.GPT2Config(n_positions=4096, bos_token_id=0, eos_token_id=0)
    return transformers.LlamaConfig(
        vocab_size=32000, hidden_size=768, intermediate_size=2048, num_hidden_layers=12, num_attention_heads=12,
        num_key_value_heads=12, max_position_embeddings=4096)


def median_of(work, prepare=lambda: None):
    times = []
    while len(times) < 4 or sum(times) < 3 and len(times) < 50:
        state = prepare()
        begin = time.perf_counter()
        work(state)
        times.append(time.perf_counter() - begin)
    return statistics.median(times[1:])


def torch_rate(model, case):
    kind, count = case.split("-")
    tokens = int(count)
    ids = torch.randint(0, model.config.vocab_size, (1, tokens + STEPS))
    with torch.inference_mode():
        if kind == "prefill":
            return tokens / median_of(lambda _: model(ids[:, :tokens], logits_to_keep=1, use_cache=True))

        def prompt():
            return model(ids[:, :tokens], logits_to_keep=1, use_cache=True).past_key_values

        def steps(cache):
            for i in range(tokens, tokens + STEPS):
                cache = model(ids[:, i : i + 1], past_key_values=cache, use_cache=True).past_key_values

        return STEPS / median_of(steps, prompt)


def heed_bench(program, model, cases, threads, *more):
    done = subprocess.run(
        [program, "bench", "model", "--model", model, "--case", *cases, "--threads", str(threads), "--json", *more],
        check=True, text=True, capture_output=True)
    return json.loads(done.stdout)


def fastest(row):
    """Tokens a second of the fastest pass, and its share of memory's bandwidth, 0 for prefill."""
    faster = row["seconds"] / row["fastest_seconds"]
    return (faster * row["tokens_per_second"],
            faster * row.get("gbytes_per_second", 0) / row["read_gbytes_per_second"])


def check_logits(program, folder, model):
    ids = torch.randint(0, model.config.vocab_size, (1, 64))
    with torch.inference_mode():
        logits = model(ids).logits
    save_file({"input_ids": ids, "attention_mask": torch.ones_like(ids), "logits": logits.contiguous()},
              folder / "golden.safetensors")
    (folder / "golden.json").write_text(json.dumps(
        {"kind": "causal", "computed_in": "float32", "tolerance": {"logits": 1e-3}}))
    done = subprocess.run([program, "check", "model", folder], text=True, capture_output=True)
    print((done.stdout + done.stderr).strip(), flush=True)


def rates(options, folder, model, case, dtype):
    """The times of heed, transformers and llama.cpp, alternating."""
    ours = lambda: heed_bench(options.program, folder, [case], options.threads, "--dtype", dtype)
    peers = [lambda: ours()[0]["tokens_per_second"], lambda: torch_rate(model, case)]
    if LLAMA_CPP:
        peers.append(lambda: llama_cpp_rates(folder / f"{dtype}.gguf", [case], options.threads)[0])
    rounds = [[peer() for peer in peers] for _ in range(options.rounds)]
    return [statistics.median(column) for column in zip(*rounds)]


def compare_gguf(options, shape, kind):
    with tempfile.TemporaryDirectory() as scratch:
        file = f"{scratch}/{kind}.gguf"
        subprocess.run([sys.executable, TOOLS / "random_gguf.py", shape, kind, file], check=True)
        ours, theirs = [], []
        for _ in range(options.rounds):
            rows = heed_bench(options.program, file, options.case, options.threads, "--activations", options.activations)
            ours.append([fastest(row) for row in rows])
            theirs.append(llama_cpp_rates(file, options.case, options.threads))
    for at, case in enumerate(options.case):
        rate, share = max(round[at] for round in ours)
        peer = max(round[at] for round in theirs)
        print(f"{shape:<6} {kind:<5} {case:<13} {rate:9.1f} {peer:10.1f} {rate / peer:6.2f}"
              + (f" {share:10.0%}" if share else ""), flush=True)


def compare(options, name):
    torch.manual_seed(1)
    kind = transformers.GPT2LMHeadModel if name == "gpt2" else transformers.LlamaForCausalLM
    model = kind(config_of(name)).eval()
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        model.save_pretrained(folder)
        check_logits(options.program, folder, model)
        for dtype in options.dtype:
            if LLAMA_CPP:
                import gguf_file
                gguf_file.write_model(folder / f"{dtype}.gguf", model, name, dtype)
            model = model.to(TYPES[dtype])
            for case in CASES:
                ours, *theirs = rates(options, folder, model, case, dtype)
                columns = "".join(f"{rate:10.1f} {ours / rate:6.2f}" for rate in theirs)
                print(f"{name:<6} {dtype:<5} {case:<13} {ours:9.1f} {columns}", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--dtype", nargs="*", help="f32 bf16, or types of blocks with --gguf")
    parser.add_argument("--model", nargs="*", default=["gpt2", "llama"])
    parser.add_argument("--gguf", nargs="*", help="shapes of tools/random_gguf.py")
    parser.add_argument("--activations", default="f32", help="with --gguf: heed's, f32 or q8")
    parser.add_argument("--case", nargs="*", default=GGUF_CASES, help="with --gguf: cases of heed bench model")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    print(f"{cpu_name()}, threads: {options.threads}, load {os.getloadavg()[0]:.1f}; PyTorch {torch.__version__}, "
          f"transformers {transformers.__version__}, {LLAMA_CPP or 'no llama.cpp'}")
    heading = f"{'model':<6} {'type':<5} {'case':<13} {'heed':>9} "
    peer = f"{'llama.cpp':>10} {'ratio':>6}"
    if options.gguf:
        print(f"{heading}{peer} {'of reading':>10}")
        for shape in options.gguf:
            for kind in options.dtype or BLOCKS:
                compare_gguf(options, shape, kind)
        return
    torch.set_num_threads(options.threads)
    options.dtype = options.dtype or list(TYPES)
    print(f"{heading}{'transf.':>10} {'ratio':>6}" + (peer if LLAMA_CPP else ""))
    for name in options.model:
        compare(options, name)


if __name__ == "__main__":
    main()
