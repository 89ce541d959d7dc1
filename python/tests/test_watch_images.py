"""Images that `heed.transformers.watch` finds: each patch stands for the pixels that it says."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import peer, rows_of

torch = peer("torch")
transformers = peer("transformers")

from architectures import (  # noqa: E402
    ALL, IMAGE, MORE, OTHERS, PICTURE, SWIN, WITH_IMAGES, A,
)  # fmt: skip
from watched import close, watch_pass  # noqa: E402

from heed import ImagePatches  # noqa: E402
from heed.transformers import SeenModel, edit, watch  # noqa: E402

EVERY = ALL | MORE | WITH_IMAGES
SIGLIP2 = A("Siglip2VisionModel", {k: v for k, v in PICTURE.items() if k != "image_size"} | {"num_patches": 16, "vision_use_head": False})  # fmt: skip


def an_image(rows=16, columns=16, seed=5):
    return np.random.default_rng(seed).integers(0, 256, (rows, columns, 3), np.uint8)


def scaled(*images):
    """[N, 3, H, W] of numbers around 0."""
    pixels = np.stack(images).transpose(0, 3, 1, 2)
    return torch.from_numpy(pixels.astype(np.float32) / 127.5 - 1)


class Scaler:
    """The part of a processor that says how pixels became numbers."""

    image_mean = image_std = (0.5, 0.5, 0.5)


def inputs_of(name, *images):
    """The inputs that an architecture's processor makes from images."""
    if name == "siglip2":
        made = transformers.models.siglip2.image_processing_pil_siglip2.Siglip2ImageProcessorPil(
            patch_size=4, max_num_patches=26, do_resize=False
        )(list(images), return_tensors="pt")
        return dict(made)
    if name not in WITH_IMAGES:
        inputs = EVERY[name].inputs(batch=len(images))
        return inputs | {"pixel_values": scaled(*images)}
    given = WITH_IMAGES[name].inputs()
    if "image_grid_thw" not in given:
        pixels = given["pixel_values"]
        return given | {"pixel_values": scaled(*images).reshape(*pixels.shape[:-3], 3, 16, 16)}
    made = transformers.models.qwen2_vl.image_processing_pil_qwen2_vl.Qwen2VLImageProcessorPil(
        patch_size=4, do_resize=False, image_mean=(0.5,) * 3, image_std=(0.5,) * 3
    )(list(images), return_tensors="pt")
    return given | dict(made)


def tokens_by_pixels(model, make, images, image, shape, stack, still=(), layer=0, text=-1, of="k"):
    """The token of each cell: the one whose q or k in a layer changes with the cell's pixels.

    The vision models in ``still`` have no attention meanwhile, so that their tokens stay apart.
    """
    height, width = (side // of for side, of in zip(images[image].shape, shape))
    given = [images]
    for row, column in np.ndindex(shape):
        changed = [each.copy() for each in images]
        top, left = row * height, column * width
        changed[image][top : top + height, left : left + width] ^= 255
        given.append(changed)
    with edit(model) as e, watch(model) as seen, torch.no_grad():
        for each in still:
            e.ablate(None, stack=each)
        for each in given:
            model(**make(*each))
    runs = seen._runs[seen._place(stack)][layer]
    texts = len(runs) // len(given)
    before, *after = [getattr(run.first, of) for run in runs[text % texts :: texts]]
    found = []
    for each in after:
        differs = (before - each).abs().amax((1, 3)) > 1e-5
        tokens = differs[image if len(differs) > 1 else 0].nonzero().flatten().tolist()
        assert len(tokens) < 2
        found.append(tokens[0] if tokens else -1)
    return np.array(found).reshape(shape)


TOWERS = ["vit", "deit", "dinov2", "dinov2_registers", "dinov3", "siglip_vision", "clip_vision",
          "beit", "yolos", "ijepa", "aimv2", "vit_msn"]  # fmt: skip


@pytest.mark.parametrize("name", TOWERS)
def test_patches_of_vision_models(name):
    images = an_image(), an_image(seed=6)
    model = EVERY[name].made("eager")
    inputs = inputs_of(name, *images)
    tokens = tokens_by_pixels(model, lambda *i: inputs_of(name, *i), images, 1, (4, 4), "encoder")
    assert sorted(tokens.flatten()) == list(range(tokens.min(), tokens.min() + 16))
    with watch(model, Scaler()) as seen, torch.no_grad():
        wanted = model(**inputs, output_attentions=True).attentions
    for layer in (0, 1):
        by_hand = wanted[layer][1, 2, tokens[2, 1], tokens.flatten()].reshape(4, 4).numpy()
        assert close(seen.image_map(layer, 2, tokens[2, 1], sequence=1), by_hand)
    assert np.array_equal(seen.pictures(sequence=1)[0], images[1])


def test_patches_of_siglip_2_have_the_shape_of_their_image():
    images = an_image(16, 24), an_image(20, 12)
    model = SIGLIP2.made("eager")
    for at, shape in enumerate(((4, 6), (5, 3))):
        tokens = tokens_by_pixels(model, lambda *i: inputs_of("siglip2", *i), images, at, shape, "encoder")  # fmt: skip
        with watch(model, Scaler()) as seen, torch.no_grad():
            wanted = model(**inputs_of("siglip2", *images), output_attentions=True).attentions[1]
        by_hand = wanted[at, 3, 2, tokens.flatten()].reshape(shape).numpy()
        assert close(seen.image_map(1, 3, 2, sequence=at), by_hand)
        assert np.array_equal(seen.pictures(sequence=at)[0], images[at])


def test_stages_have_grids_of_their_own():
    """SegFormer's keys are fewer than its queries."""
    model, image = MORE["segformer"].made("eager"), an_image()
    with watch(model, Scaler()) as seen, torch.no_grad():
        wanted = model(pixel_values=scaled(image), output_attentions=True).attentions
    assert seen.image_map(0, 0).shape == (4, 4) and seen.image_map(2, 0).shape == (4, 4)
    assert seen.attention(0).shape == (1, 2, 64, 16)
    assert close(seen.image_map(0, 1, 9), wanted[0][0, 1, 9].reshape(4, 4).numpy())


IN_TEXTS = {
    # the images' sizes, the grids in the text, the stack that reads it, the stacks of the images
    "llava": ([(16, 16)], [(4, 4)], "decoder", ["encoder"]),
    "qwen2_vl": ([(16, 16), (16, 24)], [(2, 2), (2, 3)], "decoder", ["encoder"]),
    "qwen2_5_vl": ([(16, 16), (16, 24)], [(2, 2), (2, 3)], "decoder", ["encoder"]),
    "qwen3_vl": ([(16, 16), (16, 24)], [(2, 2), (2, 3)], "decoder", ["encoder"]),
    "idefics3": ([(16, 16)], [(2, 2)], "decoder", ["encoder"]),
    "smolvlm": ([(16, 16)], [(2, 2)], "decoder", ["encoder"]),
    "internvl": ([(16, 16)], [(2, 2)], "decoder", ["encoder"]),
    "gemma3_vl": ([(16, 16)], [(2, 2)], "decoder", ["encoder"]),
    "paligemma": ([(16, 16)], [(4, 4)], "language_model", ["vision_tower"]),
    "mllama": ([(16, 16), (16, 16)], [(4, 4), (4, 4)], "cross", ["transformer", "global_transformer"]),
}  # fmt: skip


@pytest.mark.parametrize("name", IN_TEXTS)
def test_images_in_texts(name):
    sizes, grids, stack, towers = IN_TEXTS[name]
    images = [an_image(*size, seed=at) for at, size in enumerate(sizes)]
    model = EVERY[name].made("eager")
    for parameter in model.parameters():
        if parameter.dim() > 1 and not parameter.any():  # of Gemma's projector all are 0
            torch.nn.init.normal_(parameter)
    seen = watch_pass(model, tokenizer=Scaler(), **inputs_of(name, *images))
    layer = seen.stacks[stack][0]
    assert len(seen.pictures()) == len(images)
    for at, shape in enumerate(grids):
        tokens = tokens_by_pixels(
            model, lambda *i: inputs_of(name, *i), images, at, shape, stack, towers, layer
        )
        assert tokens.min() >= 0
        query = -2 if stack == "cross" else tokens.max() + 1
        weights = np.asarray(seen.attention(layer, stack).weights[0, 1, query])
        found = seen.image_map(layer, 1, query, image=at)
        assert close(found, weights[tokens.flatten()].reshape(shape))
        assert found.sum() > 0
        assert np.array_equal(seen.pictures()[at], images[at])


@pytest.mark.parametrize("name", ["qwen2_vl", "qwen2_5_vl", "qwen3_vl"])
def test_patches_in_blocks_and_windows(name):
    """The vision models of Qwen read 2 x 2 patches after each other, Qwen2.5's in windows."""
    images = [an_image(16, 16), an_image(16, 24, seed=6)]
    model = EVERY[name].made("eager")
    seen = watch_pass(model, tokenizer=Scaler(), **inputs_of(name, *images))
    for layer in (0, 1):
        runs = len(seen._runs[seen._place("encoder")][layer])
        for text in range(runs):
            at = text if runs == 2 else (0 if text == 0 else 1)
            shape = (4, 4) if at == 0 else (4, 6)
            seen_map = seen.image_map(layer, 0, 1, stack="encoder", text=text)
            assert seen_map.shape == shape
            if layer == 0:
                tokens = tokens_by_pixels(model, lambda *i: inputs_of(name, *i), images, at, shape,
                                          "encoder", text=text)  # fmt: skip
                weights = np.asarray(seen.attention(0, "encoder", text=text).weights[0, 0, 1])
                by_hand = np.where(tokens >= 0, weights[tokens], np.nan)
                assert np.array_equal(seen_map, by_hand.astype(np.float32), equal_nan=True)
            assert np.isclose(np.nansum(seen_map), 1)
            assert np.array_equal(seen.pictures("encoder", text=text)[0], images[at])


def test_images_that_follow_each_other_and_batches_with_padding():
    images = [an_image(seed=at) for at in range(3)]
    ids = torch.zeros(2, 40, dtype=torch.long)
    ids[0] = torch.tensor([5, *[IMAGE] * 32, *range(10, 17)])
    ids[1, 13:] = torch.tensor([5, 6, *[IMAGE] * 16, *range(10, 19)])
    given = {"input_ids": ids, "attention_mask": (ids > 0).long(), "pixel_values": scaled(*images)}
    model = WITH_IMAGES["llava"].made("sdpa")
    seen = watch_pass(model, tokenizer=Scaler(), **given)
    weights = seen.attention(1, "decoder").weights
    first, second = (seen.image_map(1, 2, image=at) for at in (0, 1))
    assert close(first, np.asarray(weights[0, 2, -1, 1:17]).reshape(4, 4))
    assert close(second, np.asarray(weights[0, 2, -1, 17:33]).reshape(4, 4))
    padded = seen.image_map(1, 2, 20, sequence=1)  # tokens are counted without padding
    assert close(padded, np.asarray(weights[1, 2, 33, 15:31]).reshape(4, 4))
    assert np.array_equal(seen.pictures(sequence=1)[0], images[2])
    for layer, head in ((0, 0), (1, 3)):
        own = np.asarray(seen.attention(layer, "decoder").weights[0, head, 33:, 1:33])
        row = rows_of(seen.image_share())[4 * layer + head]
        shares = own / own.sum(-1, keepdims=True)
        entropy = -(shares * np.log(shares)).sum(-1)
        assert (row["layer"], row["head"]) == (layer, head)
        assert np.isclose(row["image"], own.sum(-1).mean(), atol=1e-6)
        assert np.isclose(row["text"], 1 - own.sum(-1).mean(), atol=1e-6)
        assert np.isclose(row["spread"], (np.exp(entropy) / 32).mean(), atol=1e-6)


def test_where_the_words_that_are_written_look():
    model, image = WITH_IMAGES["llava"].made("sdpa"), an_image()
    given = inputs_of("llava", image) | {"attention_mask": torch.ones(1, 24, dtype=torch.long)}
    with watch(model, Scaler()) as seen, torch.no_grad():
        model.generate(**given, max_new_tokens=4, min_new_tokens=4, do_sample=False)
    weights = seen.attention(0, "decoder").weights
    assert weights.shape[2:] == (27, 27)
    assert close(seen.image_map(0, 1), np.asarray(weights[0, 1, -1, :16]).reshape(4, 4))
    assert np.array_equal(seen.pictures()[0], image)


@pytest.mark.parametrize("name, images", [("llava_next", 2), ("qwen2_vl", 2), ("mllama", 2)])
def test_generation_reads_images_before_the_text(name, images):
    model, given = WITH_IMAGES[name].made("sdpa"), WITH_IMAGES[name].inputs()
    given["attention_mask"] = torch.ones_like(given["input_ids"])
    with watch(model) as seen, torch.no_grad():
        model(**given)
        model.generate(**given, max_new_tokens=3, min_new_tokens=3, do_sample=False)
    assert len(seen.pictures()) == len(seen.pictures(text=0)) == images
    layer = 1 if name == "mllama" else 0
    for at in range(images):
        assert close(seen.image_map(layer, 1, 23, at), seen.image_map(layer, 1, 23, at, text=0), 1e-4)
    assert "pack_image_features" not in vars(model.model)


def test_tiles_with_a_token_behind_each_row():
    """LLaVA-NeXT: a small image of it all, then tiles side by side, without their padding."""
    small, tiles = an_image(), an_image(32, 32, seed=6)  # 2 x 2 and 4 x 4 patches of 8 x 8
    model = WITH_IMAGES["llava_next"].made("eager")

    def make(of_all, of_tiles):
        cut = [of_tiles[r : r + 16, c : c + 16] for r in (0, 16) for c in (0, 16)]
        ids = torch.tensor([[5, *[IMAGE] * (4 + 4 * 3), *range(10, 17)]])
        pixels = scaled(of_all, *cut)[None]  # 28 high, 18 wide: two columns are padding
        return {"input_ids": ids, "pixel_values": pixels, "image_sizes": torch.tensor([[28, 18]])}

    seen = watch_pass(model, tokenizer=Scaler(), **make(small, tiles))
    of_all = tokens_by_pixels(model, make, (small, tiles), 0, (2, 2), "decoder", ["encoder"])
    of_tiles = tokens_by_pixels(model, make, (small, tiles), 1, (4, 4), "decoder", ["encoder"])
    assert (of_tiles[:, [0, 3]] == -1).all()
    weights = np.asarray(seen.attention(0, "decoder").weights[0, 1, -1])
    assert close(seen.image_map(0, 1), weights[of_all])
    assert close(seen.image_map(0, 1, image=1), weights[of_tiles[:, 1:3]])
    assert np.array_equal(seen.pictures()[0], small)
    assert np.array_equal(seen.pictures()[1], tiles[:, 8:24])


def test_a_text_without_images_has_none_after_one_with_images():
    llava = WITH_IMAGES["llava"]
    model = llava.made("sdpa")
    words = torch.arange(10, 34)[None]
    with watch(model) as seen, torch.no_grad():
        model(**llava.inputs())
        model(input_ids=words)
    assert seen.image_map(0, 0, stack="decoder", text=0).shape == (4, 4)
    with pytest.raises(LookupError, match='heed knows of no images in layer 0 of the stack "decod'):
        seen.image_map(0, 0, stack="decoder")


def test_all_queries_count_where_all_are_patches():
    model = OTHERS["siglip_vision"].made("sdpa")
    seen = watch_pass(model, **inputs_of("siglip_vision", an_image()))
    row = rows_of(seen.image_share())[5]
    weights = np.asarray(seen.attention(1).weights[0, 1])
    entropy = -(weights * np.log(weights)).sum(-1)
    assert np.isclose(row["image"], 1) and np.isclose(row["text"], 0)
    assert np.isclose(row["spread"], (np.exp(entropy) / 16).mean(), atol=1e-6)


def test_what_the_class_token_looks_at_is_the_share_of_a_vision_model():
    model = OTHERS["vit"].made("sdpa")
    seen = watch_pass(model, **inputs_of("vit", an_image()))
    own = np.asarray(seen.attention(0).weights[0, 3, 0, 1:])
    row = rows_of(seen.image_share())[3]
    assert np.isclose(row["image"], own.sum(), atol=1e-6)
    assert np.isclose(row["text"], 1 - own.sum(), atol=1e-6)


class Listener:
    feature_extractor = type("Ears", (), {"sampling_rate": 16000, "hop_length": 160})()


@pytest.mark.parametrize(
    "name, frames, stacks, length",
    [
        ("whisper", 16, ("encoder", "cross"), "0.02 s per frame"),
        ("moonshine", 3, ("encoder", "cross"), "0.024 s per frame"),
        ("wav2vec2", 24, ("encoder",), "0.0005 s per frame"),
    ],
)
def test_frames_of_sound_are_a_row(name, frames, stacks, length):
    model = EVERY[name].made("sdpa")
    seen = watch_pass(model, tokenizer=Listener(), **EVERY[name].inputs())
    for stack in stacks:
        run = seen._one(1, 0, stack, -1)
        (grid,) = run.images
        assert grid.name == length
        weights = np.asarray(seen.attention(0, stack).weights[1, 2, -1])
        assert close(seen.image_map(0, 2, stack=stack, sequence=1), weights[None])
        assert seen.image_map(0, 2, stack=stack).shape == (1, frames)


def test_patches_of_a_spectrogram_are_a_grid_of_tones_and_times():
    model, given = EVERY["ast"].made("sdpa"), EVERY["ast"].inputs(batch=1)
    sound = given["input_values"]  # [1, times, tones]
    with watch(model) as seen, torch.no_grad():
        model(input_values=sound)
        for tone, time in np.ndindex(2, 4):
            changed = sound.clone()
            changed[:, 4 * time : 4 * time + 4, 4 * tone : 4 * tone + 4] += 1
            model(input_values=changed)
    before, *after = (run.first.k for run in seen._runs[seen._place(None)][0])
    for cell, each in enumerate(after):
        assert (before - each).abs().amax((0, 1, 3)).nonzero().flatten().tolist() == [2 + cell]
    weights = np.asarray(seen.attention(1).weights[0, 2, 0, 2:])
    assert close(seen.image_map(1, 2, 0), weights.reshape(2, 4))


def test_a_frame_is_where_its_sound_is():
    model, given = EVERY["whisper"].made("sdpa"), EVERY["whisper"].inputs(batch=1)
    before = {**given, "input_features": given["input_features"].clone()}
    given["input_features"][:, :, 14] += 3
    with watch(model) as seen, torch.no_grad():
        model(**before)
        model(**given)
    first, second = (run.first.q for run in seen._runs[seen._place("encoder")][0])
    assert (first - second).abs().amax((0, 1, 3)).argmax() == 7  # two steps make a frame


def test_images_survive_a_file(tmp_path):
    image = an_image()
    model = WITH_IMAGES["llava"].made("sdpa")
    seen = watch_pass(model, tokenizer=Scaler(), **inputs_of("llava", image))
    seen.save(tmp_path / "run.safetensors")
    again = SeenModel.load(tmp_path / "run.safetensors")
    assert np.array_equal(again.image_map(1, 0), seen.image_map(1, 0))
    assert np.array_equal(again.pictures()[0], image)


class Words:
    """A tokenizer of a processor."""

    all_special_ids = ()

    def convert_ids_to_tokens(self, ids):
        return [f"w{each}" for each in ids]


class Processor:
    tokenizer = Words()
    image_processor = Scaler()


def test_patches_have_no_words_and_the_text_around_has():
    model = WITH_IMAGES["qwen2_vl"].made("sdpa")
    seen = watch_pass(model, tokenizer=Processor(), **WITH_IMAGES["qwen2_vl"].inputs())
    tokens = seen.tokens("decoder")[0]
    assert tokens[:6] == [" im0 r0 c0", " im0 r0 c1", " im0 r1 c0", " im0 r1 c1", " w14", " im1 r0 c0"]  # fmt: skip
    assert tokens[10:12] == [" im1 r1 c2", " w21"]
    of_word = seen.image_map(1, 0, "w21", image=1, stack="decoder")
    assert np.array_equal(of_word, seen.image_map(1, 0, 11, image=1, stack="decoder"), equal_nan=True)
    with pytest.raises(LookupError, match="image_map: token is 'dog', expected a word of the text"):
        seen.image_map(1, 0, "dog", stack="decoder")
    plain = watch_pass(model, **WITH_IMAGES["qwen2_vl"].inputs())
    with pytest.raises(ValueError, match=r"token is 'w21', expected a position, or watch\(model, tok"):
        plain.image_map(1, 0, "w21", stack="decoder")
    with edit(model, Processor()) as e, torch.no_grad():  # finds words too
        e.remove(to="w21", stack="decoder")
        model(**WITH_IMAGES["qwen2_vl"].inputs())


@pytest.mark.parametrize(
    "ask, line",
    [
        (lambda seen: seen.image_map(2, 0), "seen: layer is 2, expected one of 0, 1"),
        (lambda seen: seen.image_map(0, 4), "image_map: head is 4, expected -4 to 3"),
        (lambda seen: seen.image_map(0, 0, 17), "image_map: token is 17, expected -17 to 16"),
        (lambda seen: seen.image_map(0, 0, image=1), "image_map: image is 1, expected 0, the only one"),
        (lambda seen: seen.image_map(0, 0, sequence=2), "image_map: sequence is 2, expected -2 to 1"),
        (lambda seen: seen.image_map(0, 0, stack="cross"), 'seen: stack is "cross", expected one of "encoder"'),
    ],
)  # fmt: skip
def test_what_is_not_in_an_image_is_named(ask, line):
    model = OTHERS["vit"].made("sdpa")
    seen = watch_pass(model, **OTHERS["vit"].inputs())
    with pytest.raises(LookupError) as caught:
        ask(seen)
    assert str(caught.value) == line


SHUFFLED = A("ViTMAEModel", PICTURE | {"mask_ratio": 0.0}, "picture")


@pytest.mark.parametrize("name", ["gpt2", "t5", "jamba", "swin", "shuffled"])
def test_a_model_without_known_images_says_so(name):
    given = {"swin": SWIN, "shuffled": SHUFFLED}.get(name) or EVERY[name]
    model = given.made("sdpa")
    seen = watch_pass(model, **given.inputs())
    for ask in (lambda: seen.image_map(0, 0), seen.image_share, seen.pictures):
        with pytest.raises(LookupError, match="heed knows of no images in a run of"):
            ask()


def test_the_stack_that_has_images_is_named():
    model = OTHERS["clip"].made("sdpa")
    seen = watch_pass(model, **OTHERS["clip"].inputs())
    with pytest.raises(LookupError, match='no images in a run of CLIPModel, .*; stack="vision_model" has'):
        seen.image_map(0, 0)
    assert seen.image_map(0, 0, stack="vision_model").shape == (4, 4)


def test_a_map_is_drawn_over_its_image():
    peer("matplotlib").use("Agg")
    image = an_image()
    model = OTHERS["vit"].made("sdpa")
    seen = watch_pass(model, tokenizer=Scaler(), **inputs_of("vit", image))
    ax = seen.plot_image_map(1, 2, 0)
    under, over = ax.images
    assert np.array_equal(under.get_array(), image)
    np.testing.assert_allclose(over.get_array(), seen.image_map(1, 2, 0))
    assert ax.get_title() == "L1.H2"
    ax.figure.canvas.draw()


@pytest.mark.parametrize("name", ["qwen2_vl", "qwen2_5_vl"])
def test_frames_of_a_video_are_images(name):
    model = WITH_IMAGES[name].made("sdpa")
    ids = torch.arange(10, 34)[None]
    ids[0, :4], ids[0, 6:14] = IMAGE, 95
    kinds = (ids == IMAGE).int() + 2 * (ids == 95).int()
    generator = torch.Generator().manual_seed(4)
    pixels = torch.randn(16 + 32, 96, generator=generator)
    with watch(model) as seen, torch.no_grad():
        model(
            input_ids=ids, mm_token_type_ids=kinds, pixel_values=pixels[:16],
            pixel_values_videos=pixels[16:], image_grid_thw=torch.tensor([[1, 4, 4]]),
            video_grid_thw=torch.tensor([[2, 4, 4]]),
        )  # fmt: skip
    names = [each.name for each in seen._one(0, 0, "decoder", -1).images]
    assert names == ["", "frame 0", "frame 1"]
    weights = np.asarray(seen.attention(1, "decoder").weights[0, 2, -1])
    for at, first in enumerate((0, 6, 10)):
        assert close(seen.image_map(1, 2, image=at), weights[first : first + 4].reshape(2, 2))
    lightness = [each.mean() for each in seen.pictures()]
    assert len(set(lightness)) == 3


# --- the page -------------------------------------------------------------------------------------


def kept(picture):
    """Returns the bytes of a PNG or JPEG that a session keeps of a picture."""
    return ImagePatches([0], 1, 1, picture).picture


def test_a_session_shows_images_where_their_patches_are():
    images = [an_image(16, 16), an_image(16, 24, seed=6)]
    model = WITH_IMAGES["qwen2_vl"].made("sdpa")
    seen = watch_pass(model, tokenizer=Processor(), **inputs_of("qwen2_vl", *images))
    session = seen.look(stack="decoder")
    assert [each.tokens for each in session.images] == [(0, 1, 2, 3), (5, 6, 7, 8, 9, 10)]
    assert [(each.rows, each.columns) for each in session.images] == [(2, 2), (2, 3)]
    assert session.images[1].picture == kept(images[1])
    words = [token.text for token in session.tokens]
    assert words[3:6] == [" im0 r1 c1", " w14", " im1 r0 c0"]
    assert close(session.weights[1, 2, -1, 5:11].reshape(2, 3), seen.image_map(1, 2, image=1))
    other = [an_image(30, 30, seed=9)] * 2
    assert seen.look(stack="decoder", image=other).images[0].picture == kept(other[0])
    with pytest.raises(ValueError, match="look: image is 1 picture, expected 2, as many as there"):
        seen.look(stack="decoder", image=other[0])


def test_a_session_has_the_shares_of_its_images():
    model = WITH_IMAGES["llava"].made("sdpa")
    seen = watch_pass(model, **WITH_IMAGES["llava"].inputs())
    for row, own in zip(rows_of(seen.look(stack="decoder").heads()), rows_of(seen.image_share())):
        assert np.isclose(row["image"], own["image"], atol=1e-5)
        assert np.isclose(row["image_spread"], own["spread"], atol=1e-5)


def test_a_vision_model_shows_its_class_token_beside_its_image():
    image = an_image()
    model = MORE["dinov2_registers"].made("sdpa")
    seen = watch_pass(model, pixel_values=scaled(image), tokenizer=Scaler())
    session = seen.look()
    assert [token.text for token in session.tokens][:4] == [" [CLS]", " [REG]", " [REG]", " im0 r0 c0"]
    assert session.images[0].picture == kept(image)
    peer("matplotlib").use("Agg")
    ax = session.plot_image_map("[CLS]", 0, 1, 2)
    np.testing.assert_allclose(ax.images[1].get_array(), seen.image_map(1, 2, 0), atol=1e-6)
    with pytest.raises(LookupError, match="plot_image_map: image is 1, expected one of the 1 images"):
        session.plot_image_map(0, 1, 1, 2)


def test_queries_and_keys_of_a_session_may_have_grids_of_their_own():
    model = MORE["segformer"].made("sdpa")
    seen = watch_pass(model, **MORE["segformer"].inputs())
    session = seen.look(layer=0)
    assert [(each.of, each.rows) for each in session.images] == [("queries", 8), ("keys", 4)]


def test_a_session_of_sound_names_its_frames():
    model = EVERY["whisper"].made("sdpa")
    seen = watch_pass(model, **EVERY["whisper"].inputs())
    session = seen.look()
    (sound,) = session.images
    assert (sound.rows, sound.columns, sound.of) == (1, 16, "keys")
    assert session.key_tokens[5].text == " im0 c5"
    peer("matplotlib").use("Agg")
    ax = session.plot_image_map(-1, 0, 0, 1, stack="cross")
    np.testing.assert_allclose(ax.images[1].get_array(), seen.image_map(0, 1), atol=1e-6)
    with pytest.raises(LookupError, match="no key of the stack is a patch of an image"):
        session.plot_image_map(-1, 0, 0, 1, stack="decoder")
