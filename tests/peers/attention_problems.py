"""Random attention problems: what `heed attend` takes, as arrays and a command line."""

import dataclasses

import numpy as np
from attention_masks import broadcast_shape, choose_mask, numbers

TYPES = {"f64": np.float64, "f32": np.float32, "f16": np.float16}
PAIRS = 400_000  # most weights of a problem: the formula holds them all
DIFFERENCES = 4_000_000  # most q_d - k_d of one, where the similarity is a distance


@dataclasses.dataclass
class Problem:
    rng: np.random.Generator
    dtype: str = "f32"
    kv_dtype: str = "f32"
    batch: int = 1
    heads: int = 1
    kv_heads: int = 1
    query_length: int = 0  # of the longest sequence, where they are packed
    key_length: int = 0
    head_dim: int = 1
    value_dim: int = 1
    similarity: str = "dot"
    normaliser: str = "softmax"
    softcap: float = 0
    dropout: tuple | None = None  # rate, seed, offset
    rank: int = 4
    query_starts: np.ndarray | None = None  # packed
    key_starts: np.ndarray | None = None
    query_lengths: np.ndarray | None = None  # these five: [B]
    key_begin: np.ndarray | None = None
    key_lengths: np.ndarray | None = None
    q_offset: np.ndarray | None = None
    key_offset: np.ndarray | None = None
    allowed: np.ndarray | None = None  # [B, H, Tq, Tk], by logical index: the mask, inside extents
    exact: dict = dataclasses.field(default_factory=dict)  # what the formula takes, as f64
    arrays: dict = dataclasses.field(default_factory=dict)  # the same, rounded to their types
    types: dict = dataclasses.field(default_factory=dict)  # of those that have gradients
    files: dict = dataclasses.field(default_factory=dict)
    arguments: list = dataclasses.field(default_factory=list)  # "{name}" stands for a file's path

    def chance(self, share):
        return self.rng.random() < share

    def among(self, *values):
        return values[self.rng.integers(len(values))]

    def whole(self, low, high):
        """A number from low to high, both included."""
        return int(self.rng.integers(low, high + 1))

    def give(self, option, *arrays):
        names = [f"{option}-{n}" for n in range(len(arrays))] if len(arrays) > 1 else [option]
        self.files.update(zip(names, arrays))
        self.arguments += [f"--{option}", ",".join(f"{{{name}}}" for name in names)]

    def places(self, b):
        """Where batch b lies in q, and in k and v."""
        return (place(b, self.query_starts, 0, self.query_lengths[b]),
                place(b, self.key_starts, self.key_begin[b], self.key_lengths[b]))

    def positions(self, b):
        return (self.q_offset[b] + np.arange(self.query_lengths[b]),
                self.key_offset[b] + np.arange(self.key_lengths[b]))

    def visible(self, b):
        return self.allowed[b, :, : self.query_lengths[b], : self.key_lengths[b]]


def place(b, starts, begin, length):
    if starts is None:
        return (b, slice(None), slice(begin, begin + length))
    return (slice(None), slice(starts[b], starts[b] + length))


def length(p):
    kind = p.rng.random()
    return 0 if kind < 0.04 else p.whole(1, 9 if kind < 0.2 else 70 if kind < 0.6 else 300)


def choose_shape(p):
    p.batch = 0 if p.chance(0.02) else p.whole(1, 3)
    p.kv_heads = p.whole(1, 3)
    p.heads = 0 if p.chance(0.01) else p.kv_heads * p.among(1, 1, 2, 3, 4)
    p.query_length = length(p)
    p.key_length = p.query_length if p.chance(0.4) else length(p)
    p.head_dim = p.among(8, 16, 32, 64, 80, 96, 128, 160) if p.chance(0.5) else p.whole(1, 160)
    p.value_dim = p.head_dim if p.chance(0.5) else 0 if p.chance(0.03) else p.whole(1, 160)
    if p.chance(0.2):
        p.similarity = p.among("cosine", "gaussian", "absolute")
        p.arguments += ["--similarity", p.similarity]
    pairs = PAIRS
    if p.similarity in ("gaussian", "absolute"):
        pairs = DIFFERENCES // p.head_dim
    while p.batch * p.heads * p.query_length * p.key_length > pairs:
        if p.batch > 1:
            p.batch -= 1
        elif p.heads > p.kv_heads:
            p.heads = p.kv_heads
        elif p.heads > 1:
            p.heads = p.kv_heads = 1
        else:
            p.query_length, p.key_length = p.query_length // 2, p.key_length // 2


def choose_types(p):
    p.dtype = p.kv_dtype = p.among("f64", "f32", "f32", "f16", "bf16")
    if p.dtype in ("f64", "f32") and p.chance(0.15):
        p.kv_dtype = "f16"
    elif len(p.dtype) > 3 or p.dtype == "f16" and p.chance(0.5):
        p.arguments += ["--dtype", p.dtype]  # rounded as it is read: NumPy has no bf16


# --- layout and extents ---

def starts_of(p, longest):
    lengths = [p.whole(0, longest) for _ in range(p.batch)]
    return np.cumsum([0] + lengths)


def choose_layout(p):
    if p.batch == 1 and p.chance(0.1):
        p.rank = 3 if p.heads != 1 or p.kv_heads != 1 else p.among(2, 3)
    if p.rank == 4 and p.chance(0.2):
        p.query_starts = starts_of(p, p.query_length)
        p.give("packed-q", p.query_starts)
    if p.rank == 4 and p.chance(0.8 if p.query_starts is not None else 0.05):
        p.key_starts = starts_of(p, p.key_length)
        p.give("packed-k", p.key_starts)
    p.query_lengths = np.full(p.batch, p.query_length)
    p.key_begin = np.zeros(p.batch, int)
    p.key_lengths = np.full(p.batch, p.key_length)
    p.key_offset = np.zeros(p.batch, int)
    if p.query_starts is not None:
        p.query_lengths = np.diff(p.query_starts)
        p.query_length = int(p.query_lengths.max(initial=0))
    if p.key_starts is not None:
        p.key_lengths = np.diff(p.key_starts)
        p.key_length = int(p.key_lengths.max(initial=0))


def choose_extents(p):
    if p.query_starts is None and p.chance(0.2):
        written, p.query_lengths = numbers(p, 0, np.full(p.batch, p.query_length))
        p.give("query-lengths", written)
    if p.key_starts is None and p.chance(0.2):
        written, p.key_begin = numbers(p, 0, np.full(p.batch, p.key_length))
        p.give("key-begin", written)
        p.key_lengths = p.key_length - p.key_begin
    if p.key_starts is None and p.chance(0.2):
        written, p.key_lengths = numbers(p, 0, p.key_lengths)
        p.give("key-lengths", written)
    if p.chance(0.15):
        written, p.key_offset = numbers(p, -20, np.full(p.batch, 100))
        p.give("key-offset", written)
    p.q_offset = p.key_lengths - p.query_lengths + p.key_offset
    if p.chance(0.15):
        written, p.q_offset = numbers(p, -50, np.full(p.batch, 350))
        p.give("q-offset", written)


# --- scores and numbers ---

def add_bias(p):
    shape = broadcast_shape(p, p.batch, p.heads, p.query_length, p.key_length)
    bias = p.rng.normal(size=shape) * p.among(0.3, 2)
    if p.chance(0.4):
        bias[p.rng.random(shape) < 0.15] = -np.inf
    full = np.broadcast_to(bias, p.allowed.shape)
    if p.chance(0.3):  # what nobody reads
        seen = p.allowed
        for axis in range(4):
            if axis < 4 - bias.ndim or bias.shape[axis - 4 + bias.ndim] == 1:
                seen = seen.any(axis, keepdims=True)
        bias = np.where(seen.reshape(shape), bias, np.nan)
    p.allowed = p.allowed & (full != -np.inf)
    add_numbers(p, "bias", "bias", bias, p.among("f64", "f32", "f32", "f16"))


def add_numbers(p, option, name, values, dtype):
    p.types[name] = dtype
    values = values.astype(TYPES[dtype])
    p.arrays[name] = values.astype(np.float64)
    p.give(option, values)


def accumulator(p):
    return "f64" if p.dtype == "f64" else "f32"


def choose_scores(p):
    if p.chance(0.2):
        p.normaliser = p.among("sigmoid", "none")
        p.arguments += ["--normaliser", p.normaliser]
    scale = np.array([1 / np.sqrt(p.head_dim) if p.similarity == "dot" else 1.0])
    if p.chance(0.3):
        p.types["scale"] = accumulator(p)
        count = p.heads if p.heads and p.chance(0.5) else 1
        scale = np.round(p.rng.normal(size=count) * 0.3, 3)
        p.arguments += ["--scale=" + ",".join(map(str, scale))]
    p.arrays["scale"] = scale
    if p.chance(0.15):
        p.softcap = p.among(0.5, 3.0, 20.0)
        p.arguments += ["--softcap", str(p.softcap)]
    if p.chance(0.3):
        add_bias(p)
    if p.chance(0.15):
        add_numbers(p, "alibi", "slope", p.rng.normal(size=p.heads) * 0.1, p.among("f64", "f32"))
    if p.normaliser == "softmax" and p.chance(0.2):
        sink = p.rng.normal(size=p.heads) * 2
        sink[p.rng.random(p.heads) < 0.1] = -np.inf
        add_numbers(p, "sink", "sink", sink, p.among("f64", "f32"))
    if p.chance(0.15):
        p.dropout = (p.among(0.0, 0.1, 0.5, 0.9), p.whole(0, 2**63 - 1), p.whole(0, 2**32 - 1))
        for name, value in zip(("dropout", "seed", "dropout-offset"), p.dropout):
            p.arguments += [f"--{name}", str(value)]


def poison(p, values, of_queries):
    """NaN and infinity wherever nothing may be read."""
    seen = np.zeros(values.shape[:-1], bool)
    for b in range(p.batch):
        visible = p.visible(b)
        if of_queries:
            seen[p.places(b)[0]] = visible.any(2)
        else:
            grouped = visible.reshape(p.kv_heads, p.heads // p.kv_heads, *visible.shape[1:])
            seen[p.places(b)[1]] = grouped.any((1, 2))
    values[~seen] = p.among(np.nan, np.inf, -np.inf)


def operand(p, heads, total, longest, width):
    shape = (p.batch, heads, longest, width) if total is None else (heads, int(total[-1]), width)
    return p.rng.normal(size=shape)


def choose_numbers(p):
    q = operand(p, p.heads, p.query_starts, p.query_length, p.head_dim)
    k = operand(p, p.kv_heads, p.key_starts, p.key_length, p.head_dim)
    v = operand(p, p.kv_heads, p.key_starts, p.key_length, p.value_dim)
    q *= p.among(0.1, 1, 1) if p.normaliser == "none" else p.among(0.1, 1, 1, 3, 10)
    dout = p.rng.normal(size=q.shape[:-1] + (p.value_dim,))
    for name, values in (("q", q), ("k", k), ("v", v)):
        if p.chance(0.3):
            poison(p, values, name == "q")
    if p.query_starts is None:  # cotangents of rows that do not exist are not read
        for b in range(p.batch):
            dout[b, :, p.query_lengths[b]:] = np.nan
    p.types |= {"q": p.dtype, "k": p.kv_dtype, "v": p.kv_dtype}
    for name, values in (("q", q), ("k", k), ("v", v), ("dout", dout)):
        add_rounded(p, name, values, p.types.get(name, p.dtype))
    if p.normaliser == "softmax":
        add_rounded(p, "dlse", p.rng.normal(size=q.shape[:-1]), "f32")


def add_rounded(p, name, values, dtype):
    written = TYPES.get("f32" if "--dtype" in p.arguments else dtype, np.float32)
    p.files[name] = values.astype(written)
    p.exact[name] = p.files[name].astype(np.float64)
    p.arrays[name] = rounded(p.exact[name], dtype)


def rounded(values, dtype):
    """f64 numbers as the type holds them."""
    if dtype != "bf16":
        return values.astype(TYPES[dtype]).astype(np.float64)
    bits = values.astype(np.float32).view(np.uint32)
    bits = (bits + 0x7FFF + (bits >> 16 & 1)) & np.uint32(0xFFFF0000)
    return np.where(np.isnan(values), np.nan, bits.view(np.float32)).astype(np.float64)


def random_problem(seed, index):
    p = Problem(np.random.default_rng([seed, index]))
    choose_shape(p)
    choose_types(p)
    choose_layout(p)
    choose_extents(p)
    choose_mask(p)
    choose_scores(p)
    choose_numbers(p)
    p.exact = p.arrays | p.exact
    if p.chance(0.25):
        p.arguments += ["--kernel", p.among("portable", "portable", "portable", "reference")]
    p.arguments += ["--threads", str(p.among(1, 2, 3))]
    return p
