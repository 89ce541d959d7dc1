"""How far from the formula in f64 a result may be that is right."""

import collections
import dataclasses
import typing

import numpy as np
import torch
from attention_formula import TINY, dropped, evaluate, normalised, operands, scores
from attention_problems import accumulator, rounded

ROUNDOFF = {"f64": 2.0**-53, "f32": 2.0**-24, "f16": 2.0**-11, "bf16": 2.0**-8}

# Other orders of the same sums, and fused multiply-adds, err within a small factor of one another;
# where the error is a maximum over few numbers, chance adds another.
NAIVE = 8
ROUNDINGS = 16  # of the largest sum of absolute terms
DENORMAL = {"f64": 0.0, "f32": 2.0**-126, "f16": 2.0**-25, "bf16": 2.0**-126}  # lost at most
SIXTEEN_BIT = collections.defaultdict(lambda: 2.0, out=1.5)  # operator's promise for 16-bit types


def differences(found, wanted):
    """|found - wanted|; 0 where both are the same infinity, infinite where one is not finite."""
    with np.errstate(invalid="ignore"):
        difference = np.where(found == wanted, 0, np.abs(found - wanted))
    return np.where(np.isnan(difference), np.inf, difference)


def largest(values):
    return float(np.max(values, initial=0))


def largest_finite(values):
    return largest(np.abs(np.where(np.isfinite(values), values, 0)))


def root_mean_square(values):
    return float(np.sqrt(np.mean(np.square(values)))) if values.size else 0.0


def type_of(problem, name):
    if name == "out":
        return problem.dtype
    return accumulator(problem) if name == "lse" else problem.types[name[1:]]


def operand_sizes(kind, scaled, q, k):
    """The sums of absolute terms in dq and dk; `scaled` is that of the similarity's gradient."""
    q, k = q.abs(), k.abs()
    rows, columns = scaled.sum(2)[..., None], scaled.sum(1)[..., None]
    if kind == "dot":
        return scaled @ k, scaled.transpose(1, 2) @ q
    if kind == "absolute":
        return rows, columns
    if kind == "gaussian":
        return 2 * (scaled @ k + rows * q), 2 * (scaled.transpose(1, 2) @ q + columns * k)
    q_norm, k_norm = (torch.linalg.vector_norm(x, dim=-1, keepdim=True).clamp_min(TINY)
                      for x in (q, k))
    q, k = q / q_norm, k / k_norm
    return ((scaled @ k + rows * q) / q_norm, (scaled.transpose(1, 2) @ q + columns * k) / k_norm)


def score_sizes(problem, b, leaves, dout, weights, lse, visible, v):
    """The errors of each score's gradient, and of each row's sink."""
    dweights = dropped(problem, b, dout @ v.abs().transpose(1, 2))
    if problem.normaliser == "sigmoid":
        return dweights * weights * (1 - weights), None
    if problem.normaliser == "none":
        return dweights * visible, None
    dlse = leaves["dlse"][problem.places(b)[0]].abs()
    row = (weights * dweights).sum(-1) + torch.where(lse > -torch.inf, dlse, 0.0)
    return weights * (dweights + row[..., None]), row


def reduced(sizes, shape):
    """Summed over what an array of this shape is broadcast over."""
    for axis in range(4):
        if axis < 4 - len(shape) or shape[axis - 4 + len(shape)] == 1:
            sizes = sizes.sum(axis, keepdim=True)
    return sizes


def sums_of_sizes(problem, arrays):
    """The largest sum of absolute terms behind each gradient: what its rounding is relative to,
    however much the terms cancel."""
    leaves = {name: torch.from_numpy(array) for name, array in arrays.items()}
    sizes = collections.defaultdict(float)
    full = (problem.batch, problem.heads, problem.query_length, problem.key_length)
    of_score, of_scale, of_slope = (torch.zeros(full, dtype=torch.float64) for _ in range(3))
    of_sink = torch.zeros(problem.heads, dtype=torch.float64)

    def take(name, values):
        sizes[name] = max(sizes[name], largest(values.numpy()))

    for b in range(problem.batch):
        q, k, v, visible = operands(problem, b, leaves)
        z, like, distance = scores(problem, b, q, k, leaves, visible)
        weights, lse = normalised(problem, z, visible, leaves)
        dout = leaves["dout"][problem.places(b)[0]].abs()
        top = z[visible].max() if visible.any() else torch.zeros(1)
        take("score", top.abs())
        dz, row = score_sizes(problem, b, leaves, dout, weights, lse, visible, v)
        at = (b, slice(None), slice(dz.shape[1]), slice(dz.shape[2]))
        of_score[at], of_scale[at], of_slope[at] = dz, dz * like.abs(), dz * distance
        if row is not None:
            of_sink += row.sum(-1)
        scaled = leaves["scale"].expand(problem.heads)[:, None, None].abs() * dz
        # The most that a weight of 1 adds to a gradient, over a row or a column.
        gain = 2 * largest((dout @ v.abs().transpose(1, 2)).numpy()) * max(dz.shape[1:])
        take("gain", gain * leaves["scale"].abs().max() * torch.stack([q.abs().max(), k.abs().max()])
             if dz.numel() else torch.zeros(1))
        of_q, of_k = operand_sizes(problem.similarity, scaled, q, k)
        take("dq", of_q)
        take("dk", of_k * (problem.heads / problem.kv_heads))
        take("dv", dropped(problem, b, weights).abs().transpose(1, 2) @ dout
             * (problem.heads / problem.kv_heads))
    if "bias" in arrays:
        take("dbias", reduced(of_score, arrays["bias"].shape))
    take("dscale", reduced(of_scale, (len(arrays["scale"]), 1, 1)))
    take("dslope", of_slope.sum((0, 2, 3)))
    take("dsink", of_sink)
    return sizes


@dataclasses.dataclass
class Tensor:
    """The expected value of one result, and the measure of its error."""
    name: str
    wanted: np.ndarray
    measure: typing.Callable
    most: float
    terms: float  # the largest sum of absolute terms
    lost: float  # below the type's normal numbers

    def error(self, found):
        return self.measure(differences(found, self.wanted))


def allowed_errors(problem, wanted):
    """What a result may be off by. f32 and f64: a factor times what the formula itself is off by in
    f32 (for f64 in proportion), and a few roundings of the terms that were added. 16 bit: the
    operator's promise, against f64 on the numbers before they were rounded to 16 bit."""
    naive = evaluate(problem, problem.arrays, torch.float32)
    sizes = sums_of_sizes(problem, problem.arrays)
    # A score's error is the relative error of its weight; scores that matter are near the lse, or
    # the largest where there is none.
    roundings = ROUNDINGS + 2 * largest_finite(wanted.get("lse", np.array(sizes["score"])))
    work = ROUNDOFF[accumulator(problem)]
    sixteen = len(problem.dtype) > 3 or problem.dtype == "f16"
    if sixteen:
        exact = evaluate(problem, problem.exact, torch.float64)
    for name in wanted:
        dtype = type_of(problem, name)
        size = largest_finite(wanted[name])
        of_naive = differences(naive[name], wanted[name])
        terms = max(sizes[name], size)
        # Weights below 2^-126 may count as 0, and so may what they add to a gradient.
        lost = DENORMAL[dtype] + DENORMAL[accumulator(problem)] * sizes["gain"]
        floor = roundings * work * terms + lost
        if sixteen and name != "lse":
            best = root_mean_square(differences(rounded(wanted[name], dtype), exact[name]))
            most = SIXTEEN_BIT[name] * best + NAIVE * root_mean_square(of_naive) + floor
            yield Tensor(name, exact[name], root_mean_square, most, terms, lost)
        else:
            most = NAIVE * largest(of_naive) * work / ROUNDOFF["f32"] + floor
            yield Tensor(name, wanted[name], largest, most + ROUNDOFF[dtype] * size, terms,
                         lost)
