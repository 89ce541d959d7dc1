"""Student's t distribution."""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(64)


def quantile(confidence: float, freedom: int) -> float:
    """Returns the t with P(|T| < t) = ``confidence``, for ``freedom`` degrees of freedom."""
    low, high = 0.0, NormalDist().inv_cdf((1 + confidence) / 2)
    while _inside(high, freedom) < confidence:
        low, high = high, 2 * high
    while (middle := (low + high) / 2) not in (low, high):
        low, high = (middle, high) if _inside(middle, freedom) < confidence else (low, middle)
    return high


def _inside(t: float, freedom: int) -> float:
    """Returns P(|T| < t).

    With t = sqrt(freedom) tan(a) the density is proportional to cos(a)^(freedom - 1), which is
    smooth on a finite range: 64 points give 8 digits or more.
    """
    angle = math.atan(t / math.sqrt(freedom))
    log_factor = math.lgamma((freedom + 1) / 2) - math.lgamma(freedom / 2)
    values = np.cos(angle * (_NODES + 1) / 2) ** (freedom - 1)
    return math.exp(log_factor) / math.sqrt(math.pi) * angle * float(_WEIGHTS @ values)
