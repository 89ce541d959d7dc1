"""The words that `heed.transformers.watch` shows, with a tokenizer of each kind."""

from __future__ import annotations

import pathlib

import pytest
from conftest import peer

torch = peer("torch")
transformers = peer("transformers")
tokenizers = peer("tokenizers")

from watched import watch_pass  # noqa: E402

MODELS = pathlib.Path(__file__).resolve().parents[2] / "models"


def of_file(name):
    return transformers.PreTrainedTokenizerFast(tokenizer_file=str(MODELS / name / "tokenizer.json"))


def of_words():
    made = tokenizers.Tokenizer(tokenizers.models.WordLevel({"the": 0, "cat": 1, "?": 2}, "?"))
    made.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    return transformers.PreTrainedTokenizerFast(tokenizer_object=made)


def of_blocks():
    """As Llama's: a blank is U+2581, and what has no entry is spelled in bytes."""
    entries = ["<unk>", "\u2581", "\u2581the", "\u2581cat", "s", *(f"<0x{byte:02X}>" for byte in range(256))]
    vocabulary = [(entry, 0.0) for entry in entries]
    made = tokenizers.Tokenizer(
        tokenizers.models.Unigram(vocabulary, unk_id=0, byte_fallback=True)
    )
    made.pre_tokenizer = tokenizers.pre_tokenizers.Metaspace()
    steps = [
        tokenizers.decoders.Replace("\u2581", " "), tokenizers.decoders.ByteFallback(),
        tokenizers.decoders.Fuse(), tokenizers.decoders.Strip(" ", 1, 0),
    ]  # fmt: skip
    made.decoder = tokenizers.decoders.Sequence(steps)
    return transformers.PreTrainedTokenizerFast(tokenizer_object=made, unk_token="<unk>")


def seen_of(tokenizer, text):
    config = transformers.GPT2Config(
        n_layer=1, n_head=2, n_embd=8, vocab_size=len(tokenizer), n_positions=64,
        bos_token_id=0, eos_token_id=0,
    )  # fmt: skip
    model = transformers.GPT2Model(config).eval()
    ids = tokenizer(text, add_special_tokens=False)["input_ids"]
    seen = watch_pass(model, torch.tensor([ids]), tokenizer=tokenizer)
    return seen


CASES = {
    "letters of bytes": (lambda: of_file("tales"), "The cat sat unhappily, \u65e5\u672c", "cat"),
    "pieces of words": (lambda: of_file("masks"), "the cat sat unhappily", "unhappily"),
    "words": (of_words, "the cat the", "cat"),
    "blocks and bytes": (of_blocks, "the cats \u65e5", "cats"),
}


@pytest.mark.parametrize("kind", CASES)
def test_the_tokens_spell_the_text(kind):
    make, text, word = CASES[kind]
    seen = seen_of(make(), text)
    session = seen.look()
    assert session.text.strip() == text
    assert b"".join(token.bytes for token in session.tokens).decode().strip() == text
    second = session.tokens[1]
    assert session.text[second.begin : second.end] == second.text
    assert session.tokens[-1].end == len(session.text)
    row = session.row(word)  # found, be it of one token or of several
    assert word.endswith(session.tokens[row.query].text.strip())
    assert len(seen.tokens()[0]) == len(session.tokens)


def test_a_special_token_is_its_name():
    tokenizer = of_file("tales")
    tokenizer.add_special_tokens({"bos_token": "<s>"})
    session = seen_of(tokenizer, "<s>The cat").look()
    assert [token.text for token in session.tokens][:2] == ["<s>", "The"]
