"""Folders that heed writes, opened with transformers: for each family and variant, the logits of the
published folder and of what `heed convert` made of it are the same, and those of heed's own pass are
within 1e-4 of them (`heed check model`).

Runs where torch and transformers are installed, else says why it does not. Usage:
    python tests/peers/families_test.py build/release/heed [MODEL_FOLDER ...]
Without folders: the small models of the test data that lie beside the checkout.
"""

import pathlib
import sys
import tempfile

from places import SHARED, SKIPPED
from program import heed

try:
    import torch
    import transformers
    from safetensors.torch import load_file
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(SKIPPED)

# Which transformers creates and never reads where each side of an encoder-decoder has a table of its own.
UNREAD = ("position_ids", "model.shared.weight")
INPUTS = ("input_ids", "attention_mask", "token_type_ids", "decoder_input_ids")


def folders():
    if len(sys.argv) > 2:
        return [pathlib.Path(folder) for folder in sys.argv[2:]]
    return sorted(path.parent for path in (SHARED / "models").glob("**/golden.safetensors"))


def logits_of(folder, inputs):
    kind = getattr(transformers, transformers.AutoConfig.from_pretrained(folder).architectures[0])
    model, report = kind.from_pretrained(folder, dtype=torch.float32, output_loading_info=True)
    missing = [key for key in report["missing_keys"] if not any(name in key for name in UNREAD)]
    with torch.no_grad():
        return model.eval()(**inputs).logits, missing


def compare(program, folder, scratch):
    written = pathlib.Path(scratch) / folder.name
    heed(program, "convert", folder, "-o", written)
    golden = load_file(folder / "golden.safetensors")
    inputs = {name: golden[name] for name in INPUTS if name in golden}
    theirs, _ = logits_of(folder, inputs)
    ours, missing = logits_of(written, inputs)
    worst = (ours - theirs).abs().max().item()
    print(f"{folder.name}: logits of what heed wrote differ by {worst:.2g}" + (f", missing {missing}" if missing else ""))
    return worst == 0 and not missing


def main():
    found = folders()
    if not found:
        print(f"skipped: no models in {SHARED}")
        sys.exit(SKIPPED)
    with tempfile.TemporaryDirectory() as scratch:
        results = [compare(sys.argv[1], folder, scratch) for folder in found]
    sys.exit(0 if all(results) else 1)


if __name__ == "__main__":
    main()
