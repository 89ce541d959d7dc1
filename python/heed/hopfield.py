"""Hopfield networks: memories that recall a stored pattern from a damaged one.

The classical network (Hopfield 1982) is a spin glass; one step of the modern one (Ramsauer et al.
2021) is attention with the patterns as keys and values.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from . import _core
from ._operators import _taken


class Recall(NamedTuple):
    """The final state of the classical network."""

    state: Any
    """[N] of +1 and -1."""
    energies: Any
    """The energy before the first sweep and after each, float64; it never rises."""
    settled: bool
    """Whether the last sweep changed nothing."""


class Retrieved(NamedTuple):
    """The final states of the modern network."""

    state: Any
    """[S, D]."""
    energies: Any
    """The energy of each state before the first step and after each, [steps + 1, S] float64; it
    never rises."""
    steps: int
    """The number of steps taken."""
    settled: bool
    """Whether the last step moved no state by more than the tolerance."""


def couplings(patterns: Any) -> Any:
    """Returns the couplings of patterns [P, N] of +1 and -1, [N, N]:
    ``W_ij = (1/N) sum_p x_pi x_pj``, ``W_ii = 0``."""
    return _taken(patterns, _core.hebbian_couplings(patterns))


def energies(couplings: Any, states: Any) -> Any:
    """Returns the energy ``-1/2 s^T W s`` of every state [..., N] as a flat array: the Hamiltonian
    of an Ising model."""
    return _taken(states, _core.hopfield_energies(couplings, states))


def recall(couplings: Any, state: Any, *, sweeps: int = 100, seed: int = 0) -> Recall:
    """Runs the classical network from a state [N]: units take the sign of their field one by one,
    in an order drawn from ``seed``, until a sweep changes nothing or ``sweeps`` are done."""
    found, energy, settled = _core.hopfield_recall(couplings, state, sweeps, seed)
    ended, energies = _taken(state, found, energy)
    return Recall(ended, energies, settled)


def retrieve(
    patterns: Any, state: Any, *, beta: float = 1.0, steps: int = 1, tolerance: float = 0.0
) -> Retrieved:
    """Runs the modern network, ``state <- softmax(beta state X^T) X``, for every state [S, D] with
    patterns X [P, D], for at most ``steps`` steps."""
    found, energy, taken, settled = _core.retrieve(patterns, state, beta, steps, tolerance)
    ended, energies = _taken(state, found, energy)
    return Retrieved(ended, energies, taken, settled)
