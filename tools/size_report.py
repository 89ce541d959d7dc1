#!/usr/bin/env python3
"""Prints what is longer than the sizes that the architecture keeps an eye on. Never fails.

A file of 300 lines, a public header of 150, a function of 30 (60 in a kernel), a line of 100 columns.
Functions are found by their braces: a block whose head ends in `)` or in a qualifier after one.
"""
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parent.parent
FOLDERS = ("include", "src", "tests", "bench", "examples", "fuzz", "python/src", "web/src")
GENERATED = {"web/src/answers.ts"}
FILE_LINES, HEADER_LINES, FUNCTION_LINES, KERNEL_LINES, COLUMNS = 300, 150, 30, 60, 100

LITERAL = re.compile(
    r"""//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|(?<!\w)'(?:\\.|[^'\\\n])+'""", re.S)
NOT_A_FUNCTION = re.compile(r"^\s*(?:\}\s*)?(?:if|for|while|switch|catch|else|do|namespace|class|struct|"
                            r"union|enum|extern|return)\b")
FUNCTION_HEAD = re.compile(r"([~\w:]+(?:\s*<[^<>]*>)?|operator\s*\S+)\s*\(.*\)"
                           r"(?:\s*(?:const|noexcept|override|final|&&?|->[^{]*))*(?:\s*:[^{]*)?\s*$", re.S)


def blanked(text):
    """The text with comments and literals blanked, line breaks kept."""
    return LITERAL.sub(lambda match: re.sub(r"[^\n]", " ", match.group()), text)


def function_name(head):
    """The name if this head opens a function's body, else None."""
    head = re.sub(r"^\s*(?:#[^\n]*\n|public:|private:|protected:|\s)*", "", head)
    head = re.sub(r"^template\s*<[^{]*?>\s*(?=[\w\[])", "", head)
    if not head or NOT_A_FUNCTION.match(head) or "=" in head.split("(")[0].replace("operator=", ""):
        return None
    match = FUNCTION_HEAD.search(head)
    return match.group(1) if match else None


def functions(text):
    """(name, first line, line count) of every function that is not inside another."""
    head_start, line, open_blocks, found = 0, 1, [], []
    inside_function = 0
    for position, char in enumerate(text):
        if char == "\n":
            line += 1
        elif char == "{":
            name = None if inside_function else function_name(text[head_start:position])
            first = line - text[head_start:position].lstrip().count("\n")
            open_blocks.append((name, first))
            inside_function += name is not None
            head_start = position + 1
        elif char == "}":
            name, first = open_blocks.pop() if open_blocks else (None, 0)
            if name:
                inside_function -= 1
                found.append((name, first, line - first + 1))
            head_start = position + 1
        elif char == ";":
            head_start = position + 1
    return found


def outliers(path):
    where = path.relative_to(ROOT)
    text = path.read_text()
    lines = text.splitlines()
    public_header = where.parts[0] == "include"
    limit = HEADER_LINES if public_header else FILE_LINES
    if len(lines) > limit:
        yield f"{where}: {len(lines)} lines, {limit} is the limit"
    if path.suffix == ".ts":
        return  # its functions are expressions too, and its lines are as long as they read well
    for number, line in enumerate(lines, 1):
        if len(line) > COLUMNS:
            yield f"{where}:{number}: {len(line)} columns, {COLUMNS} is the limit"
    limit = KERNEL_LINES if where.parts[:2] == ("src", "kernels") else FUNCTION_LINES
    for name, first, length in functions(blanked(text)):
        if length > limit:
            yield f"{where}:{first}: {name} has {length} lines, {limit} is the limit"


def main():
    files = [path for folder in FOLDERS for suffix in ("*.h", "*.cpp", "*.ts")
             for path in sorted((ROOT / folder).rglob(suffix))
             if str(path.relative_to(ROOT)) not in GENERATED]
    found = [text for path in files for text in outliers(path)]
    print("\n".join([*found, f"sizes: {len(found)} outliers in {len(files)} files"]))


if __name__ == "__main__":
    main()
