"""The errors that heed raises. Each has its parts as data, and is also one of Python's own kinds.

Each is a ``RuntimeError`` as well, because PyTorch raises that for the same mistakes.
"""

from __future__ import annotations

import re
from typing import Any, TypeVar


class Error(RuntimeError):
    """The base class of heed's errors.

    ``str(error)`` is one line for people. The parts are for programs: ``op`` (the operator),
    ``argument`` (the keyword and the place in it: ``"k.shape[3]"``), ``found``, ``expected``,
    ``hint`` and, for a bad file, ``file``. A part that does not apply is an empty string.
    """

    op = ""
    file = ""
    argument = ""
    found = ""
    expected = ""
    hint = ""


class InvalidArgument(Error, ValueError):
    """A shape, a range or a combination that does not fit."""


class WrongType(Error, TypeError):
    """An argument, or the elements of an array, of a type that does not fit."""


class Unsupported(Error, NotImplementedError):
    """Legal but not supported: for example, the named kernel does not support the problem."""


class NotFound(Error, LookupError):
    """An unknown name."""


class OutOfRange(NotFound, IndexError):
    """A number that is out of range: a layer, a head, an index of ``weights``."""


class FileMissing(Error, FileNotFoundError):
    """A file that does not exist."""


class Corrupt(Error, ValueError):
    """A file whose content does not follow its format."""


class SystemRefused(Error, OSError):
    """The system refused: a full disk, a missing permission."""


class Failed(Error):
    """The work itself failed."""


_KINDS = {
    "invalid_argument": InvalidArgument,
    "wrong_type": WrongType,
    "unsupported": Unsupported,
    "not_found": NotFound,
    "corrupt": Corrupt,
    "io": SystemRefused,
    "failed": Failed,
    "interrupted": Failed,
}


# A field of a C++ struct: "scores.sink", "a.lse"; not within quotes, where the caller's words are.
_FIELD = re.compile(
    r"""(?<![\w."'/])(?:(?:extents|scores|keys|graph|attended)\.(\w+)|([ab])\.(\w+))"""
)
_FIELDS = {"dropout.rate": "dropout", "class_of_key": "classes"}


def _with_keywords(text: str) -> str:
    """``text`` with the names of Python's keywords: "sink", "lse_a"."""
    return _FIELD.sub(lambda field: field[1] or f"{field[3]}_{field[2]}", text)


def from_parts(text: str, parts: dict[str, str]) -> Error:
    """Returns the error that the C++ library reported."""
    kind = _KINDS[parts.pop("code")]
    if not parts["file"]:
        argument = _FIELDS.get(parts["argument"], parts["argument"])
        text = _with_keywords(text.replace(parts["argument"], argument, 1))
        parts["argument"] = argument
        parts = {name: _with_keywords(said) for name, said in parts.items()}
    if kind is NotFound and parts["file"]:
        kind = FileMissing
    elif kind is NotFound and parts["found"].lstrip("-").isdigit():  # names come in quotes
        kind = OutOfRange
    error = kind(text)
    error.__dict__.update(parts)
    return error


Kind = TypeVar("Kind", bound=Error)


def made(kind: type[Kind], **parts: str) -> Kind:
    """Returns an error made of parts; its line has the form of the C++ library's."""
    error = kind(_line(**parts))
    error.__dict__.update(parts)
    return error


def kind_of(value: Any) -> str:
    """The name of a value in errors: "a str", "an int"."""
    name = type(value).__name__
    return f"{'an' if name[0] in 'AEIOUaeiou' else 'a'} {name}"


def refused(op: str, argument: str, found: Any, expected: str = "") -> InvalidArgument:
    """Returns the error for an argument whose value does not fit."""
    return made(InvalidArgument, op=op, argument=argument, found=str(found), expected=expected)


def mistyped(op: str, argument: str, given: Any, expected: str) -> WrongType:
    """Returns the error for an argument of another type."""
    return made(WrongType, op=op, argument=argument, found=kind_of(given), expected=expected)


def out_of_range(op: str, argument: str, found: Any, expected: str) -> OutOfRange:
    """Returns the error for a number that is out of range."""
    return made(OutOfRange, op=op, argument=argument, found=str(found), expected=expected)


def renamed(error: Error, names: dict[str, str]) -> Error:
    """Returns the error with its argument renamed: ``{"q": "query"}``."""
    parts = dict(error.__dict__)
    argument = error.argument
    for name, other in names.items():
        if argument == name or argument.startswith((name + ".", name + "[")):
            parts["argument"] = other + argument[len(name) :]
            return made(type(error), **parts)
    return error


def _line(
    op: str = "",
    file: str = "",
    argument: str = "",
    found: str = "",
    expected: str = "",
    hint: str = "",
) -> str:
    said = f"{argument} is {found or 'not given'}" if argument else found
    line = "".join(f"{part}: " for part in (op, file) if part) + said
    if expected:
        line += f", expected {expected}"
    return line + (f"; {hint}" if hint else "")
