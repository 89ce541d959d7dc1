"""The program `heed`, as the command of that name runs it."""

from __future__ import annotations

import os
import sys
from pathlib import Path

PROGRAM = Path(__file__).parent / "bin" / "heed"


def main() -> None:
    """Becomes the program: arguments, streams, signals and exit status are its own."""
    os.execv(PROGRAM, ["heed", *sys.argv[1:]])
