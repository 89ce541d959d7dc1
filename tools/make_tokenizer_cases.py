#!/usr/bin/env python3
"""Writes tests/text/cases.json: what `tokenizers` gives on texts for each file in tests/text/tokenizers; and
tests/text/rules.json: tiny tokenizers, each with one rule at its edge, and what it gives for them; and
tests/text/settings.json: what `transformers` gives where a tokenizer_config.json lies beside the tokenizer.json.

Offsets are bytes of the UTF-8 text. Where a normaliser composes characters, heed gives a token all bytes that it
stands for, and the library those of the first character: such offsets are left out.

    pip install tokenizers==0.23.3 transformers==5.23.0 && tools/make_tokenizer_cases.py
"""

import json
import pathlib
import shutil
import tempfile

import tokenizers
import transformers

FOLDER = pathlib.Path(__file__).resolve().parent.parent / "tests" / "text"
COMPOSING = {"unigram", "albert", "words"}
TEXTS = ["", " ", "the cat's", " the  the ", "IT'LL 12345 don't", "'ſx 'S", "a\r\n\r\n  the", "Ünïcödé e\u0301 ﬁ ½",
         "한국 日本1", "🦉\u200d🏳️ \u3000\u00a0", "<s>the</s> a", "[SEP] the cats [SEP]x", "the cat, THE CAT!", "▁the ▁",
         "helloWorld HTTPServer// x/\n", "q\u0304\u0323 İ ① ǅ", "aaaaaaa", "q fi e\u0301 é", "\ufffd\x01\x7fa\tb", "hé"]


def in_bytes(text, offset):
    return len(text[:offset].encode())


def case(tokenizer, text, with_offsets):
    plain = tokenizer.encode(text, add_special_tokens=False)
    entry = {"text": text, "ids": plain.ids, "decoded": tokenizer.decode(plain.ids, skip_special_tokens=False),
             "with_special": tokenizer.encode(text).ids}
    if with_offsets:
        entry["offsets"] = [[in_bytes(text, begin), in_bytes(text, end)] for begin, end in plain.offsets]
    return entry


def pair(tokenizer):
    both = tokenizer.encode("the cat", "a the")
    return {"ids": both.ids, "types": both.type_ids}


def main():
    cases = {}
    for path in sorted((FOLDER / "tokenizers").glob("*.json")):
        tokenizer = tokenizers.Tokenizer.from_file(str(path))
        name = path.stem
        cases[name] = {"pair": pair(tokenizer), "cases": [case(tokenizer, text, name not in COMPOSING) for text in TEXTS]}
    lines = [f"{json.dumps(name)}: " + json.dumps(entry, ensure_ascii=True, separators=(",", ":"))
             for name, entry in cases.items()]
    (FOLDER / "cases.json").write_text("{" + ",\n".join(lines) + "}\n")


# --- rules: tiny tokenizers, each with one rule at its edge

TEKKEN = (r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+"
          r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|\p{N}"
          r"| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+")
DEEPSEEK = [r"\p{N}{1,3}", "[一-龥぀-ゟ゠-ヿ]+",
            r"""[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+"""
            r"""| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"""]
DEEPSEEK_CODER = ["[\r\n]", r"\s?\p{L}+", r"\s?\p{P}+", "[一-龥ࠀ-一가-퟿]+", r"\p{N}"]
DEEPSEEK_LLM = ["[\r\n]", "\\s?[A-Za-zµÀ-ÖØ-öø-ƺƼ-ƿǄ-ʓʕ-ʯͰ-ͳͶͷͻ-ͽͿΆΈ-ΊΌΎ-ΡΣ-ϵϷ-ҁҊ-ԯԱ-Ֆ]+",
                "\\s?[!-/:-~！-／：-～‘-‟\u3000-。]+", r"\s+$", "[一-龥ࠀ-一가-퟿]+"]
GPT4 = (r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]++[\r\n]*"
        r"|\s*[\r\n]|\s+(?!\S)|\s+")
GPT4_NEW = (r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+"
            r"|\s++$|\s*[\r\n]|\s+(?!\S)|\s")
QWEN3_5 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*"
           r"|\s*[\r\n]+|\s+(?!\S)|\s+")
OTHERS = [r"\s+$", r"^\w+", r"\d{2,3}?", r"x\d{2}?", r"(?i:stra|k|s)+", r"[^\P{L}a-c]+", r"a{2}+", r"\w+(?=')", r"x*?y",
          r"(?>a+)b", r"\p{^L}+", r"\p{L}\P{L}{,2}", r"[\u4e00-\u9fff]+", r"\x{41}|\x42", r".+", r"(?:ab|a)(c|bcd)",
          r"[\]\-\\]+", r"[^\S\n]+", r"(?!a)\w", r"\p{Sc}|\p{Nd}+", r"[a-]+", r"\.|\+"]
TEXTS = ["Hello world's DON'T  we'LL 12345 678\n\n  x\t\ty...!!\r\n", "日本語テキスト ひらがな 漢字12 한국어", "a'b  c   ",
         "naïve e\u0301 Éc\u0327ole ǅ ʰ  §$€±// #tag @me", "  \n \n", "AABBab aab aaab xxy yx abcd", "Straße STRASSE Kk ſ K",
         "[]-\\ A B C . + 1 22 333 4444", "line one  \nline two\u2028three ", "नमस्ते दुनिया 🏳️‍🌈 ok"]
LETTERS = {letter: i for i, letter in enumerate("abc")}
BPE = {"type": "BPE", "vocab": {**LETTERS, "ab": 3, "▁": 4, "▁▁": 5, "▁a": 6},
       "merges": ["a b", "▁ ▁", "▁ a"]}
FALLBACK = {"type": "BPE", "unk_token": "<unk>", "byte_fallback": True, "merges": ["a b"],
            "vocab": {"<unk>": 0, "a": 1, "b": 2, "<0xC3>": 3, "<0xA9>": 4, "<0xE2>": 5, "ab": 6}}
WORDS = {"type": "WordLevel", "vocab": {"a": 0, "b": 1, "u": 2, " ": 3}, "unk_token": "u"}
BYTE_LEVEL = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}


def split_by(*expressions):
    parts = [{"type": "Split", "pattern": {"Regex": expression}, "behavior": "Isolated", "invert": False}
             for expression in expressions]
    return {"type": "Sequence", "pretokenizers": parts}


def rules():
    """(name, parts of a tokenizer.json, texts)"""
    unknown = ["a?b", "▁?▁", "▁?a", "??", "▁?▁a", "a▁?b", "ab?ab"]
    blanks = ["<m>  a", "<m> x", "<m>   <n>", "<m>   b <m>  ", "a  <m>   ", "<m> \n  \n a", "<m>a <m> b"]
    yield "characters that the vocabulary lacks", {"model": BPE}, unknown
    for added in ([token(4, "<m>", rstrip=True), token(5, "  ")], [token(4, "<m>", rstrip=True), token(5, " x")],
                  [token(4, "<m>", rstrip=True), token(5, "<n>", lstrip=True)],
                  [token(4, "<m>", rstrip=True, lstrip=True), token(3, " "), token(5, "\n")]):
        yield "blanks of " + str([one["content"] for one in added]), {"model": WORDS, "added_tokens": added}, blanks
    bytes_of = ["aéb", "a€b", "€€é€", "éab€", "€"]
    yield "some bytes", {"model": FALLBACK}, bytes_of
    yield "some bytes, fused", {"model": {**FALLBACK, "fuse_unk": True}}, bytes_of + ["€€é€€"]
    yield "some bytes, nothing unknown", {"model": {**FALLBACK, "unk_token": None}}, bytes_of
    unigram = {"type": "Unigram", "unk_id": None, "vocab": [["a", -1.0], ["b", -2.0], ["", -3.0], ["ab", -2.5]],
               "byte_fallback": False}
    yield "unk_id null and an empty piece", {"model": unigram}, ["ab", "", "aab"]
    yield "an empty piece", {"model": {**unigram, "unk_id": 0}}, ["abz", "zzb"]
    some = {"type": "Unigram", "unk_id": 0, "byte_fallback": True,
            "vocab": [["<unk>", 0.0], ["a", -1.0], ["<0xC3>", -5.0], ["<0xA9>", -5.0]]}
    yield "some bytes of a unigram", {"model": some}, ["aéa", "a€a", "é€é", "éé"]
    yield "another id", {"model": BPE, "added_tokens": [token(50, "a"), token(7, "<x>"), token(9, "ab")]}, ["<x>aab", "ab"]
    alphabet = {"type": "BPE", "vocab": {"Ġ": 0, "a": 1, "Ã": 2, "©": 3, "Ã©": 4, "Ġa": 5}, "merges": ["Ã ©", "Ġ a"]}
    yield "ByteLevel as a normaliser", {"model": alphabet, "normalizer": {"type": "ByteLevel"}, "decoder": BYTE_LEVEL,
                                        "added_tokens": [token(6, "é", normalized=True, special=False)]}, [" aé a", "aéé"]
    for expressions in ([TEKKEN], DEEPSEEK, DEEPSEEK_CODER, DEEPSEEK_LLM, [GPT4], [GPT4_NEW], [QWEN3_5],
                        *([other] for other in OTHERS)):
        yield " ".join(expressions), {"model": WORDS, "pre_tokenizer": split_by(*expressions)}, TEXTS


def token(id, content, **flags):
    return {"id": id, "content": content, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False,
            "special": True, **flags}


def write_rules():
    entries = []
    for name, parts, texts in rules():
        document = {"version": "1.0", "truncation": None, "padding": None, "added_tokens": [], "normalizer": None,
                    "pre_tokenizer": None, "post_processor": None, "decoder": None, **parts}
        reference = tokenizers.Tokenizer.from_str(json.dumps(document))
        cases = []
        for text in texts:
            encoding = reference.encode(text, add_special_tokens=False)
            case = {"text": text, "ids": encoding.ids}
            if "pre_tokenizer" in parts:
                case["ends"] = [len(text[:end].encode()) for _, end in encoding.offsets]
            cases.append(case)
        entries.append({"name": name, "tokenizer": document, "cases": cases})
    (FOLDER / "rules.json").write_text(json.dumps(entries, ensure_ascii=False, indent=1) + "\n")


# --- settings: a tokenizer_config.json that says otherwise than the tokenizer.json beside it

def settings():
    """(tokenizer, tokenizer_config.json, texts)"""
    size = len(json.loads((FOLDER / "tokenizers" / "llama2.json").read_text())["model"]["vocab"])
    llama = ["the cat", " the", "the</s>cat", "the</s> cat", "</s>the", "▁the", "a <m> a"]
    for config in ({}, {"legacy": True}, {"legacy": False}, {"add_prefix_space": False}, {"add_bos_token": False}):
        for name in ("LlamaTokenizer", "LlamaTokenizerFast", "PreTrainedTokenizerFast"):
            yield "llama2", {"tokenizer_class": name, **config}, llama
    for name in ("GPT2Tokenizer", "GPT2TokenizerFast", "PreTrainedTokenizerFast"):
        yield "bytes-gpt2", {"tokenizer_class": name, "add_prefix_space": True}, ["the cat", " the", "the<m>cat"]
    for name in ("BertTokenizer", "BertTokenizerFast", "DistilBertTokenizer", "PreTrainedTokenizerFast"):
        for config in ({"do_lower_case": False}, {"do_lower_case": True, "strip_accents": False},
                       {"do_lower_case": True, "tokenize_chinese_chars": False}):
            yield "bert", {"tokenizer_class": name, **config}, ["The the", "thé cat", "a日a"]
    for name in ("LlamaTokenizer", "PreTrainedTokenizerFast"):
        for flags in ({}, {"lstrip": True}, {"rstrip": True}, {"special": False, "normalized": True}):
            added = {"2": token(2, "</s>"), str(size): token(size, "<m>", **flags)}
            for entry in added.values():
                del entry["id"]
            yield "llama2", {"tokenizer_class": name, "added_tokens_decoder": added}, llama
        added = {"2": token(2, "</s>", lstrip=True, rstrip=True)}
        del added["2"]["id"]
        yield "llama2", {"tokenizer_class": name, "added_tokens_decoder": added}, llama


def write_settings():
    entries = []
    for name, config, texts in settings():
        with tempfile.TemporaryDirectory() as folder:
            shutil.copy(FOLDER / "tokenizers" / f"{name}.json", f"{folder}/tokenizer.json")
            pathlib.Path(folder, "tokenizer_config.json").write_text(json.dumps(config))
            reference = transformers.AutoTokenizer.from_pretrained(folder)
            cases = [{"text": text, "ids": reference(text).input_ids} for text in texts]
        entries.append({"tokenizer": name, "config": config, "cases": cases})
    (FOLDER / "settings.json").write_text(json.dumps(entries, ensure_ascii=False, indent=1) + "\n")


if __name__ == "__main__":
    main()
    write_rules()
    write_settings()
