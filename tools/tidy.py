#!/usr/bin/env python3
"""Runs clang-tidy on the files named on stdin and prints what it finds; ends with 1 if it finds anything.

A file that was clean is not read again until its text changes, or that of a header of ours that it includes
(however far down), or how it is compiled (definitions, include folders, warnings), or .clang-tidy, or
clang-tidy's version. A folder of builds remembers that by stamps. A fresh clone has none: tools/clean_at names a
commit at which every file was clean, and clang-tidy's version then (all files cost a slow machine half an hour).
`./dev lint record` writes it.

    find src -name '*.cpp' | tools/tidy.py build/lint
"""
import concurrent.futures
import functools
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
PROGRAM = "clang-tidy-19"
CLEAN_AT = ROOT / "tools" / "clean_at"
BUILD_FILES = ("*CMakeLists.txt", "*.cmake", "CMakePresets.json")
# Lines of them that decide what clang-tidy reads: definitions, include folders, warnings. Levels of
# optimisation, g++'s own warnings, lists of tests and rules of installing do not.
HOW = re.compile(
    r"definitions|include_dir|link_libraries|find_package|pkg_check|STANDARD|SYSTEM"
    r"|(?<!\w)-([DIm]|f(?!no-tree)|W(?!no-maybe-uninitialized))\w"
)
INCLUDE = re.compile(r'^\s*#\s*include\s+["<]([^">]+)[">]', re.M)
FINDING = re.compile(r": (?:error|warning): ")
LET_PASS = "no header providing"  # a .cpp need not repeat its header's includes


@functools.cache
def text_of(path):
    return path.read_text(errors="replace")


def ours(name, places):
    """The file of ours that an include names, or None."""
    return next((place / name for place in places if (place / name).is_file()), None)


def closure(unit, places):
    """The unit and all headers of ours below it, sorted."""
    found, waiting = {unit}, [unit]
    while waiting:
        for name in INCLUDE.findall(text_of(waiting.pop())):
            header = ours(name, places)
            if header and header not in found:
                found.add(header)
                waiting.append(header)
    return sorted(found)


def git(*arguments):
    """What git says, or None where it fails."""
    run = subprocess.run(["git", "-C", ROOT, *arguments], capture_output=True, text=True, check=False)
    return run.stdout if run.returncode == 0 else None


def said(diff, sign):
    """The removed (-) or added (+) lines that decide how files are read, sorted, without the names of targets."""
    lines = [line[1:].strip() for line in diff.splitlines() if line.startswith(sign) and line[:3] != sign * 3]
    return sorted(re.sub(r"\([\w${}]+ ", "(", line) for line in lines if HOW.search(line))


def changed_since_clean(version):
    """The commit at which all was clean, and the files that differ from it; (None, None) where that tells nothing."""
    commit, _, then = CLEAN_AT.read_text().strip().partition(" ") if CLEAN_AT.exists() else ("", "", "")
    if not commit or then != version:
        return None, None
    names, new = git("diff", "--name-only", commit), git("ls-files", "--others", "--exclude-standard")
    how = git("diff", "-U0", commit, "--", *BUILD_FILES)
    if names is None or new is None or how is None:  # a clone without that commit
        return None, None
    files = {ROOT / name for name in names.split() + new.split()}
    if ROOT / ".clang-tidy" in files or said(how, "-") != said(how, "+"):
        return None, None
    return commit, files


def fingerprint(files, command, settings):
    digest = hashlib.sha256((settings + command).encode())
    for path in files:
        digest.update(f"{path}\0{text_of(path)}\0".encode())
    return digest.hexdigest()


def findings(unit, build):
    """What clang-tidy says of the unit, less what may pass."""
    run = subprocess.run([PROGRAM, "-p", build, "--quiet", unit], capture_output=True, text=True, check=False)
    show, lines = False, []
    for line in run.stdout.splitlines():
        if FINDING.search(line):
            show = LET_PASS not in line
        if show:
            lines.append(line)
    if not FINDING.search(run.stdout) and run.returncode != 0:
        lines.append(f"{unit}: {PROGRAM} ended with status {run.returncode}: {run.stderr.strip()}")
    return lines


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    stamps = build / "clean"
    stamps.mkdir(exist_ok=True)
    commands = {entry["file"]: entry["command"] for entry in json.loads((build / "compile_commands.json").read_text())}
    version = subprocess.run([PROGRAM, "--version"], capture_output=True, text=True, check=True).stdout
    settings = version + (ROOT / ".clang-tidy").read_text()
    commit, changed = changed_since_clean(re.search(r"version (\S+)", version).group(1))
    waiting, units = {}, [ROOT / line for line in sys.stdin.read().split()]
    for unit in units:
        command = commands.get(str(unit), "")
        places = [pathlib.Path(place) for place in re.findall(r"-I\s*(\S+)", command)] + [ROOT]
        files = closure(unit, places)
        stamp = stamps / fingerprint(files, command, settings)
        is_as_then = commit and changed.isdisjoint(files)
        if not stamp.exists() and not is_as_then:
            waiting[unit] = stamp
    others = f"; the others are as in {commit[:10]}, which was clean" if commit else ""
    print(f"clang-tidy: {len(waiting)} of {len(units)} files to read{others}", flush=True)
    failed = False
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for (_, stamp), lines in zip(waiting.items(), pool.map(lambda unit: findings(unit, build), waiting)):
            failed = failed or bool(lines)
            print("\n".join(lines), end="\n" if lines else "", flush=True)
            if not lines:
                stamp.touch()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
