"""`patching` of models of transformers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

import numpy as np
import torch
from transformers import PreTrainedModel

from .._edited import listed
from .._patching import Asked, Ends, check_equally_many
from ..errors import InvalidArgument, made, mistyped, refused
from ._editing import edit
from ._models import unwrapped
from ._watching import watch


def patching(
    model: PreTrainedModel, clean: Any, corrupted: Any, metric: Callable[[Any], Any], *,
    tokenizer: Any = None, edges: Any = None, heads: Any = None,
    layers: Iterable[int] | None = None, stack: str | None = None, who: Any = None,
    at_most: int = 1000, progress: Callable[[int, int], None] | None = None,
) -> Any:  # fmt: skip
    """Activation patching, and knockout of each of some ``edges``, as :func:`heed.patching`.

    Parameters
    ----------
    clean, corrupted : the model's arguments, one dict each, with tensors of the same shapes; or
        texts with equally many tokens, if a ``tokenizer`` is given. With ``edges`` ``corrupted``
        may be None, and may have another length
    metric : a function of the model's output that returns a number, such as the difference of two
        logits
    edges, heads, layers, who, at_most, progress : as of :func:`heed.patching`. Words need a
        ``tokenizer``; "all" edges are those of the first sequence

    Returns
    -------
    The table of :func:`heed.patching`.
    """
    asked = Asked(edges, heads, layers, stack, who, at_most)
    return sweep(model, clean, corrupted, metric, asked, progress, tokenizer=tokenizer)


def sweep(
    model: PreTrainedModel, clean: Any, corrupted: Any, metric: Callable[[Any], Any],
    asked: Asked, progress: Callable[[int, int], None] | None, *, tokenizer: Any = None,
) -> Any:  # fmt: skip
    is_of_edges = asked.edges is not None
    if tokenizer is None:
        _check_positions(asked)
    read = partial(_inputs, tokenizer=tokenizer, device=unwrapped(model, "patching").device)
    of_clean = read("clean", clean)
    of_corrupted = None if corrupted is None and is_of_edges else read("corrupted", corrupted)
    if not is_of_edges:
        _check_shapes(of_clean, of_corrupted)

    def found(inputs: dict[str, Any]) -> Any:
        return metric(model(**inputs))

    with torch.no_grad():
        with watch(model) as seen:
            best = model(**of_clean)
        worst = None if of_corrupted is None else model(**of_corrupted)
        ends = Ends.of(metric, best, worst)

        def weights(layer: int, head: int) -> Any:
            return np.asarray(seen.attention(layer, asked.stack).weights[0, head])

        def edited(row: dict[str, Any]) -> Any:
            with edit(model, tokenizer) as edits:
                if not is_of_edges:
                    edits.patch(seen, row["layer"], row["head"], who=asked.who, stack=asked.stack)
                    return found(of_corrupted)
                places = asked.places(row)
                edits.remove(row["who"], row["to"], heads=places, stack=asked.stack)
                return found(of_clean)

        rows = asked.rows(seen.places(asked.stack, asked.layers), weights)
        return ends.table_of(rows, edited, is_of_edges=is_of_edges, progress=progress)


def _inputs(name: str, given: Any, *, tokenizer: Any, device: torch.device) -> dict[str, Any]:
    if isinstance(given, str) and tokenizer is not None:
        given = tokenizer(given, return_tensors="pt")
        given = {name: tensor.to(device) for name, tensor in given.items()}
    if not isinstance(given, Mapping):
        raise mistyped("patching", name, given,
                       "a dict of the model's arguments, or a text and tokenizer=")  # fmt: skip
    return dict(given)


def _check_positions(asked: Asked) -> None:
    """Refuses words, which only a tokenizer finds."""
    pairs = asked.edges if isinstance(asked.edges, (list, tuple)) else ()
    ends = [end for pair in pairs if isinstance(pair, (list, tuple)) for end in pair]
    for argument, given in (("who", asked.who), *(("edges", end) for end in ends)):
        for each in listed(given):
            if isinstance(each, str):
                raise refused("patching", argument, repr(each),
                              "positions, or tokenizer= to find words")  # fmt: skip


def _check_shapes(clean: dict[str, Any], corrupted: dict[str, Any]) -> None:
    """Refuses tensors of different shapes, whose positions do not correspond."""
    for name, given in clean.items():
        other = corrupted.get(name)
        if not isinstance(given, torch.Tensor) or not isinstance(other, torch.Tensor):
            continue
        one, two = list(given.shape), list(other.shape)
        if name == "input_ids" and len(one) == len(two) == 2 and one[0] == two[0]:
            check_equally_many(one[1], two[1])
        if one != two:
            raise made(
                InvalidArgument, op="patching",
                found=f"clean has {name} of {one} and corrupted of {two}",
                expected="equal shapes",
            )  # fmt: skip
