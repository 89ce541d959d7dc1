"""Compares `heed look --format npy` with transformers in f32, weights and logits: of folders that
others wrote, and of one that `heed train` writes here.

Runs where torch and transformers are installed, else says why it does not. Usage:
    python tests/peers/transformers_test.py build/release/heed [MODEL_FOLDER ...]
Without folders: the built-in decoders, and the ones of the test data that lie beside the checkout.
"""

import json
import pathlib
import sys
import tempfile

from places import SHARED, SKIPPED, SOURCE
from program import heed, heed_array, joined

try:
    import numpy as np
    import torch
    import transformers
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(SKIPPED)

WEIGHT_TOLERANCE = 1e-5
LOGIT_TOLERANCE = 1e-4


def is_decoder(config):
    return json.loads(config.read_text())["architectures"][0].endswith(("CausalLM", "GPT2LMHeadModel"))


def folders():
    if len(sys.argv) > 2:
        return [pathlib.Path(folder) for folder in sys.argv[2:]]
    found = [path.parent for path in sorted((SOURCE / "models").glob("*/config.json")) if is_decoder(path)]
    for name in ("gpt-nano-sort", "makemore-induction"):
        folder = SHARED / "models" / name
        if folder.exists():
            found.append(folder)
        else:
            print(f"skipped: {folder} is not there")
    return found


def ids_for(config):
    """Ids of the whole vocabulary, as many as fit, the same in every run."""
    length = min(config.max_position_embeddings, 200)
    return np.random.default_rng(7).integers(0, config.vocab_size, length).tolist()


def compare(program, folder):
    model = transformers.AutoModelForCausalLM.from_pretrained(
        folder, attn_implementation="eager", dtype=torch.float32).eval()
    ids = ids_for(model.config)
    with torch.no_grad():
        answer = model(torch.tensor([ids]), output_attentions=True)
    weights = np.stack([layer[0].numpy() for layer in answer.attentions])
    logits = answer.logits[0].numpy()
    ours = heed_array(program, folder, "weights", "--ids", joined(ids))
    assert ours.shape == weights.shape, (ours.shape, weights.shape)
    worst_weight = np.abs(ours - weights).max()
    worst_logit = np.abs(heed_array(program, folder, "logits", "--ids", joined(ids)) - logits).max()
    print(f"{folder.name}: {len(ids)} tokens, weights within {worst_weight:.2g}, "
          f"logits within {worst_logit:.2g}")
    return worst_weight <= WEIGHT_TOLERANCE and worst_logit <= LOGIT_TOLERANCE


def trained(program, scratch, dtype):
    """A folder as heed saves it, and whether its tokenizer gives transformers the same ids."""
    text = pathlib.Path(scratch) / "text.txt"
    text.write_text("The cat sat on the mat because it was tired.\n\nIt slept, and dreamt: naïve!\n" * 40)
    run = pathlib.Path(scratch) / dtype
    heed(program, "train", "--data", text, "--tokenizer", "byte-bpe", "--vocabulary", 300, "--layers", 2, "--width", 32,
         "--block", 32, "--steps", 2, "--batch", 2, "--dtype", dtype, "-o", run)
    folder = run / "model"
    line = "It dreamt of a naïve cat's mat."
    ours = heed(program, "tokenize", line, "--json", "--model", folder)
    theirs = transformers.AutoTokenizer.from_pretrained(folder)(line)["input_ids"]
    same = json.loads(ours)["ids"] == theirs
    print(f"saved by heed in {dtype}: the same {len(theirs)} ids" if same else "ids differ")
    return folder, same


def compare_saved(program):
    with tempfile.TemporaryDirectory() as scratch:
        saved = [trained(program, scratch, dtype) for dtype in ("f32", "f16", "bf16")]
        return [same and compare(program, folder) for folder, same in saved]


def main():
    results = [compare(sys.argv[1], folder) for folder in folders()]
    if len(sys.argv) == 2:
        results += compare_saved(sys.argv[1])
    sys.exit(0 if results and all(results) else 1)


if __name__ == "__main__":
    main()
