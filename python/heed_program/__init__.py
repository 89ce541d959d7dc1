"""The program `heed`, as the command of that name runs it.

A package of its own: ``heed`` itself imports NumPy, for which the program has no use.
"""

from __future__ import annotations

import os
import sys
from importlib.machinery import ModuleSpec
from importlib.util import find_spec, module_from_spec


def main() -> None:
    """Becomes the program: arguments, streams, signals and exit status are its own."""
    core = sys.modules.get("heed._core") or _core()
    models = os.path.join(os.path.dirname(os.path.abspath(__file__)), "share/heed/models")
    core.set_built_in_models(models)
    core.run_program([os.fsencode(argument) for argument in sys.argv[1:]])


def _core():
    """The extension, without the package around it."""
    spec = _spec("heed._core", find_spec("heed").submodule_search_locations)
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _spec(name: str, places: list[str]) -> ModuleSpec:
    specs = (finder.find_spec(name, places) for finder in sys.meta_path)
    return next(spec for spec in specs if spec is not None)
