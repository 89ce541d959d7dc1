"""A device of its own, made of tensors that say where they are: what is watched stays there, and
only what is asked for moves to the CPU."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import peer

torch = peer("torch")
peer("transformers")

from architectures import ALL  # noqa: E402
from torch.utils._python_dispatch import TorchDispatchMode  # noqa: E402
from torch.utils._pytree import tree_map_only  # noqa: E402
from watched import close  # noqa: E402

from heed.transformers import watch  # noqa: E402

AWAY = torch.device("meta")  # the one that needs no backend: nothing is allocated there


class Far(torch.Tensor):
    """A tensor that says it is on another device. Its numbers are on the CPU."""

    @staticmethod
    def __new__(cls, near):
        far = torch.Tensor._make_wrapper_subclass(
            cls, near.shape, strides=near.stride(), dtype=near.dtype, device=AWAY
        )
        far.near = near
        return far

    @classmethod
    def __torch_dispatch__(cls, function, types, args=(), kwargs=None):
        return run(function, args, kwargs or {})


MOVED: list[tuple[int, ...]] = []


def run(function, args, kwargs):
    """Computes on the CPU. The result is far where an argument was or the caller wants it there."""
    wanted = kwargs.get("device")
    is_far = any(isinstance(each, Far) for each in torch.utils._pytree.tree_leaves((args, kwargs)))
    if wanted is not None:
        is_far = torch.device(wanted).type == AWAY.type
        kwargs = kwargs | {"device": "cpu"}
        if not is_far and function is torch.ops.aten._to_copy.default and isinstance(args[0], Far):
            MOVED.append(tuple(args[0].shape))
    args, kwargs = tree_map_only(Far, lambda far: far.near, (args, kwargs))
    leaves = torch.utils._pytree.tree_leaves((args, kwargs))
    assert not any(getattr(each, "is_meta", False) for each in leaves), f"{function}: no numbers"
    found = function(*args, **kwargs)
    if not is_far:
        return found
    return tree_map_only(torch.Tensor, Far, found)


class Device(TorchDispatchMode):
    """Takes calls that make tensors on the device."""

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        return run(function, args, kwargs or {})


@pytest.fixture
def away():
    MOVED.clear()
    with Device(), torch.no_grad():
        yield Far(torch.arange(1, 10)[None])


@pytest.mark.parametrize("implementation", ["eager", "sdpa"])
def test_what_is_watched_stays_on_its_device_and_one_layer_moves(away, implementation):
    model = ALL["llama"].made(implementation)
    with watch(model) as seen:
        output = model(away, use_cache=False)
    assert output.logits.device == AWAY and not [each for each in MOVED if len(each) == 4]
    kept = seen.run_at(next(iter(seen._runs)).path, 1, -1).first
    assert kept.q.device == kept.k.device == kept.out.device == AWAY
    weights = np.asarray(seen.attention(1).weights)
    moved = [each for each in MOVED if len(each) == 4]
    assert moved and all(np.prod(each) <= kept.q.numel() for each in moved)
    assert kept.q.device == AWAY
    wanted = ALL["llama"].made("eager")(away.near, output_attentions=True).attentions[1]
    assert close(weights, wanted.numpy())


def test_a_watch_may_keep_tensors_elsewhere(away):
    model = ALL["llama"].made("eager")
    with watch(model, keep="cpu") as seen:
        model(away, use_cache=False)
    kept = seen.run_at(next(iter(seen._runs)).path, 0, -1).first
    assert kept.q.device.type == "cpu"
