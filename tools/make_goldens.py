#!/usr/bin/env python3
"""Writes the small models in tests/models/golden with the numbers that transformers gives for them.

Needs torch, transformers and safetensors; run from the repository's root. The weights are random
(a fixed seed) and spread so that attention is far from uniform and every bias and norm matters.
"""
import pathlib
import shutil

import torch
from safetensors.torch import save_file
from transformers import GPT2Config, GPT2LMHeadModel

ROOT = pathlib.Path(__file__).resolve().parent.parent / "tests" / "models" / "golden"


def spread(model, seed):
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            noise = torch.randn(parameter.shape, generator=generator)
            centre = 1.0 if "ln_" in name and name.endswith("weight") else 0.0
            parameter.copy_(centre + 0.35 * noise)


def golden_of(model, ids, mask, labels):
    with torch.no_grad():
        out = model(ids, attention_mask=mask, labels=labels, output_attentions=True,
                    output_hidden_states=True)
    tensors = {"input_ids": ids, "attention_mask": mask, "labels": labels, "logits": out.logits,
               "loss": out.loss.reshape(1), "last_hidden_state": out.hidden_states[-1]}
    for index, state in enumerate(out.hidden_states[:-1]):
        tensors[f"hidden_states.{index}"] = state
    for index, weights in enumerate(out.attentions):
        tensors[f"attentions.{index}"] = weights
    return {name: tensor.contiguous().clone() for name, tensor in tensors.items()}


def make_gpt2():
    config = GPT2Config(vocab_size=61, n_positions=24, n_embd=24, n_layer=2, n_head=3,
                        bos_token_id=0, eos_token_id=0, attn_pdrop=0.0, resid_pdrop=0.0,
                        embd_pdrop=0.0, attn_implementation="eager")
    model = GPT2LMHeadModel(config).eval()
    spread(model, seed=7)
    ids = torch.randint(0, 61, (2, 13), generator=torch.Generator().manual_seed(8))
    mask = torch.ones_like(ids)
    mask[1, 9:] = 0
    labels = torch.where(mask == 1, ids, -100)
    folder = ROOT / "gpt2"
    shutil.rmtree(folder, ignore_errors=True)
    model.save_pretrained(folder)
    (folder / "generation_config.json").unlink(missing_ok=True)
    save_file(golden_of(model, ids, mask, labels), folder / "golden.safetensors")


if __name__ == "__main__":
    torch.set_num_threads(1)
    make_gpt2()
