"""Compares scores of heads with transformers: what a text loses without each head, by a hook that zeroes its output
before the output projection; what each adds to the logits of the words that came, through the last norm held still;
and the scores of the eager attention's weights and of what they carry.

Runs where torch and transformers are installed and the test data lie beside the checkout, else says why it does not.
Usage: python tests/peers/heads_test.py build/release/heed
"""

import json
import sys

from places import SHARED, SKIPPED
from program import heed

MODELS = SHARED / "models"

try:
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(SKIPPED)
if not (MODELS / "stories260k").exists():
    print(f"skipped: needs {MODELS}")
    sys.exit(SKIPPED)

FOLDER = MODELS / "stories260k"
TEXT = (FOLDER / "expected_greedy_200.txt").read_text().rstrip("\n")


def heed_heads(program):
    found = heed(program, "look", TEXT, "--model", FOLDER, "--heads", "without>-99 direct>-99", "--format", "json")
    heads = json.loads(found)["heads"]
    return {(head["layer"], head["head"]): head for head in heads}


def scores(weights):
    """The scores of one head's [T, T], as docs/api.md defines them."""
    length = len(weights)
    place = torch.arange(length, dtype=weights.dtype)
    entropy = -(weights * weights.clamp_min(1e-300).log()).sum(1)
    left = 1 - weights[:, 0]
    return {
        "previous": weights.diagonal(-1).mean(),
        "current": weights.diagonal()[1:].mean(),
        "sink": weights[1:, 0].mean(),
        "distance": (weights * (place[:, None] - place).abs()).sum(1).mean(),
        "entropy": entropy.mean(),
        "normalised_entropy": (entropy[1:] / (place[1:] + 1).log()).mean(),
        "confidence": weights[1:].max(1).values.mean(),
        "previous_adjusted": weights.diagonal(-1)[1:].sum() / left[2:].sum(),
        "distance_adjusted": (weights * (place[:, None] - place).abs())[:, 1:].sum() / left.sum(),
    }


def main(program):
    model = AutoModelForCausalLM.from_pretrained(FOLDER, attn_implementation="eager").eval()
    ids = AutoTokenizer.from_pretrained(FOLDER)(TEXT, return_tensors="pt").input_ids
    found = heed_heads(program)
    size = model.config.hidden_size // model.config.num_attention_heads
    worst = {}

    def compare(name, place, value, expected):
        worst[name] = max(worst.get(name, 0), abs(value - float(expected)))
        if abs(value - float(expected)) > 1e-5 * max(1, abs(float(expected))):
            sys.exit(f"{name} of head {place} is {value}, expected {float(expected)}")

    with torch.no_grad():
        outputs, values, last = {}, {}, {}
        hooks = [model.model.norm.register_forward_pre_hook(lambda _, given: last.update(stream=given[0][0]))]
        for layer, block in enumerate(model.model.layers):
            hooks.append(block.self_attn.o_proj.register_forward_pre_hook(
                lambda _, given, layer=layer: outputs.update({layer: given[0][0]})))
            hooks.append(block.self_attn.v_proj.register_forward_hook(
                lambda _, given, value, layer=layer: values.update({layer: value[0]})))
        whole = model(ids, labels=ids, output_attentions=True)
        for hook in hooks:
            hook.remove()
        scale = (last["stream"].double().pow(2).mean(-1, keepdim=True) + model.config.rms_norm_eps).rsqrt()
        came = torch.cat([ids[0, 1:], whole.logits[0, -1:].argmax(-1)])
        words = model.lm_head.weight.double()
        towards = (words[came] - words.mean(0)) * model.model.norm.weight.double() * scale
        groups = model.config.num_attention_heads // model.config.num_key_value_heads
        for layer, block in enumerate(model.model.layers):
            for head in range(model.config.num_attention_heads):
                own = found[layer, head]
                projection = block.self_attn.o_proj.weight[:, head * size:(head + 1) * size].double()
                write = outputs[layer][:, head * size:(head + 1) * size].double() @ projection.T
                compare("direct", (layer, head), own["direct"], (write * towards).sum(-1).mean())
                kv = head // groups
                lengths = (values[layer][:, kv * size:(kv + 1) * size].double() @ projection.T).norm(dim=-1)
                carried = whole.attentions[layer][0, head].double() * lengths
                compare("value_weighted", (layer, head), own["value_weighted"], carried.sum(-1).mean())
                compare("value_sink", (layer, head), own["value_sink"], (carried[:, 0] / carried.sum(-1))[1:].mean())
                for name, expected in scores(whole.attentions[layer][0, head].double()).items():
                    plain = name.removesuffix("_adjusted")
                    compare(name, (layer, head), (own["adjusted"] if plain != name else own)[plain], expected)

                def without(_, given, at=slice(head * size, (head + 1) * size)):
                    heads = given[0].clone()
                    heads[..., at] = 0
                    return (heads,)

                hook = block.self_attn.o_proj.register_forward_pre_hook(without)
                compare("without", (layer, head), own["without"], model(ids, labels=ids).loss - whole.loss)
                hook.remove()
    print(f"{len(found)} heads; largest differences: " + ", ".join(f"{name} {value:.1g}" for name, value in worst.items()))


if __name__ == "__main__":
    main(sys.argv[1])
