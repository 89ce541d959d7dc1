"""How the site of the documentation reads heed's docstrings: an extension of griffe, which mkdocstrings reads with.

heed writes `name : what it is` below *Parameters*, where numpydoc expects a type, and prose below *Returns*.
"""
import itertools
import re

import griffe


def as_numpydoc(text):
    text = re.sub(r":\w+:`~?([^`]+)`", r"``\1``", text)  # the roles of Sphinx
    lines, section = [], ""
    for line, after in itertools.pairwise([*text.splitlines(), ""]):
        if re.fullmatch(r"-{3,}", after):
            section = line
        elif re.fullmatch(r"-{3,}", line):
            lines += [line, ":"] if section in ("Returns", "Yields") else [line]
            continue
        named = re.match(r"(\*{0,2}\w[\w, *]*) : (.+)$", line) if section in ("Parameters", "Attributes") else None
        if named:
            lines += [named.group(1), "    " + named.group(2)]
        else:
            lines.append("    " + line if section in ("Returns", "Yields") and line != section else line)
    return "\n".join(lines)


class Docstrings(griffe.Extension):
    def on_object(self, *, obj, **others):
        if obj.docstring:
            obj.docstring.value = as_numpydoc(obj.docstring.value)
