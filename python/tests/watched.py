"""What the tests of `heed.transformers.watch` share."""

from __future__ import annotations

import numpy as np
import torch

from heed._tables import Table


def weights_of(model, layer, **inputs):
    with torch.no_grad():
        return model(**inputs, output_attentions=True).attentions[layer].numpy()


def close(found, wanted, bound=1e-5):
    return np.asarray(found).shape == wanted.shape and abs(np.asarray(found) - wanted).max() < bound


def rows_of(table):
    return list(table) if isinstance(table, Table) else table.to_dict("records")
