"""Training takes the same steps as PyTorch's on transformers' models: every family of decoders, tiny and random."""

from __future__ import annotations

import pathlib
import sys

import numpy as np
import pytest

import heed

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "tests" / "peers"))
decoders = pytest.importorskip("decoders_test", reason="a checkout's tests/peers has the models")

STEPS = 3
ADAMW = {"beta1": 0.9, "beta2": 0.99, "epsilon": 1e-3}  # tiny gradients are mostly rounding
EXPECTED = {"loss": 1e-5, "norm": 2e-4}
# Rounding grows over twelve layers of large random weights, and in the norm of a delta rule's output.
LOOSE = {"loss": 1e-3, "norm": 2e-2}


def steps_of_torch(model, batches):
    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
    optimizer = torch.optim.AdamW(
        trained, lr=1e-3, betas=(ADAMW["beta1"], ADAMW["beta2"]), eps=ADAMW["epsilon"], weight_decay=0
    )
    losses, norms = [], []
    for batch in batches:
        optimizer.zero_grad()
        loss = model(batch, labels=batch).loss
        loss.backward()
        losses.append(loss.item())
        squares = [(one.grad**2).sum() for one in trained if one.grad is not None]
        norms.append(torch.sqrt(sum(squares)).item())
        optimizer.step()
    return losses, norms


@pytest.mark.parametrize("name", decoders.CONFIGS)
def test_a_family_takes_torchs_steps(name, tmp_path):
    model = decoders.made(*decoders.CONFIGS[name], seed=len(name))
    model.save_pretrained(tmp_path / "model")
    (tmp_path / "model" / "generation_config.json").unlink(missing_ok=True)
    generator = torch.Generator().manual_seed(3)
    batches = [torch.randint(3, decoders.WORDS, (3, 20), generator=generator) for _ in range(STEPS)]
    heard = []
    heed.train(
        ADAMW,
        tmp_path / "run",
        start_from=str(tmp_path / "model"),
        batches=batches,
        warmup=0,
        schedule="constant",
        learning_rate=1e-3,
        weight_decay=0,
        clip=0,
        on_step=heard.append,
    )
    losses, norms = steps_of_torch(model, batches)
    expected = LOOSE if name.startswith("qwen3_5") or name == "gemma4 of 12 layers" else EXPECTED
    np.testing.assert_allclose([step.loss for step in heard], losses, rtol=expected["loss"])
    np.testing.assert_allclose([step.gradient_norm for step in heard], norms, rtol=expected["norm"])
