"""Pictures of a model's input: its pixels, without the normalisation of the processor."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from ._grids import Grid, block_order

_CHANNELS = 3


@dataclass(frozen=True)
class Sight:
    """The processor's settings with which pixels and sound became a model's inputs."""

    mean: tuple[float, ...] = ()
    std: tuple[float, ...] = ()
    samples_per_second: float = 0
    samples_per_step: float = 0
    """The number of samples between two columns of a spectrogram; 0 if unknown."""

    @classmethod
    def of(cls, processor: Any) -> Sight:
        eyes = getattr(processor, "image_processor", processor)
        ears = getattr(processor, "feature_extractor", processor)
        mean, std = (tuple(getattr(eyes, name, None) or ()) for name in ("image_mean", "image_std"))
        if not getattr(eyes, "do_normalize", True):
            mean, std = (0.0,) * len(mean), (1.0,) * len(std)
        rate, step = (getattr(ears, name, None) or 0 for name in ("sampling_rate", "hop_length"))
        return cls(mean, std, rate, step)

    def length_of_frames(self, source: Tensor | None, stride: int) -> str:
        """Returns "0.02 s per frame", or "" if unknown. ``source`` is [N, channels, steps]."""
        is_wave = source is not None and source.shape[1] == 1
        samples = 1 if is_wave else self.samples_per_step
        if not samples or not self.samples_per_second:
            return ""
        return f"{samples * stride / self.samples_per_second:g} s per frame"

    def picture(self, pixels: Tensor) -> Tensor | None:
        """Returns the picture of pixels [channels, H, W]: [H, W, 3], or [H, W] for one channel, of
        uint8; None for other numbers of channels."""
        channels = pixels.shape[0]
        if channels not in (1, _CHANNELS):
            return None
        pixels = pixels.detach().to("cpu", torch.float32)
        if len(self.mean) == len(self.std) == channels:
            mean, std = (pixels.new_tensor(each)[:, None, None] for each in (self.mean, self.std))
            pixels = pixels * std + mean
        else:  # nothing is known: the darkest is black, the lightest white
            low, high = pixels.aminmax()
            pixels = (pixels - low) / (high - low).clamp(min=1e-12)
        pixels = (255 * pixels).round().clamp(0, 255).to(torch.uint8)
        return pixels[0] if channels == 1 else pixels.permute(1, 2, 0).contiguous()


def of_source(source: Tensor | None, shapes: Tensor | None, sight: Sight) -> list[Tensor | None]:
    """Returns one picture per image. ``source`` is the first convolution's input, [N, channels, H,
    W] or a spectrogram [N, frequencies, steps]; or patches [N, patches, pixels] with ``shapes``."""
    if source is None:
        return []
    if shapes is not None:
        return [_of_rows(each, *shape, sight) for each, shape in zip(source, shapes.tolist())]
    if source.dim() == 4:
        return [sight.picture(each) for each in source]
    if source.dim() == 3 and source.shape[1] > 1:
        return [Sight().picture(each.flip(0)[None]) for each in source]  # low tones below
    return []


def _of_rows(patches: Tensor, rows: int, columns: int, sight: Sight) -> Tensor | None:
    """Joins the patches of an image; a patch is a list of pixels, each with its channels."""
    side = round((patches.shape[-1] / _CHANNELS) ** 0.5)
    if patches.dim() != 2 or side * side * _CHANNELS != patches.shape[-1]:
        return None
    pixels = patches[: rows * columns].reshape(rows, columns, side, side, _CHANNELS)
    return sight.picture(pixels.permute(4, 0, 2, 1, 3).flatten(3).flatten(1, 2))


def of_patches(
    source: Tensor | None, frames: list[Grid], side: int, patch: Any, sight: Sight
) -> list[Tensor | None]:
    """Returns one picture per frame. The patches [patches, channels * times * patch * patch] come
    in blocks of ``side`` by ``side``; of a patch with several times the first is shown."""
    counts = [each.rows * each.columns for each in frames]
    is_known = source is not None and source.dim() == 2 and len(source) == sum(counts)
    if not is_known or not isinstance(patch, int) or source.shape[1] % (_CHANNELS * patch * patch):
        return [None] * len(frames)
    pictures = []
    for frame, patches in zip(frames, source.split(counts), strict=True):
        first = patches.reshape(len(patches), _CHANNELS, -1, patch, patch)[:, :, 0]
        cells = torch.empty_like(first)
        cells[block_order(frame.rows, frame.columns, side).to(first.device)] = first
        cells = cells.reshape(frame.rows, frame.columns, _CHANNELS, patch, patch)
        pictures.append(sight.picture(cells.permute(2, 0, 3, 1, 4).flatten(3).flatten(1, 2)))
    return pictures


def joined(
    cells: Tensor, rows: int, columns: int, pictures: list[Tensor | None]
) -> Tensor | None:
    """Returns the picture of ``cells`` [height, width], each a cell of a tile of rows x columns;
    None if a tile has no picture."""
    if any(each is None for each in pictures):
        return None
    blocks = torch.stack(pictures)
    count, height, width, *channels = blocks.shape
    blocks = blocks.reshape(count, rows, height // rows, columns, width // columns, *channels)
    blocks = blocks.transpose(2, 3).flatten(0, 2)[cells]  # [height, width, rows, columns, channels]
    return blocks.transpose(1, 2).flatten(2, 3).flatten(0, 1).contiguous()
