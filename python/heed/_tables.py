"""A small table, used where pandas is not installed."""

from __future__ import annotations

import html
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np


class Table:
    """Rows with named columns: ``table["entropy"]`` is a column, ``table[3]`` a row as a dict."""

    def __init__(self, columns: Mapping[str, Sequence[Any]]):
        self._columns = {name: list(values) for name, values in columns.items()}

    @property
    def columns(self) -> list[str]:
        return list(self._columns)

    def __len__(self) -> int:
        return len(next(iter(self._columns.values()), []))

    def __getitem__(self, key: str | int) -> Any:
        if isinstance(key, str):
            return np.asarray(self._columns[key])
        return {name: values[key] for name, values in self._columns.items()}

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return (self[row] for row in range(len(self)))

    def sort_values(self, by: str, ascending: bool = True) -> Table:
        """Returns the rows sorted by a column, like a DataFrame's method of the same name."""
        order = np.argsort(self[by], kind="stable")
        if not ascending:
            order = order[::-1]
        return Table({name: [v[row] for row in order] for name, v in self._columns.items()})

    def __repr__(self) -> str:
        shown = {name: [_written(value) for value in v] for name, v in self._columns.items()}
        widths = {name: max(len(name), *map(len, v), 0) for name, v in shown.items()}
        lines = ["  ".join(name.rjust(width) for name, width in widths.items())]
        for row in range(len(self)):
            lines.append("  ".join(v[row].rjust(widths[name]) for name, v in shown.items()))
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        def line(cells: Sequence[str], kind: str) -> str:
            inner = "".join(f"<{kind}>{html.escape(cell)}</{kind}>" for cell in cells)
            return f"<tr>{inner}</tr>"

        rows = [line([_written(value) for value in row.values()], "td") for row in self]
        return f"<table>{line(self.columns, 'th')}{''.join(rows)}</table>"


def _written(value: Any) -> str:
    if value is None or (isinstance(value, float) and np.isnan(value)):
        return ""
    return f"{value:.3f}" if isinstance(value, float) else str(value)


def table_of(rows: Sequence[dict[str, Any]]) -> Any:
    """Returns a pandas DataFrame where pandas is installed, else a :class:`Table`. Columns missing
    from a row are NaN there."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    columns = {name: [row.get(name, float("nan")) for row in rows] for name in names}
    try:
        import pandas
    except ImportError:
        return Table(columns)
    return pandas.DataFrame(columns)
