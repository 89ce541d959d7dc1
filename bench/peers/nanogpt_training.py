"""nanoGPT's run for a CPU in PyTorch: what its own values give on characters of Shakespeare.

Its model (no biases, exact GELU, tied head), its initial weights, its AdamW (every matrix decays, the
embeddings too), its schedule. Evaluates on all of the validation part as `heed train` does, and on
20 random batches as nanoGPT does. Prints tokens a second too, evaluations left out.

    python bench/peers/nanogpt_training.py --data input.txt --seed 1337
"""
import argparse
import math
import time
from types import SimpleNamespace

import torch
from nanogpt_shape import Gpt
from torch import nn

LAYERS, HEADS, WIDTH, BLOCK, BATCH = 4, 4, 128, 64, 12
STEPS, WARMUP = 2000, 100


def tokens_of(path):
    text = open(path, encoding="utf-8").read()
    characters = sorted(set(text))
    ids = torch.tensor([characters.index(c) for c in text])
    cut = int(0.9 * len(ids))
    return ids[:cut], ids[cut:], len(characters)


def nanogpt(vocabulary):
    model = Gpt(SimpleNamespace(layers=LAYERS, heads=HEADS, width=WIDTH, block=BLOCK,
                                vocabulary=vocabulary))
    for module in model.modules():
        if isinstance(module, nn.GELU):
            module.approximate = "none"
        if isinstance(module, (nn.Linear, nn.LayerNorm)):
            module.register_parameter("bias", None)
        if isinstance(module, (nn.Linear, nn.Embedding)):
            nn.init.normal_(module.weight, std=0.02)
    for block in model.blocks:
        for last in (block.attention.out, block.mlp[2]):
            nn.init.normal_(last.weight, std=0.02 / math.sqrt(2 * LAYERS))
    return model


def learning_rate(step, peak, least):
    if step < WARMUP:
        return peak * (step + 1) / (WARMUP + 1)
    done = (step - WARMUP) / (STEPS - WARMUP)
    return least + 0.5 * (1 + math.cos(math.pi * done)) * (peak - least)


def crops(ids, begins):
    places = torch.as_tensor(begins)[:, None] + torch.arange(BLOCK + 1)
    return ids[places[:, :-1]], ids[places[:, 1:]]


def random_begins(ids):
    return torch.randint(len(ids) - BLOCK, (BATCH,))


@torch.no_grad()
def loss_on_all(model, ids):
    begins = torch.arange(0, len(ids) - BLOCK, BLOCK)
    losses = [(model(*crops(ids, part)).item(), len(part)) for part in begins.split(256)]
    return sum(loss * rows for loss, rows in losses) / len(begins)


@torch.no_grad()
def loss_on_random(model, ids, batches=20):
    return sum(model(*crops(ids, random_begins(ids))).item() for _ in range(batches)) / batches


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", required=True)
    parser.add_argument("--seed", type=int, default=1337)
    parser.add_argument("--learning-rate", type=float, default=1e-3)
    parser.add_argument("--final-learning-rate", type=float, default=1e-4)
    parser.add_argument("--threads", type=int, default=0)
    args = parser.parse_args()
    if args.threads > 0:
        torch.set_num_threads(args.threads)
    torch.manual_seed(args.seed)
    train, validation, vocabulary = tokens_of(args.data)
    model = nanogpt(vocabulary)
    matrices = [p for p in model.parameters() if p.dim() >= 2]
    vectors = [p for p in model.parameters() if p.dim() < 2]
    optimizer = torch.optim.AdamW(
        [{"params": matrices, "weight_decay": 0.1}, {"params": vectors, "weight_decay": 0.0}],
        betas=(0.9, 0.99))
    seconds = 0
    for step in range(STEPS):
        begin = time.perf_counter()
        for group in optimizer.param_groups:
            group["lr"] = learning_rate(step, args.learning_rate, args.final_learning_rate)
        loss = model(*crops(train, random_begins(train)))
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        seconds += time.perf_counter() - begin
        if (step + 1) % 500 == 0:
            random = [loss_on_random(model, validation) for _ in range(5)]
            print(f"step {step + 1}: train {loss.item():.4f}  all of validation "
                  f"{loss_on_all(model, validation):.4f}  20 random batches, five times "
                  f"{' '.join(f'{r:.4f}' for r in random)}  "
                  f"{(step + 1) * BATCH * BLOCK / seconds:,.0f} tokens/s", flush=True)


if __name__ == "__main__":
    main()
