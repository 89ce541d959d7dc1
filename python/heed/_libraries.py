"""Results as arrays of the library that the caller uses."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from . import _core
from .errors import Unsupported, made


class NumPy:
    """Results as arrays of NumPy, with the bfloat16 of ml_dtypes."""

    @staticmethod
    def empty(shape: tuple[int, ...], like: Any) -> Any:
        return np.empty(shape, like.dtype)

    @staticmethod
    def is_negated(array: Any) -> bool:
        """Whether the memory holds the negated values (PyTorch's lazy negation)."""
        return False

    @staticmethod
    def alone(array: Any) -> Any:
        """Returns the array without other memory that it is a view of, so that pickle stores only
        the array."""
        return array

    @staticmethod
    def taken(array: Any) -> Any:
        if _core.is_bfloat16(array):
            import ml_dtypes

            return np.asarray(_core.as_bits(array)).view(ml_dtypes.bfloat16)
        return np.asarray(array)


class Buffers(NumPy):
    """Objects with the buffer protocol and no array library: results are NumPy's."""

    @staticmethod
    def empty(shape: tuple[int, ...], like: Any) -> Any:
        return None


class Torch:
    @staticmethod
    def empty(shape: tuple[int, ...], like: Any) -> Any:
        return like.new_empty(shape)

    @staticmethod
    def is_negated(array: Any) -> bool:
        return hasattr(array, "is_neg") and array.is_neg()

    @staticmethod
    def alone(array: Any) -> Any:
        array = array.detach()
        return array if array.untyped_storage().nbytes() == array.nbytes else array.clone()

    @staticmethod
    def taken(array: Any) -> Any:
        return sys.modules["torch"].from_dlpack(array)


class ArrayApi:
    """A library of the array API standard, such as JAX. Its arrays are never written to."""

    is_negated = staticmethod(NumPy.is_negated)
    alone = staticmethod(NumPy.alone)

    def __init__(self, namespace: Any):
        self._namespace = namespace

    @staticmethod
    def empty(shape: tuple[int, ...], like: Any) -> Any:
        return None

    def taken(self, array: Any) -> Any:
        return self._namespace.from_dlpack(array)


_NUMPY = NumPy()
_TORCH = Torch()
_BUFFERS = Buffers()


def library_of(array: Any) -> Any:
    """Returns the library of an array; NumPy if its own library cannot hold a result."""
    if isinstance(array, np.ndarray):
        return _NUMPY
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(array, torch.Tensor):
        if _is_traced(torch._C):
            raise made(
                Unsupported, op="heed", found="called inside of a tracer or a transform of PyTorch",
                expected="heed.torch.scaled_dot_product_attention, which they see",
            )  # fmt: skip
        return _TORCH
    if hasattr(array, "__array_namespace__"):
        return ArrayApi(array.__array_namespace__())
    return _BUFFERS


def _is_traced(of_torch: Any) -> bool:
    """Whether PyTorch is recording or transforming operators, which would miss heed's functions."""
    if of_torch._get_tracing_state() or of_torch._functorch.peek_interpreter_stack():
        return True
    if not of_torch._len_torch_dispatch_stack():
        return False
    kinds = of_torch._TorchDispatchModeKey
    recording = (kinds.FAKE, kinds.PROXY, kinds.FUNCTIONAL)
    return any(of_torch._get_dispatch_mode(kind) is not None for kind in recording)
