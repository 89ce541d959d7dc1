"""`heed.transformers.watch` beside eager, on every architecture and each implementation.

A few run always; all of them with `pytest -m slow test_watch_architectures.py` (four minutes).
"""

from __future__ import annotations

import json
import re

import numpy as np
import pytest
from conftest import peer, rows_of

torch = peer("torch")
transformers = peer("transformers")

from architectures import ALL, MORE, MUSICGEN, SWIN, TWO_IMAGES, WITH_IMAGES  # noqa: E402
from test_transformers import assert_close, attentions_of, result  # noqa: E402
from watched import close, watch_pass  # noqa: E402

import heed  # noqa: E402
from heed.transformers import watch  # noqa: E402

EVERY = ALL | MORE | WITH_IMAGES
ALWAYS = {"llama", "gpt_oss", "t5", "zamba2", "qwen2_5_vl", "mllama"}
NO_SDPA = {"gemma2", "gpt_oss"}
CASES = [
    pytest.param(name, each, marks=() if name in ALWAYS else pytest.mark.slow)
    for name in EVERY
    for each in ("sdpa", "eager", "heed")
    if not (each == "sdpa" and name in NO_SDPA)
]


@pytest.mark.parametrize("name, implementation", CASES)
def test_weights_are_eagers_and_the_output_is_the_models_own(name, implementation):
    inputs = EVERY[name].inputs()
    model = EVERY[name].made(implementation)
    with torch.no_grad():
        wanted = EVERY[name].made().eval()(**inputs, output_attentions=True)
        alone = model(**inputs)
        with watch(model) as seen:
            found = model(**inputs)
    assert torch.equal(result(found), result(alone))
    assert_close(result(found), result(wanted), 1e-4)
    for stack, layers in seen.stacks.items():
        for layer in layers:
            assert seen.attention(layer, stack).weights[0, 0, -1].sum() > 0  # as what ran
    for stack, attentions in attentions_of(wanted).items():
        if stack is None and len(seen.stacks) > 1:
            stack = "decoder" if "decoder" in seen.stacks else "language_model"
        layers = range(len(attentions))
        if name in MORE or name == "mllama":  # those without attention give None, or are left out
            attentions = [each for each in attentions if each is not None]
            layers = seen.stacks[stack or next(iter(seen.stacks))]
            if name == "mllama":
                attentions = [each for each in attentions if each.shape[2] == each.shape[3]]
        for layer, weights in zip(layers, attentions, strict=True):
            assert_close(seen.attention(layer, stack).weights, weights, 1e-5)


@pytest.mark.parametrize(
    "name, stacks",
    [
        ("jamba", {"decoder": [1, 3, 5]}),
        ("zamba2", {"decoder": [2, 4]}),  # one module, twice
        ("mllama", {"transformer": [0, 1], "global_transformer": [0], "decoder": [0, 2, 4], "cross": [1, 3]}),
    ],
)  # fmt: skip
def test_layers_have_the_models_own_numbers(name, stacks):
    model = EVERY[name].made("sdpa")
    seen = watch_pass(model, **EVERY[name].inputs())
    assert seen.stacks == stacks
    rows = rows_of(seen.heads())
    assert {(row["stack"], row["layer"]) for row in rows} == {
        (stack, layer) for stack, layers in stacks.items() for layer in layers
    }


def test_each_image_is_a_text_of_its_layer():
    model = WITH_IMAGES["qwen2_vl"].made("sdpa")
    seen = watch_pass(model, **TWO_IMAGES())
    assert seen.stacks == {"encoder": [0, 1], "decoder": [0, 1]}
    assert [seen.attention(1, "encoder", text=at).shape[2] for at in (0, 1)] == [16, 24]
    assert seen.tokens("encoder") is None and len(seen.tokens("decoder")[0]) == 24


def test_patches_have_no_words():
    """CLIP's picture and its text may have as many tokens."""
    inputs = EVERY["clip"].inputs(length=17)
    model = EVERY["clip"].made("sdpa")
    seen = watch_pass(model, **inputs)
    assert seen.attention(0, "vision_model").shape == seen.attention(0, "text_model").shape
    assert seen.tokens("vision_model") is None
    assert seen.tokens("text_model") == inputs["input_ids"].tolist()


def test_layers_of_several_shapes_are_looked_at_one_by_one():
    model = SWIN.made("sdpa")
    seen = watch_pass(model, **SWIN.inputs())
    assert seen.stacks == {"encoder": [0, 1, 2]}
    assert [seen.attention(layer).shape[1] for layer in range(3)] == [2, 2, 4]
    with pytest.raises(
        ValueError, match=r"layer is None, and layers of .* expected one of 0, 1, 2"
    ):
        seen.look()
    assert seen.look(layer=2).stacks["self"].heads == 4


def test_a_decoder_of_several_codebooks_is_seen():
    inputs = MUSICGEN.inputs()
    of = dict.fromkeys(("text_encoder", "decoder"), "sdpa") | {"audio_encoder": "eager"}
    model = MUSICGEN.made(of)
    with torch.no_grad():
        with watch(model) as seen:
            output = model(**inputs).logits
        wanted = MUSICGEN.made()(**inputs, output_attentions=True)
    assert_close(output, wanted.logits, 1e-4)
    for stack, attentions in (
        ("encoder", wanted.encoder_attentions), ("decoder", wanted.decoder_attentions),
        ("cross", wanted.cross_attentions),
    ):  # fmt: skip
        for layer, weights in enumerate(attentions):
            assert close(seen.attention(layer, stack).weights, weights.numpy())
    assert list(seen.look().stacks) == ["encoder", "decoder", "cross"]


SAM = {
    "vision_config": {
        "hidden_size": 32, "num_pos_feats": 8, "output_channels": 16, "num_hidden_layers": 2,
        "num_attention_heads": 2, "image_size": 64, "patch_size": 16, "global_attn_indexes": [1],
        "window_size": 2, "mlp_dim": 32,
    },
    "prompt_encoder_config": {
        "hidden_size": 16, "image_size": 64, "patch_size": 16, "image_embedding_size": 4,
        "mask_input_channels": 8,
    },
    "mask_decoder_config": {
        "hidden_size": 16, "mlp_dim": 32, "num_hidden_layers": 2, "num_attention_heads": 2,
        "iou_head_hidden_dim": 16,
    },
}  # fmt: skip


def test_sams_encoder_is_looked_at_through_its_weights():
    config = transformers.SamConfig(**SAM)
    sam = transformers.SamModel._from_config(config, attn_implementation="eager").eval()
    inputs = {
        "pixel_values": torch.randn(1, 3, 64, 64),
        "input_points": torch.tensor([[[[9.0, 9.0]]]]),
    }
    with pytest.warns(UserWarning, match=r"2 attention layers .* vision_encoder.layers.0.attn"):
        with watch(sam) as seen, torch.no_grad():
            output = sam(**inputs, output_attentions=True)
    assert seen.silent == ("vision_encoder.layers.0.attn", "vision_encoder.layers.1.attn")
    image = heed.ImagePatches(range(16), 4, 4)
    session = heed.Session.from_weights(output.vision_attentions[1], images=[image])
    assert session.weights.shape == (1, 2, 16, 16)
    with pytest.raises(NotImplementedError, match="do not: layers.0.attn, layers.1.attn"):
        with watch(sam.vision_encoder), torch.no_grad():
            sam.vision_encoder(inputs["pixel_values"])


def test_frames_are_keys():
    whisper = EVERY["whisper"]
    model = whisper.made("sdpa")
    seen = watch_pass(model, **whisper.inputs())
    session = seen.look()
    assert session.stacks["cross"].keys == len(session.key_tokens) == 16
    assert [token.text.strip() for token in session.key_tokens][:2] == ["im0 c0", "im0 c1"]
    assert len(session.tokens) == 11
    assert seen.look(stack="cross").stack().name == "cross"


@pytest.fixture(scope="module")
def jamba():
    model = MORE["jamba"].made("sdpa")
    seen = watch_pass(model, **MORE["jamba"].inputs())
    return seen


def test_a_session_of_a_hybrid_has_the_numbers_of_the_model(jamba):
    session = jamba.look()
    assert session.model_name == "JambaForCausalLM" and session.stack().layer_numbers == [1, 3, 5]
    for layer in (1, 3, 5):
        assert close(session.weights[layer, 1], np.asarray(jamba.attention(layer).weights[0, 1]))
    assert not np.asarray(session.weights[2]).any()
    assert sorted(set(session.heads()["layer"])) == [1, 3, 5]
    with pytest.raises(LookupError, match="layer is 2, expected 1, 3, 5: the layers of Jamba"):
        session.attention(2)
    with pytest.raises(LookupError, match="layer is 2, expected 1, 3, 5"):
        session.row(3, 2, 0)
    assert re.search(r"\bL[135]\.H\d", session.to_text()) and "3 layers x" in session.to_text()
    alone = jamba.look(layer=3)
    assert alone.stack().layer_numbers == [3]
    assert close(alone.weights[3, 1], np.asarray(jamba.attention(3).weights[0, 1]))


def test_files_and_comparisons_of_a_hybrid_have_them_too(jamba, page, tmp_path):
    session = jamba.look()
    session.save(tmp_path / "x.json", layer=3, head=1)
    assert json.loads((tmp_path / "x.json").read_text())["layer"] == 3
    html = session.to_html(layer=5, head=1)
    assert '"attending":[1,3,5]' in html and '"look/L5.H1' in html
    compared = heed.compare(jamba, jamba)
    assert {row["layer"] for row in rows_of(compared.heads)} == {1, 3, 5}
    assert re.search(r"look/L[135]\.H", compared.session._address)
