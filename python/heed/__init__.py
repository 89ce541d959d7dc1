"""heed: exact attention whose weights can be inspected.

``heed.look`` reads a text with a model and shows who attends to whom; ``heed.load`` returns the
model itself. ``heed.attention`` computes attention on arrays of NumPy, PyTorch or JAX. With
``seen=True`` it also returns an object that answers questions about the weights without storing
them.
"""

from typing import TYPE_CHECKING, Any

from . import edits, errors, heads, hopfield
from ._attention import attention, explain
from ._comparing import Comparison, LogitDifference, compare
from ._core import version as __version__
from ._generation import GeneratedToken, Generation
from ._head_views import attention_patterns, colored_tokens, head_view, model_view
from ._images import ImagePatches
from ._linear_attention import linear_attention, linear_attention_backward
from ._masks import Mask, band, blocks, causal, custom, edges, keep, prefix, segments
from ._models import Model, load, look, models
from ._operators import (
    dequantise,
    layer_norm,
    layer_norm_backward,
    merge,
    merge_backward,
    message_passing,
    message_passing_backward,
    quantise,
    random_projection,
    rms_norm,
    rms_norm_backward,
    rope,
    rope_backward,
    softmax,
    softmax_backward,
)
from ._patching import patching
from ._plan import Plan
from ._seen import Seen
from ._session import Session
from ._session_stack import SessionStack
from ._tables import Table
from ._threads import set_thread_count, thread_count
from ._tokenizer import Tokenizer
from ._training import Trained, TrainStep, train
from ._weights import Weights

if TYPE_CHECKING:
    from . import torch as torch
    from . import transformers as transformers

__all__ = [
    "Comparison",
    "GeneratedToken",
    "Generation",
    "ImagePatches",
    "LogitDifference",
    "Mask",
    "Model",
    "Plan",
    "Seen",
    "Session",
    "SessionStack",
    "Table",
    "Tokenizer",
    "TrainStep",
    "Trained",
    "Weights",
    "__version__",
    "attention",
    "attention_patterns",
    "band",
    "blocks",
    "causal",
    "colored_tokens",
    "compare",
    "custom",
    "dequantise",
    "edges",
    "edits",
    "errors",
    "explain",
    "head_view",
    "heads",
    "hopfield",
    "keep",
    "layer_norm",
    "layer_norm_backward",
    "linear_attention",
    "linear_attention_backward",
    "load",
    "look",
    "merge",
    "merge_backward",
    "message_passing",
    "message_passing_backward",
    "model_view",
    "models",
    "patching",
    "prefix",
    "quantise",
    "random_projection",
    "rms_norm",
    "rms_norm_backward",
    "rope",
    "rope_backward",
    "segments",
    "set_thread_count",
    "softmax",
    "softmax_backward",
    "thread_count",
    "train",
]


_NEEDED = {"torch": ("torch",), "transformers": ("torch", "transformers")}
"""The packages that a module imported on its first use needs."""


def __getattr__(name: str) -> Any:
    """Imports ``heed.torch`` and ``heed.transformers`` when they are first used."""
    if name not in _NEEDED:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    try:
        return import_module(f"{__name__}.{name}")
    except ModuleNotFoundError as error:
        if error.name not in _NEEDED[name]:
            raise
        packages = " ".join(_NEEDED[name])
        raise ImportError(
            f"heed.{name} needs {error.name}, which is not installed: pip install {packages}",
            name=error.name,
        ) from error
