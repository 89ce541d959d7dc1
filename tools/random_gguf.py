#!/usr/bin/env python3
"""Writes a Llama with random weights as a GGUF file: random_gguf.py SHAPE TYPE OUT

SHAPE is 110m, 1b or 7b; TYPE is Q4_0, Q8_0, Q4_K or Q6_K (norms are F32). The file is written block by block,
so that 7b needs no memory. Its text is letters: the vocabulary has bytes, letters and names that no text has.
For measurements of size and speed; the numbers mean nothing. Needs the package `gguf`.
"""
import string
import sys

import gguf
import numpy

SHAPES = {  # width, hidden width, layers, heads, heads of keys
    "110m": (768, 2048, 12, 12, 12),
    "1b": (2048, 5632, 22, 32, 4),
    "7b": (4096, 11008, 32, 32, 32),
}
VOCABULARY = 32000
# Bytes of a block, the places of its f16 factors, and what they are for weights of about 0.02.
BLOCKS = {
    "Q4_0": (32, 18, {0: 4e-3}),
    "Q8_0": (32, 34, {0: 3e-4}),
    "Q4_K": (256, 144, {0: 1.6e-4, 2: 1.2e-3}),
    "Q6_K": (256, 210, {208: 2e-5}),
}


def blocks(rows, columns, kind, random):
    elements, size, factors = BLOCKS[kind]
    raw = random.integers(0, 256, (rows, columns // elements, size), dtype=numpy.uint8)
    for at, value in factors.items():
        raw[:, :, at:at + 2] = numpy.frombuffer(numpy.float16(value).tobytes(), numpy.uint8)
    return raw.reshape(rows, -1)


def tensors(width, hidden, layers, heads, kv_heads):
    """Names and shapes, outputs first."""
    kv_width = width // heads * kv_heads
    yield "token_embd.weight", (VOCABULARY, width)
    yield "output_norm.weight", (width,)
    yield "output.weight", (VOCABULARY, width)
    for layer in range(layers):
        for name, shape in {
                "attn_norm": (width,), "attn_q": (width, width), "attn_k": (kv_width, width),
                "attn_v": (kv_width, width), "attn_output": (width, width), "ffn_norm": (width,),
                "ffn_gate": (hidden, width), "ffn_up": (hidden, width), "ffn_down": (width, hidden)}.items():
            yield f"blk.{layer}.{name}.weight", shape


def describe(writer, width, hidden, layers, heads, kv_heads):
    pieces = ["<unk>", "<s>", "</s>"] + [f"<0x{byte:02X}>" for byte in range(256)]
    kinds = [2, 3, 3] + [6] * 256
    pieces += ["\u2581"] + list(string.ascii_letters + string.digits + string.punctuation)
    pieces += [f"name{index}" for index in range(VOCABULARY - len(pieces))]
    kinds += [1] * (VOCABULARY - len(kinds))
    writer.add_context_length(4096)
    writer.add_embedding_length(width)
    writer.add_feed_forward_length(hidden)
    writer.add_block_count(layers)
    writer.add_head_count(heads)
    writer.add_head_count_kv(kv_heads)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_dimension_count(width // heads)
    writer.add_tokenizer_model("llama")
    writer.add_token_list(pieces)
    writer.add_token_scores([float(-index) for index in range(VOCABULARY)])
    writer.add_token_types(kinds)
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)


def main():
    if len(sys.argv) != 4 or sys.argv[1] not in SHAPES or sys.argv[2] not in BLOCKS:
        sys.exit(__doc__)
    shape, kind, path = SHAPES[sys.argv[1]], sys.argv[2], sys.argv[3]
    random = numpy.random.default_rng(1)
    writer = gguf.GGUFWriter(path, "llama")
    describe(writer, *shape)
    stored = gguf.GGMLQuantizationType[kind]
    elements, size, _ = BLOCKS[kind]
    parts = list(tensors(*shape))
    for name, extents in parts:
        if len(extents) == 1:
            writer.add_tensor_info(name, extents, numpy.dtype(numpy.float32), extents[0] * 4)
        else:
            of_bytes = (extents[0], extents[1] // elements * size)
            writer.add_tensor_info(name, of_bytes, numpy.dtype(numpy.uint8), of_bytes[0] * of_bytes[1], raw_dtype=stored)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_ti_data_to_file()
    for _, extents in parts:
        writer.write_tensor_data(numpy.ones(extents, numpy.float32) if len(extents) == 1 else blocks(*extents, kind, random))
    writer.close()


if __name__ == "__main__":
    main()
