"""Where the tests beside peers stand, and how they skip."""

import os
import pathlib

# The exit status by which CTest knows a skipped test; with `./dev test --peers` a peer that is absent is a failure.
SKIPPED = 1 if os.environ.get("HEED_PEERS") else 77
SOURCE = pathlib.Path(__file__).resolve().parents[2]
SHARED = pathlib.Path(os.environ.get("HEED_SHARED_DATA", SOURCE.parent / "shared" / "data"))
