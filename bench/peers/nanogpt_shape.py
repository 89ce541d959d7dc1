"""The speed of a GPT of nanoGPT's shape in PyTorch, to stand beside `heed train`.

Plain modules, f32 or bf16 by autocast, fused attention (scaled_dot_product_attention), AdamW, clipping;
random tokens, since only the time counts. Prints tokens a second over the timed steps, and the seconds of
CPU that they took, which a busy machine changes less.

    python bench/peers/nanogpt_shape.py --layers 4 --heads 4 --width 128 --block 64 --batch 12
"""
import argparse
import time

import torch
from torch import nn
from torch.nn import functional


class Attention(nn.Module):
    def __init__(self, width, heads, dropout=0.0):
        super().__init__()
        self.heads, self.dropout = heads, dropout
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)

    def forward(self, x):
        batch, time_, width = x.shape
        q, k, v = self.qkv(x).view(batch, time_, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        y = functional.scaled_dot_product_attention(
            q, k, v, dropout_p=self.dropout if self.training else 0.0, is_causal=True)
        return self.out(y.transpose(1, 2).reshape(batch, time_, width))


class Block(nn.Module):
    def __init__(self, width, heads, dropout=0.0):
        super().__init__()
        self.norm1 = nn.LayerNorm(width)
        self.attention = Attention(width, heads, dropout)
        self.norm2 = nn.LayerNorm(width)
        self.mlp = nn.Sequential(
            nn.Linear(width, 4 * width), nn.GELU(approximate="tanh"), nn.Linear(4 * width, width)
        )
        self.drop = nn.Dropout(dropout)

    def forward(self, x):
        x = x + self.drop(self.attention(self.norm1(x)))
        return x + self.drop(self.mlp(self.norm2(x)))


class Gpt(nn.Module):
    def __init__(self, args):
        super().__init__()
        self.tokens = nn.Embedding(args.vocabulary, args.width)
        self.positions = nn.Embedding(args.block, args.width)
        dropout = getattr(args, "dropout", 0.0)
        self.drop = nn.Dropout(dropout)
        self.blocks = nn.Sequential(*(Block(args.width, args.heads, dropout) for _ in range(args.layers)))
        self.norm = nn.LayerNorm(args.width)
        self.head = nn.Linear(args.width, args.vocabulary, bias=False)
        self.head.weight = self.tokens.weight

    def forward(self, ids, targets):
        x = self.drop(self.tokens(ids) + self.positions(torch.arange(ids.shape[1])))
        logits = self.head(self.norm(self.blocks(x)))
        return functional.cross_entropy(logits.flatten(0, 1), targets.flatten())


def one_step(model, optimizer, args):
    ids = torch.randint(args.vocabulary, (args.batch, args.block + 1))
    with torch.autocast("cpu", dtype=torch.bfloat16, enabled=args.dtype == "bf16"):
        loss = model(ids[:, :-1], ids[:, 1:])
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    for name, default in (("layers", 4), ("heads", 4), ("width", 128), ("block", 64),
                          ("batch", 12), ("vocabulary", 65), ("steps", 200), ("threads", 0)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--warm-up", type=int, default=10)
    parser.add_argument("--dtype", choices=("f32", "bf16"), default="f32")
    parser.add_argument("--compile", action="store_true", help="by torch.compile, which needs a C++ compiler")
    args = parser.parse_args()
    if args.threads > 0:
        torch.set_num_threads(args.threads)
    torch.manual_seed(1337)
    model = Gpt(args)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, betas=(0.9, 0.99), weight_decay=0.1)
    if args.compile:
        model = torch.compile(model)
    for _ in range(args.warm_up):
        one_step(model, optimizer, args)
    begin, begin_cpu = time.perf_counter(), time.process_time()
    for _ in range(args.steps):
        one_step(model, optimizer, args)
    seconds, cpu = time.perf_counter() - begin, time.process_time() - begin_cpu
    tokens = args.steps * args.batch * args.block
    print(f"{tokens / seconds:,.0f} tokens/s  {1e3 * seconds / args.steps:.1f} ms a step  {1e3 * cpu / args.steps:.1f} ms of CPU")


if __name__ == "__main__":
    main()
