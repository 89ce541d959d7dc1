#!/usr/bin/env python3
"""Writes two headers of src/text/unicode from Debian's unicode-data: make_unicode_tables.py [FOLDER]

newer_characters.h: the characters that came after Unicode 8.0, as far as that matters. The `tokenizers` library cuts
and normalises with tables of Unicode 8.0 and 9.0. Listed are marks, punctuation, format characters and characters with
a decomposition that Unicode 15.0 has beside those.

break_ranges.h: how words and sentences break (UAX 29), as far as the general category does not say it.
"""

import pathlib
import sys

UNICODE = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "/usr/share/unicode")
OUT = pathlib.Path(__file__).resolve().parent.parent / "src" / "text" / "unicode"

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


BREAK_HEAD = """// Made by tools/make_unicode_tables.py from Unicode 15.0: the characters whose Word_Break is not what
// their general category says, the scripts that write words without spaces, and what ends a sentence.
#pragma once

#include <array>
#include <cstdint>

namespace heed {

/// Word_Break of UAX 29. Characters of the last three have none; a script's run may be a word.
enum class WordBreak : std::uint8_t {
  kOther, kCr, kLf, kNewline, kExtend, kJoiner, kFormat, kKatakana, kHebrew, kLetter, kSingleQuote,
  kDoubleQuote, kMidLetter, kMidNumber, kMidBoth, kNumeric, kConnector, kRegional, kSpace,
  kHan, kHiragana, kUnspaced,
};

struct WordBreakRange {
  char32_t first = 0;
  char32_t last = 0;
  WordBreak kind = WordBreak::kOther;
};

inline constexpr auto kWordBreakRanges = [] {
  using enum WordBreak;
  return std::to_array<WordBreakRange>({
"""

SENTENCE_HEAD = """  });
}();

struct CharacterRange {
  char32_t first = 0;
  char32_t last = 0;
};

inline constexpr CharacterRange kSentenceEnds[] = {
"""

WORD_BREAKS = {
    "CR": "kCr", "LF": "kLf", "Newline": "kNewline", "Extend": "kExtend", "ZWJ": "kJoiner", "Format": "kFormat",
    "Katakana": "kKatakana", "Hebrew_Letter": "kHebrew", "ALetter": "kLetter", "Single_Quote": "kSingleQuote",
    "Double_Quote": "kDoubleQuote", "MidLetter": "kMidLetter", "MidNum": "kMidNumber", "MidNumLet": "kMidBoth",
    "Numeric": "kNumeric", "ExtendNumLet": "kConnector", "Regional_Indicator": "kRegional", "WSegSpace": "kSpace",
}
SCRIPTS = {"Han": "kHan", "Hiragana": "kHiragana"} | dict.fromkeys(("Thai", "Lao", "Khmer", "Myanmar"), "kUnspaced")


def properties(name):
    """The lines of a property file: code and value."""
    for line in (UNICODE / name).read_text().splitlines():
        fields = line.split("#")[0].split(";")
        if len(fields) == 2:
            first, _, last = fields[0].strip().partition("..")
            for code in range(int(first, 16), int(last or first, 16) + 1):
                yield code, fields[1].strip()


def unicode_data():
    """Code and fields of each character; ranges are written out."""
    begin = None
    for line in (UNICODE / "UnicodeData.txt").read_text().splitlines():
        code, *fields = line.split(";")
        code = int(code, 16)
        if fields[0].endswith("First>"):
            begin = code
            continue
        for each in range(begin if begin is not None else code, code + 1):
            yield each, fields
        begin = None


def by_category(category):
    """What properties.cpp takes for granted."""
    if category[0] == "L" or category == "Nl":
        return "kLetter"
    if category[0] == "M":
        return "kExtend"
    return {"Nd": "kNumeric", "Cf": "kFormat", "Pc": "kConnector"}.get(category, "kOther")


def ranges_of(pairs):
    """Runs of neighbours with one value: first, last, value."""
    ranges = []
    for code, value in pairs:
        if ranges and ranges[-1][1] == code - 1 and ranges[-1][2] == value:
            ranges[-1][1] = code
        else:
            ranges.append([code, code, value])
    return ranges


def table(rows):
    lines = [""]
    for row in rows:
        if len(lines[-1]) + len(row) + 1 > 96:
            lines.append("")
        lines[-1] += (" " if lines[-1] else "    ") + row
    return "\n".join(lines)


def write_breaks():
    word_break = {code: WORD_BREAKS[value] for code, value in properties("auxiliary/WordBreakProperty.txt")}
    for code, script in properties("Scripts.txt"):
        if script in SCRIPTS and code not in word_break:
            word_break[code] = SCRIPTS[script]
    category = {code: fields[1] for code, fields in unicode_data()}
    # What is a mark joins what stands before it, in these scripts too.
    differing = [(code, word_break.get(code, "kOther")) for code in sorted(set(category) | set(word_break))
                 if word_break.get(code, "kOther") != by_category(category.get(code, "Cn"))]
    words = [f"{{0x{first:05X}, 0x{last:05X}, {kind}}}," for first, last, kind in ranges_of(differing)]
    ends = [pair for pair in sorted(properties("auxiliary/SentenceBreakProperty.txt")) if pair[1] == "STerm"]
    sentences = [f"{{0x{first:X}, 0x{last:X}}}," for first, last, _ in ranges_of(ends)]
    (OUT / "break_ranges.h").write_text(
        BREAK_HEAD + table(words) + "\n" + SENTENCE_HEAD + table(sentences) + "\n};\n\n}  // namespace heed\n")


def write_newer():
    age = {code: int(version.split(".")[0]) for code, version in properties("DerivedAge.txt")}
    chosen = []
    for line in (UNICODE / "UnicodeData.txt").read_text().splitlines():
        code, _, category, _, _, decomposition = line.split(";")[:6]
        code = int(code, 16)
        if age[code] > 8 and (category[0] in "MP" or category == "Cf" or decomposition):
            chosen.append((code, age[code]))
    rows = [f"{{0x{first:X}, 0x{last:X}, {version}}}," for first, last, version in ranges_of(chosen)]
    (OUT / "newer_characters.h").write_text(HEAD + table(rows) + "\n};\n\n}  // namespace heed\n")


def main():
    write_newer()
    write_breaks()


if __name__ == "__main__":
    main()
