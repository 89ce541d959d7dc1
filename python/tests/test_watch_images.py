"""Images that `heed.transformers.watch` finds: each patch stands for the pixels that it says."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from conftest import peer

torch = peer("torch")
transformers = peer("transformers")

from architectures import (  # noqa: E402
    ALL, IMAGE, MORE, OTHERS, PICTURE, SWIN, WITH_IMAGES, A, text_with,
)  # fmt: skip
from watched import close, rows_of, weights_of  # noqa: E402

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
    """What the processor of the architecture makes of images."""
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
    with watch(model, Scaler()) as seen, torch.no_grad():
        model(**inputs_of(name, *images))
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
    with watch(model, Scaler()) as seen, torch.no_grad():
        model(**inputs_of(name, *images))
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
