"""Hopfield networks: memories that a state falls into.

The classical network (Hopfield 1982) is a spin glass; one step of the modern one (Ramsauer et al.
2021) is attention with the patterns as keys and values.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from . import _core
from ._operators import _taken


class Recall(NamedTuple):
    """Where the classical network ends."""

    state: Any
    """[N] of +1 and -1."""
    energies: Any
    """Before the first sweep and after each, float64; they never rise."""
    settled: bool
    """Whether the last sweep changed nothing."""


class Retrieved(NamedTuple):
    """Where the modern network ends."""

    state: Any
    """[S, D]."""
    energies: Any
    """[steps + 1, S], float64; they never rise."""
    steps: int
    settled: bool


def couplings(patterns: Any) -> Any:
    """``W_ij = (1/N) sum_p x_pi x_pj``, ``W_ii = 0``, of patterns [P, N] of +1 and -1."""
    return _taken(patterns, _core.hebbian_couplings(patterns))


def energies(couplings: Any, states: Any) -> Any:
    """``-1/2 s^T W s`` of every state [..., N], flat: the Hamiltonian of an Ising model."""
    return _taken(states, _core.hopfield_energies(couplings, states))


def recall(couplings: Any, state: Any, *, sweeps: int = 100, seed: int = 0) -> Recall:
    """Units take the sign of their field one by one, in an order drawn from ``seed``, until a sweep
    changes nothing."""
    found, energy, settled = _core.hopfield_recall(couplings, state, sweeps, seed)
    ended, energies = _taken(state, found, energy)
    return Recall(ended, energies, settled)


def retrieve(
    patterns: Any, state: Any, *, beta: float = 1.0, steps: int = 1, tolerance: float = 0.0
) -> Retrieved:
    """``state <- softmax(beta state X^T) X`` for every state [S, D], with patterns X [P, D]."""
    found, energy, taken, settled = _core.retrieve(patterns, state, beta, steps, tolerance)
    ended, energies = _taken(state, found, energy)
    return Retrieved(ended, energies, taken, settled)
