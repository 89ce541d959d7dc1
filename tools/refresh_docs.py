#!/usr/bin/env python3
"""Puts what the examples of README.md, docs/look.md, docs/python.md and the notebooks print today into them.

    build/python-peers/bin/python tools/refresh_docs.py build/release

To be run when a built-in model changed. Docs.TheyShowWhatTheirCommandsPrint, python/tests/test_docs.py and
test_notebooks.py compare what stands there; this writes it, so read the difference: what the text around an example says
of its numbers is not changed. docs/notebooks take some minutes; --fast leaves them out.
"""
import argparse
import doctest
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
BLOCK = re.compile(r"^```\n\$ (heed [^\n]*)\n.*?^```$", re.M | re.S)


def printed(command, build):
    """What a command of heed prints on a terminal of 100 columns."""
    environment = {**os.environ, "PATH": f"{build}:{os.environ['PATH']}", "LC_ALL": "C.UTF-8", "COLUMNS": "100"}
    return subprocess.run(command, shell=True, cwd=ROOT, env=environment, check=True, capture_output=True, text=True).stdout


def refresh_commands(path, build):
    block = lambda match: f"```\n$ {match[1]}\n\n{printed(match[1], build)}```"
    path.write_text(BLOCK.sub(block, path.read_text()))


class Recorder(doctest.DocTestRunner):
    """Keeps what each example printed, in place of a report."""

    def __init__(self):
        super().__init__()
        self.found = {}

    def report_start(self, out, test, example):
        self.found[example.lineno] = example.want

    def report_failure(self, out, test, example, got):
        self.found[example.lineno] = got

    def report_unexpected_exception(self, out, test, example, exc_info):
        sys.exit(f"{test.name}, line {example.lineno + 1}: {exc_info[1]!r}")


def refresh_doctests(path):
    """Each example whose output is another one gets that; the rest of the page stays."""
    import test_docs

    lines = path.read_text().split("\n")
    test = test_docs.examples_of("\n".join(lines), path.name)
    runner = Recorder()
    runner.run(test)
    for example in reversed(test.examples):
        got = runner.found[example.lineno]
        begin = example.lineno + example.source.count("\n")
        if got != example.want:
            lines[begin:begin + example.want.count("\n")] = got.rstrip("\n").split("\n")
    path.write_text("\n".join(lines))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build", type=pathlib.Path, help="the folder of a build where python.package was tested")
    parser.add_argument("--fast", action="store_true", help="without the notebooks")
    options = parser.parse_args()
    build = options.build.resolve()
    sys.path[:0] = [str(build / "python-site"), str(ROOT / "python/tests")]
    os.environ["PYTHONPATH"] = sys.path[0]
    for page in ("README.md", "docs/look.md"):
        refresh_commands(ROOT / page, build)
    refresh_doctests(ROOT / "docs/python.md")
    if not options.fast:
        import notebooks
        notebooks.main([])


if __name__ == "__main__":
    main()
