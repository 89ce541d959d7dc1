"""Writes models as GGUF with the `gguf` package and reads them with heed: names, numbers, tokenizers, every block type.

Runs where gguf is installed and the test data lie beside the checkout, else says why it does not. Usage:
    python tests/peers/gguf_test.py build/release/heed [--only NAME]
"""

import argparse
import json
import pathlib
import shutil
import sys
import tempfile

from places import SHARED, SKIPPED, SOURCE
from program import heed, heed_tokens

sys.path.insert(0, str(SOURCE / "bench/peers"))
try:
    import gguf
    import ml_dtypes  # noqa: F401, gives numpy its bfloat16
    import numpy
    import safetensors.numpy
    from gguf_file import add_ends, keys_of, tensors_of
    from gguf_file import write as write_gguf
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(SKIPPED)

MODELS = SHARED / "models"
TYPES = gguf.GGMLQuantizationType
SEED = 1
UNUSED = ("cls.", "bert.pooler", ".attn.bias", ".attn.masked_bias", "lm_head.weight_copy")


def read_folder(folder):
    """The configuration, and the tensors that a GGUF file holds."""
    config = json.loads((folder / "config.json").read_text())
    tensors = {}
    for file in sorted(folder.glob("model*.safetensors")):
        tensors.update(safetensors.numpy.load_file(file))
    unused = (*UNUSED, "lm_head.weight") if config.get("tie_word_embeddings") else UNUSED
    return config, {name: tensor.astype(numpy.float32) for name, tensor in tensors.items()
                    if not any(part in name for part in unused)}


def encoded(array, kind):
    """The array as blocks of `kind`; one that does not fit stays f32, as vectors do."""
    if array.ndim < 2 or kind == TYPES.F32 or array.shape[-1] % gguf.GGML_QUANT_SIZES[kind][0]:
        return array
    return gguf.quantize(array, kind)


def write(path, folder, kind=TYPES.F32, vocabulary=add_ends):
    config, tensors = read_folder(folder)
    architecture = config["model_type"]
    stored = tensors_of(architecture, tensors.items(), config)
    packed = {name: encoded(array, kind) for name, array in stored.items()}
    write_gguf(path, architecture, keys_of(architecture, config), packed, vocabulary, dict.fromkeys(packed, kind))
    return tensors


# --- tokenizers -------------------------------------------------------------------------------------------------------


def sentence_piece_lists(writer, folder):
    """Writes the lists of a tokenizer.json in SentencePiece's BPE form; the order of its merges becomes the scores."""
    model = json.loads((folder / "tokenizer.json").read_text())
    vocabulary = model["model"]["vocab"]
    pieces = sorted(vocabulary, key=vocabulary.get)
    added = {token["content"] for token in model["added_tokens"]}
    scores = {}
    for rank, merge in enumerate(model["model"]["merges"]):
        joint = "".join(merge.split(" ") if isinstance(merge, str) else merge)
        scores.setdefault(joint, -float(rank))
    types = [gguf.TokenType.UNKNOWN if piece == "<unk>" else gguf.TokenType.CONTROL if piece in added
             else gguf.TokenType.BYTE if piece.startswith("<0x") else gguf.TokenType.NORMAL for piece in pieces]
    writer.add_tokenizer_model("llama")
    writer.add_token_list(pieces)
    writer.add_token_scores([scores.get(piece, -1e6) for piece in pieces])
    writer.add_token_types(types)
    writer.add_unk_token_id(vocabulary["<unk>"])
    writer.add_bos_token_id(vocabulary["<s>"])
    writer.add_eos_token_id(vocabulary["</s>"])
    writer.add_add_bos_token(True)


def byte_lists(writer, folder):
    model = json.loads((folder / "tokenizer.json").read_text())
    vocabulary = dict(model["model"]["vocab"])
    added = {token["content"]: token["id"] for token in model["added_tokens"]}
    vocabulary.update(added)
    pieces = sorted(vocabulary, key=vocabulary.get)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    writer.add_token_list(pieces)
    writer.add_token_types([gguf.TokenType.CONTROL if piece in added else gguf.TokenType.NORMAL for piece in pieces])
    writer.add_token_merges([merge if isinstance(merge, str) else " ".join(merge) for merge in model["model"]["merges"]])
    writer.add_eos_token_id(vocabulary["<|endoftext|>"])


def word_piece_lists(writer, folder):
    vocabulary = json.loads((folder / "tokenizer.json").read_text())["model"]["vocab"]
    pieces = sorted(vocabulary, key=vocabulary.get)
    writer.add_tokenizer_model("bert")
    writer.add_token_list([piece if piece.startswith("[") and piece.endswith("]") else piece[2:] if piece.startswith("##")
                           else "\u2581" + piece for piece in pieces])
    writer.add_token_types([gguf.TokenType.CONTROL if piece.startswith("[") and piece.endswith("]") else gguf.TokenType.NORMAL
                            for piece in pieces])
    writer.add_bos_token_id(vocabulary["[CLS]"])
    writer.add_sep_token_id(vocabulary["[SEP]"])
    writer.add_unk_token_id(vocabulary["[UNK]"])
    writer.add_pad_token_id(vocabulary["[PAD]"])
    writer.add_mask_token_id(vocabulary["[MASK]"])


# --- the tests --------------------------------------------------------------------------------------------------------


def is_same(written, out):
    """heed's folder holds the numbers that were written; a norm's 1 costs a rounding."""
    _, found = read_folder(out)
    worst = 0.0
    for name, array in written.items():
        spellings = [name, "transformer." + name, "model." + name, "bert." + name]
        key = next((spelling for spelling in spellings if spelling in found), None)
        assert key is not None, f"{name} is not in {sorted(found)}"
        worst = max(worst, float(numpy.abs(found[key] - array).max()))
    return worst


def test_families(program, scratch):
    """Every family that heed reads: the numbers, and the golden pass of the model that comes out."""
    for name in ("llama", "llama-bf16", "llama-tied", "llama-sharded", "llama-rope-linear", "llama-rope-yarn", "qwen2", "qwen3",
                 "gemma2-stretch", "gpt2", "gpt2-hub-names", "bert"):
        folder = MODELS / "tiny" / name
        file, out = scratch / f"{name}.gguf", scratch / name
        written = write(file, folder)
        heed(program, "convert", file, "-o", out)
        worst = is_same(written, out)
        assert worst <= (2e-7 if "gemma" in name else 0), f"{name}: a weight differs by {worst}"
        if name not in ("bert", "gemma2-stretch"):  # the file has no masked-word head, and no query_pre_attn_scalar
            for golden in folder.glob("golden*"):
                shutil.copy(golden, out)
            heed(program, "check", "model", out)
        print(f"{name}: {len(written)} tensors")


def test_blocks(program, scratch):
    """Blocks of random bits of every type: the same f32 as gguf's, bit for bit."""
    random = numpy.random.default_rng(SEED)
    rows, width = 512, 512
    for kind in (TYPES.Q4_0, TYPES.Q4_1, TYPES.Q5_0, TYPES.Q5_1, TYPES.Q8_0, TYPES.Q2_K, TYPES.Q3_K, TYPES.Q4_K, TYPES.Q5_K, TYPES.Q6_K,
                 TYPES.IQ4_NL, TYPES.IQ4_XS, TYPES.MXFP4, TYPES.F16, TYPES.BF16):
        elements, size = gguf.GGML_QUANT_SIZES[kind]
        blocks = random.integers(0, 256, (rows * width // elements, size), dtype=numpy.uint8)
        if kind in (TYPES.F16, TYPES.BF16):
            blocks = random.normal(size=(rows * width,)).astype(numpy.float32)
            blocks = blocks.astype(numpy.float16).view(numpy.uint8) if kind == TYPES.F16 else gguf.quantize(blocks, kind).view(numpy.uint8)
        finite_scales(blocks, kind, random)
        blocks = blocks.reshape(rows, -1)
        expected = gguf.dequantize(blocks.view(numpy.float16) if kind == TYPES.F16 else blocks, kind).reshape(rows, width)
        file, out = scratch / f"{kind.name}.gguf", scratch / kind.name
        tiny_gpt2(file, expected.shape, blocks, kind)
        heed(program, "convert", file, "-o", out)
        _, found = read_folder(out)
        wpe = next(array for name, array in found.items() if name.endswith("wpe.weight"))
        same = wpe.view(numpy.uint32) == expected.astype(numpy.float32).view(numpy.uint32)
        assert same.all(), f"{kind.name}: {(~same).sum()} of {same.size} numbers differ"
        print(f"{kind.name}: {blocks.size // size} blocks")


SCALES = {TYPES.Q4_1: (0, 2), TYPES.Q5_1: (0, 2), TYPES.Q2_K: (80, 82), TYPES.Q3_K: (108,), TYPES.Q4_K: (0, 2), TYPES.Q5_K: (0, 2),
          TYPES.Q6_K: (208,)}


def finite_scales(blocks, kind, random):
    """Scales that are numbers, of all magnitudes and both signs, subnormal ones included."""
    if kind in (TYPES.F16, TYPES.BF16, TYPES.MXFP4):
        return
    for place in SCALES.get(kind, (0,)):
        scales = (random.choice([-1, 1], len(blocks)) * 2.0 ** random.uniform(-24, 4, len(blocks))).astype(numpy.float16)
        blocks[:, place:place + 2] = scales.view(numpy.uint8).reshape(-1, 2)


def tiny_gpt2(path, shape, blocks, kind):
    """A GPT-2 whose table of positions is the blocks."""
    positions, width = shape

    def zeros(*extents):
        return numpy.zeros(extents, numpy.float16 if len(extents) > 1 else numpy.float32)

    table = blocks.view(numpy.float16).reshape(shape) if kind == TYPES.F16 else blocks
    tensors = {"token_embd.weight": zeros(4, width), "position_embd.weight": table}
    for name, (rows, columns) in {"attn_qkv": (3 * width, width), "attn_output": (width, width), "ffn_up": (32, width),
                                  "ffn_down": (width, 32)}.items():
        tensors |= {f"blk.0.{name}.weight": zeros(rows, columns), f"blk.0.{name}.bias": zeros(rows)}
    for name in ("blk.0.attn_norm", "blk.0.ffn_norm", "output_norm"):
        tensors |= {f"{name}.weight": zeros(width), f"{name}.bias": zeros(width)}
    config = {"n_positions": positions, "n_embd": width, "n_layer": 1, "n_inner": 32, "n_head": 1, "layer_norm_epsilon": 1e-5}
    write_gguf(path, "gpt2", keys_of("gpt2", config), tensors, kinds={"position_embd.weight": kind})


TEXTS = ["Once upon a time, there was a little girl.", "  two blanks", "tabs\tand\nlines\n\n", "Ünïcödé 日本語 🏳️‍🌈", "", " ", "don't we'LL 12345"]


def require_same_ids(program, name, found, expected):
    found, expected = ([tokens["ids"] for tokens in heed_tokens(program, TEXTS, *what)] for what in (found, expected))
    assert found == expected, f"{name}: {found} is not {expected}"
    print(f"{name}: {len(TEXTS)} texts")


def test_tokenizers(program, scratch):
    """The ids of the lists in the file are those of the folder's own tokenizer."""
    cases = [(MODELS / "stories260k", MODELS / "stories260k", sentence_piece_lists, "llama"),
             (MODELS / "tiny/gpt2", SHARED / "tokenizers/gpt2", byte_lists, "gpt2"),
             (MODELS / "tiny/bert", SHARED / "tokenizers/bert", word_piece_lists, "bert")]
    for folder, tokenizer, lists, name in cases:
        file = scratch / f"{name}-tokenizer.gguf"
        write(file, folder, vocabulary=lambda writer, lists=lists, tokenizer=tokenizer: lists(writer, tokenizer))
        require_same_ids(program, name, ["--model", file], ["--tokenizer", tokenizer / "tokenizer.json"])


def test_stories(program, scratch):
    """A trained model in 8 bits goes on as its folder does; in 4 bits it still tells a story."""
    folder = MODELS / "stories260k"
    prompt = "Once upon a time"
    expected = heed(program, "generate", prompt, "--model", folder, "-n", "60")
    for kind in (TYPES.F32, TYPES.Q8_0, TYPES.Q4_0):
        file = scratch / f"stories-{kind.name}.gguf"
        write(file, folder, kind=kind, vocabulary=lambda writer: sentence_piece_lists(writer, folder))
        found = heed(program, "generate", prompt, "--model", file, "-n", "60", "--dtype", "f32")
        if kind == TYPES.F32:
            assert found == expected, f"{found!r} is not {expected!r}"
        assert found.startswith(prompt) and len(found.split()) > 20, found
        print(f"stories260k in {kind.name}: {found[:60]!r}")


def test_written(program, scratch):
    """What heed writes is read by gguf's own reader: names, types, and the numbers of its own rounding."""
    for name in ("tiny/llama", "tiny/qwen2", "tiny/qwen3", "tiny/gpt2", "tiny/bert", "stories260k"):
        folder = MODELS / name
        config, tensors = read_folder(folder)
        stored = tensors_of(config["model_type"], tensors.items(), config)
        for word in ("f32", "f16", "bf16", "q8_0", "q4_0"):
            file = scratch / f"{folder.name}-{word}.gguf"
            heed(program, "convert", folder, "-o", file, "--dtype", word)
            reader = gguf.GGUFReader(file)
            found = {tensor.name: tensor for tensor in reader.tensors}
            for part, expected in stored.items():
                tensor = found.pop(part)
                kind = tensor.tensor_type
                rounded = gguf.dequantize(gguf.quantize(expected, kind), kind) if kind != TYPES.F32 else expected
                read = gguf.dequantize(tensor.data, kind)
                assert numpy.array_equal(read.reshape(expected.shape), rounded.reshape(expected.shape)), f"{name} {word}: {part}"
            assert not found, f"{name} {word}: {sorted(found)} are of no tensor"
        print(f"{name}: {len(tensors)} tensors in five types")


def test_tokenizers_written(program, scratch):
    """The lists that heed writes give the ids of the folder."""
    for model in ("tales", "masks", MODELS / "stories260k"):
        file = scratch / f"{pathlib.Path(model).name}.gguf"
        heed(program, "convert", model, "-o", file)
        require_same_ids(program, model, ["--model", file, "--special"], ["--model", model, "--special"])


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program")
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    if not MODELS.exists():
        print(f"skipped: {MODELS} is not there")
        sys.exit(SKIPPED)
    for name, test in list(globals().items()):
        if name.startswith("test_") and options.only in name:
            with tempfile.TemporaryDirectory() as scratch:
                test(options.program, pathlib.Path(scratch))
            print(f"{name}: passed")


if __name__ == "__main__":
    main()
