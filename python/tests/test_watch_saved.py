"""Files of what a watch saw."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="skipped: PyTorch is not installed")
transformers = pytest.importorskip("transformers", reason="skipped: transformers is not installed")

import heed  # noqa: E402
import heed.transformers  # noqa: E402
from heed.transformers import SeenModel  # noqa: E402

IDS = torch.arange(1, 19).view(2, 9)
PADDING = torch.tensor([[1] * 9, [0] * 4 + [1] * 5])


def gpt2(**settings):
    config = transformers.GPT2Config(
        n_embd=32, n_layer=2, n_head=4, vocab_size=50, bos_token_id=0, eos_token_id=0, **settings
    )
    return transformers.GPT2LMHeadModel(config).eval()


def t5():
    config = transformers.T5Config(
        d_model=32, d_kv=8, d_ff=64, num_layers=2, num_heads=4, vocab_size=50,
        decoder_start_token_id=0,
    )  # fmt: skip
    return transformers.T5ForConditionalGeneration(config).eval()


def mistral():
    config = transformers.MistralConfig(
        hidden_size=32, intermediate_size=32, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=2, vocab_size=50, sliding_window=4,
    )  # fmt: skip
    return transformers.MistralForCausalLM(config).eval()


def assert_same(found, seen):
    assert repr(found) == repr(seen) and found.stacks == seen.stacks
    for stack, layers in seen.stacks.items():
        assert found.tokens(stack) == seen.tokens(stack)
        for layer in layers:
            mine, wanted = found.attention(layer, stack), seen.attention(layer, stack)
            np.testing.assert_array_equal(mine.weights[...], wanted.weights[...])
            np.testing.assert_array_equal(mine.v, wanted.v)
        assert str(found.heads(stack)) == str(seen.heads(stack))


@pytest.mark.parametrize("model", [gpt2, t5, mistral])
@pytest.mark.parametrize("implementation", ["sdpa", "heed"])
def test_a_loaded_run_is_the_saved_one(tmp_path, model, implementation):
    model = model()
    model.set_attn_implementation(implementation)
    with heed.transformers.watch(model) as seen, torch.no_grad():
        model.generate(IDS, attention_mask=PADDING, max_new_tokens=3, min_new_tokens=3)
    seen.save(tmp_path / "run.safetensors")
    assert_same(SeenModel.load(tmp_path / "run.safetensors"), seen)
    # T5's bias is one tensor for all layers of a stack.
    assert (tmp_path / "run.safetensors").stat().st_size < 3 * seen.nbytes + 30_000


def test_several_texts_and_the_tokenizers_words(tmp_path):
    model = gpt2()
    with heed.transformers.watch(model) as seen, torch.no_grad():
        model(IDS)
        model(IDS[:, :4])
    seen.save(tmp_path / "run.safetensors")
    found = SeenModel.load(str(tmp_path / "run.safetensors"))
    for text in (0, 1):
        mine, wanted = found.attention(1, text=text), seen.attention(1, text=text)
        np.testing.assert_array_equal(mine.weights[...], wanted.weights[...])


@pytest.mark.parametrize("name", ["remove", "freeze"])
def test_a_run_under_edits(tmp_path, name):
    model = gpt2(attn_implementation="eager")
    with heed.transformers.watch(model) as before, torch.no_grad():
        model(IDS.flip(0))
    with heed.transformers.edit(model) as e, heed.transformers.watch(model) as seen, torch.no_grad():
        e.remove(who=5, to=2, layers=[1]) if name == "remove" else e.freeze(before, layers=[1])
        model(IDS)
    seen.save(tmp_path / "run.safetensors")
    found = SeenModel.load(tmp_path / "run.safetensors")
    np.testing.assert_array_equal(found.attention(1).weights[...], seen.attention(1).weights[...])


def test_a_file_of_something_else_is_refused(tmp_path):
    from safetensors.torch import save_file

    file = tmp_path / "other.safetensors"
    save_file({"q": torch.zeros(2)}, file)
    with pytest.raises(ValueError, match="path is .*, expected a file that SeenModel.save wrote"):
        SeenModel.load(file)
    save_file({}, file, metadata={"heed": '{"is": "system", "of": ["ls"]}'})
    with pytest.raises(ValueError, match="path is .*system.*, expected a file that SeenModel.save"):
        SeenModel.load(file)
    file.write_bytes(b"nothing of the kind")
    with pytest.raises(ValueError, match="path is .*, expected a file that SeenModel.save wrote"):
        SeenModel.load(file)
    with pytest.raises(FileNotFoundError):
        SeenModel.load(tmp_path / "absent.safetensors")
