"""The notebooks of docs/notebooks: run from a clean kernel, and compared with what is stored.

`python notebooks.py [NAME...]` runs those that are named, or all, and stores what they gave.
"""

from __future__ import annotations

import importlib.util
import re
import sys
import time
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parents[2] / "docs/notebooks"
NUMBER = re.compile(r"(?<![\w.])[-+−]?\d+(?:,\d{3})*(?:\.\d+)?(?:e[-+]?\d+)?%?|(?<![\w])\.\d+")


def paths() -> list[Path]:
    return sorted(FOLDER.glob("*.ipynb"))


def run(path: Path) -> tuple[Any, float]:
    """The notebook with the outputs of a kernel that has run nothing else, and the seconds."""
    import nbformat
    from nbclient import NotebookClient

    notebook = nbformat.read(path, as_version=4)
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    settings = {"resources": {"metadata": {"path": str(path.parent)}}, "record_timing": False}
    begin = time.monotonic()
    NotebookClient(notebook, timeout=300, kernel_name="python3", **settings).execute()
    return notebook, time.monotonic() - begin


def printed(cell: Any) -> str:
    """What a cell says in words: neither pictures nor what goes to stderr (progress, what is not
    installed)."""
    said = []
    for output in cell.outputs:
        if output.output_type == "stream" and output.name == "stdout":
            said.append(output.text)
        elif output.output_type == "execute_result" and "image/png" not in output.data:
            said.append(output.data.get("text/plain", ""))
    return "".join(said)


def tags(cell: Any) -> list[str]:
    return cell.metadata.get("tags", [])


def is_compared(cell: Any) -> bool:
    """A tag `needs-NAME` is of a cell that says something else where that library is missing."""
    needed = [tag.removeprefix("needs-") for tag in tags(cell) if tag.startswith("needs-")]
    return all(importlib.util.find_spec(name) is not None for name in needed)


def differences(stored: Any, found: Any) -> list[str]:
    """Cell by cell, what the run says otherwise than the stored notebook.

    The words have to be the same. Numbers are printed to the digits that matter: a number may
    differ by one unit of its last digit, which a last bit may turn, and a whole number may not
    differ. A text that a model wrote by chance can turn on a last bit, so means over such texts
    differ in a cell with the tag `sampled` by 2 % or 0.01, and counts by 1. What comes out of a
    training differs more from one processor to another: in a cell with the tag `trained` by 15 % or
    0.15. Times and steps are free in a cell with the tag `varies`.
    """
    wrong = []
    for index, (before, after) in enumerate(zip(stored.cells, found.cells, strict=True)):
        if before.cell_type == "code" and is_compared(before):
            first, second = printed(before), printed(after)
            if not agree(first, second, tags(before)):
                wrong.append(f"cell {index}: stored\n{first}\nbut the run gives\n{second}")
    return wrong


def agree(first: str, second: str, marks: list[str]) -> bool:
    words = [" ".join(NUMBER.sub("#", text).split()) for text in (first, second)]
    if words[0] != words[1]:
        return False
    pairs = zip(NUMBER.findall(first), NUMBER.findall(second), strict=True)
    return "varies" in marks or all(is_near(a, b, marks) for a, b in pairs)


def is_near(first: str, second: str, marks: list[str]) -> bool:
    a, b = value(first), value(second)
    unit = one_unit(first)
    if "sampled" in marks:
        unit = max(unit, 0.02 * abs(a), 0.01) if "." in first else 1
    if "trained" in marks:
        unit = max(unit, 0.15 * abs(a), 15 if first.endswith("%") else 0.15)
    return abs(a - b) <= unit * (1 + 1e-9)


def value(written: str) -> float:
    return float(written.replace(",", "").replace("−", "-").rstrip("%"))


def one_unit(written: str) -> float:
    """The place value of the last digit; 0 for a whole number."""
    digits, _, exponent = written.rstrip("%").partition("e")
    if "." not in digits and not exponent:
        return 1.0 if written.endswith("%") else 0.0
    return 10.0 ** (int(exponent or 0) - len(digits.partition(".")[2]))


def joined(outputs: list[Any]) -> list[Any]:
    """Without stderr, and with what was printed in pieces in one piece."""
    kept: list[Any] = []
    for output in outputs:
        if output.get("name") == "stderr":
            continue
        if kept and output.get("name") == "stdout" == kept[-1].get("name"):
            kept[-1].text += output.text
        else:
            kept.append(output)
    return kept


def store(path: Path, notebook: Any) -> None:
    import nbformat

    notebook.metadata = {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs = joined(cell.outputs)
    nbformat.write(notebook, path)


def main(names: list[str]) -> None:
    for path in paths():
        if names and path.stem not in names:
            continue
        notebook, seconds = run(path)
        store(path, notebook)
        print(f"{path.stem}: {seconds:.0f} s, {path.stat().st_size / 1e3:.0f} kB")


if __name__ == "__main__":
    main(sys.argv[1:])
