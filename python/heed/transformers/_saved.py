"""Files of watches: tensors in safetensors, the rest as JSON in the file's metadata."""

from __future__ import annotations

import dataclasses
import json
import operator
from collections.abc import Callable
from os import PathLike
from typing import Any

import numpy as np
import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from .. import _masks
from ..errors import NotFound, Unsupported, kind_of, made, refused
from . import _calls, _edits, _grids, _rules, _stacks
from ._pattern import Pattern
from ._runs import Run

Path = str | PathLike[str]
_KINDS = {
    name: kind
    for module in (_calls, _edits, _grids, _rules, _stacks)
    for name, kind in vars(module).items()
    if isinstance(kind, type) and dataclasses.is_dataclass(kind)
}
"""The classes that a file may contain, by name."""


def write(state: Any, path: Path) -> None:
    writer = _Writer()
    described = json.dumps(writer.described(state))
    save_file(writer.tensors, path, metadata={"heed": described})


def read(path: Path) -> Any:
    try:
        with safe_open(path, "pt") as file:
            return _made(json.loads(file.metadata()["heed"]), file.get_tensor)
    except (SafetensorError, KeyError, TypeError) as error:
        raise refused("load", "path", f"{path} ({error})",
                      "a file that SeenModel.save wrote") from error  # fmt: skip


class _Writer:
    """Converts values to JSON; objects become {"is": kind, "of": parts}."""

    def __init__(self) -> None:
        self.tensors: dict[str, Tensor] = {}
        self._names: dict[Any, str] = {}

    def described(self, value: Any) -> Any:
        if value is None or isinstance(value, (bool, int, float, str)):
            return value
        if isinstance(value, np.generic):
            return value.item()
        if isinstance(value, np.ndarray):
            return self.described(torch.from_numpy(value))
        if isinstance(value, _masks.Mask):
            function, arguments = value.__reduce__()
            return {"is": "Mask", "of": [function.__name__, self.described(arguments)]}
        if isinstance(value, Run):
            return {"is": "Run", "of": [self.described(value.calls)]}
        if type(value).__name__ == "SeenModel":  # an edit's value: the edit has the layer's run too
            return None
        if isinstance(value, Pattern):
            parts = (value.shape[0], value.queries, value.keys, value.rule, value.padding)
            return {"is": "Pattern", "of": [self.described(each) for each in parts]}
        if isinstance(value, Tensor):
            return {"is": "Tensor", "of": self._name(value)}
        if isinstance(value, range):
            return {"is": "range", "of": [value.start, value.stop]}
        if isinstance(value, (list, tuple)):
            parts = [self.described(each) for each in value]
            return {"is": "tuple", "of": parts} if isinstance(value, tuple) else parts
        if isinstance(value, dict):
            pairs = [[self.described(each) for each in item] for item in value.items()]
            return {"is": "dict", "of": pairs}
        if _KINDS.get(type(value).__name__) is type(value):
            names = [each.name for each in dataclasses.fields(value) if each.init]
            parts = {name: self.described(getattr(value, name)) for name in names}
            return {"is": type(value).__name__, "of": parts}
        raise made(Unsupported, op="save", found=kind_of(value), expected="what a file can hold",
                   hint="pickle may take it")  # fmt: skip

    def _name(self, tensor: Tensor) -> str:
        """Returns the tensor's name in the file. A mask or bias that layers share is stored
        once."""
        key = tensor.data_ptr(), tensor.shape, tensor.stride(), tensor.dtype
        if key not in self._names:
            self._names[key] = name = str(len(self._names))
            self.tensors[name] = tensor.detach().cpu().contiguous().clone()  # shares no memory
        return self._names[key]


def _made(described: Any, tensor: Callable[[str], Tensor]) -> Any:
    if isinstance(described, list):
        return [_made(each, tensor) for each in described]
    if not isinstance(described, dict):
        return described
    kind, parts = described["is"], described["of"]
    if kind == "Tensor":
        return tensor(parts)
    if kind in _KINDS:
        return _KINDS[kind](**{name: _made(each, tensor) for name, each in parts.items()})
    made_of = [_made(each, tensor) for each in parts]
    if kind in ("tuple", "dict"):
        return {"tuple": tuple, "dict": dict}[kind](made_of)
    return {"Pattern": Pattern, "range": range, "Mask": _mask_of, "Run": Run.of}[kind](*made_of)


def _mask_of(function: str, arguments: tuple[Any, ...]) -> _masks.Mask:
    if function in ("and_", "or_"):
        return getattr(operator, function)(*arguments)
    if function not in _masks.__all__:
        raise made(NotFound, op="load", argument="mask", found=function)
    return getattr(_masks, function)(*arguments)
