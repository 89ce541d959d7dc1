"""Inspecting models of transformers.

Importing this module registers the attention implementation "heed":

    model = AutoModel.from_pretrained(name, attn_implementation="heed")

computes every attention that goes through transformers' interface with :func:`heed.attention`, in
inference and in training. :func:`watch` records the inputs and outputs of a model's attention, so
that any weight of any head can be computed later, at any length:

    with heed.transformers.watch(model, tokenizer) as seen:
        model(**tokenizer("The cat sat on the mat.", return_tensors="pt"))
    seen.attention(5).weights[0, 3, 9]

:func:`edit` changes attention while a model runs:

    with heed.transformers.edit(model, tokenizer) as e:
        e.ablate(5, heads=[3])
        model(**tokenizer("The cat sat on the mat.", return_tensors="pt"))

:func:`patching` puts the output of each head on one text into a run on another text.
"""

from transformers import AttentionInterface, AttentionMaskInterface

from ._attention import attention
from ._editing import Edits, edit
from ._patching import patching
from ._pattern import Pattern, mask
from ._seen_model import SeenModel
from ._watching import watch

__all__ = ["Edits", "Pattern", "SeenModel", "attention", "edit", "mask", "patching", "watch"]

AttentionInterface.register("heed", attention)
AttentionMaskInterface.register("heed", mask)
