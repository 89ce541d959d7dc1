"""Attention and its gradients by the formula of docs/attention.md: plain torch operations and
autograd, in a type of one's choice. Nothing here is fast, and nothing is shared with heed."""

import numpy as np
import torch

TINY = 1e-12  # shorter vectors count as this long in the cosine


def philox(counter, key):
    """Philox 4x32-10 (Salmon et al. 2011); counter: four arrays, key: two numbers."""
    words = [np.asarray(word, dtype=np.uint64) & np.uint64(0xFFFFFFFF) for word in counter]
    low, high = key
    for _ in range(10):
        first = words[0] * np.uint64(0xD2511F53)
        second = words[2] * np.uint64(0xCD9E8D57)
        mask, half = np.uint64(0xFFFFFFFF), np.uint64(32)
        words = [(second >> half) ^ words[1] ^ np.uint64(low), second & mask,
                 (first >> half) ^ words[3] ^ np.uint64(high), first & mask]
        low = (low + 0x9E3779B9) & 0xFFFFFFFF
        high = (high + 0xBB67AE85) & 0xFFFFFFFF
    return words


def kept(dropout, batch, heads, rows, keys):
    """What dropout multiplies weights with: [H, rows, keys] for positions `rows` and `keys`."""
    rate, seed, offset = dropout
    low, high = seed & 0xFFFFFFFF, seed >> 32
    head = batch * heads + np.arange(heads)[:, None, None]
    words = philox((np.broadcast_to(keys[None, None, :] >> 2, (heads, len(rows), len(keys))),
                    rows[None, :, None], head, offset), (low, high))
    words = np.stack(np.broadcast_arrays(*words), -1)
    chosen = np.take_along_axis(words, np.broadcast_to((keys & 3)[None, None, :, None],
                                                       words.shape[:3] + (1,)), -1)[..., 0]
    return np.where(chosen >= np.uint64(round(rate * 2**32)), 1 / (1 - rate), 0.0)


def similarity(kind, q, k):
    """[H, Tq, Tk] of q [H, Tq, D] and k [H, Tk, D]."""
    if kind in ("gaussian", "absolute"):
        difference = q[:, :, None] - k[:, None]
        terms = difference.square() if kind == "gaussian" else difference.abs()
        return -terms.cumsum(-1)[..., -1]  # one after the other: torch's sum is a tree
    dot = q @ k.transpose(1, 2)
    if kind == "dot":
        return dot
    q_norm, k_norm = (torch.linalg.vector_norm(x, dim=-1).clamp_min(TINY) for x in (q, k))
    return dot / (q_norm[:, :, None] * k_norm[:, None])


def softmax(z, visible, sink):
    """Weights and log-sum-exp of the visible scores; a row that sees no key has weights 0."""
    hidden = torch.full_like(z, -torch.inf)
    most = torch.where(visible, z, hidden).detach().amax(-1) if z.shape[-1] else hidden.sum(-1)
    if z.shape[-1] == 0:
        most = torch.full(z.shape[:-1], -torch.inf, dtype=z.dtype)
    rest = torch.zeros_like(most)
    if sink is not None:
        most = torch.maximum(most, sink.detach()[:, None])
    most = torch.where(most == -torch.inf, torch.zeros_like(most), most)
    if sink is not None:
        rest = torch.exp(sink[:, None] - most)
    powers = torch.where(visible, torch.exp(torch.where(visible, z - most[..., None], hidden)),
                         torch.zeros_like(z))
    total = powers.sum(-1) + rest
    some = total > 0
    safe = torch.where(some, total, torch.ones_like(total))
    lse = torch.where(some, most + torch.log(safe), torch.full_like(total, -torch.inf))
    return powers / safe[..., None], lse


def scores(problem, b, q, k, leaves, visible):
    """z [H, Tq, Tk] of one batch, the similarity that it is made of, and |p_i - p_j|."""
    heads = q.shape[0]
    rows, keys = problem.positions(b)
    like = similarity(problem.similarity, q, k)
    z = leaves["scale"].expand(heads)[:, None, None] * like
    if problem.softcap:
        z = problem.softcap * torch.tanh(z / problem.softcap)
    if "bias" in leaves:
        bias = leaves["bias"]
        bias = bias.reshape((1,) * (4 - bias.ndim) + tuple(bias.shape))
        bias = bias.expand(problem.batch, heads, problem.query_length, problem.key_length)
        bias = bias[b, :, : q.shape[1], : k.shape[1]]
        z = z + torch.where(visible, bias, torch.zeros_like(bias))
    distance = torch.from_numpy(np.abs(rows[:, None] - keys[None]).astype(np.float64)).to(z.dtype)
    if "slope" in leaves:
        z = z - leaves["slope"][:, None, None] * distance
    return z, like, distance


def normalised(problem, z, visible, leaves):
    """Weights before dropout, and the log-sum-exp where there is one."""
    if problem.normaliser == "softmax":
        return softmax(z, visible, leaves.get("sink"))
    weights = torch.sigmoid(z) if problem.normaliser == "sigmoid" else z
    return torch.where(visible, weights, torch.zeros_like(weights)), None


def dropped(problem, b, weights):
    if not problem.dropout:
        return weights
    factors = kept(problem.dropout, b, weights.shape[0], *problem.positions(b))
    return weights * torch.from_numpy(factors).to(weights.dtype)


def operands(problem, b, leaves):
    """q, k, v of one batch and who sees whom, k and v repeated for the heads of their group. What
    nobody sees holds NaN in places: it is selected away before anything is computed."""
    queries, keys = problem.places(b)
    visible = torch.from_numpy(problem.visible(b))
    q, k, v = leaves["q"][queries], leaves["k"][keys], leaves["v"][keys]
    k, v = (x[: min(problem.heads, len(x))].repeat_interleave(
        max(problem.heads // problem.kv_heads, 1), 0) for x in (k, v))
    q = torch.where(visible.any(2)[..., None], q, torch.zeros_like(q))
    k, v = (torch.where(visible.any(1)[..., None], x, torch.zeros_like(x)) for x in (k, v))
    return q, k, v, visible


def evaluate(problem, arrays, dtype):
    """Everything that heed gives: out, lse and each gradient, as f64 arrays by name."""
    leaves = {name: torch.tensor(array, dtype=torch.float64).to(dtype).requires_grad_()
              for name, array in arrays.items() if name not in ("dout", "dlse")}
    out = torch.zeros(arrays["dout"].shape, dtype=dtype)
    lse = torch.full(arrays["dout"].shape[:-1], -torch.inf, dtype=dtype)
    loss = sum(leaf.new_zeros(()) for leaf in leaves.values())
    for b in range(problem.batch):
        queries = problem.places(b)[0]
        q, k, v, visible = operands(problem, b, leaves)
        z, _, _ = scores(problem, b, q, k, leaves, visible)
        weights, lse_one = normalised(problem, z, visible, leaves)
        of_one = dropped(problem, b, weights) @ v
        out[queries] = of_one.detach()
        dout = torch.from_numpy(arrays["dout"][queries]).to(dtype)
        loss = loss + (of_one * dout).sum()
        if lse_one is not None:
            lse[queries] = lse_one.detach()
            dlse = torch.from_numpy(arrays["dlse"][queries]).to(dtype)
            some = lse_one > -torch.inf
            loss = loss + torch.where(some, lse_one * dlse, torch.zeros_like(lse_one)).sum()
    names = list(leaves)
    if loss.requires_grad:
        found = torch.autograd.grad(loss, [leaves[name] for name in names], allow_unused=True)
    else:
        found = [None] * len(names)
    results = {"out": out}
    if problem.normaliser == "softmax":
        results["lse"] = lse
    for name, gradient in zip(names, found):
        results["d" + name] = torch.zeros_like(leaves[name]) if gradient is None else gradient
    return {name: tensor.detach().double().numpy() for name, tensor in results.items()}
