"""Images whose patches are tokens of a session."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from io import BytesIO
from typing import Any

import numpy as np

from ._checks import whole
from ._texts import checked
from .errors import Unsupported, WrongType, kind_of, made, mistyped, refused

_OP = "ImagePatches"
_LONGEST = 512  # pixels of the longer side
_FORMATS = b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff"  # the first bytes of a PNG and of a JPEG


@dataclass(frozen=True)
class ImagePatches:
    """A grid whose cells are tokens of a session: the patches of an image or of a frame of a video,
    or the frames of a sound (one row).

    Parameters
    ----------
    tokens : for each cell, row by row, the index of its token; -1 where a cell has no token
    rows, columns : the size of the grid
    picture : the image to show: an image of Pillow; an array [H, W] or [H, W, 3], of uint8 or of
        floats from 0 to 1; or the bytes of a PNG or JPEG. It is stored as a PNG or JPEG whose
        longer side has at most 512 pixels. Without Pillow only bytes are accepted, and stored as
        they are
    name : a name such as "frame 3"; by default "image" and its number
    of : whether the tokens are "keys", "queries" or "both"; in self-attention always both

    Raises
    ------
    ValueError, TypeError
        naming the argument that does not fit
    """

    tokens: tuple[int, ...]
    rows: int
    columns: int
    picture: bytes | None = field(default=None, repr=False)
    name: str = ""
    of: str = "keys"

    def __post_init__(self) -> None:
        tokens = _indices(self.tokens)
        rows, columns = (whole(_OP, each, getattr(self, each), 1) for each in ("rows", "columns"))
        if rows * columns != len(tokens):
            raise refused(_OP, "tokens", f"a list of {len(tokens)}",
                          f"{rows} x {columns}, one per cell")  # fmt: skip
        if self.of not in ("keys", "queries", "both"):
            raise refused(_OP, "of", repr(self.of), '"keys", "queries" or "both"')
        kept = {"tokens": tokens, "rows": rows, "columns": columns,
                "picture": _kept(self.picture), "name": checked(self.name, "name", _OP)}  # fmt: skip
        for each, value in kept.items():
            object.__setattr__(self, each, value)


def checked_images(images: ImagePatches | Iterable[ImagePatches] | None) -> list[ImagePatches]:
    """Returns the images of a session as a list; raises WrongType for other values."""
    found = [images] if isinstance(images, ImagePatches) else list(images or [])
    for at, image in enumerate(found):
        if not isinstance(image, ImagePatches):
            raise mistyped("session", f"images[{at}]", image, "heed.ImagePatches")
    return found


def _indices(tokens: Any) -> tuple[int, ...]:
    array = _as_numpy(tokens)
    if array.size and array.dtype.kind not in "iu":
        raise made(WrongType, op=_OP, argument="tokens", found=f"of {array.dtype}",
                   expected="whole numbers, one per cell")  # fmt: skip
    return tuple(array.ravel().tolist())


def _as_numpy(given: Any) -> np.ndarray:
    return np.asarray(given.detach().cpu() if hasattr(given, "detach") else given)


def _kept(picture: Any) -> bytes | None:
    if picture is None:
        return None
    if isinstance(picture, (bytes, bytearray, memoryview)):
        picture = bytes(picture)
        if not picture.startswith(_FORMATS):
            found = f"{len(picture)} bytes of another format"
            raise refused(_OP, "picture", found, "a PNG or JPEG")
    try:
        from PIL import Image, ImageOps
    except ImportError:
        if isinstance(picture, bytes):
            return picture
        raise made(Unsupported, op=_OP, argument="picture", found=kind_of(picture),
                   expected="the bytes of a PNG or JPEG, as Pillow is not installed") from None  # fmt: skip
    if isinstance(picture, bytes):
        try:
            image = Image.open(BytesIO(picture))
            image.load()
        except Exception as error:  # Pillow's readers raise nearly anything
            raise refused(_OP, "picture", f"not to be read ({error})", "a PNG or JPEG") from error
        if max(image.size) <= _LONGEST:
            return picture
    else:
        is_image = isinstance(picture, Image.Image)
        image = picture if is_image else Image.fromarray(_levels(picture))
    image = ImageOps.exif_transpose(image).convert("L" if image.mode in ("1", "L") else "RGB")
    image.thumbnail((_LONGEST, _LONGEST))
    return min((_encoded(image, format) for format in ("PNG", "JPEG")), key=len)


def _encoded(image: Any, format: str) -> bytes:
    data = BytesIO()
    image.save(data, format, optimize=True)
    return data.getvalue()


def _levels(picture: Any) -> np.ndarray:
    """Returns the array as uint8."""
    array = _as_numpy(picture)
    is_picture = array.ndim == 2 or (array.ndim == 3 and array.shape[2] == 3)
    if not is_picture or array.size == 0:
        found = list(array.shape) if array.ndim else kind_of(picture)
        raise refused(_OP, "picture", found, "[H, W] or [H, W, 3], an image of Pillow, or bytes")
    if array.dtype == np.uint8:
        return array
    if array.dtype.kind != "f":
        raise refused(_OP, "picture", f"of {array.dtype}", "uint8, or floats from 0 to 1")
    if not ((array >= 0) & (array <= 1)).all():
        found = f"from {array.min():.6g} to {array.max():.6g}"
        raise refused(_OP, "picture", found, "0 to 1 where it is of floats")
    return (array * 255).round().astype(np.uint8)
