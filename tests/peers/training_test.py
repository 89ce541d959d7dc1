"""Training by heed and by transformers on the same folders, to and fro:

- folders of others that heed trains on for 20 steps (a GPT-2 and a Llama), and models that heed trains from the
  beginning for masked tokens and for translations, open in transformers, whose logits are heed's;
- folders that transformers trains on for 20 steps and saves open in heed with the same loss.

Runs where torch and transformers are installed and the test data lie beside the checkout, else says why it does not.
Usage:
    python tests/peers/training_test.py build/release/heed
"""

import json
import pathlib
import shutil
import sys
import tempfile

from places import SHARED, SKIPPED
from program import heed, heed_array, joined

try:
    import numpy as np
    import torch
    import transformers
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(SKIPPED)

STEPS = 20
LOGIT_TOLERANCE = 1e-4
LOSS_TOLERANCE = 1e-5

TEXT = "the cat sat on the mat and the dog lay at the door while the old man told a long story about the sea\n" * 60
SOURCES = "".join(f"number {i} is {i % 7} and {i % 5}\n" for i in range(200))
TARGETS = "".join(f"{i % 5} {i % 7} is number {i}\n" for i in range(200))


def opened(kind, folder):
    model, report = kind.from_pretrained(folder, dtype=torch.float32, output_loading_info=True)
    if report["missing_keys"] or report["unexpected_keys"]:
        sys.exit(f"{folder}: transformers misses {report['missing_keys']}, knows nothing of {report['unexpected_keys']}")
    return model.eval()


def text_ids(count, vocabulary):
    return np.random.default_rng(3).integers(3, vocabulary, count).tolist()


def judge(name, worst, tolerance, what="logits"):
    print(f"{name}: {what} differ by {worst:.2g}")
    return worst <= tolerance


def changed(before, after):
    theirs, ours = before.state_dict(), after.state_dict()
    return max((ours[name] - theirs[name]).abs().max().item() for name in theirs)


def trained_on(program, folder, scratch):
    """heed goes on from a folder of others; transformers opens what it wrote."""
    run = scratch / "trained-on"
    positions = transformers.AutoConfig.from_pretrained(folder).max_position_embeddings
    heed(program, "train", "--data", scratch / "text.txt", "--start-from", folder, "--block", min(positions, 32), "--steps",
         STEPS, "--warmup", 2, "--batch", 4, "--learning-rate", "1e-3", "-o", run)
    kind = transformers.AutoModelForCausalLM
    theirs = opened(kind, run / "model")
    moved = changed(opened(kind, folder), theirs)
    ids = text_ids(24, theirs.config.vocab_size)
    with torch.no_grad():
        wanted = theirs(torch.tensor([ids])).logits[0].numpy()
    ours = heed_array(program, run / "model", "logits", "--ids", joined(ids))
    shutil.rmtree(run)
    if moved < 1e-3:
        sys.exit(f"{folder.name}: {STEPS} steps changed no weight by more than {moved:.2g}")
    return judge(f"{folder.name}, {STEPS} steps by heed (weights moved by {moved:.2g})", np.abs(ours - wanted).max(),
                 LOGIT_TOLERANCE)


def trained_by_transformers(program, folder, scratch):
    """transformers goes on from the folder and saves it; heed opens that."""
    model = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).train()
    batches = torch.from_numpy(np.random.default_rng(5).integers(3, model.config.vocab_size, (STEPS, 4, 24)))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for batch in batches:
        optimizer.zero_grad()
        model(batch, labels=batch).loss.backward()
        optimizer.step()
    saved = scratch / "saved"
    model.eval().save_pretrained(saved)
    ids = text_ids(24, model.config.vocab_size)
    with torch.no_grad():
        wanted = model(torch.tensor([ids]), labels=torch.tensor([ids])).loss.item()
    ours = torch.from_numpy(heed_array(program, saved, "logits", "--ids", joined(ids)))
    found = torch.nn.functional.cross_entropy(ours[:-1], torch.tensor(ids[1:])).item()
    shutil.rmtree(saved)
    return judge(f"{folder.name}, {STEPS} steps by transformers: loss {wanted:.5f}", abs(found - wanted), LOSS_TOLERANCE, "losses")


def masked(program, scratch):
    run = scratch / "masked"
    heed(program, "train", "--task", "mlm", "--data", scratch / "text.txt", "--tokenizer", "word-piece", "--vocabulary", 120,
         "--whole-words", "--pairs", "0.5", "--layers", 2, "--width", 32, "--block", 32, "--steps", STEPS, "--warmup", 2, "-o", run)
    model = opened(transformers.AutoModelForMaskedLM, run / "model")
    tokenizer = transformers.AutoTokenizer.from_pretrained(run / "model")
    first, second = "the [MASK] man told a story", "the cat lay at the door"
    inputs = tokenizer(first, second, return_tensors="pt")
    with torch.no_grad():
        wanted = model(**inputs).logits[0].numpy()
    ours = heed_array(program, run / "model", "logits", first, "--pair", second)
    if ours.shape != wanted.shape:
        sys.exit(f"masked tokens: heed has {ours.shape}, transformers {wanted.shape}")
    return judge(f"masked tokens, {STEPS} steps by heed", np.abs(ours - wanted).max(), LOGIT_TOLERANCE)


def translating(program, scratch):
    run = scratch / "translating"
    heed(program, "train", "--task", "seq2seq", "--data", scratch / "a.txt", "--targets", scratch / "b.txt", "--tokenizer",
         "byte-bpe", "--vocabulary", 300, "--layers", 2, "--width", 32, "--block", 48, "--steps", STEPS, "--warmup", 2, "-o", run)
    model = opened(transformers.AutoModelForSeq2SeqLM, run / "model")
    tokenizer = transformers.AutoTokenizer.from_pretrained(run / "model")
    source, target = "number 8 is 1 and 3", "3 1 is number 8"
    ids = tokenizer(source, return_tensors="pt").input_ids
    written = tokenizer(target, add_special_tokens=False).input_ids
    decoder = torch.tensor([[model.config.decoder_start_token_id, *written]])
    with torch.no_grad():
        wanted = model(input_ids=ids, decoder_input_ids=decoder).logits[0].numpy()
    ours = heed_array(program, run / "model", "logits", source, "--target", target)
    if model.final_logits_bias.abs().max() != 0:
        sys.exit("translations: final_logits_bias, which transformers keeps fixed, was trained")
    if ours.shape != wanted.shape:
        sys.exit(f"translations: heed has {ours.shape}, transformers {wanted.shape}")
    return judge(f"translations, {STEPS} steps by heed", np.abs(ours - wanted).max(), LOGIT_TOLERANCE)


def by_characters(program, scratch, family):
    """Beside the family's usual class the tokenizer would lose its blanks; a padding token that is a character would
    get no gradient."""
    run = scratch / f"characters-{family}"
    heed(program, "train", "--data", scratch / "text.txt", "--layers", 4, "--width", 32, "--block", 48, "--steps", STEPS,
         "--warmup", 2, "--model", json.dumps({"model_type": family}), "-o", run)
    model = opened(transformers.AutoModelForCausalLM, run / "model")
    if model.get_input_embeddings().padding_idx is not None:
        sys.exit(f"characters, {family}: token {model.get_input_embeddings().padding_idx} is padding")
    text = "the old man told a story"
    inputs = transformers.AutoTokenizer.from_pretrained(run / "model")(text, return_tensors="pt")
    with torch.no_grad():
        wanted = model(**inputs).logits[0].numpy()
    ours = heed_array(program, run / "model", "logits", text)
    if ours.shape != wanted.shape:
        sys.exit(f"characters, {family}: heed has {ours.shape}, transformers {wanted.shape}")
    return judge(f"characters, {family}, {STEPS} steps by heed", np.abs(ours - wanted).max(), LOGIT_TOLERANCE)


def main():
    program = str(pathlib.Path(sys.argv[1]).resolve())
    folders = [SHARED / "models" / name for name in ("makemore-induction", "stories260k")]
    if not all(folder.exists() for folder in folders):
        print(f"skipped: no models in {SHARED}")
        sys.exit(SKIPPED)
    with tempfile.TemporaryDirectory() as name:
        scratch = pathlib.Path(name)
        (scratch / "text.txt").write_text(TEXT)
        (scratch / "a.txt").write_text(SOURCES)
        (scratch / "b.txt").write_text(TARGETS)
        results = [trained_on(program, folder, scratch) for folder in folders]
        results += [trained_by_transformers(program, folder, scratch) for folder in folders]
        results += [masked(program, scratch), translating(program, scratch)]
        results += [by_characters(program, scratch, family) for family in ("gpt2", "qwen2", "gemma2", "gemma4_text",
                                                                         "qwen3_5_text")]
    sys.exit(0 if all(results) else 1)


if __name__ == "__main__":
    main()
