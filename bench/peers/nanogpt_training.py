"""nanoGPT's runs on characters of Shakespeare in PyTorch: what its own values give.

Its model (no biases, exact GELU, tied head), its initial weights, its AdamW (every matrix decays, the
embeddings too), its schedule, for its two shapes: `cpu`, and `gpu` (config/train_shakespeare_char.py),
which `--steps` ends before its 5,000 steps. Evaluates on all of the validation part as `heed train`
does, and on 20 random batches as nanoGPT does. Prints tokens a second too, evaluations left out.

    python bench/peers/nanogpt_training.py --data input.txt --seed 1337
    python bench/peers/nanogpt_training.py --data input.txt --shape gpu --steps 500 --evaluate-every 50
"""
import argparse
import math
import time
from types import SimpleNamespace

import torch
from nanogpt_shape import Gpt
from torch import nn

WARMUP = 100
SHAPES = {
    "cpu": SimpleNamespace(layers=4, heads=4, width=128, block=64, batch=12, dropout=0.0, steps=2000),
    "gpu": SimpleNamespace(layers=6, heads=6, width=384, block=256, batch=64, dropout=0.2, steps=5000),
}


def tokens_of(path):
    text = open(path, encoding="utf-8").read()
    characters = sorted(set(text))
    ids = torch.tensor([characters.index(c) for c in text])
    cut = int(0.9 * len(ids))
    return ids[:cut], ids[cut:], len(characters)


def nanogpt(shape, vocabulary):
    model = Gpt(SimpleNamespace(**vars(shape), vocabulary=vocabulary))
    for module in model.modules():
        if isinstance(module, nn.GELU):
            module.approximate = "none"
        if isinstance(module, (nn.Linear, nn.LayerNorm)):
            module.register_parameter("bias", None)
        if isinstance(module, (nn.Linear, nn.Embedding)):
            nn.init.normal_(module.weight, std=0.02)
    for block in model.blocks:
        for last in (block.attention.out, block.mlp[2]):
            nn.init.normal_(last.weight, std=0.02 / math.sqrt(2 * shape.layers))
    return model


def adamw(model):
    matrices = [p for p in model.parameters() if p.dim() >= 2]
    vectors = [p for p in model.parameters() if p.dim() < 2]
    return torch.optim.AdamW(
        [{"params": matrices, "weight_decay": 0.1}, {"params": vectors, "weight_decay": 0.0}],
        betas=(0.9, 0.99))


def learning_rate(step, steps, peak, least):
    if step < WARMUP:
        return peak * (step + 1) / (WARMUP + 1)
    done = (step - WARMUP) / (steps - WARMUP)
    return least + 0.5 * (1 + math.cos(math.pi * done)) * (peak - least)


def crops(ids, begins, block):
    places = torch.as_tensor(begins)[:, None] + torch.arange(block + 1)
    return ids[places[:, :-1]], ids[places[:, 1:]]


def random_crops(ids, shape):
    return crops(ids, torch.randint(len(ids) - shape.block, (shape.batch,)), shape.block)


@torch.no_grad()
def loss_on_all(model, ids, block):
    begins = torch.arange(0, len(ids) - block, block)
    losses = [(model(*crops(ids, part, block)).item(), len(part)) for part in begins.split(64)]
    return sum(loss * rows for loss, rows in losses) / len(begins)


@torch.no_grad()
def loss_on_random(model, ids, shape, batches=20):
    return sum(model(*random_crops(ids, shape)).item() for _ in range(batches)) / batches


def evaluate(model, ids, shape):
    model.eval()
    whole = loss_on_all(model, ids, shape.block)
    random = [loss_on_random(model, ids, shape) for _ in range(5)] if shape.batch == 12 else []
    model.train()
    shown = "  20 random batches, five times " if random else ""
    return f"all of validation {whole:.4f}{shown}{' '.join(f'{r:.4f}' for r in random)}"


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", required=True)
    parser.add_argument("--shape", choices=SHAPES, default="cpu")
    parser.add_argument("--steps", type=int, default=0, help="ends earlier; the schedule stays")
    parser.add_argument("--evaluate-every", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1337)
    parser.add_argument("--learning-rate", type=float, default=1e-3)
    parser.add_argument("--final-learning-rate", type=float, default=1e-4)
    parser.add_argument("--threads", type=int, default=0)
    return parser.parse_args()


def main():
    args = arguments()
    if args.threads > 0:
        torch.set_num_threads(args.threads)
    torch.manual_seed(args.seed)
    shape = SHAPES[args.shape]
    train, validation, vocabulary = tokens_of(args.data)
    model = nanogpt(shape, vocabulary)
    optimizer = adamw(model)
    seconds = 0
    for step in range(args.steps or shape.steps):
        begin = time.perf_counter()
        for group in optimizer.param_groups:
            group["lr"] = learning_rate(step, shape.steps, args.learning_rate, args.final_learning_rate)
        loss = model(*random_crops(train, shape))
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        seconds += time.perf_counter() - begin
        if (step + 1) % args.evaluate_every == 0:
            print(f"step {step + 1}: train {loss.item():.4f}  {evaluate(model, validation, shape)}  "
                  f"{(step + 1) * shape.batch * shape.block / seconds:,.0f} tokens/s", flush=True)


if __name__ == "__main__":
    main()
