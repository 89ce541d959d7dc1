"""What the tests of `heed.transformers.watch` share."""

from __future__ import annotations

import numpy as np
import torch

from heed.transformers import watch


def watch_pass(model, *given, tokenizer=None, **inputs):
    """What `watch` has seen after one pass without gradients."""
    with watch(model, tokenizer) as seen, torch.no_grad():
        model(*given, **inputs)
    return seen


def weights_of(model, layer, **inputs):
    with torch.no_grad():
        return model(**inputs, output_attentions=True).attentions[layer].numpy()


def close(found, wanted, bound=1e-5):
    return np.asarray(found).shape == wanted.shape and abs(np.asarray(found) - wanted).max() < bound
