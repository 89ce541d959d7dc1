"""The logit lens of `heed serve` against transformers: each layer's hidden state through the model's last norm
and its words, for every family: the likeliest word, its probability, and that of the word that came.

Runs where torch and transformers are installed and the small models of the test data lie beside the checkout,
else says why it does not. Usage:
    python tests/peers/lens_test.py build/release/heed [MODEL_FOLDER ...]
"""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request

from places import SHARED, SKIPPED

try:
    import torch
    import transformers
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(SKIPPED)

TOLERANCE = 1e-5
IDS = [5, 17, 42, 8, 9, 23, 17, 60]


def folders():
    if len(sys.argv) > 2:
        return [pathlib.Path(folder) for folder in sys.argv[2:]]
    names = ("gpt2", "llama", "llama-tied", "mistral", "qwen2", "qwen3", "gemma2-stretch", "bert", "roberta", "marian")
    found = [SHARED / "models" / "tiny" / name for name in names]
    return [folder for folder in found + [SHARED / "models" / "stories260k"] if folder.exists()]


class Served:
    """A server of one model, and its answers."""

    def __init__(self, program, folder):
        state = tempfile.mkdtemp()
        command = [program, "serve", "--port", "0", "--model", str(folder)]
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, text=True, env={**os.environ, "XDG_STATE_HOME": state})
        for line in self.process.stdout:
            found = re.search(r"(http://[^/\s]+)/\?token=(\S+)", line)
            if found:
                self.base, self.token = found.groups()
                return
        raise RuntimeError(f"heed serve {folder} said no address")

    def ask(self, path, body=None):
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"{self.base}/api/v1/{path}", data, headers)
        return json.loads(urllib.request.urlopen(request, timeout=60).read())

    def open(self, ids):
        session = self.ask("sessions", {"ids": ids})
        while session["state"] == "running":
            time.sleep(0.02)
            session = self.ask("sessions/" + session["session"])
        assert session["state"] == "ready", session
        return session


def through_the_head(model, config, states):
    """The probabilities that each hidden state gives, by transformers' own modules."""
    kind = config.model_type
    with torch.no_grad():
        if kind == "gpt2":
            return model.lm_head(model.transformer.ln_f(states))
        if kind in ("bert", "roberta"):
            head = model.cls.predictions if kind == "bert" else model.lm_head
            return head(states)
        if kind == "marian":
            return model.lm_head(states) + model.final_logits_bias
        logits = model.lm_head(model.model.norm(states))
        cap = getattr(config, "final_logit_softcapping", None)
        return torch.tanh(logits / cap) * cap if cap else logits


def theirs(model, config, session):
    """[levels][T, V] of probabilities: the embedding, then behind each layer."""
    caught = []
    layers = {"gpt2": lambda: model.transformer.h, "bert": lambda: model.bert.encoder.layer,
              "roberta": lambda: model.roberta.encoder.layer, "marian": lambda: model.model.decoder.layers}
    blocks = layers.get(config.model_type, lambda: model.model.layers)()
    for block in blocks:
        block.register_forward_hook(lambda _, __, out: caught.append(out[0] if isinstance(out, tuple) else out))
    ids = torch.tensor([[token["id"] for token in session["tokens"]]])
    if config.model_type == "marian":
        source = torch.tensor([[token["id"] for token in session["key_tokens"]]])
        out = model(input_ids=source, decoder_input_ids=ids, output_hidden_states=True)
        first = out.decoder_hidden_states[0]
    else:
        out = model(input_ids=ids, output_hidden_states=True)
        first = out.hidden_states[0]
    states = [first, *[each.reshape(first.shape) for each in caught]]
    return [torch.softmax(through_the_head(model, config, state)[0].double(), -1) for state in states]


def with_tokenizer(folder, copy):
    """The folder with words for its ids, where it has none: the server wants a tokenizer."""
    shutil.copytree(folder, copy)
    size = json.loads((folder / "config.json").read_text())["vocab_size"]
    if not any(copy.glob("tokenizer*")):
        vocabulary = {f"w{number}": number for number in range(size)}
        (copy / "tokenizer.json").write_text(json.dumps({
            "version": "1.0", "truncation": None, "padding": None, "added_tokens": [], "normalizer": None,
            "pre_tokenizer": {"type": "WhitespaceSplit"}, "post_processor": None, "decoder": None,
            "model": {"type": "WordLevel", "vocab": vocabulary, "unk_token": "w0"}}))
    return copy


def compare(program, folder):
    config = transformers.AutoConfig.from_pretrained(folder)
    with tempfile.TemporaryDirectory() as scratch:
        return compare_served(program, with_tokenizer(folder, pathlib.Path(scratch) / folder.name), config)


def compare_served(program, folder, config):
    kind = getattr(transformers, config.architectures[0])
    model = kind.from_pretrained(folder, dtype=torch.float32, attn_implementation="eager").eval()
    served = Served(program, folder)
    try:
        session = served.open(IDS)
        stack = session["attentions"][-1]["stack"] if "key_tokens" in session else session["attentions"][0]["stack"]
        length = len(session["tokens"])
        lens = served.ask(f"sessions/{session['session']}/{stack}/lens?end={length}")
    finally:
        served.process.terminate()
        served.process.wait()
    expected = theirs(model, config, session)
    levels = [level for level in lens["levels"] if level["name"] in ("embedding", "layer")]
    assert len(levels) == len(expected), (len(levels), len(expected))
    behind = 0 if config.model_type in ("bert", "roberta") else 1
    worst = 0.0
    for level, probabilities in zip(levels, expected):
        for position, cell in enumerate(level["cells"]):
            row = probabilities[position]
            worst = max(worst, abs(cell["probability"] - row.max().item()))
            assert row[cell["id"]].item() >= row.max().item() - TOLERANCE, (level["name"], position)
            if position + behind < length:
                came = session["tokens"][position + behind]["id"]
                worst = max(worst, abs(cell["came"] - row[came].item()))
    print(f"{folder.name}: {len(levels)} levels of {length} tokens, largest difference {worst:.2g}")
    return worst <= TOLERANCE


def main():
    found = folders()
    if not found:
        print(f"skipped: no models in {SHARED}")
        return SKIPPED
    return 0 if all([compare(sys.argv[1], folder) for folder in found]) else 1


if __name__ == "__main__":
    sys.exit(main())
