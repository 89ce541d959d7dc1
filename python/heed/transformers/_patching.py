"""`patching`: puts the output of each head of one run into another run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import torch
from transformers import PreTrainedModel

from .._checks import kind_of
from .._patching import Ends
from ..errors import WrongType, made
from ._editing import edit
from ._watching import watch


def patching(
    model: PreTrainedModel, clean: Any, corrupted: Any, metric: Callable[[Any], Any], *,
    tokenizer: Any = None, layers: Iterable[int] | None = None, stack: str | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Any:  # fmt: skip
    """Activation patching: runs ``corrupted`` once for each head, with that head's output from the
    run on ``clean``.

    Parameters
    ----------
    clean, corrupted : the model's arguments, one dict each, with equally many tokens; or texts, if
        a ``tokenizer`` is given
    metric : a function of the model's output that returns a number, such as the difference of two
        logits
    layers, stack : the layers to patch (default: all), and their stack
    progress : called as ``progress(done, of)``

    Returns
    -------
    A table with one row per head (a pandas.DataFrame where pandas is installed, else a
    :class:`heed.Table`): ``layer``, ``head``, the ``metric`` and the ``effect``. The effect is 0 if
    the metric is as in ``corrupted`` and 1 if it is as in ``clean``. The largest effects come
    first.
    """
    given = {name: _inputs(name, each, tokenizer) for name, each in
             (("clean", clean), ("corrupted", corrupted))}  # fmt: skip
    with torch.no_grad():
        with watch(model) as seen:
            best = float(metric(model(**given["clean"])))
        worst = float(metric(model(**given["corrupted"])))
        ends = Ends.of(best, worst)

        def patched(layer: int, head: int) -> Any:
            with edit(model) as edits:
                edits.patch(seen, layer, head, stack=stack)
                return metric(model(**given["corrupted"]))

        return ends.table_of(seen.places(stack, layers), patched, progress)


def _inputs(name: str, given: Any, tokenizer: Any) -> dict[str, Any]:
    if isinstance(given, str) and tokenizer is not None:
        given = tokenizer(given, return_tensors="pt")
    if not isinstance(given, Mapping):
        raise made(
            WrongType, op="patching", argument=name, found=kind_of(given),
            expected="a dict of the model's arguments, or a text and tokenizer=",
        )  # fmt: skip
    return dict(given)
