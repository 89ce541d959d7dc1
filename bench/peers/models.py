"""Whole decoders beside transformers: random weights in the shape of GPT-2 small (124 M) and of a Llama of
110 M, written by transformers, their logits compared, then `heed bench model` and PyTorch case by case in turn.

    python bench/peers/models.py build/release/heed [--threads 2] [--dtype f32 bf16] [--model gpt2 llama]

prefill-N: N tokens at once, the logits of the last one (`logits_to_keep=1`). step-N: one token behind N in the
cache, the mean of 32 in a row. Tokens a second; the ratio is heed's over transformers'.
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


def compare(program, name, dtypes, threads):
    torch.manual_seed(1)
    kind = transformers.GPT2LMHeadModel if name == "gpt2" else transformers.LlamaForCausalLM
    model = kind(config_of(name)).eval()
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        model.save_pretrained(folder)
        check_logits(program, folder, model)
        for dtype in dtypes:
            model = model.to(TYPES[dtype])
            for case in CASES:
                theirs = torch_rate(model, case)
                ours = heed_rate(program, folder, case, dtype, threads)
                print(f"{name:<6} {dtype:<5} {case:<13} {ours:9.1f} {theirs:9.1f} {ours / theirs:8.2f}", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--dtype", nargs="*", default=list(TYPES))
    parser.add_argument("--model", nargs="*", default=["gpt2", "llama"])
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    print(f"PyTorch {torch.__version__}, transformers {transformers.__version__}, threads: {options.threads}")
    print(f"{'model':<6} {'type':<5} {'case':<13} {'heed':>9} {'transf.':>9} {'ratio':>8}")
    for name in options.model:
        compare(options.program, name, options.dtype, options.threads)


if __name__ == "__main__":
    main()
