"""A second device for machines without a GPU: "away". PyTorch and transformers treat its tensors
like those of a GPU, and refuse to mix them with tensors on the CPU, where their numbers are."""

from __future__ import annotations

import torch
from torch.utils import backend_registration
from torch.utils._pytree import tree_leaves, tree_map_only

aten = torch.ops.aten
_MOVES = (aten._to_copy.default, aten.copy_.default)
_INDEXING = (
    aten.index.Tensor, aten.index_put.default, aten.index_put_.default,
    aten._index_put_impl_.default,
)  # fmt: skip
"""Operators whose second argument, the indices, may be on the CPU."""


class Away(torch.Tensor):
    """A tensor on the device, with its numbers in ``near``."""

    moved: list[tuple[int, ...]] = []
    """The shapes of the tensors that were copied to the CPU."""

    @staticmethod
    def __new__(cls, near):
        made = torch.Tensor._make_wrapper_subclass(
            cls, near.shape, strides=near.stride(), storage_offset=near.storage_offset(),
            dtype=near.dtype, device="away:0",
        )  # fmt: skip
        made.near = near
        return made

    @classmethod
    def __torch_dispatch__(cls, function, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        _check_devices(function, args, kwargs)
        on_cpu, named = tree_map_only(Away, lambda each: each.near, (args, kwargs))
        wanted = named.get("device")
        if wanted is not None:
            named = named | {"device": "cpu"}
        if function is aten.histc.default:  # on the CPU it counts only floating numbers
            on_cpu = (on_cpu[0].float(), *on_cpu[1:])
        found = function(*on_cpu, **named)
        if wanted is not None and torch.device(wanted).type == "cpu":
            Away.moved.append(tuple(args[0].shape))
            return found
        for given, near in zip(args, on_cpu):
            if found is near:  # written in place
                return given
        return tree_map_only(torch.Tensor, cls, found)

    def data_ptr(self):
        return self.near.data_ptr()

    def tolist(self):
        return self.near.tolist()

    def __repr__(self):
        return f"Away({self.near})"

    def __format__(self, form):
        return format(self.near, form)


def _check_devices(function, args, kwargs):
    if function in _MOVES:
        return
    if function in _INDEXING:
        args = (args[0], *args[2:])
    tensors = [each for each in tree_leaves((args, kwargs)) if isinstance(each, torch.Tensor)]
    near = [each for each in tensors if not isinstance(each, Away) and each.dim()]
    if near and any(isinstance(each, Away) for each in tensors):
        raise RuntimeError(
            f"{function}: expected all tensors to be on the same device, but found a tensor "
            f"{list(near[0].shape)} on the CPU"
        )


def _maker(make):
    def on_device(*args, dtype=None, layout=None, device=None, pin_memory=None, memory_format=None):
        return Away(make(*args, dtype=dtype, device="cpu"))

    return on_device


def _copy_from(source, into, non_blocking=False):
    near = [each.near if isinstance(each, Away) else each for each in (source, into)]
    near[1].copy_(near[0])
    return into


class _Module(backend_registration._DummyBackendModule):
    def is_available(self) -> bool:  # else DataParallel would use the device
        return False


backend_registration._setup_privateuseone_for_python_backend("away", _Module())
library = torch.library.Library("aten", "IMPL")
for name, function in {
    "empty.memory_format": _maker(torch.empty),
    "empty_strided": _maker(torch.empty_strided),
    "arange": _maker(torch.arange),
    "arange.start": _maker(torch.arange),
    "arange.start_step": _maker(torch.arange),
    "_copy_from": _copy_from,
    "_local_scalar_dense": lambda tensor: tensor.near.item(),
}.items():
    library.impl(name, function, "PrivateUse1")
