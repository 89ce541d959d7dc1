#!/usr/bin/env python3
"""Writes tests/text/cases.json: what `tokenizers` gives on texts for each file in tests/text/tokenizers.

Offsets are bytes of the UTF-8 text. Where a normaliser composes characters, heed gives a token all bytes that it
stands for, and the library those of the first character: such offsets are left out.

    pip install tokenizers==0.23.3 && tools/make_tokenizer_cases.py
"""

import json
import pathlib

import tokenizers

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


if __name__ == "__main__":
    main()
