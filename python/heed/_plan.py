"""The kernel that a call would run, and its cost."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Plan:
    """Which kernel runs a problem and what it costs."""

    kernel: str
    refusals: tuple[tuple[str, str], ...]
    """The kernels before it in the list, and why each does not support the problem."""
    mask: str
    alignment: str
    """How queries and keys are aligned: "bottom-right" (the last query at the last key's position),
    "top-left" (query 0 at key 0's) or "given"."""
    allowed_pairs: int
    """The number of pairs of a query and a key that the mask allows, over batch and heads."""
    flop: float
    """Floating-point operations of the call."""
    bytes: float
    """Bytes of q, k and v read once, and of the output and its log-sum-exp written once."""
    workspace_bytes: int
    """Bytes that the call allocates besides its results."""

    def __str__(self) -> str:
        lines = [f"kernel     {self.kernel}"]
        lines += [f"           not {kernel}: {reason}" for kernel, reason in self.refusals]
        lines += [
            f"mask       {self.mask}" + (f", {self.alignment}" if self.mask != "none" else ""),
            f"pairs      {self.allowed_pairs:,}",
            f"work       {self.flop:.3g} FLOP, {self.bytes:.3g} bytes of arrays",
            f"workspace  {self.workspace_bytes:,} bytes",
        ]
        return "\n".join(lines)

    __repr__ = __str__
