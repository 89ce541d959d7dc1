"""Logits of heed beside llama.cpp's, on the same GGUF files and tokens: random decoders in every tensor type that both
have, and the files that `heed convert` writes.

llama.cpp rounds the inputs of a product with blocks to 8 bits, of one with f16 or bf16 to that type. heed keeps them in
f32. The measure is therefore llama.cpp on the same weights widened to f32. An error is the largest difference from it,
divided by the standard deviation of the logits:
    heed         logits of one pass over all tokens
    steps        logarithms of the probabilities of a text that `heed generate` writes token by token
    llama.cpp    logits of llama.cpp, token by token
Runs where torch, transformers, gguf and llama-cpp-python are installed, else says why it does not. Usage:
    python tests/peers/llama_cpp_test.py build/release/heed [ARCHITECTURE ...]
"""

import ctypes
import json
import pathlib
import sys
import tempfile

from places import SOURCE

sys.path.insert(0, str(SOURCE / "bench/peers"))
try:
    import gguf
    import numpy
    import torch
    from gguf_file import of_model, write
    from llama_cpp_model import VERSION, LlamaCppModel, llama_cpp
except (ImportError, OSError) as error:
    print(f"skipped: {error}")
    sys.exit(77)  # with --peers too: pip builds it for minutes, so python/peers.txt does not list it

from decoders_test import made
from gguf_families_test import lists_of, tokenizer_of
from program import heed, heed_array, joined

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
FEW_KINDS = ("F32", "Q4_0", "Q4_K")  # of other architectures than Llama
CONVERTED = ("F32", "F16", "BF16", "Q8_0", "Q4_0")


def encoded(name, array, kind):
    """A matrix as llama.cpp rounds it, and as f32 again; vectors, positions and types without blocks as they are."""
    if array.ndim < 2 or name == "position_embd.weight" or kind == TYPES.F32:
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


def written(program, path, ids):
    """Tokens that heed writes behind the first of `ids`, one by one, and the logarithms of their probabilities."""
    answer = json.loads(heed(program, "generate", "--model", path, "--ids", str(ids[0]), "-n", str(WRITTEN),
                             "--temperature", "0", "--json"))
    return [token["id"] for token in answer["tokens"]], numpy.log([token["probability"] for token in answer["tokens"]])


def probabilities(logits, ids):
    rows = logits[:len(ids)].astype(numpy.float64)
    rows -= rows.max(axis=1, keepdims=True)
    return rows[range(len(ids)), ids] - numpy.log(numpy.exp(rows).sum(axis=1))


def bounds_of(kind, floor):
    """The bounds of heed's pass, heed's steps and llama.cpp. `floor` is llama.cpp's f32 error from transformers."""
    ours = max(1e-4, 3 * floor)
    if kind == "F32":
        return ours, ours, 0
    if kind == "F16":
        return ours, ours, 0.02
    return ours, 0.1 if kind == "BF16" else ours, 0.1 if kind == "BF16" else 0.5  # some CPUs round inputs to bf16


def errors_of(program, file, exact, expected, ids):
    text, found = written(program, file, ids)
    steps = probabilities(theirs(exact, ids[:1] + text[:-1]), text)
    pairs = (heed_array(program, file, "logits", "--ids", joined(ids)), expected), (found, steps), (theirs(file, ids), expected)
    return [numpy.abs(left - right).max() / expected.std() for left, right in pairs]


def model_of(name, words):
    kind, settings = MODELS[name]
    model = made(kind, settings | {"vocab_size": words}, seed=1)
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() > 1:
                parameter.mul_(0.3)  # `made` is for narrower ones
    return model


def check(program, name, scratch):
    """The cases that failed."""
    tokenizer = tokenizer_of("", False, False, False)
    words = tokenizer.get_vocab_size()
    model, vocabulary = model_of(name, words), lists_of(tokenizer, "gpt-2")
    ids = torch.randint(3, words, (1, TOKENS), generator=torch.Generator().manual_seed(3))
    with torch.no_grad():
        logits = model(ids).logits[0].numpy()
    ids = ids[0].tolist()
    keys, tensors = of_model(name, model)
    folder = scratch / "folder"
    model.save_pretrained(folder)
    tokenizer.save(str(folder / "tokenizer.json"))
    failed, floor = [], None
    for kind in KINDS if name == "llama" else FEW_KINDS:
        pairs = {tensor: encoded(tensor, array, TYPES[kind]) for tensor, array in tensors.items()}
        exact, files = scratch / "exact.gguf", {kind: scratch / f"{kind}.gguf"}
        write(exact, name, keys, {tensor: pair[1] for tensor, pair in pairs.items()}, vocabulary)
        write(files[kind], name, keys, {tensor: pair[0] for tensor, pair in pairs.items()}, vocabulary,
              dict.fromkeys(pairs, TYPES[kind]))
        if kind in CONVERTED:
            converted = files[f"{kind} by heed"] = scratch / f"{kind}-by-heed.gguf"
            heed(program, "convert", folder, "-o", converted, "--dtype", kind.lower())
        expected = theirs(exact, ids)
        if floor is None:  # F32 comes first
            floor = numpy.abs(expected - logits).max() / logits.std()
            print(f"{name}: llama.cpp in f32 is {floor:.2g} from transformers")
            failed += ["f32 in transformers"] if floor > 3e-3 else []  # its table of GELU is f16
        for case, file in files.items():
            errors = errors_of(program, file, exact, expected, ids)
            print(f"{name:<8} {case:<13}" + "".join(f" {error:10.2g}" for error in errors), flush=True)
            bounds = bounds_of(kind, floor)
            failed += [case] if any(error > bound for error, bound in zip(errors, bounds, strict=True)) else []
    return failed


def main():
    torch.set_num_threads(1)
    print(f"{VERSION}\n{'':<22} {'heed':>10} {'steps':>10} {'llama.cpp':>10}")
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
