"""Sentence vectors of folders as sentence-transformers writes them: an encoder like EmbeddingGemma with Dense modules
behind the pooling, and BERT without. `heed embed` finds the vectors of sentence-transformers where it is installed, else
those of its formulas in torch, also from what `heed convert` writes.

Runs where torch and transformers are installed, else says why it does not. Usage:
    python tests/peers/sentences_test.py build/release/heed
"""

import json
import pathlib
import sys
import tempfile

from decoders_test import GROUPED, SIZES, TYPES, made, run, save_file, torch, transformers
from safetensors.torch import load_file
from tokenizers import Tokenizer, models, pre_tokenizers

try:
    import sentence_transformers
except ImportError:
    sentence_transformers = None

TEXTS = ["a b c d", "d c", "b b b a c d a b"]
ENCODERS = {
    "gemma": ("Gemma3TextModel", GROUPED | TYPES | {
        "head_dim": 16, "use_bidirectional_attention": True, "sliding_window": 6, "pad_token_id": 0}),
    "bert": ("BertModel", SIZES),
}
ACTIVATIONS = {"torch.nn.modules.linear.Identity": torch.nn.Identity(), "torch.nn.modules.activation.Tanh": torch.tanh}
DENSE = {"gemma": [(48, 80, False, "torch.nn.modules.linear.Identity"),
                   (80, 24, True, "torch.nn.modules.activation.Tanh")], "bert": []}
MODULE = "sentence_transformers.models."


def write_tokenizer(folder):
    words = {word: at for at, word in enumerate(["[PAD]", "[UNK]", "a", "b", "c", "d"])}
    tokenizer = Tokenizer(models.WordLevel(words, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, unk_token="[UNK]", pad_token="[PAD]", model_max_length=32).save_pretrained(folder)


def write_dense(folder, size, out, has_bias, activation):
    folder.mkdir()
    tensors = {"linear.weight": torch.randn(out, size) / size**0.5}
    if has_bias:
        tensors["linear.bias"] = torch.randn(out)
    save_file(tensors, folder / "model.safetensors")
    (folder / "config.json").write_text(json.dumps({
        "in_features": size, "out_features": out, "bias": has_bias, "activation_function": activation}))


def write(folder, name):
    made(*ENCODERS[name], seed=5).save_pretrained(folder)
    write_tokenizer(folder)
    (folder / "1_Pooling").mkdir()
    (folder / "1_Pooling" / "config.json").write_text(json.dumps({
        "word_embedding_dimension": 48, "pooling_mode_mean_tokens": True, "pooling_mode_cls_token": False}))
    for at, dense in enumerate(DENSE[name]):
        write_dense(folder / f"{at + 2}_Dense", *dense)
    kinds = ["Transformer", "Pooling", *["Dense"] * len(DENSE[name]), "Normalize"]
    (folder / "modules.json").write_text(json.dumps([
        {"idx": at, "name": str(at), "path": f"{at}_{kind}" if at else "", "type": MODULE + kind}
        for at, kind in enumerate(kinds)]))


def expected(folder, name):
    if sentence_transformers is not None:
        return sentence_transformers.SentenceTransformer(str(folder), device="cpu").encode(TEXTS, convert_to_tensor=True)
    model = transformers.AutoModel.from_pretrained(folder).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    rows = []
    for text in TEXTS:
        row = model(**tokenizer(text, return_tensors="pt")).last_hidden_state[0].mean(0)
        for at, (*_, activation) in enumerate(DENSE[name]):
            tensors = load_file(folder / f"{at + 2}_Dense" / "model.safetensors")
            row = ACTIVATIONS[activation](tensors["linear.weight"] @ row + tensors.get("linear.bias", 0))
        rows.append(row / row.norm())
    return torch.stack(rows)


def is_right(program, name, scratch):
    folder, written = pathlib.Path(scratch) / name, pathlib.Path(scratch) / f"{name} written"
    write(folder, name)
    with torch.no_grad():
        wanted = expected(folder, name)
    if (converted := run(program, "convert", folder, "-o", written)).returncode:
        print(f"{name}: {converted.stderr.strip()}")
        return False
    worst = 0.0
    for place in (folder, written):
        answer = run(program, "embed", *TEXTS, "--model", place)
        if answer.returncode:
            print(f"{name}: {answer.stderr.strip()}")
            return False
        found = torch.tensor([row["vector"] for row in json.loads(answer.stdout)["vectors"]])
        worst = max(worst, (found - wanted).abs().max().item())
    print(f"{name}: vectors of {wanted.shape[1]} numbers differ by {worst:.2g}")
    return worst <= 1e-5


def main():
    torch.manual_seed(1)
    with tempfile.TemporaryDirectory() as scratch:
        results = [is_right(sys.argv[1], name, scratch) for name in ENCODERS]
    sys.exit(0 if all(results) else 1)


if __name__ == "__main__":
    main()
