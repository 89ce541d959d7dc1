"""The notebooks of the documentation say what a run of them says."""

from __future__ import annotations

import copy
import json
from types import SimpleNamespace

import notebooks
import pytest
from conftest import peer

LONG = ("digits", "watching-a-head-learn", "who-attends-to-whom")  # over 20 seconds
NEEDED = {
    "digits": ("sklearn", "torch", "transformers"),
    "who-attends-to-whom": ("torch", "transformers"),
}
STORED = [path.stem for path in notebooks.paths()]


def stored(name: str) -> dict:
    return json.loads((notebooks.FOLDER / f"{name}.ipynb").read_text())


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=pytest.mark.slow if name in LONG else ()) for name in STORED],
)
def test_a_rerun_says_the_same(name, capsys):
    for library in ("nbclient", "ipykernel", "matplotlib", *NEEDED.get(name, ())):
        peer(library)
    import nbformat

    path = notebooks.FOLDER / f"{name}.ipynb"
    found, seconds = notebooks.run(path)
    with capsys.disabled():
        print(f" {name}: {seconds:.0f} s ", end="", flush=True)
    wrong = notebooks.differences(nbformat.read(path, as_version=4), found)
    assert not wrong, "\n".join([*wrong, f"python tests/notebooks.py {name} stores what it gives"])


def test_there_are_five():
    assert STORED == [
        "a-thousand-texts",
        "attention-as-an-operator",
        "digits",
        "watching-a-head-learn",
        "who-attends-to-whom",
    ]


@pytest.mark.parametrize("name", STORED)
def test_stored_outputs_are_of_one_whole_run(name):
    assert (notebooks.FOLDER / f"{name}.ipynb").stat().st_size < 1.5e6
    code = [cell for cell in stored(name)["cells"] if cell["cell_type"] == "code"]
    assert [cell["execution_count"] for cell in code] == list(range(1, len(code) + 1))
    kinds = {output["output_type"] for cell in code for output in cell["outputs"]}
    assert kinds <= {"stream", "display_data", "execute_result"}
    assert any("image/png" in output.get("data", {}) for c in code for output in c["outputs"])


@pytest.mark.parametrize(
    ("first", "second", "marks", "same"),
    [
        ("head 2 has .53", "head 2 has .54", [], True),  # a last digit that a last bit turned
        ("head 2 has .53", "head 2 has .55", [], False),
        ("head 2 has .53", "head 3 has .53", [], False),
        ("the   king 0.5", "the king  0.5", [], True),  # columns that moved
        ("the king", "the queen", [], False),
        ("1,000 texts", "1,001 texts", [], False),
        ("99% right", "91% right", ["trained"], True),
        ("99% right", "71% right", ["trained"], False),
        ("loss 0.08", "loss 0.01", ["trained"], True),
        ("mean 0.654, down in 9", "mean 0.647, down in 10", ["sampled"], True),
        ("down in 9", "down in 11", ["sampled"], False),
        ("mean 0.654", "mean 0.634", ["sampled"], False),
        ("loss 3.30", "loss 2.30", ["trained"], False),
        ("step 350, 8 s", "step 400, 12 s", ["varies"], True),
        ("step 350, 8 s", "step 400", ["varies"], False),
        ("error 1e-07", "error 2e-07", [], True),
        ("error 1e-07", "error 1e-03", [], False),
    ],
)
def test_what_counts_as_the_same(first, second, marks, same):
    assert notebooks.agree(first, second, marks) is same


def test_a_stale_output_is_found():
    def cell(text):
        output = SimpleNamespace(output_type="stream", name="stdout", text=text)
        return SimpleNamespace(cell_type="code", metadata={}, outputs=[output])

    before = SimpleNamespace(cells=[cell("he -> king 0.68")])
    after = copy.deepcopy(before)
    assert notebooks.differences(before, after) == []
    after.cells[0].outputs[0].text = "he -> daughter 0.68"
    (wrong,) = notebooks.differences(before, after)
    assert "king" in wrong and "daughter" in wrong
