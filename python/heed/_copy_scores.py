"""The copy score: whether a head raises the token that it attends to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ._checks import whole
from ._probe import plain_tokens
from ._scored import inner_model, positions_of, read
from ._tables import table_of
from .errors import Unsupported, made, mistyped, refused

if TYPE_CHECKING:
    from torch import Tensor, nn

_PROJECTIONS = ("o_proj", "c_proj", "out_proj", "dense", "proj", "wo", "o")
"""The names that attention modules of transformers give their output projection."""
_TOKENS = 64


def copy_scores(
    model: nn.Module, *, ids: Any = None, sequences: int = 4, seed: int = 0
) -> Any:  # fmt: skip
    """Scores how much each head copies: whether a token that it attends to becomes more probable.

    The value of a token goes through the head's part of the output projection and through the
    unembedding. The score is the share of the other tokens of the vocabulary whose logits are lower
    than that of the token itself, averaged over the tokens: 1 for a head that copies, about 0.5 for
    a head without such a preference, 0 for one that suppresses its token. The model's last norm and
    the biases of the output projection are left out.

    Parameters
    ----------
    model : a decoder of transformers with a head for words
    ids : token ids, [T] or [sequences, T]; by default random ones, as :func:`probe` draws them
    sequences, seed : how many random sequences of at most 64 tokens, and their seed

    Returns
    -------
    A table with the columns ``layer``, ``head`` and ``copy``: a pandas.DataFrame where pandas is
    installed, else a :class:`heed.Table`.

    Raises
    ------
    TypeError, NotImplementedError
        if the model is not one of transformers, or has no unembedding or no output projection that
        heed finds
    """
    from importlib.util import find_spec

    if find_spec("transformers") is None:
        raise mistyped("copy_scores", "model", model,
                       "a model of transformers, which is not installed")  # fmt: skip
    import torch

    inner = inner_model(model, "copy_scores")
    sequences = whole("copy_scores", "sequences", sequences, least=1)
    vocabulary = _unembedding(inner)
    if ids is None:
        ids = _random(inner, sequences, whole("copy_scores", "seed", seed, least=0))
    ids = torch.atleast_2d(torch.as_tensor(ids)).to(inner.device)
    if ids.dim() != 2 or ids.is_floating_point() or ids.numel() == 0:
        raise refused("copy_scores", "ids", f"{list(ids.shape)} of {ids.dtype}",
                      "token ids, [T] or [sequences, T]")  # fmt: skip
    seen, _ = read(model, {"input_ids": ids}, writes=False, op="copy_scores")
    if list(seen.stacks) != ["decoder"]:
        found = f"a {type(inner).__name__} with {', '.join(seen.stacks)}"
        raise refused("copy_scores", "model", found, "one with a decoder alone")  # fmt: skip
    rows = []
    with torch.no_grad():
        for layer in seen.stacks["decoder"]:
            attention = seen.attention(layer)
            heads, size = attention.shape[1], attention.v.shape[-1]
            projection = _projection(inner, layer, heads * size)
            if projection.shape[1] != vocabulary.shape[1]:
                raise _unsupported(
                    f"an output projection to {projection.shape[1]} numbers and an "
                    f"unembedding of {vocabulary.shape[1]}", "equally many",
                )  # fmt: skip
            values = torch.as_tensor(attention.v).to(projection)  # [B, key/value heads, T, D]
            group = heads // values.shape[1]
            for head in range(heads):
                own_part = projection[size * head : size * (head + 1)]
                score = np.mean([
                    _share(of_one[head // group] @ own_part, vocabulary, own)
                    for of_one, own in zip(values, ids)
                ])  # fmt: skip
                rows.append({"layer": layer, "head": head, "copy": float(score)})
    return table_of(rows)


def _share(written: Tensor, vocabulary: Tensor, ids: Tensor) -> float:
    """Returns the share of other tokens below each token's own logit; ``written`` is [T, C]."""
    logits = written @ vocabulary.T
    below = (logits < logits.gather(1, ids[:, None])).sum(1)
    return float((below / (vocabulary.shape[0] - 1)).mean())


def _unembedding(model: Any) -> Tensor:
    """Returns the matrix from the residual stream to logits, [vocabulary, C] of float32."""
    found = model.get_output_embeddings()
    weight = getattr(found, "weight", None)
    if getattr(weight, "ndim", 0) != 2:
        raise _unsupported(
            f"a {type(model).__name__} without an unembedding",
            "a model with a head for words, such as AutoModelForCausalLM loads",
        )
    return weight.detach().float()


def _projection(model: Any, layer: int, size: int) -> Tensor:
    """Returns the output projection of a layer, [heads x size, C] of float32."""
    from transformers.pytorch_utils import Conv1D

    from .transformers._editing import stacks_of
    from .transformers._layers import Layers

    ((_, modules),) = stacks_of(model, Layers(model).names).values()
    # Layers that share one module have its number alone before the model has run.
    module = modules.get(layer) or next(iter(modules.values()))
    children = dict(module.named_children())
    for name in _PROJECTIONS:
        weight = getattr(children.get(name), "weight", None)
        if getattr(weight, "ndim", 0) != 2 or not weight.is_floating_point():
            continue
        weight = weight.detach().float()
        weight = weight if isinstance(children[name], Conv1D) else weight.T
        if weight.shape[0] == size:
            return weight
    raise _unsupported(
        f"layer {layer}, a {type(module).__name__} with {', '.join(children) or 'no parts'}",
        f"an output projection of {size} numbers, named {', '.join(_PROJECTIONS)}",
    )  # fmt: skip


def _unsupported(found: str, expected: str) -> Exception:
    return made(Unsupported, op="copy_scores", argument="model", found=found, expected=expected)


def _random(model: Any, sequences: int, seed: int) -> np.ndarray:
    length = min(_TOKENS, positions_of(model) or _TOKENS)
    return np.random.default_rng(seed).choice(plain_tokens(model), (sequences, length))
