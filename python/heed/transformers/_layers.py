"""Finds the layer of each call of an attention function by the modules' names."""

from __future__ import annotations

from collections import defaultdict

from torch import nn

from ._stacks import starred


class Layers:
    """The layers of one model.

    A layer's number is the number in its module's name. A module with several names (shared
    weights) has the first name in its first run of a pass, the second in its second run. Runs
    beyond the number of names are layers after the last one.
    """

    def __init__(self, model: nn.Module):
        self.names: dict[nn.Module, list[str]] = defaultdict(list)
        for name, module in model.named_modules(remove_duplicate=False):
            self.names[module].append(name)
        paths: dict[str, list[str]] = defaultdict(list)
        for names in self.names.values():
            for name in names:
                paths[starred(name)].append(name)
        self._numbers = {name: at for names in paths.values() for name, at in _numbered(names)}
        self._runs: dict[nn.Module, int] = {}
        self._found: dict[str, dict[int, tuple[nn.Module, int]]] = defaultdict(dict)

    def number(self, name: str) -> int:
        """Returns the layer of a module's name, for its first run."""
        return self._numbers[name]

    def begin(self, prefix: str) -> None:
        """Called when the model, or a model inside it, begins a pass."""
        for module in [m for m in self._runs if is_inside(self.names[m][0], prefix)]:
            del self._runs[module]
        for path in [path for path in self._found if is_inside(path, starred(prefix))]:
            del self._found[path]

    def run(self, module: nn.Module) -> None:
        """Called when an attention module begins to run."""
        self._runs[module] = self._runs.get(module, 0) + 1

    def of(self, module: nn.Module) -> tuple[str, int]:
        """Returns the name and the layer of a module that is calling an attention function."""
        names, run = self.names[module], self._runs.get(module, 1)
        name = names[min(run, len(names)) - 1]
        found = self._found[starred(name)]
        for layer, owner in found.items():
            if owner == (module, run):  # called before, by this run: an image or window of several
                return name, layer
        layer = self._numbers[name]
        if run > len(names) or layer in found:
            layer = max(found, default=layer - 1) + 1
        found[layer] = module, run
        return name, layer


def is_inside(name: str, prefix: str) -> bool:
    return prefix == "" or name == prefix or name.startswith(prefix + ".")


def _numbered(names: list[str]) -> list[tuple[str, int]]:
    """Returns names that differ only in their numbers, each with the number that differs; if
    several numbers differ (stages of blocks), with its place in the list."""
    numbers = [[int(part) for part in name.split(".") if part.isdigit()] for name in names]
    differ = [at for at, column in enumerate(zip(*numbers)) if len(set(column)) > 1]
    if len(differ) == 1:
        return [(name, each[differ[0]]) for name, each in zip(names, numbers)]
    if len(names) == 1:  # the innermost list; 0 where there is none
        return [(names[0], numbers[0][0] if len(numbers[0]) == 1 else 0)]
    return [(name, at) for at, name in enumerate(names)]
