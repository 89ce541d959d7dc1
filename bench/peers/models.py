"""Whole decoders beside transformers and llama.cpp: random weights in the shape of GPT-2 small (124 M) and of a
Llama of 110 M, written by transformers, their logits compared, then each program case by case in turn.

    python bench/peers/models.py build/release/heed [--threads 2] [--dtype f32 bf16] [--model gpt2 llama]
        [--llama-bench llama.cpp/build/bin/llama-bench]

prefill-N: N tokens at once, the logits of the last one (`logits_to_keep=1`). step-N: one token behind N in the
cache, the mean of 32 in a row. Tokens a second, the median of `--rounds`; the ratios are heed's over theirs.
llama-bench is what the source package of llama-cpp-python builds (`cmake --build . --target llama-bench`).
"""
import argparse
import json
import pathlib
import statistics
import subprocess
import tempfile
import time

import torch
import transformers
from safetensors.torch import save_file

CASES = ("prefill-512", "prefill-2048", "step-250")
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


def heed_rate(program, folder, case, dtype, threads):
    done = subprocess.run(
        [program, "bench", "model", "--model", folder, "--dtype", dtype, "--case", case, "--threads", str(threads),
         "--json"], check=True, text=True, capture_output=True)
    return json.loads(done.stdout)[0]["tokens_per_second"]


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


def llama_bench_rate(program, file, case, threads):
    kind, count = case.split("-")
    shape = ["-p", count, "-n", "0"] if kind == "prefill" else ["-p", "0", "-n", str(STEPS), "-d", count]
    done = subprocess.run([program, "-m", file, "-t", str(threads), "-r", "3", "-o", "json", *shape], check=True,
                          text=True, capture_output=True)
    return statistics.median(json.loads(done.stdout)[0]["samples_ts"])


def rates(options, folder, model, case, dtype):
    """The times of heed, transformers and llama.cpp, alternating."""
    ours = lambda: heed_rate(options.program, folder, case, dtype, options.threads)
    peers = [ours, lambda: torch_rate(model, case)]
    if options.llama_bench:
        file = folder / f"{dtype}.gguf"
        peers.append(lambda: llama_bench_rate(options.llama_bench, file, case, options.threads))
    rounds = [[peer() for peer in peers] for _ in range(options.rounds)]
    return [statistics.median(column) for column in zip(*rounds)]


def compare(options, name):
    torch.manual_seed(1)
    kind = transformers.GPT2LMHeadModel if name == "gpt2" else transformers.LlamaForCausalLM
    model = kind(config_of(name)).eval()
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        model.save_pretrained(folder)
        check_logits(options.program, folder, model)
        for dtype in options.dtype:
            if options.llama_bench:
                import gguf_file
                gguf_file.write(folder / f"{dtype}.gguf", model, name, dtype)
            model = model.to(TYPES[dtype])
            for case in CASES:
                ours, *theirs = rates(options, folder, model, case, dtype)
                columns = "".join(f"{rate:10.1f} {ours / rate:6.2f}" for rate in theirs)
                print(f"{name:<6} {dtype:<5} {case:<13} {ours:9.1f} {columns}", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--dtype", nargs="*", default=list(TYPES))
    parser.add_argument("--model", nargs="*", default=["gpt2", "llama"])
    parser.add_argument("--llama-bench", help="llama.cpp's program")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    print(f"PyTorch {torch.__version__}, transformers {transformers.__version__}, threads: {options.threads}")
    print(f"{'model':<6} {'type':<5} {'case':<13} {'heed':>9} {'transf.':>10} {'ratio':>6}"
          + (f"{'llama.cpp':>10} {'ratio':>6}" if options.llama_bench else ""))
    for name in options.model:
        compare(options, name)


if __name__ == "__main__":
    main()
