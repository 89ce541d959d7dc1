"""Sessions of arrays computed elsewhere."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _core
from ._checks import whole_if_given
from ._images import ImagePatches, checked_images
from ._seen import Seen
from ._texts import checked
from .errors import mistyped, refused

if TYPE_CHECKING:
    from ._session import Session


def of_arrays(
    kind: type[Session],
    q: Any,
    k: Any,
    v: Any = None,
    *,
    lse: Any = None,
    lse_low: Any = None,
    tokens: Any = None,
    key_tokens: Any = None,
    stack: str | None = None,
    name: str = "arrays",
    images: Any = None,
    **settings: Any,
) -> Session:
    """Implements :meth:`Session.from_arrays`."""
    _warn_of_weights(q)
    layers = {"q": q, "k": k, "v": v, "lse": lse, "lse_low": lse_low}
    lists = {each: list(a) for each, a in layers.items() if isinstance(a, (list, tuple))}
    if lists and not {"q", "k"} <= lists.keys():
        single = "k" if "q" in lists else "q"
        raise refused("session", single, "one array", "a list with one per layer, as the others")
    count = len(lists["q"]) if lists else 1
    for each, given in layers.items():
        found = lists.get(each, [None] if given is None else [given])
        if given is not None and len(found) != count:
            raise refused("session", each, f"a list of {len(found)}", f"{count}, one per layer")
        layers[each] = [None] * count if given is None else [_of_batch(each, a) for a in found]
    seen = [
        Seen.of(*arrays[:3], lse=arrays[3], lse_low=arrays[4], **settings)
        for arrays in zip(*layers.values())
    ]
    stacks = stacks_of(seen, stack, key_tokens)
    return of_seen(kind, stacks, tokens, key_tokens, name, None, images)


def stacks_of(given: Any, stack: str | None, key_tokens: Any) -> Mapping[str, Any]:
    """Returns layers by the name of their stack. Layers without a name are a self-attention, or a
    cross-attention if their keys are other tokens."""
    if isinstance(given, Mapping):
        return given
    return {stack if stack is not None else "self" if key_tokens is None else "cross": given}


def _of_batch(name: str, array: Any) -> Any:
    """Returns the array with a batch axis of 1, which the caller may have left out."""
    if not hasattr(array, "__array_interface__") and not hasattr(array, "__dlpack__"):
        raise mistyped("session", name, array, "an array, or a list with one per layer")
    rank = 3 if name.startswith("lse") else 4
    return array[None] if array.ndim == rank - 1 else array


def _warn_of_weights(q: Any) -> None:
    """Warns if the rows of q sum to 1: then q is probably attention weights."""
    first = q[0] if isinstance(q, (list, tuple)) and q else q
    if getattr(first, "ndim", 0) < 2 or first.shape[-1] < 2:
        return
    if _are_weights(first[..., :8, :]) and _are_weights(first):  # a few rows decide most cases
        warnings.warn(
            "session: the rows of q sum to 1, as attention weights do; "
            "heed.Session.from_weights takes weights",
            stacklevel=4,
        )


def _are_weights(q: Any) -> bool:
    rows = as_array(q, "q")
    return bool(rows.size and (rows >= 0).all() and np.abs(rows.sum(-1) - 1).max() < 1e-2)


def as_array(given: Any, argument: str) -> np.ndarray:
    """Returns an array of any library, type and device as a NumPy array of float32 or float64."""
    if hasattr(given, "detach"):  # PyTorch's: NumPy does not know its bfloat16 and devices
        given = given.detach().cpu()
        given = (given if str(given.dtype) == "torch.float64" else given.float()).numpy()
    try:
        array = np.asarray(given)
        return array if array.dtype == np.float64 else array.astype(np.float32, copy=False)
    except (TypeError, ValueError):
        raise mistyped("session", argument, given, "an array of numbers") from None


def of_seen(
    kind: type[Session],
    stacks: Any,
    tokens: Any,
    key_tokens: Any,
    name: str,
    sequence: int | None,
    images: Any = None,
) -> Session:
    """Implements :meth:`Session.from_seen`."""
    stacks = stacks_of(stacks, None, key_tokens)
    stacks = {stack: list(layers) for stack, layers in stacks.items()}
    for stack, layers in stacks.items():
        for layer in layers:
            if layer is not None and not isinstance(layer, Seen):
                raise mistyped("session", f"stacks[{stack!r}]", layer, "heed.Seen or None")
    return opened(kind, stacks, tokens, key_tokens, name, sequence, images=images)


def opened(
    kind: type[Session],
    stacks: Mapping[str, list[Seen | None]],
    tokens: Any,
    key_tokens: Any,
    name: str,
    sequence: int | None,
    split: int | None = None,
    only_weights: bool = False,
    images: Any = None,
) -> Session:
    """Opens a session of these stacks of layers; None is a layer without attention."""
    tokens, key_tokens = (each if each is None else list(each) for each in (tokens, key_tokens))
    cores = [
        (stack, [None if layer is None else layer._core for layer in layers])
        for stack, layers in stacks.items()
    ]
    if tokens is not None and key_tokens is None:
        key_tokens = _numbered_keys(stacks, len(tokens))
    images = checked_images(images)
    core = _core.open_arrays(
        checked(name, "name", "session"), _names(tokens, "tokens"),
        _names(key_tokens, "key_tokens"), cores, whole_if_given("session", "sequence", sequence),
        split, only_weights, [_parts(image) for image in images],
    )  # fmt: skip
    session = kind(core)
    session._made = stacks, tokens, key_tokens, name, sequence, split, only_weights, images
    return session


def _parts(image: ImagePatches) -> tuple[Any, ...]:
    whose = (image.of in ("queries", "both"), image.of in ("keys", "both"))
    return (*whose, image.rows, image.columns, image.tokens, image.picture or b"", image.name)


def _numbered_keys(stacks: Mapping[str, Any], queries: int) -> list[str] | None:
    """Returns numbers as names of keys that are other tokens than the queries; None if they are
    the same tokens."""
    keys = {layer.shape[3] for layers in stacks.values() for layer in layers if layer is not None}
    return None if keys == {queries} or len(keys) != 1 else [f" #{at}" for at in range(keys.pop())]


def _names(tokens: Any, argument: str) -> list[bytes]:
    if tokens is None:
        return []
    tokens = [each.item() if getattr(each, "ndim", 1) == 0 else each for each in tokens]
    return [
        token if isinstance(token, bytes) else checked(str(token), argument, "session").encode()
        for token in tokens
    ]
