"""Bad input: the kind of error, the argument that it names, and its whole line."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

import heed


def one(*shape, dtype=np.float32):
    return np.ones(shape, dtype)


Q = one(1, 2, 3, 4)


class Elsewhere:
    """An array on a GPU, as DLPack shows it."""

    device = "cuda:0"

    def __dlpack_device__(self):
        return (2, 0)

    def __dlpack__(self, **_):
        raise AssertionError("nobody asks for memory on another device")


CASES = {
    "rank": (
        dict(q=one(3, 4)),
        ValueError,
        "attention: q.shape is [3, 4], expected [batch, heads, T, D]",
    ),
    "head size": (
        dict(k=one(1, 2, 3, 5)),
        ValueError,
        "attention: k.shape[3] is 5, expected 4 (q's head size)",
    ),
    "a list": (
        dict(q=[[1.0]]),
        TypeError,
        "q is a list, expected an array: NumPy's, PyTorch's, JAX's or any that has __dlpack__",
    ),
    "nothing": (dict(v=None), TypeError, "v is None, expected an array"),
    "integers": (
        dict(q=one(1, 2, 3, 4, dtype=np.int32)),
        TypeError,
        "attention: q is i32, expected f64, f32, f16 or bf16",
    ),
    "narrow integers": (
        dict(k=one(1, 2, 3, 4, dtype=np.int16)),
        TypeError,
        "k is an array of int16, expected elements of float64, float32, float16, bfloat16, int64, "
        "int32, int8, uint8 or bool",
    ),
    "objects": (
        dict(q=Q.astype(object)),
        TypeError,
        "q is an array of object, expected elements of float64, "
        "float32, float16, bfloat16, int64, int32, int8, uint8 or bool",
    ),
    "dates": (
        dict(q=Q.astype("M8[s]")),
        TypeError,
        "q is an array of datetime64[s], expected elements of "
        "float64, float32, float16, bfloat16, int64, int32, int8, uint8 or bool",
    ),
    "byte order": (
        dict(q=Q.astype(">f4")),
        TypeError,
        "q is in the byte order of another machine, expected this machine's: "
        'x.astype(x.dtype.newbyteorder("="))',
    ),
    "device": (
        dict(k=Elsewhere()),
        ValueError,
        "k is on cuda:0, expected an array in the host's memory",
    ),
    "axes": (dict(q=one(*[1] * 9)), ValueError, "q.ndim is 9, expected at most 8"),
    "mask of an array": (
        dict(mask=np.ones((3, 3), bool)),
        TypeError,
        "mask is a ndarray, expected a heed mask, such as heed.causal() or "
        "heed.keep(boolean_array)",
    ),
    "bias": (
        dict(bias=one(3, 5)),
        ValueError,
        "attention: bias.shape is [3, 5], expected one that broadcasts to [B, H, Tq, Tk] = "
        "[1, 2, 3, 3]",
    ),
    "scale": (
        dict(scale="a"),
        TypeError,
        "scale is a str, expected a number, or a list or an array of them",
    ),
    "scales": (
        dict(scale=[1.0, 2.0, 3.0]),
        ValueError,
        "attention: scale is a list of 3, expected none, one or 2 entries (q's heads)",
    ),
    "lengths": (
        dict(key_length=[1, 2]),
        ValueError,
        "attention: key_length is a list of 2, expected none, one or 1 entries (the batch)",
    ),
    "a length": (dict(key_length=4), ValueError, "attention: key_length[0] is 4, expected 0 to 3"),
    "lengths of text": (
        dict(key_length=["a"]),
        TypeError,
        "key_length is ['a'], expected a whole number, or a list or an array of them",
    ),
    "lengths of fractions": (
        dict(key_length=np.ones(1)),
        TypeError,
        "key_length is f64, expected a whole number, or a list or an array of them",
    ),
    "dropout, no seed": (
        dict(dropout=1.5),
        ValueError,
        "attention: dropout is 1.5, expected 0 to 1",
    ),
    "dropout": (
        dict(dropout=-0.5, seed=0),
        ValueError,
        "attention: dropout is -0.5, expected 0 to 1",
    ),
    "seed": (
        dict(dropout=0.1),
        ValueError,
        "attention: seed is not given, expected a whole number, as dropout is given",
    ),
    "a seed below 0": (
        dict(dropout=0.1, seed=-1),
        TypeError,
        "seed is -1, expected a whole number from 0 to 2**64 - 1",
    ),
    "similarity": (
        dict(similarity="dots"),
        ValueError,
        'attention: similarity is "dots", expected one of "dot", "cosine", "gaussian", "absolute"',
    ),
    "softcap": (dict(softcap="a"), TypeError, "softcap is a str, expected a number"),
    "sink": (
        dict(sink=one(3)),
        ValueError,
        "attention: sink is f32 [3], expected a float for each of the 2 heads",
    ),
    "kernel": (
        dict(kernel="fast"),
        LookupError,
        "attention: kernel is 'fast', expected one of cpu-avx512, cpu-avx2, portable, reference",
    ),
    "out of another shape": (
        dict(out=one(1, 2, 3, 5)),
        ValueError,
        "attention: out.shape is [1, 2, 3, 5], expected [B, H, Tq, Dv] = [1, 2, 3, 4]",
    ),
    "out of another type": (
        dict(out=one(1, 2, 3, 4, dtype=np.float64)),
        TypeError,
        "attention: out is f64, expected f32 (q is f32)",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_says_what_does_not_fit(name):
    arguments, kind, line = CASES[name]
    expect(lambda: heed.attention(**{"q": Q, "k": Q, "v": Q, **arguments}), kind, line)


def expect(call, kind, line):
    with pytest.raises(kind) as caught:
        call()
    assert str(caught.value) == line
    assert isinstance(caught.value, heed.errors.Error)


O, LSE = one(1, 2, 3, 4), one(1, 2, 3)
OTHER_CASES = {
    "sink's gradient": (
        lambda: heed.Seen.of(Q, Q, Q).backward(O, of=("q", "sink")),
        ValueError,
        "attention_backward: dsink needs sink, which is not given",
    ),
    "no names": (
        lambda: heed.Seen.of(Q, Q, Q).backward(O, of=3),
        TypeError,
        'attention_backward: of is an int, expected names, as in ("q", "k")',
    ),
    "pages and a ring": (
        lambda: heed.attention(Q, Q, Q, page_table=one(1, 3, dtype=np.int32), ring_begin=0),
        ValueError,
        "attention: page_table is given beside ring_begin, expected one of them",
    ),
    "rows of merge": (
        lambda: heed.merge(O, one(1, 2, 4), O, LSE),
        ValueError,
        "merge: lse_a is f32 [1, 2, 4], expected f32 [1, 2, 3] (out_a is f32 [1, 2, 3, 4])",
    ),
    "outputs of merge": (
        lambda: heed.merge(O, LSE, one(1, 2, 3, 5), LSE),
        ValueError,
        "merge: out_b is f32 [1, 2, 3, 5], expected f32 [1, 2, 3, 4] as out_a",
    ),
    "base": (lambda: heed.rope(Q, base="x"), TypeError, "rope: base is a str, expected a number"),
    "rotary_dim": (
        lambda: heed.rope(Q, rotary_dim=1.5),
        TypeError,
        "rope: rotary_dim is a float, expected a whole number",
    ),
    "epsilon": (
        lambda: heed.rms_norm(Q, one(4), epsilon="x"),
        TypeError,
        "rms_norm: epsilon is a str, expected a number",
    ),
    "axis": (
        lambda: heed.softmax(Q, axis="x"),
        TypeError,
        "softmax: axis is a str, expected a whole number",
    ),
    "axis of another array": (
        lambda: heed.softmax(Q, axis=9),
        ValueError,
        "softmax: axis is 9, expected -4 to 3",
    ),
}


@pytest.mark.parametrize("name", OTHER_CASES)
def test_says_what_does_not_fit_in_other_calls(name):
    expect(*OTHER_CASES[name])


def test_a_name_in_quotes_is_the_callers():
    parts = {"code": "invalid_argument", "file": "", "argument": "keys.k", "found": '"a.lse"'}
    error = heed.errors.from_parts('keys.k is "a.lse", expected a.lse', parts)
    assert str(error) == 'k is "a.lse", expected lse_a'
    assert (error.argument, error.found) == ("k", '"a.lse"')


def test_an_error_is_data():
    with pytest.raises(heed.errors.InvalidArgument) as caught:
        heed.attention(Q, Q[..., :3], Q)
    error = caught.value
    assert (error.op, error.argument) == ("attention", "k.shape[3]")
    assert (error.found, error.expected, error.hint) == ("3", "4 (q's head size)", "")


def test_a_number_that_nothing_has_is_an_index_error_and_a_name_is_not():
    parts = {"code": "not_found", "file": "", "argument": "layer", "found": "-1"}
    out_of_range = heed.errors.from_parts("layer is -1", dict(parts))
    assert isinstance(out_of_range, IndexError) and isinstance(out_of_range, heed.errors.NotFound)
    named = heed.errors.from_parts("stack is '1'", {**parts, "found": "'1'"})
    assert isinstance(named, LookupError) and not isinstance(named, IndexError)


def test_a_kernel_that_does_not_serve_is_not_implemented():
    call = "import heed, numpy; q = numpy.zeros((1, 1, 2, 4)); heed.attention(q, q, q, kernel='cpu-avx2')"
    run = subprocess.run([sys.executable, "-c", call], env={**os.environ, "HEED_ISA": "portable"},
                         capture_output=True, text=True)
    assert "NotImplementedError" in run.stderr or "Unsupported" in run.stderr
    assert "HEED_ISA allows narrower vectors only" in run.stderr


def test_a_read_only_out_is_refused():
    out = np.empty_like(Q)
    out.flags.writeable = False
    with pytest.raises(ValueError, match="out is read-only, expected memory to write to"):
        heed.attention(Q, Q, Q, out=out)


def test_an_out_in_the_memory_of_an_input_is_refused():
    q = Q.copy()
    with pytest.raises(ValueError, match="attention: out is in the memory of q"):
        heed.attention(q, Q, Q, out=q)


def test_strides_within_an_element_are_refused():
    records = np.zeros((1, 2, 3, 4), dtype=[("x", "f4"), ("y", "i1")])
    with pytest.raises(ValueError, match=r"q.strides\[3\] is 5 bytes, expected a multiple of 4"):
        heed.attention(records["x"], Q, Q)


@pytest.mark.parametrize(
    "make, kind, line",
    [
        (
            lambda: heed.keep(Q),
            TypeError,
            "keep: keep is f32, expected bool or u8; additive values are a bias",
        ),
        (
            lambda: heed.keep(None),
            ValueError,
            "keep: keep is not given, expected a tensor of bool or u8",
        ),
        (
            lambda: heed.band(-2, 0),
            ValueError,
            "band: left is -2, expected 0 to 2^60 keys, or -1 for open",
        ),
        (lambda: heed.band(1.5, 0), TypeError, "band: left is a float, expected a whole number"),
        (
            lambda: heed.blocks(Q > 0, rows="x"),
            TypeError,
            "blocks: rows is a str, expected a whole number",
        ),
        (lambda: heed.custom(5), TypeError, "custom: function is an int, expected a function"),
        (lambda: heed.segments(Q), TypeError, "segments: query_ids is f32, expected i64 or i32"),
        (
            lambda: heed.prefix([]),
            ValueError,
            "prefix: lengths is not given, expected one entry, or one per batch",
        ),
    ],
)
def test_masks_say_what_does_not_fit(make, kind, line):
    with pytest.raises(kind) as caught:
        make()
    assert str(caught.value) == line


def test_a_mask_that_does_not_fit_the_problem_is_named():
    with pytest.raises(ValueError) as caught:
        heed.attention(Q, Q, Q, mask=heed.segments(np.zeros(4, np.int64)))
    assert caught.value.argument.startswith("mask.segments")


def test_what_a_custom_mask_raises_comes_out():
    def mask(batch, head, queries, keys):
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        heed.attention(Q, Q, Q, mask=heed.custom(mask))
    with pytest.raises(ValueError, match="broadcast"):
        heed.attention(Q, Q, Q, mask=heed.custom(lambda b, h, i, j: np.ones((2, 2), bool)))


def test_an_unknown_keyword_is_pythons_error():
    with pytest.raises(TypeError, match="causal"):
        heed.attention(Q, Q, Q, causal=True)
    with pytest.raises(TypeError, match="causal"):
        heed.explain(Q, Q, Q, causal=True)


# --- names ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name, needs", [("torch", "torch"), ("transformers", "torch transformers")])
def test_modules_of_other_packages_are_imported_when_they_are_used(name, needs):
    lines = f"import sys, heed; assert 'heed.{name}' not in sys.modules; print(heed.{name}.__name__)"
    said = subprocess.run([sys.executable, "-P", "-c", f"import sys; sys.modules['torch'] = None; {lines}"],
                          capture_output=True, text=True, check=False)  # fmt: skip
    assert "ImportError: heed." + name + " needs torch" in said.stderr or "needs transformers" in said.stderr
    assert f"which is not installed: pip install {needs}" in said.stderr
    pytest.importorskip(name)
    said = subprocess.run([sys.executable, "-P", "-c", lines], capture_output=True, text=True, check=True)
    assert said.stdout == f"heed.{name}\n"


def test_an_unknown_name_of_the_package_is_an_attribute_error():
    assert not hasattr(heed, "nothing")


def test_a_misspelt_setting_of_look_names_the_nearest():
    with pytest.raises(TypeError, match="look: modle is given, expected model, or another of model"):
        heed.look("a", modle="tales")


def test_an_unknown_score_of_a_probe_names_the_nearest():
    probe = heed.heads.probe("tales", sequences=1, period=4)
    with pytest.raises(ValueError, match='probe: name is "inducton", expected induction, or'):
        probe.of("inducton")


def test_a_model_of_another_kind_is_refused_by_the_function_that_got_it():
    expected = "expected a heed.Model, a folder or a name of one, or a model of transformers"
    for call in (heed.heads.probe, lambda model: heed.heads.score(model, ["a"])):
        with pytest.raises(TypeError, match=f"^(probe|score): model is a list, {expected}"):
            call(["abc"])
    with pytest.raises(TypeError, match="^copy_scores: model is a str, expected a model of trans"):
        heed.heads.copy_scores("tales")
