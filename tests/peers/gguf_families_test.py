"""Models of every GGUF architecture, made tiny and random by transformers and written here as llama.cpp's converter writes
them: heed reads the file to the numbers of transformers, writes the same tensors and keys of the folder, and transformers
opens the folder that heed makes of the file. Then the words of each `tokenizer.ggml.pre` beside the `tokenizers` library.
Where llama-cpp-python is installed, llama.cpp gives the logits of transformers for what heed writes in several types.

Runs where torch, transformers and gguf are installed, else says why it does not. Usage:
    python tests/peers/gguf_families_test.py build/release/heed [NAME ...]
"""

import importlib.util
import json
import pathlib
import sys
import tempfile

from places import SKIPPED, SOURCE
from program import heed, heed_tokens, joined, run

sys.path.insert(0, str(SOURCE / "bench/peers"))
try:
    import gguf
    import numpy
    import tokenizers
    import torch
    import transformers
    from gguf_file import add_ends, of_model, write
    from safetensors.torch import save_file
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(SKIPPED)

from decoders_test import EXPERTS, FALCON, GPTJ, GROUPED, SIZES, golden_of, made, reopened, texts

HEADS = GROUPED | {"num_hidden_layers": 4}
SLIDING = {"sliding_window": 5}
LONG = {"rope_type": "longrope", "short_factor": [1.0, 1.5, 2.0, 3.0, 4.0, 4.5], "long_factor": [2.0, 3.0, 4.0, 5.0, 6.0, 8.0],
        "original_max_position_embeddings": 32, "rope_theta": 10000.0}
YARN = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 16, "rope_theta": 5000.0}
OSS = {"num_local_experts": 4, "num_experts_per_tok": 2, "rope_parameters": YARN | {"truncate": False}}
PLAIN = {"rope_type": "default", "rope_theta": 10000.0}
LLAMA3 = {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
          "original_max_position_embeddings": 8192, "rope_theta": 500000.0}
T5 = {"vocab_size": 97, "d_model": 48, "d_kv": 12, "d_ff": 80, "num_layers": 2, "num_decoder_layers": 3, "num_heads": 4,
      "decoder_start_token_id": 0}


def every(period):
    return {"layer_types": ["full_attention" if layer % period == 0 else "sliding_attention" for layer in range(1, 5)]}


# Architecture, class, settings.
CASES = {
    "gpt2": ("gpt2", "GPT2LMHeadModel", GPTJ | {"n_inner": 80}),
    "phi2": ("phi2", "PhiForCausalLM", GROUPED | {"partial_rotary_factor": 0.5}),
    "phi2, fused": ("phi2", "PhiForCausalLM", GROUPED | {"partial_rotary_factor": 0.5}),
    "phi3": ("phi3", "Phi3ForCausalLM", HEADS | SLIDING),
    "phi3, long": ("phi3", "Phi3ForCausalLM", GROUPED | {"rope_parameters": LONG, "original_max_position_embeddings": 32}),
    "gemma": ("gemma", "GemmaForCausalLM", HEADS | {"head_dim": 16}),
    "gemma2": ("gemma2", "Gemma2ForCausalLM", HEADS | SLIDING | every(2) | {"head_dim": 16, "query_pre_attn_scalar": 16}),
    "gemma3": ("gemma3", "Gemma3ForCausalLM", HEADS | SLIDING | every(6) | {"head_dim": 16, "query_pre_attn_scalar": 16}),
    "gptneox": ("gptneox", "GPTNeoXForCausalLM", SIZES | {"rotary_pct": 0.5}),
    "gptneox in sequence": ("gptneox", "GPTNeoXForCausalLM", SIZES | {"use_parallel_residual": False, "rotary_pct": 1.0}),
    "stablelm": ("stablelm", "StableLmForCausalLM", HEADS | {"partial_rotary_factor": 0.5, "use_qkv_bias": True}),
    "stablelm, parallel": ("stablelm", "StableLmForCausalLM", HEADS | {"partial_rotary_factor": 0.5,
                                                                      "use_parallel_residual": True}),
    "starcoder2": ("starcoder2", "Starcoder2ForCausalLM", HEADS),
    "olmo": ("olmo", "OlmoForCausalLM", HEADS),
    "olmo2": ("olmo2", "Olmo2ForCausalLM", HEADS),
    "olmo3": ("olmo2", "Olmo3ForCausalLM", HEADS | SLIDING | every(4) | {
        "rope_parameters": {"full_attention": YARN, "sliding_attention": PLAIN | {"rope_theta": 5000.0}}}),
    "command-r": ("command-r", "CohereForCausalLM", HEADS | {"logit_scale": 0.25}),
    "cohere2": ("cohere2", "Cohere2ForCausalLM", HEADS | SLIDING | every(4)),
    "smollm3": ("smollm3", "SmolLM3ForCausalLM", HEADS),
    "glm4": ("glm4", "Glm4ForCausalLM", HEADS | {"head_dim": 16, "attention_bias": True}),
    "llama3": ("llama", "LlamaForCausalLM", HEADS | {"rope_parameters": LLAMA3}),
    "mistral": ("llama", "MistralForCausalLM", HEADS | {"sliding_window": None}),
    "qwen3, yarn": ("qwen3", "Qwen3ForCausalLM", HEADS | {"head_dim": 16, "rope_parameters": YARN}),
    "mixtral": ("llama", "MixtralForCausalLM", HEADS | {"num_local_experts": 4, "num_experts_per_tok": 2}),
    "qwen2moe": ("qwen2moe", "Qwen2MoeForCausalLM", HEADS | EXPERTS | {"shared_expert_intermediate_size": 40}),
    "qwen3moe": ("qwen3moe", "Qwen3MoeForCausalLM", HEADS | EXPERTS | {"head_dim": 16, "norm_topk_prob": True}),
    "gpt-oss": ("gpt-oss", "GptOssForCausalLM", HEADS | SLIDING | OSS | {"head_dim": 16}),
    "gpt-oss, mxfp4": ("gpt-oss", "GptOssForCausalLM", HEADS | SLIDING | OSS | {"head_dim": 16, "hidden_size": 32,
                                                                               "intermediate_size": 64}),
    "olmoe": ("olmoe", "OlmoeForCausalLM", HEADS | EXPERTS),
    "granite": ("granite", "GraniteForCausalLM", HEADS | {"embedding_multiplier": 2.0, "residual_multiplier": 0.3,
                                                          "attention_multiplier": 0.2, "logits_scaling": 3.0}),
    "nemotron": ("nemotron", "NemotronForCausalLM", GROUPED | {"head_dim": 12}),
    "bloom": ("bloom", "BloomForCausalLM", {"vocab_size": 97, "hidden_size": 48, "n_layer": 3, "n_head": 6}),
    "falcon": ("falcon", "FalconForCausalLM", FALCON),
    "falcon, new": ("falcon", "FalconForCausalLM", FALCON | {"new_decoder_architecture": True, "num_kv_heads": 2}),
    "falcon, one norm": ("falcon", "FalconForCausalLM", FALCON | {
        "new_decoder_architecture": True, "num_kv_heads": 2, "num_ln_in_parallel_attn": 1}),
    "t5": ("t5", "T5ForConditionalGeneration", T5),
    "t5, gated": ("t5", "T5ForConditionalGeneration", T5 | {"feed_forward_proj": "gated-gelu"}),
}


# What heed alone writes.
WRITTEN = {
    "bert": ("bert", "BertModel", SIZES),
    "t5, without scaling": ("t5", "T5ForConditionalGeneration", T5 | {"scale_decoder_outputs": False}),
    "t5, encoder": ("t5encoder", "T5EncoderModel", T5),
    "llama3, trained on 32": ("llama", "LlamaForCausalLM", HEADS | {
        "rope_parameters": LLAMA3 | {"original_max_position_embeddings": 32}}),
}
BESIDE = " in llama.cpp"
HAS_LLAMA_CPP = importlib.util.find_spec("llama_cpp") is not None
# The root of the mean square error of a logit in llama.cpp, divided by the deviation of the logits. It rounds the inputs of
# products to the type of the weights, and to 8 bits beside blocks, which may change the choice of an expert.
BOUNDS = {"f32": 3e-3, "f16": 0.02, "bf16": 0.3, "q8_0": 0.3, "q4_0": 0.3}
# Multiples of 32, so that matrices have blocks.
WIDER = {"hidden_size": 64, "n_embd": 64, "d_model": 64, "intermediate_size": 96, "n_inner": 96, "d_ff": 96,
         "moe_intermediate_size": 32, "shared_expert_intermediate_size": 64}

# llama.cpp ignores Phi 3's window, and loads no OLMoE with groups of heads, no Nemotron whose heads are not as wide as its
# states together, and no T5 whose decoder has more layers than its encoder. It chooses longrope's factors by the length of
# its context, at least 256 tokens.
LIMITS = {"phi3": {"sliding_window": 64}, "olmoe": {"num_key_value_heads": 4}, "nemotron": {"head_dim": 16},
          "t5": {"num_decoder_layers": 2}, "t5, gated": {"num_decoder_layers": 2},
          "t5, without scaling": {"num_decoder_layers": 2}, "bloom": {"n_head": 4},
          "phi3, long": {"max_position_embeddings": 512, "original_max_position_embeddings": 256, "rope_parameters": LONG | {
              "original_max_position_embeddings": 256, "short_factor": [*LONG["short_factor"], 5.0, 6.0],
              "long_factor": [*LONG["long_factor"], 9.0, 10.0]}}}


# --- models -----------------------------------------------------------------------------------------------------------


def fused(tensors):
    """Queries, keys and values as one tensor, as the first files of Phi 2 have them."""
    whole = {}
    for name, array in tensors.items():
        if ".attn_q." in name:
            parts = [tensors[name.replace("_q.", letter)] for letter in ("_q.", "_k.", "_v.")]
            whole[name.replace("_q.", "_qkv.")] = numpy.concatenate(parts)
        elif ".attn_k." not in name and ".attn_v." not in name:
            whole[name] = array
    return whole


def untie(model):
    """A head of its own, as the files of T5 1.1 have it; transformers 5 makes none by the configuration."""
    words = 0.05 * torch.randn(model.shared.weight.shape, generator=torch.Generator().manual_seed(4))
    model.lm_head.weight = torch.nn.Parameter(words)
    model.config.tie_word_embeddings = model.config.scale_decoder_outputs = False


def packed_experts(tensors):
    """As OpenAI publishes them: the matrices of experts in MXFP4."""
    kind = gguf.GGMLQuantizationType.MXFP4
    return {name: gguf.quants.quantize(array, kind) if name.endswith("exps.weight") else array
            for name, array in tensors.items()}


def round_experts(model):
    """To what their MXFP4 means; blocks go along the inputs."""
    kind = gguf.GGMLQuantizationType.MXFP4
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if name.endswith(("experts.gate_up_proj", "experts.down_proj")):
                rows = numpy.ascontiguousarray(parameter.mT.numpy())
                parameter.copy_(torch.tensor(gguf.quants.dequantize(gguf.quants.quantize(rows, kind), kind)).mT)


def golden_of_t5(model):
    ids, mask = texts(3, 13, 9)
    words, _ = texts(4, 7, 7)
    with torch.no_grad():
        out = model(ids, attention_mask=mask, decoder_input_ids=words)
    return {"input_ids": ids, "attention_mask": mask, "decoder_input_ids": words, "logits": out.logits.contiguous()}


def require_same_files(expected, found, is_fused):
    """heed's file has the tensors of the converter's, bit for bit, and its keys; it may say more."""
    left, right = gguf.GGUFReader(expected), gguf.GGUFReader(found)
    if not is_fused:
        ours = {tensor.name: tensor.data for tensor in right.tensors}
        # llama.cpp does not scale the states of a tied T5: heed's file has a head that contains the factor.
        more = {"output.weight"} if any(name.startswith("dec.") for name in ours) else set()
        theirs = {tensor.name for tensor in left.tensors}
        assert set(ours) == theirs | more, sorted(set(ours) ^ theirs)
        for tensor in left.tensors:
            assert tensor.data.shape == ours[tensor.name].shape, tensor.name
            worst = float(numpy.abs(tensor.data - ours[tensor.name]).max())
            assert worst <= (1e-6 if tensor.name.startswith("rope_") else 0), f"{tensor.name} differs by {worst}"
    for key, field in left.fields.items():
        if key.startswith(("GGUF.", "general.")):
            continue
        assert key in right.fields, f"{key} is missing"
        same = right.fields[key].contents() == field.contents() or numpy.allclose(
            right.fields[key].contents(), field.contents(), rtol=1e-6)
        assert same, f"{key} is {right.fields[key].contents()}, expected {field.contents()}"


def check(program, name, scratch):
    architecture, kind, settings = CASES[name]
    model = made(kind, settings, seed=len(settings))
    if name == "t5, gated":
        untie(model)
    is_packed = name.endswith("mxfp4")
    if is_packed:
        round_experts(model)
    golden = golden_of_t5(model) if architecture == "t5" else golden_of(model)
    folder, file = scratch / "folder", scratch / "model.gguf"
    ours, out = scratch / "ours.gguf", scratch / "from-gguf"
    model.save_pretrained(folder)
    (folder / "generation_config.json").unlink(missing_ok=True)
    keys, tensors = of_model(architecture, model)
    is_fused = name.endswith("fused")
    stored = fused(tensors) if is_fused else packed_experts(tensors) if is_packed else tensors
    write(file, architecture, keys, stored)
    heed(program, "convert", file, "-o", out)
    save_file(golden, out / "golden.safetensors")
    heed(program, "check", "model", out)
    _, logits = reopened(model, out, golden)
    seen = golden["attention_mask"] == 1 if architecture != "t5" else slice(None)
    worst = (logits - golden["logits"])[seen].abs().max().item()
    assert worst <= 1e-4, f"transformers' logits of what heed made of the file differ by {worst}"
    heed(program, "convert", folder, "-o", ours, "--dtype", "f32")
    require_same_files(file, ours, is_fused or is_packed)
    print(f"{name}: {len(tensors)} tensors; logits of the folder that heed made of the file differ by {worst:.2g}")


# --- llama.cpp ---------------------------------------------------------------------------------------------------------


def wider(name, settings):
    return settings | {key: size for key, size in WIDER.items() if key in settings} | LIMITS.get(name, {})


def in_llama_cpp(files, ids, words, scratch):
    """The logits of each file."""
    out = scratch / "logits.npy"
    done = run(sys.executable, pathlib.Path(__file__).with_name("llama_cpp_logits.py"), joined(ids[0].tolist()),
               joined(words[0].tolist()), out, *files)
    reached = done.stdout.split()
    assert done.returncode == 0, f"{reached[-1:]} ends llama.cpp with {done.returncode}: {done.stderr.strip()[:400]}"
    return numpy.load(out)


def logits_of(model, ids, words):
    with torch.no_grad():
        found = model(ids, decoder_input_ids=words) if words.numel() else model(ids)
    return (found.logits if "logits" in found else found.last_hidden_state)[0].numpy()


def check_llama_cpp(program, name, scratch):
    """The files that heed writes. Transformers opens the folder that heed makes of the file, which has its numbers."""
    architecture, kind, settings = (CASES | WRITTEN)[name]
    model = made(kind, wider(name, settings), seed=len(settings))
    if name == "t5, gated":
        untie(model)
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() > 1:
                parameter.mul_(0.5)  # rounding then changes scores and the choice of experts less
    model.save_pretrained(scratch / "folder")
    (scratch / "folder/generation_config.json").unlink(missing_ok=True)
    ids, words = texts(3, 17, 17)[0][:1], texts(4, 7, 7)[0][:1, :7 if architecture == "t5" else 0]
    files, expected = [], [logits_of(model, ids, words)]
    for dtype in BOUNDS:
        files.append(scratch / f"{dtype}.gguf")
        heed(program, "convert", scratch / "folder", "-o", files[-1], "--dtype", dtype)
        if dtype != "f32":
            heed(program, "convert", files[-1], "-o", scratch / dtype)
            again = type(model).from_pretrained(scratch / dtype, dtype=torch.float32, attn_implementation="eager").eval()
            expected.append(logits_of(again, ids, words))
    pairs = zip(in_llama_cpp(files, ids, words, scratch), expected, strict=True)
    errors = [((left - right) ** 2).mean() ** 0.5 / right.std() for left, right in pairs]
    print(f"{name}{BESIDE}: " + ", ".join(f"{dtype} {error:.2g}" for dtype, error in zip(BOUNDS, errors, strict=True)))
    wrong = [dtype for dtype, error in zip(BOUNDS, errors, strict=True) if not error <= BOUNDS[dtype]]
    assert not wrong, f"llama.cpp's logits of {', '.join(wrong)} differ"


# --- words ------------------------------------------------------------------------------------------------------------

GPT4 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")
QWEN = GPT4.replace(r"\p{N}{1,3}", r"\p{N}")
TEKKEN = (r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}"
          r"\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+")
# llama.cpp's names: the pattern, whether digits stand alone, whether text is normalised, whether words that are tokens are
# taken whole.
WORDS = {"gpt-2": ("", False, False, False), "phi-2": ("", False, False, False), "olmo": ("", False, True, False),
         "starcoder": ("", True, False, False), "refact": ("", True, False, False), "smollm": ("", True, False, False),
         "command-r": ("", True, True, False), "glm4": (GPT4, False, False, False), "chatglm-bpe": (GPT4, False, False, False),
         "dbrx": (GPT4, False, False, False), "llama-bpe": (GPT4, False, False, True), "stablelm2": (QWEN, False, False, False),
         "qwen2": (QWEN, False, True, False), "tekken": (TEKKEN, False, False, True)}
TEXTS = ["Once upon a time, there was a little girl.", "  two blanks", "tabs\tand\nlines\n\n \n x", "Ünïcödé e\u0301 日本語 🏳️‍🌈 ½ ٣٤",
         " ", "don't we'LL I'M 12345 3.14 1/2", "def f(x):\n    return x**2 # CamelCase snake_case\r\n", "a  b   c12d34 XMLHttp"]


def tokenizer_of(pattern, digits, normalised, whole):
    tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE(ignore_merges=whole))
    parts = [tokenizers.pre_tokenizers.Digits(individual_digits=True)] if digits else []
    if pattern:
        parts.append(tokenizers.pre_tokenizers.Split(tokenizers.Regex(pattern), "isolated"))
    parts.append(tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=not pattern))
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Sequence(parts)
    if normalised:
        tokenizer.normalizer = tokenizers.normalizers.NFC()
    tokenizer.decoder = tokenizers.decoders.ByteLevel()
    trainer = tokenizers.trainers.BpeTrainer(vocab_size=600, special_tokens=["<pad>", "<s>", "</s>"], show_progress=False,
                                             initial_alphabet=tokenizers.pre_tokenizers.ByteLevel.alphabet())
    # Merges across what a wrong cut would join, so that a wrong cut gives other ids.
    tokenizer.train_from_iterator(TEXTS * 3 + ["12 123 1234 12345 34 345"] * 9, trainer)
    return tokenizer


def lists_of(tokenizer, pre):
    """The function that writes the tokenizer into a file."""
    pieces, special = sorted(tokenizer.get_vocab(), key=tokenizer.get_vocab().get), {"<pad>", "<s>", "</s>"}
    merges = json.loads(tokenizer.to_str())["model"]["merges"]

    def lists(writer):
        writer.add_tokenizer_model("gpt2")
        writer.add_tokenizer_pre(pre)
        writer.add_token_list(pieces)
        writer.add_token_types([gguf.TokenType.CONTROL if piece in special else gguf.TokenType.NORMAL for piece in pieces])
        writer.add_token_merges([merge if isinstance(merge, str) else " ".join(merge) for merge in merges])
        writer.add_add_bos_token(False)
        add_ends(writer)

    return lists


def check_words(program, pre, scratch):
    tokenizer = tokenizer_of(*WORDS[pre])
    model = made("LlamaForCausalLM", SIZES | {"vocab_size": tokenizer.get_vocab_size(), "num_hidden_layers": 1}, seed=1)
    file, folder, ours = scratch / "words.gguf", scratch / "folder", scratch / "ours.gguf"
    write(file, "llama", *of_model("llama", model), lists_of(tokenizer, pre))
    model.save_pretrained(folder)
    tokenizer.save(str(folder / "tokenizer.json"))
    heed(program, "convert", folder, "-o", ours, "--dtype", "f32")
    expected = [tokenizer.encode(text).ids for text in TEXTS]
    for path in (file, ours):
        found = [tokens["ids"] for tokens in heed_tokens(program, TEXTS, "--model", path)]
        wrong = [text for text, own, other in zip(TEXTS, expected, found, strict=True) if own != other]
        assert not wrong, f"{path.name} cuts {wrong[0]!r} in another way"
    print(f"words of {pre}: {len(TEXTS)} texts")


def main():
    torch.set_num_threads(1)
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    checks = {name: (check, name) for name in CASES}
    if HAS_LLAMA_CPP:
        checks |= {f"{name}{BESIDE}": (check_llama_cpp, name) for name in CASES | WRITTEN
                   if not name.endswith(("fused", "mxfp4"))}  # heed writes neither
    checks |= {f"words of {pre}": (check_words, pre) for pre in WORDS}
    failed = 0
    for name in sys.argv[2:] or checks:
        kind, case = checks[name]
        with tempfile.TemporaryDirectory() as scratch:
            try:
                kind(sys.argv[1], case, pathlib.Path(scratch))
            except Exception as error:  # noqa: BLE001, the other cases are worth a look
                failed += 1
                print(f"{name}: {error}", flush=True)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
