#!/usr/bin/env python3
"""Writes src/text/unicode/newer_characters.h: the characters that came after Unicode 8.0, as far as that matters.

The `tokenizers` library cuts and normalises with tables of Unicode 8.0 and 9.0. Listed are marks, punctuation, format
characters and characters with a decomposition that Unicode 15.0 has beside those. Reads Debian's unicode-data.
"""

import pathlib

UNICODE = pathlib.Path("/usr/share/unicode")
OUT = pathlib.Path(__file__).resolve().parent.parent / "src" / "text" / "unicode" / "newer_characters.h"

HEAD = """// Made by tools/make_unicode_tables.py from Unicode 15.0: marks, punctuation, format characters and
// characters with a decomposition that came after Unicode 8.0.
#pragma once

namespace heed {

struct NewerCharacters {
  char32_t first = 0;
  char32_t last = 0;
  int version = 0;  // of Unicode in which they came
};

inline constexpr NewerCharacters kNewerCharacters[] = {
"""


def ages():
    found = {}
    for line in (UNICODE / "DerivedAge.txt").read_text().splitlines():
        fields = line.split("#")[0].split(";")
        if len(fields) == 2:
            first, _, last = fields[0].strip().partition("..")
            for code in range(int(first, 16), int(last or first, 16) + 1):
                found[code] = int(fields[1].split(".")[0])
    return found


def main():
    age = ages()
    chosen = []
    for line in (UNICODE / "UnicodeData.txt").read_text().splitlines():
        code, _, category, _, _, decomposition = line.split(";")[:6]
        code = int(code, 16)
        if age[code] > 8 and (category[0] in "MP" or category == "Cf" or decomposition):
            chosen.append((code, age[code]))
    ranges = []
    for code, version in chosen:
        if ranges and ranges[-1][1] == code - 1 and ranges[-1][2] == version:
            ranges[-1][1] = code
        else:
            ranges.append([code, code, version])
    rows = [f"{{0x{first:X}, 0x{last:X}, {version}}}," for first, last, version in ranges]
    lines = [""]
    for row in rows:
        if len(lines[-1]) + len(row) + 1 > 96:
            lines.append("")
        lines[-1] += (" " if lines[-1] else "    ") + row
    OUT.write_text(HEAD + "\n".join(lines) + "\n};\n\n}  // namespace heed\n")


if __name__ == "__main__":
    main()
