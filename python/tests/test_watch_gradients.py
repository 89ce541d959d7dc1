"""Entropies and received weights of a watch as parts of a loss, beside autograd over eager."""

from __future__ import annotations

import pytest
from conftest import peer

torch = peer("torch")
peer("transformers")

from architectures import ALL  # noqa: E402

import heed  # noqa: E402
from heed.transformers import edit, watch  # noqa: E402


def of_eager(name, loss, dtype):
    """The gradients of a loss of layer 1's weights, by autograd, and the names of parameters."""
    model = ALL[name].made("eager").train(False).to(dtype)
    output = model(**ALL[name].inputs(), output_attentions=True)
    found = getattr(output, "attentions", None) or output.decoder_attentions
    loss(found[1]).backward()
    return {n: p.grad for n, p in model.named_parameters() if p.grad is not None}


def entropy(weights):
    return -torch.special.xlogy(weights, weights).sum(-1)


LOSSES = {
    "entropy": (lambda seen: seen.entropy().square().sum(), lambda p: entropy(p).square().sum()),
    "received": (lambda seen: seen.received().square().sum(), lambda p: p.sum(2).square().sum()),
    "both": (
        lambda seen: seen.entropy().mean() + seen.received(all_heads=True).square().mean(),
        lambda p: entropy(p).mean() + p.sum((1, 2)).square().mean(),
    ),
}


@pytest.mark.parametrize("kind", LOSSES)
@pytest.mark.parametrize(
    "name, stack, dtype",
    [("llama", None, "float32"), ("gpt2", None, "float64"), ("t5", "decoder", "float32")],
)
def test_gradients_are_those_of_eager(name, stack, dtype, kind):
    of_seen, of_weights = LOSSES[kind]
    dtype = getattr(torch, dtype)
    wanted = of_eager(name, of_weights, dtype)
    model = ALL[name].made("sdpa").train(False).to(dtype)
    with watch(model, gradients=True) as seen:
        model(**ALL[name].inputs())
    of_seen(seen.attention(1, stack)).backward()
    found = {n: p.grad for n, p in model.named_parameters() if p.grad is not None}
    assert any("q" in n or "attn" in n for n in wanted)
    for each, grad in wanted.items():
        if grad.abs().max() > 0:
            scale = grad.abs().max()
            assert (found[each] - grad).abs().max() < 1e-4 * scale + 1e-6, each


def test_without_gradients_answers_have_none():
    model = ALL["llama"].made("sdpa")
    with watch(model) as seen:
        model(**ALL["llama"].inputs())
    assert not seen.attention(1).entropy().requires_grad
    with watch(model, gradients=True) as seen, torch.no_grad():
        model(**ALL["llama"].inputs())
    assert not seen.attention(1).entropy().requires_grad


def test_what_has_no_gradient_is_refused():
    model = ALL["llama"].made("sdpa")
    with edit(model) as e, watch(model, gradients=True) as seen:
        e.temperature(1, 0, 2.0)
        model(**ALL["llama"].inputs())
    assert seen.attention(0).entropy().requires_grad
    with pytest.raises(heed.errors.Unsupported, match="entropy: .* edited"):
        seen.attention(1).entropy()
    with pytest.raises(heed.errors.Unsupported, match="value_norm"):
        seen.attention(0).received(value_norm=True)
    with pytest.raises(TypeError, match="gradients"):
        with watch(model, gradients="yes"):
            pass
