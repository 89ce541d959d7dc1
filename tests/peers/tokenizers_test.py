"""Compares `heed tokenize` with `tokenizers` on random strings: ids of every type of tokenizer, and offsets.

The strings hold code points that Unicode 15.0 assigns. Runs where tokenizers is installed and the test data lie
beside the checkout, else says why it does not. Usage:
    python tests/peers/tokenizers_test.py build/release/heed [--strings 10000] [--seed 1] [--only NAME]
"""

import argparse
import base64
import json
import pathlib
import random
import struct
import sys
import tempfile
import unicodedata

from places import SHARED, SKIPPED
from program import heed, heed_tokens

try:
    import tokenizers
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(SKIPPED)

TOKENIZERS = SHARED / "tokenizers"

# What Unicode 15.0 added to 14.0.
ADDED = [(0xCF3, 0xCF3), (0xECE, 0xECE), (0x10EFD, 0x10EFF), (0x1123F, 0x11241), (0x11B00, 0x11B09),
         (0x11F00, 0x11F10), (0x11F12, 0x11F3A), (0x11F3E, 0x11F59), (0x1342F, 0x1342F), (0x13439, 0x13455),
         (0x1B132, 0x1B132), (0x1B155, 0x1B155), (0x1D2C0, 0x1D2D3), (0x1DF25, 0x1DF2A), (0x1E030, 0x1E06D),
         (0x1E08F, 0x1E08F), (0x1E4D0, 0x1E4F9), (0x1F6DC, 0x1F6DC), (0x1F774, 0x1F776), (0x1F77B, 0x1F77F),
         (0x1F7D9, 0x1F7D9), (0x1FA75, 0x1FA77), (0x1FA87, 0x1FA88), (0x1FAAD, 0x1FAAF), (0x1FABB, 0x1FABD),
         (0x1FABF, 0x1FABF), (0x1FACE, 0x1FACF), (0x1FADA, 0x1FADB), (0x1FAE8, 0x1FAE8), (0x1FAF7, 0x1FAF8),
         (0x31350, 0x323AF)]
GPT2 = r"""'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"""
# What Oniguruma and PCRE2 read differently, and what both know.
REGEXES = [r"[a-z[0-9]]+|[^a-z]", r"\p{N}{1,3}+|\D", r"ea{2}?|[^e]+|e", r"(?>\s+)(?!\S)|\S+|\s", r"\p{^L}+|\p{L}+",
           r"[\w\s]+|[^\w\s]+", r"\w+|\W", r"(?<=\w)'\w+|.|\n", r"x{,2}y|.|\n", r"^.|.+?|\n", r"(?<=[a-e])\w|(?<!\s)\S|\s", r"[\u0041-\u005A]|[\x{300}-\x{4FFF}]+|.|\n",
           r"\v+|\S++|\s*?\s", r"[^\]\-a]+|[\]\-a]", r"(?i:[a-c]+|k)|.|\n", r".$|.|\n"]
LLAMA3 = (r"""(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"""
          r"""|\s*[\r\n]+|\s+(?!\S)|\s+""")
GPT4O = (r"""[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?"""
         r"""|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?"""
         r"""|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+""")


def assigned():
    """Those of Unicode 15.0, whatever this Python knows; surrogates and private use are left out."""
    codes = {code for code in range(0x110000) if unicodedata.category(chr(code)) not in ("Cn", "Cs", "Co")}
    version = tuple(map(int, unicodedata.unidata_version.split(".")[:2]))
    if version not in ((14, 0), (15, 0)):
        print(f"skipped: this Python has Unicode {unicodedata.unidata_version}, not 14.0 or 15.0")
        sys.exit(SKIPPED)
    for first, last in ADDED:
        codes.update(range(first, last + 1))
    return sorted(codes)


def strings(count, seed):
    choose = random.Random(seed)
    every = assigned()
    common = [code for code in every if code < 0x800]
    marks = [code for code in every if unicodedata.category(chr(code)).startswith("M")]
    spaces = [0x20, 0x20, 0x20, 0x9, 0xA, 0xD, 0xA0, 0x3000, 0x200B, 0x2028]
    words = ["the", " cat", "'s", "'LL", " don't", "Ünïcödé", "12345", "...", "//", "  ", "\r\n\r\n", "▁", "ﬁ", "①",
             "İstanbul", "ǅ", "'ſ", "ΑΣ", "한국", "日本語", "🏳️‍🌈", "नमस्ते", "e\u0301", "<s>", "[MASK]", "<|endoftext|>"]
    result = []
    for _ in range(count):
        text = ""
        for _ in range(choose.randint(1, 40)):
            kind = choose.random()
            if kind < 0.4:
                text += chr(choose.choice(every))
            elif kind < 0.6:
                text += chr(choose.choice(common))
            elif kind < 0.7:
                text += chr(choose.choice(marks))
            elif kind < 0.8:
                text += chr(choose.choice(spaces))
            else:
                text += choose.choice(words)
        result.append(text)
    return result


def byte_characters():
    visible = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    rest = [byte for byte in range(256) if byte not in visible]
    return {**{byte: chr(byte) for byte in visible}, **{byte: chr(256 + i) for i, byte in enumerate(rest)}}


def byte_level_model():
    """The tokens of cl100k_base as a BPE model: every way to part a token into two is a merge."""
    alphabet = byte_characters()
    tokens = [base64.b64decode(line.split()[0]) for line in
              (TOKENIZERS / "tiktoken/cl100k_base.tiktoken").read_text().splitlines()]
    spelled = {token: "".join(alphabet[byte] for byte in token) for token in tokens}
    merges = [[spelled[token[:cut]], spelled[token[cut:]]] for token in tokens for cut in range(1, len(token))
              if token[:cut] in spelled and token[cut:] in spelled]
    vocabulary = {spelled[token]: rank for rank, token in enumerate(tokens)}
    return {"type": "BPE", "vocab": vocabulary, "merges": merges, "ignore_merges": True}


def fields(message):
    """The fields of a protobuf message."""
    at = 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = message[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(message):
        tag = varint()
        if tag & 7 == 0:
            yield tag >> 3, varint()
        elif tag & 7 == 2:
            size = varint()
            yield tag >> 3, message[at:at + size]
            at += size
        else:
            size = 8 if tag & 7 == 1 else 4
            yield tag >> 3, message[at:at + size]
            at += size


def unigram_parts():
    pieces, charsmap = [], b""
    for number, value in fields((TOKENIZERS / "sentencepiece/test_model.model").read_bytes()):
        if number == 1:
            piece = dict(fields(value))
            pieces.append([piece[1].decode(), struct.unpack("<f", piece.get(2, b"\0\0\0\0"))[0]])
        if number == 3:
            charsmap = dict(fields(value))[2]
    model = {"type": "Unigram", "unk_id": 0, "vocab": pieces, "byte_fallback": False}
    return model, {"type": "Precompiled", "precompiled_charsmap": base64.b64encode(charsmap).decode()}


def token(id, content, **flags):
    return {"id": id, "content": content, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False,
            "special": True, **flags}


def document(model, normalizer=None, pre_tokenizer=None, decoder=None, post_processor=None, added=()):
    return {"version": "1.0", "truncation": None, "padding": None, "added_tokens": list(added), "normalizer": normalizer,
            "pre_tokenizer": pre_tokenizer, "post_processor": post_processor, "decoder": decoder, "model": model}


def sequence(kind, *parts):
    return {"type": "Sequence", kind: list(parts)}


def split_then_bytes(regex):
    return sequence("pretokenizers", {"type": "Split", "pattern": {"Regex": regex}, "behavior": "Isolated", "invert": False},
                    {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": False, "use_regex": False})


def documents():
    """Name, content of a tokenizer.json, and whether offsets are compared: where NFC composes, heed gives a token all
    bytes that it stands for, and tokenizers those of the first character."""
    read = lambda name: json.loads((TOKENIZERS / name / "tokenizer.json").read_text())
    gpt2, bert, llama2 = read("gpt2"), read("bert"), read("llama2")
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": False, "use_regex": True}
    yield "gpt2", gpt2, True
    yield "gpt2-prefix-space", {**gpt2, "pre_tokenizer": {**byte_level, "add_prefix_space": True}}, False
    yield "roberta", {**gpt2, "post_processor": {"type": "RobertaProcessing", "sep": ["</s>", 2], "cls": ["<s>", 0],
                                                 "trim_offsets": False, "add_prefix_space": False}}, True
    smollm = sequence("pretokenizers", {"type": "Digits", "individual_digits": True}, byte_level)
    yield "smollm", {**gpt2, "pre_tokenizer": smollm}, True
    model = byte_level_model()
    qwen2 = LLAMA3.replace(r"\p{N}{1,3}", r"\p{N}")
    yield "llama3", document(model, pre_tokenizer=split_then_bytes(LLAMA3), decoder=byte_level), True
    yield "qwen2", document(model, {"type": "NFC"}, split_then_bytes(qwen2), byte_level,
                            added=[token(100256, "<|endoftext|>")]), False
    yield "gpt4o", document(model, pre_tokenizer=split_then_bytes(GPT4O), decoder=byte_level), True
    for regex in REGEXES:
        yield regex, document(model, pre_tokenizer=split_then_bytes(regex), decoder=byte_level), True
    yield "bert", bert, True
    cased = {**bert["normalizer"], "lowercase": False, "strip_accents": None}
    yield "bert-cased", {**bert, "normalizer": cased}, True
    yield "llama2", llama2, True
    metaspace = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "first", "split": False}
    yield "llama2-metaspace", {**llama2, "normalizer": None, "pre_tokenizer": metaspace}, True
    unigram, charsmap = unigram_parts()
    always = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": True}
    blanks = {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": "▁"}
    strip = {"type": "Strip", "strip_left": False, "strip_right": True}
    yield "t5", document(unigram, sequence("normalizers", charsmap, strip, blanks), always, always), False
    albert = sequence("normalizers", {"type": "Replace", "pattern": {"String": "``"}, "content": '"'},
                      {"type": "NFKD"}, {"type": "StripAccents"}, {"type": "Lowercase"}, charsmap)
    yield "albert", document(unigram, albert, always, always), False
    yield "nmt-nfkc", document(unigram, sequence("normalizers", {"type": "Nmt"}, {"type": "NFKC"}), always, always), False
    letters = {chr(code): i for i, code in enumerate(range(0x21, 0x250))}
    words = {**letters, "[UNK]": len(letters)}
    word_level = {"type": "WordLevel", "vocab": words, "unk_token": "[UNK]"}
    yield "words", document(word_level, pre_tokenizer={"type": "Whitespace"}), True
    cutters = sequence("pretokenizers", {"type": "WhitespaceSplit"}, {"type": "Punctuation", "behavior": "Isolated"},
                       {"type": "Digits", "individual_digits": False})
    yield "cutters", document(word_level, pre_tokenizer=cutters), True
    flags = [token(len(words), "cat", single_word=True), token(len(words) + 1, "<s>", lstrip=True, rstrip=True),
             token(len(words) + 2, "the", normalized=True)]
    yield "added", document(word_level, {"type": "Lowercase"}, {"type": "WhitespaceSplit"}, added=flags), True


def widened(text, begin, end):
    """Byte offsets of code points [begin, end)."""
    return [len(text[:begin].encode()), len(text[:end].encode())]


def whole_characters(data, begin, end):
    while 0 < begin < len(data) and data[begin] & 0xC0 == 0x80:
        begin -= 1
    while 0 < end < len(data) and data[end] & 0xC0 == 0x80:
        end += 1
    return [begin, end]


def reorders(text):
    """Whether a normal form moves a mark: tokenizers then gives a place, heed the mark's own bytes."""
    return unicodedata.normalize("NFD", text) != "".join(unicodedata.normalize("NFD", one) for one in text)


def compare(program, name, content, offsets, texts):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "tokenizer.json"
        path.write_text(json.dumps(content))
        library = tokenizers.Tokenizer.from_file(str(path))
        wrong = []
        for text, ours in zip(texts, heed_tokens(program, texts, "--tokenizer", path), strict=True):
            theirs = library.encode(text, add_special_tokens=False)
            data = text.encode()
            same = ours["ids"] == theirs.ids
            if same and offsets and not reorders(text):
                spans = [whole_characters(data, one["begin"], one["end"]) for one in ours["tokens"]]
                same = spans == [whole_characters(data, *widened(text, *span)) for span in theirs.offsets]
            if not same:
                wrong.append((text, theirs, ours))
    print(f"{name}: {len(texts) - len(wrong)} of {len(texts)} equal" + (", with offsets" if offsets else ""))
    for text, theirs, ours in wrong[:3]:
        print(f"  {text!r}\n    tokenizers {theirs.ids} {theirs.offsets}\n    heed       {ours['ids']} "
              f"{[(one['begin'], one['end']) for one in ours['tokens']]}")
    return len(wrong)


def compare_sentence_piece(program, name, texts, **training):
    """Ids of a model that SentencePiece trains here. Its own encoder is the reference."""
    try:
        import sentencepiece
    except ImportError as error:
        print(f"skipped: {error}")
        return 0
    corpus = SHARED / "text"
    with tempfile.TemporaryDirectory() as folder:
        sentencepiece.SentencePieceTrainer.train(
            input=[str(corpus / "alice29.txt"), str(corpus / "enja/dev.ja")], model_prefix=f"{folder}/model",
            vocab_size=1000, minloglevel=2, num_threads=1, **training)
        library = sentencepiece.SentencePieceProcessor(model_file=f"{folder}/model.model")
        texts = [text for text in texts if "\0" not in text]
        wrong = [(text, library.encode(text), ours["ids"]) for text, ours in
                 zip(texts, heed_tokens(program, texts, "--tokenizer", f"{folder}/model.model"), strict=True)
                 if library.encode(text) != ours["ids"]]
    print(f"{name}: {len(texts) - len(wrong)} of {len(texts)} equal")
    for text, theirs, ours in wrong[:3]:
        print(f"  {text!r}\n    sentencepiece {theirs}\n    heed          {ours}")
    return len(wrong)


SENTENCE_PIECE = {
    "spm-unigram": {"model_type": "unigram"},
    "spm-unigram-bytes": {"model_type": "unigram", "byte_fallback": True, "normalization_rule_name": "identity",
                          "user_defined_symbols": ["<s0>", "the", "[MASK]"]},
    "spm-bpe": {"model_type": "bpe"},
    "spm-bpe-bytes": {"model_type": "bpe", "byte_fallback": True, "normalization_rule_name": "identity",
                      "remove_extra_whitespaces": False, "split_digits": True, "allow_whitespace_only_pieces": True},
    "spm-bpe-symbols": {"model_type": "bpe", "user_defined_symbols": ["cat", "[MASK]"], "add_dummy_prefix": False},
    "spm-suffix": {"model_type": "unigram", "treat_whitespace_as_suffix": True},
}


def compare_word_piece_training(program):
    """Pieces that `heed train` learns, and those of the trainer of tokenizers, from the same text."""
    text, size = SHARED / "text/alice29.txt", 1500
    with tempfile.TemporaryDirectory() as folder:
        heed(program, "train", "--task", "mlm", "--data", text, "--tokenizer", "word-piece", "--vocabulary", size,
             "--validation", 0, "--layers", 1, "--width", 16, "--heads", 1, "--block", 32, "--steps", 1, "--warmup", 0,
             "-o", f"{folder}/run")
        ours = set(json.loads(pathlib.Path(f"{folder}/run/model/tokenizer.json").read_text())["model"]["vocab"])
    library = tokenizers.Tokenizer(tokenizers.models.WordPiece(unk_token="[UNK]"))
    library.normalizer = tokenizers.normalizers.BertNormalizer()
    library.pre_tokenizer = tokenizers.pre_tokenizers.BertPreTokenizer()
    special = ["[PAD]", "[CLS]", "[SEP]", "[MASK]", "[UNK]"]
    library.train([str(text)], tokenizers.trainers.WordPieceTrainer(vocab_size=size, special_tokens=special, min_frequency=2,
                                                                    show_progress=False))
    theirs = set(library.get_vocab())
    print(f"word-piece training: {len(ours & theirs)} of {size} pieces equal")
    # Pairs of the same frequency are ordered by ids, which the library gives to characters inside of words as they come.
    return 0 if len(ours) == len(theirs) == size and len(ours & theirs) >= 0.99 * size else 1


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--strings", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only")
    options = parser.parse_args()
    if not TOKENIZERS.exists():
        print(f"skipped: {TOKENIZERS} is not there")
        sys.exit(SKIPPED)
    texts = strings(options.strings, options.seed)
    wrong = 0
    for name, content, offsets in documents():
        if options.only in (None, name):
            wrong += compare(options.program, name, content, offsets, texts)
    for name, training in SENTENCE_PIECE.items():
        if options.only in (None, name):
            wrong += compare_sentence_piece(options.program, name, texts, **training)
    if options.only in (None, "word-piece-training"):
        wrong += compare_word_piece_training(options.program)
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
