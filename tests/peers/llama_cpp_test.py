"""Logits of heed beside llama.cpp's, on the same GGUF files and tokens: random decoders in every tensor type that both
have, and files that `heed convert` writes.

llama.cpp rounds the inputs of a product with blocks to 8 bits, of one with f16 or bf16 to that type; heed keeps f32. So
the measure is llama.cpp itself on the same weights widened to f32. Errors are the largest differences of a logit from
it, over the standard deviation of logits:
    heed         one pass over all tokens
    steps        one token at a time: probabilities of a text that `heed generate` writes, natural logarithms
    llama.cpp    one token at a time
Runs where torch, transformers, gguf and llama-cpp-python are installed, else says why it does not. Usage:
    python tests/peers/llama_cpp_test.py build/release/heed [ARCHITECTURE ...]
"""

import ctypes
import json
import pathlib
import sys
import tempfile

from places import SKIPPED, SOURCE

sys.path.insert(0, str(SOURCE / "bench/peers"))
try:
    import gguf
    import numpy
    import torch
    from llama_cpp_model import VERSION, LlamaCppModel, llama_cpp
except (ImportError, OSError) as error:
    print(f"skipped: {error}")
    sys.exit(77)  # with --peers too: pip builds it for minutes, so python/peers.txt does not list it

from decoders_test import made
from gguf_families_test import heed, keys_of, lists_of, tensors_of, tokenizer_of, write

TYPES = gguf.GGMLQuantizationType
TOKENS, WRITTEN = 24, 8
WIDTH = {"hidden_size": 256, "num_hidden_layers": 2, "num_attention_heads": 4, "max_position_embeddings": 64}
SIZES = WIDTH | {"intermediate_size": 512}
GROUPED = SIZES | {"num_key_value_heads": 2}
GEMMA = GROUPED | {"head_dim": 64, "query_pre_attn_scalar": 64, "sliding_window": 8}
MODELS = {
    "llama": ("LlamaForCausalLM", GROUPED),
    "qwen2": ("Qwen2ForCausalLM", GROUPED),
    "qwen3": ("Qwen3ForCausalLM", GROUPED | {"head_dim": 64}),
    "gemma2": ("Gemma2ForCausalLM", GEMMA | {"layer_types": ["sliding_attention", "full_attention"]}),
    "gemma3": ("Gemma3ForCausalLM", GEMMA | {
        "num_hidden_layers": 6, "layer_types": ["sliding_attention"] * 5 + ["full_attention"]}),
    "gpt2": ("GPT2LMHeadModel", {"n_embd": 256, "n_layer": 2, "n_head": 4, "n_positions": 64, "n_inner": 512}),
    "gptneox": ("GPTNeoXForCausalLM", SIZES | {"rotary_pct": 0.5}),
}
KINDS = ("F32", "F16", "BF16", "Q8_0", "Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q2_K", "Q3_K", "Q4_K", "Q5_K", "Q6_K", "IQ4_NL", "IQ4_XS")
CONVERTED = ("F32", "F16", "BF16", "Q8_0", "Q4_0")


def encoded(array, kind):
    """A matrix as llama.cpp rounds it, and as f32 again; vectors and types without blocks as they are."""
    if array.ndim < 2 or kind == TYPES.F32:
        return array, array
    if kind == TYPES.F16:
        return array.astype(numpy.float16), array.astype(numpy.float16).astype(numpy.float32)
    quantize = llama_cpp.llama_cpp._lib.ggml_quantize_chunk
    quantize.restype = ctypes.c_size_t
    rows, columns = array.shape
    elements, size = gguf.GGML_QUANT_SIZES[kind]
    blocks = numpy.empty((rows, columns // elements * size), numpy.uint8)
    used = quantize(int(kind), numpy.ascontiguousarray(array).ctypes.data_as(ctypes.c_void_p),
                    blocks.ctypes.data_as(ctypes.c_void_p), ctypes.c_int64(0), ctypes.c_int64(rows),
                    ctypes.c_int64(columns), None)
    assert used == blocks.size
    return blocks, gguf.dequantize(blocks, kind)


def theirs(path, ids):
    with LlamaCppModel(path, threads=1, tokens=64, exact=True) as model:
        return model.logits(ids)


def ours(program, path, ids, scratch):
    out = scratch / "logits.npy"
    heed(program, "look", "--model", path, "--ids", ",".join(map(str, ids)), "--what", "logits", "--format", "npy", "-o", out)
    return numpy.load(out)


def written(program, path, ids):
    """Tokens that heed writes behind the first of `ids`, one by one, and the logarithms of their probabilities."""
    answer = json.loads(heed(program, "generate", "--model", path, "--ids", str(ids[0]), "-n", str(WRITTEN),
                             "--temperature", "0", "--json"))
    return [token["id"] for token in answer["tokens"]], numpy.log([token["probability"] for token in answer["tokens"]])


def probabilities(logits, ids):
    rows = logits[:len(ids)].astype(numpy.float64)
    rows -= rows.max(axis=1, keepdims=True)
    return rows[range(len(ids)), ids] - numpy.log(numpy.exp(rows).sum(axis=1))


def tolerances(kind):
    """heed's pass, heed's steps, llama.cpp's steps."""
    if kind == "F32":
        return 1e-4, 1e-4, 0
    if kind == "F16":
        return 1e-4, 1e-4, 1e-2
    if kind == "BF16":
        return 1e-4, 0.1, 0.1
    return 1e-4, 1e-4, 0.3


def compare(program, name, kind, file, exact, ids, scratch):
    exact_logits = theirs(exact, ids)
    spread = exact_logits.std()
    text, found = written(program, file, ids)
    expected = probabilities(theirs(exact, ids[:1] + text[:-1]), text)
    errors = (numpy.abs(ours(program, file, ids, scratch) - exact_logits).max() / spread,
              numpy.abs(found - expected).max() / spread,
              numpy.abs(theirs(file, ids) - exact_logits).max() / spread)
    print(f"{name:<8} {kind:<10}" + "".join(f" {error:10.2g}" for error in errors), flush=True)
    return all(error <= bound for error, bound in zip(errors, tolerances(kind.split()[0]), strict=True))


def check(program, name, scratch):
    tokenizer = tokenizer_of("", False, False, False)
    kind_of_model, settings = MODELS[name]
    model = made(kind_of_model, settings | {"vocab_size": tokenizer.get_vocab_size()}, seed=1)
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() > 1:
                parameter.mul_(0.4)  # 256 wide, where `made` is for 48
    ids = torch.randint(3, tokenizer.get_vocab_size(), (1, TOKENS), generator=torch.Generator().manual_seed(3))
    with torch.no_grad():
        torch_logits = model(ids).logits[0].numpy()
    ids = ids[0].tolist()
    keys, tensors = keys_of(name, model.config.to_dict()), tensors_of(name, model)
    folder = scratch / "folder"
    model.save_pretrained(folder)
    tokenizer.save(str(folder / "tokenizer.json"))
    failed = []
    for kind in KINDS:
        pairs = {tensor: encoded(array, TYPES[kind]) for tensor, array in tensors.items()}
        file, exact = scratch / f"{kind}.gguf", scratch / f"{kind}-exact.gguf"
        write(file, name, keys, {tensor: pair[0] for tensor, pair in pairs.items()}, lists_of(tokenizer, "gpt-2"),
              {tensor: TYPES[kind] for tensor in pairs})
        write(exact, name, keys, {tensor: pair[1] for tensor, pair in pairs.items()}, lists_of(tokenizer, "gpt-2"))
        if kind == "F32":
            worst = numpy.abs(theirs(exact, ids) - torch_logits).max() / torch_logits.std()
            print(f"{name:<8} F32: llama.cpp's error from transformers' logits is {worst:.2g}")
            if worst > 1e-4:
                failed.append("F32 of transformers")
        if not compare(program, name, kind, file, exact, ids, scratch):
            failed.append(kind)
        if kind in CONVERTED:
            converted = scratch / f"{kind}-heed.gguf"
            heed(program, "convert", folder, "-o", converted, "--dtype", kind.lower())
            if not compare(program, name, f"{kind} heed", converted, exact, ids, scratch):
                failed.append(f"{kind} written by heed")
    return failed


def main():
    print(f"{VERSION}\n{'':<19} {'heed':>10} {'steps':>10} {'llama.cpp':>10}")
    failed = 0
    for name in sys.argv[2:] or MODELS:
        with tempfile.TemporaryDirectory() as scratch:
            wrong = check(sys.argv[1], name, pathlib.Path(scratch))
        if wrong:
            failed += 1
            print(f"{name}: failed in {', '.join(wrong)}")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
