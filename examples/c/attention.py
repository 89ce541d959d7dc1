"""heed without a binding: attention and its weights through ctypes, on NumPy's arrays where there is NumPy.

    python3 attention.py [libheed_c.so.0]
"""
import ctypes
import sys
from ctypes import POINTER, Structure, byref, c_char_p, c_double, c_int32, c_int64, c_size_t, c_uint32, c_uint64, c_void_p

try:
    import numpy
except ImportError:
    numpy = None

F32, WEIGHTS = 2, 1  # of heed/c.h


class View(Structure):
    _fields_ = [("data", c_void_p), ("dtype", c_int32), ("rank", c_int32), ("strided", c_int32),
                ("reserved", c_int32), ("shape", c_int64 * 8), ("strides", c_int64 * 8)]


class List(Structure):  # heed_integers and heed_numbers
    _fields_ = [("data", c_void_p), ("count", c_int64)]


class Sized(Structure):
    """All bytes 0 but the size."""

    def __init__(self):
        super().__init__()
        self.size = ctypes.sizeof(self)


class Args(Sized):
    _fields_ = [("size", c_size_t), ("q", View), ("k", View), ("v", View), ("page_table", View),
                ("ring_begin", List), ("k_scales", View), ("v_scales", View), ("query_length", List),
                ("key_begin", List), ("key_length", List), ("q_offset", List), ("key_offset", List),
                ("query_starts", List), ("key_starts", List), ("mask", c_void_p), ("scale", List),
                ("similarity", c_int32), ("normaliser", c_int32), ("softcap", c_double), ("bias", View),
                ("alibi", View), ("sink", View), ("dropout_rate", c_double), ("dropout_seed", c_uint64),
                ("dropout_offset", c_uint32), ("reserved", c_uint32), ("kernel", c_char_p)]


class Attended(Sized):
    _fields_ = [("size", c_size_t), ("out", View), ("lse", View), ("lse_low", View), ("out_low", View)]


class Observation(Sized):
    _fields_ = [("size", c_size_t), ("kind", c_int32), ("value", c_int32), ("pool", c_int32),
                ("sum_heads", c_int32), ("by_value_norm", c_int32), ("reserved", c_int32),
                ("region", c_int64 * 6), ("height", c_int64), ("width", c_int64), ("k", c_int64),
                ("first", c_int64), ("last", c_int64), ("chosen", List), ("heads", List),
                ("key_classes", List), ("classes", c_int64), ("answer", View), ("second", View)]


class Error(Structure):
    _fields_ = [("size", c_size_t), ("code", c_int32)] + [
        (name, c_char_p) for name in ("message", "op", "argument", "found", "expected", "hint")]


heed = ctypes.CDLL(sys.argv[1] if len(sys.argv) > 1 else "libheed_c.so.0")
heed.heed_last_error.restype = POINTER(Error)
heed.heed_version.restype = c_char_p
heed.heed_mask_free.argtypes = [c_void_p]


def check(status):
    if status:
        raise ValueError(heed.heed_last_error().contents.message.decode())


def floats(*shape):
    """Memory for f32, and its view."""
    count = 1
    for extent in shape:
        count *= extent
    memory = numpy.zeros(shape, numpy.float32) if numpy else (ctypes.c_float * count)()
    data = memory.ctypes.data if numpy else ctypes.addressof(memory)
    return memory.reshape(-1) if numpy else memory, View(data, F32, len(shape), shape=(c_int64 * 8)(*shape))


def main():
    tokens, width = 3, 4
    x, view = floats(1, 1, tokens, width)
    for token in range(tokens):
        x[token * width + token] = 4
    mask = c_void_p()
    check(heed.heed_mask_causal(byref(mask)))
    args, attended = Args(), Attended()
    args.q = args.k = args.v = view
    args.mask = mask
    out, attended.out = floats(1, 1, tokens, width)
    lse, attended.lse = floats(1, 1, tokens)
    lse_low, attended.lse_low = floats(1, 1, tokens)
    check(heed.heed_attention(byref(args), byref(attended)))

    asked = Observation()
    asked.kind = WEIGHTS
    weights, asked.answer = floats(1, 1, tokens, tokens)
    check(heed.heed_observe(byref(args), byref(attended), (POINTER(Observation) * 1)(ctypes.pointer(asked)),
                            c_int64(1)))
    for row in range(tokens):
        print(" ".join(f"{weight:.4f}" for weight in weights[row * tokens:(row + 1) * tokens]))

    args.q.rank = 3
    try:
        check(heed.heed_attention(byref(args), byref(attended)))
    except ValueError as error:
        print(error)
    heed.heed_mask_free(mask)


main()
