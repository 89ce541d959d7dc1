"""The masks of random attention problems: options of `heed attend`, and who sees whom."""

import numpy as np


def numbers(p, low, high):
    """One for all batches, or one each, from low to high[b]; what is written, and one each."""
    if p.chance(0.3):
        one = p.whole(low, max(low, int(np.min(high, initial=300))))
        return np.array([one]), np.full(p.batch, one)
    each = np.array([p.whole(low, int(most)) for most in np.broadcast_to(high, p.batch)], int)
    return each, each


def broadcast_shape(p, *full):
    """Right-aligned: some leading axes missing, some of the others 1."""
    shape = [1 if p.chance(0.4) else size for size in full]
    return tuple(shape[p.whole(0, len(full) - 1) if p.chance(0.4) else 0 :])


def band(p, difference):
    """The band alone, and whether there is one; difference: p_j - p_i."""
    mask = np.ones(difference.shape, bool)
    given = False
    if "--q-offset" not in p.arguments and p.chance(0.35):
        kind = p.among("top-left", "bottom-right")
        p.arguments += ["--causal", kind]
        if kind == "top-left":
            difference = difference + p.q_offset[:, None, None]
            p.q_offset = np.zeros(p.batch, int)
        mask, given = mask & (difference <= 0), True
    if p.chance(0.25):
        left, right = (p.among(-1, 0, p.whole(1, 20), p.whole(1, 200)) for _ in range(2))
        p.arguments += ["--window", f"{left},{right}"]
        if left >= 0:
            mask = mask & (difference >= -left)
        if right >= 0:
            mask = mask & (difference <= right)
        given = True
    return mask, given, difference


def positional(p):
    """Bands and prefixes: [B, Tq, Tk]."""
    rows = p.q_offset[:, None] + np.arange(p.query_length)
    keys = p.key_offset[:, None] + np.arange(p.key_length)
    mask, given, difference = band(p, keys[:, None, :] - rows[:, :, None])
    if p.batch and p.chance(0.1):
        written, lengths = numbers(p, 0, np.full(p.batch, p.key_length + 10))
        p.give("prefix", written)
        mask = (mask if given else difference <= 0) | (keys < lengths[:, None])[:, None, :]
    return mask


def keep(p, *full):
    """Stretches of a random length, so that tiles are full, empty and partial."""
    shape = broadcast_shape(p, *full)
    count = int(np.prod(shape))
    stretch = p.among(1, 3, 40, 400)
    kept = np.repeat(p.rng.random(count // stretch + 1) < p.among(0.2, 0.7, 0.95), stretch)[:count]
    p.give("keep", kept.reshape(shape))
    return kept.reshape(shape)


def segments(p):
    """[B, 1, Tq, Tk]."""
    both = p.query_length == p.key_length and p.chance(0.5)
    documents = p.whole(1, 5)

    def ids(count):
        shape = (count,) if p.chance(0.5) else (p.batch, count)
        found = p.rng.integers(0, documents, shape)
        return np.sort(found, -1) if p.chance(0.7) else found

    rows = ids(p.query_length)
    keys = rows if both else ids(p.key_length)
    p.give("segments", *([rows] if both else [rows, keys]))
    rows, keys = (np.broadcast_to(x, (p.batch, x.shape[-1])) for x in (rows, keys))
    return (rows[:, :, None] == keys[:, None, :])[:, None]


def blocks(p, *full):
    rows, keys = p.among(1, 16, 64, p.whole(2, 100)), p.among(1, 16, 64, p.whole(2, 100))
    shape = (broadcast_shape(p, *full[:2], 1)[:-1]
             + (-(-p.query_length // rows), -(-p.key_length // keys)))
    layout = p.rng.random(shape) < 0.6
    p.give("blocks", layout)
    p.arguments += ["--block-size", f"{rows},{keys}"]
    wide = layout.repeat(rows, -2).repeat(keys, -1)
    return wide[..., : p.query_length, : p.key_length]


def edges(p):
    """Pairs in any order, or compressed sparse rows."""
    mask = p.rng.random((p.query_length, p.key_length)) < p.among(0.02, 0.3, 0.9)
    pairs = np.argwhere(mask)
    if p.chance(0.5):
        p.give("edges", p.rng.permutation(pairs).reshape(-1, 2))
    else:
        p.give("edges", np.cumsum([0, *mask.sum(1)]), pairs[:, 1].copy())
    return mask


def choose_mask(p):
    full = (p.batch, p.heads, p.query_length, p.key_length)
    allowed = np.broadcast_to(positional(p)[:, None], full)
    for share, make in ((0.2, lambda: keep(p, *full)), (0.12, lambda: segments(p)),
                        (0.12, lambda: blocks(p, *full)), (0.08, lambda: edges(p))):
        if p.chance(share):
            allowed = allowed & make()
    rows = np.arange(p.query_length) < p.query_lengths[:, None]
    keys = np.arange(p.key_length) < p.key_lengths[:, None]
    p.allowed = allowed & rows[:, None, :, None] & keys[:, None, None, :]
