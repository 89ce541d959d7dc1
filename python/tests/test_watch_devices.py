"""`watch` and `edit` of models on another device: one that the tests make, and a GPU where there is
one. The same model on the CPU says what is right."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from conftest import peer, rows_of

torch = peer("torch")
transformers = peer("transformers")

from architectures import ALL, MORE, WITH_IMAGES  # noqa: E402
from test_transformers import result  # noqa: E402
from test_watch_words import of_words  # noqa: E402
from watched import close, watch_pass  # noqa: E402

import heed  # noqa: E402
from heed.transformers import SeenModel, edit, patching, watch  # noqa: E402

try:  # before any test: the first backward pass starts a thread for each device
    import away
except AttributeError:
    away = None

transformers.logging.set_verbosity_error()
WIDE = dataclasses.replace(ALL["llama"], config=ALL["llama"].config | {"hidden_size": 64})
EVERY = ALL | MORE | WITH_IMAGES | {"wide llama": WIDE}  # FlexAttention needs heads of 16 on a GPU
GPU = "cuda"
WRITES = {"max_new_tokens": 4, "min_new_tokens": 4, "do_sample": False}


@pytest.fixture(params=["away", GPU])
def device(request, monkeypatch):
    if request.param == GPU:
        if not torch.cuda.is_available():
            pytest.skip("skipped: PyTorch finds no GPU")
        monkeypatch.setattr(torch.backends.cudnn, "allow_tf32", False)  # else ViT has 10 bits
        return GPU
    if away is None:
        pytest.skip(f"skipped: PyTorch {torch.__version__} has no devices made in Python")
    away.Away.moved.clear()
    return "away"


class Pair:
    """A model on the CPU and the same model on a device, with their inputs."""

    def __init__(self, name, device, implementation="sdpa"):
        of = EVERY[name]
        self.implementation = implementation
        self.model, self.inputs = of.made(implementation), of.inputs()
        self.twin = of.made(implementation).to(device)
        self.given = {each: value.to(device) for each, value in self.inputs.items()}

    @property
    def both(self):
        return (self.model, self.inputs), (self.twin, self.given)

    def run(self, change=None, seen=None):
        """Returns both results, each with what a watch saw, under an edit if there is one."""
        found = []
        for at, (model, inputs) in enumerate(self.both):
            with torch.no_grad(), edit(model) as edits, watch(model) as watched:
                if change is not None:
                    change(edits, seen and seen[at])
                output = result(model(**inputs))
            found.append((output, watched))
        return found

    def check(self, change=None, seen=None):
        (wanted, before), (found, after) = self.run(change, seen)
        assert found.device == self.twin.device
        assert close(found.to("cpu"), wanted.numpy(), 1e-4)
        same_weights(before, after)


def same_weights(before, after):
    assert before.stacks == after.stacks
    for stack, layers in before.stacks.items():
        for layer in layers:
            wanted = np.asarray(before.attention(layer, stack).weights)
            assert close(after.attention(layer, stack).weights, wanted)


def last(seen):
    """The record of layer 1."""
    return seen.run_at(next(iter(seen._runs)).path, 1, -1).first


def devices(seen):
    kept = last(seen)
    return {each.device.type for each in (kept.q, kept.k, kept.v, kept.out, seen.logits())}


@pytest.mark.parametrize("implementation", ["eager", "sdpa"])
@pytest.mark.parametrize(
    "name", "llama gpt2 qwen3 mistral llama4 bert t5 bart vit whisper qwen2_vl".split()
)
def test_a_model_is_watched_as_on_the_cpu(name, implementation, device):
    Pair(name, device, implementation).check()


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
@pytest.mark.parametrize("name", ["llama", "vit"])
def test_weights_of_short_types_are_closer_than_eagers(name, dtype, device):
    inputs = transformers.BatchFeature(EVERY[name].inputs()).to(device, dtype)
    sdpa, eager = (EVERY[name].made(each).to(device, dtype) for each in ("sdpa", "eager"))
    with torch.no_grad():
        plain = result(sdpa(**inputs))
        with watch(sdpa) as seen:
            assert torch.equal(result(sdpa(**inputs)), plain)
        theirs = eager(**inputs, output_attentions=True).attentions[0].to("cpu")
    kept = seen.run_at(next(iter(seen._runs)).path, 0, -1).first  # its q and k are the same in both
    q, k = (each.to("cpu").double() for each in (kept.q, kept.k))
    scores = q @ k.repeat_interleave(q.shape[1] // k.shape[1], 1).mT * q.shape[-1] ** -0.5
    if kept.mask is not None:
        scores = scores.masked_fill(~kept.visible(kept.keys).to("cpu"), -torch.inf)
    wanted = scores.softmax(-1).numpy()
    assert close(seen.attention(0).weights, wanted, 1e-6)
    assert abs(theirs.double().numpy() - wanted).max() > 1e-5


@pytest.mark.parametrize("device", [GPU], indirect=True)
def test_flex_attention_is_watched_and_edited(device):
    pair = Pair("wide llama", device, "flex_attention")
    pair.model = EVERY["wide llama"].made("sdpa")
    pair.check()
    pair.check(lambda edits, _: edits.temperature(1, [1], 1.7))


@pytest.mark.parametrize("implementation", ["eager", "sdpa"])
def test_what_is_watched_stays_on_its_device(implementation, device):
    pair = Pair("llama", device, implementation)
    seen = watch_pass(pair.twin, **pair.given)
    assert not np.isnan(np.asarray(seen.attention(1).weights)).any()
    assert devices(seen) == {device}


@pytest.mark.parametrize("device", ["away"], indirect=True)
def test_each_tensor_of_a_layer_that_is_asked_for_moves_once(device):
    pair = Pair("llama", device)
    moved = away.Away.moved
    moved.clear()
    seen = watch_pass(pair.twin, **pair.given)
    assert not [shape for shape in moved if len(shape) == 4]
    seen.attention(1).weights[0]
    seen.heads()
    wanted = [tuple(getattr(last(seen), name).shape) for name in ("q", "k", "v", "out")]
    assert sorted(each for each in moved if len(each) == 4) == sorted(2 * wanted)  # of two layers


def test_a_watch_may_keep_tensors_elsewhere(device):
    pair = Pair("llama", device)
    with watch(pair.twin, layers=[1], keep="cpu") as seen, torch.no_grad():
        pair.twin(**pair.given)
    assert devices(seen) == {"cpu"}
    assert seen.stacks == {"decoder": [1]}


EDITS = {
    "ablate": lambda e, _, stack: e.ablate(1, [1, 3], stack=stack),
    "remove": lambda e, _, stack: e.remove([1, 3], 0, heads=[(1, 1), (0, 0)], stack=stack),
    "temperature": lambda e, _, stack: e.temperature(1, [1, 3], 1.7, stack=stack),
    "steer": lambda e, _, stack: e.steer([0, 2], by=1.5, heads=[(1, 1)], stack=stack),
    "mask": lambda e, _, stack: e.mask(heed.band(2, 2), 1, stack=stack),
    "array": lambda e, _, stack: e.mask(np.eye(32) > 0, 1, [0], stack=stack),
    "freeze": lambda e, seen, stack: e.freeze(seen, 1, [1, 2], stack=stack),
    "freeze one": lambda e, seen, stack: e.freeze(seen, 1, who=1, stack=stack),
    "patch": lambda e, seen, stack: e.patch(seen, 1, [0, 2], stack=stack),
    "patch one": lambda e, seen, stack: e.patch(seen, 1, who=1, stack=stack),
}  # fmt: skip
PLACES = {"llama": None, "gpt_oss": None, "t5": "cross", "bart": "encoder", "vit": None}


@pytest.mark.parametrize("kind", EDITS)
@pytest.mark.parametrize("name", PLACES)
def test_a_model_is_edited_as_on_the_cpu(name, kind, device):
    pair = Pair(name, device, "eager" if name == "gpt_oss" else "sdpa")
    other = Pair(name, device, pair.implementation)
    for inputs in (other.inputs, other.given):
        inputs |= {n: v * 1.5 if v.is_floating_point() else v.flip(1) for n, v in inputs.items()}
    seen = [watched for _, watched in other.run()]
    pair.check(lambda edits, other: EDITS[kind](edits, other, PLACES[name]), seen)


def test_a_run_and_a_mask_of_another_device_edit_a_model(device):
    pair = Pair("llama", device)
    seen = [watched for _, watched in pair.run()]
    pair.check(lambda edits, other: edits.freeze(other, 1, who=[4]), seen[::-1])
    pair.check(lambda edits, other: edits.patch(other, 0, [2]), seen[::-1])
    mask = torch.eye(11).to(device)
    pair.check(lambda edits, _: edits.mask(mask, 1))
    pair.check(lambda edits, _: edits.mask(mask > 0, 1))


@pytest.mark.parametrize("settings", [{}, {"num_beams": 2}, {"cache_implementation": "static"}])
@pytest.mark.parametrize("name", ["llama", "mistral", "t5"])
def test_a_generation_is_watched_and_edited_as_on_the_cpu(name, settings, device):
    pair = Pair(name, device)
    stack = "decoder" if name == "t5" else None
    found = []
    for model, inputs in pair.both:
        ids = inputs["input_ids"]
        plain = model.generate(ids, **WRITES, **settings)  # a GPU compiles for a static cache
        with watch(model) as seen:
            assert torch.equal(model.generate(ids, **WRITES, **settings), plain)
        with edit(model) as edits, watch(model, keep="cpu") as edited:
            edits.temperature(1, [1], 2.0, stack=stack)
            edits.ablate(0, stack=stack)
            written = model.generate(ids, **WRITES, **settings)
        found.append((plain.tolist(), written.tolist(), seen, edited))
    (plain, written, *before), (far, edited, *after) = found
    assert far == plain and edited == written
    assert not close(after[1].logits(), np.asarray(after[0].logits().to("cpu")))
    for own, theirs in zip(before, after):
        same_weights(own, theirs)
        assert close(theirs.logits().to("cpu"), own.logits().numpy(), 1e-4)


def test_padding_is_known(device):
    pair = Pair("mistral", device)
    padding = torch.ones_like(pair.inputs["input_ids"])
    padding[0, :3], padding[1, 9:] = 0, 0
    pair.inputs["attention_mask"], pair.given["attention_mask"] = padding, padding.to(device)
    pair.run()
    (_, before), (_, after) = pair.run()
    same_weights(before, after)
    assert rows_of(after.heads())[0] == pytest.approx(rows_of(before.heads())[0], nan_ok=True)


def test_attentions_of_an_output_are_on_its_device(device):
    pair = Pair("llama", device)
    with watch(pair.twin) as seen, torch.no_grad():
        output = pair.twin(**pair.given, output_attentions=True)
    attentions = output.attentions[1]
    assert attentions.device.type == device
    assert close(attentions.to("cpu"), np.asarray(seen.attention(1).weights))


@pytest.mark.parametrize("name", ["llama", "gpt2", "mistral", "llama4", "vit", "qwen2_vl"])
def test_the_default_device_changes_nothing(name, device):
    pair = Pair(name, device)
    if "input_ids" in pair.inputs and len(pair.inputs) == 1:
        padding = torch.ones_like(pair.inputs["input_ids"])
        padding[1, 9:] = 0
        pair.inputs["attention_mask"], pair.given["attention_mask"] = padding, padding.to(device)
    before = watch_pass(pair.model, **pair.inputs)
    stack = next(iter(before.stacks))
    with torch.device(device), torch.no_grad():
        with edit(pair.twin) as edits, watch(pair.twin) as after:
            edits.temperature(1, [1], 1.0, stack=stack)  # computed again, the same weights
            edits.remove(3, 2, heads=[(1, 2)], stack=stack)
            edits.mask(heed.band(2, 2), 1, [3], stack=stack)
            pair.twin(**pair.given)
        changed = np.asarray(after.attention(1, stack).weights)
        after.heads()
        after.look(stack=stack)
        if "pixel_values" in pair.inputs:
            assert after.image_map(0, 0).shape == before.image_map(0, 0).shape
            assert len(after.image_share()) and len(after.pictures())
    wanted = np.asarray(before.attention(1, stack).weights)
    assert close(changed[:, [0, 1]], wanted[:, [0, 1]])
    assert not close(changed[:, [2]], wanted[:, [2]]) and not close(changed[:, [3]], wanted[:, [3]])


def test_texts_are_patched(device):
    pair = Pair("llama", device)
    tables = [
        rows_of(patching(model, "the cat the", "cat the cat", lambda of: of.logits[0, -1, 7],
                         tokenizer=of_words(), layers=[1]))
        for model in (pair.model, pair.twin)
    ]  # fmt: skip
    for own, theirs in zip(*tables):
        assert theirs["metric"] == pytest.approx(own["metric"], abs=1e-4)


def test_answers_have_gradients(device):
    pair = Pair("qwen3", device)
    found = []
    for model, inputs in pair.both:
        with watch(model, gradients=True) as seen:
            loss = model(**inputs, labels=inputs["input_ids"]).loss
        (loss + seen.attention(1).entropy().mean()).backward()
        found.append(model.model.layers[0].self_attn.k_proj.weight.grad)
    assert found[1].device.type == device
    assert close(found[1].to("cpu"), found[0].numpy(), 1e-4)


def test_a_file_is_read_on_the_cpu(device, tmp_path):
    pair = Pair("llama", device)
    seen = watch_pass(pair.twin, **pair.given)
    seen.save(tmp_path / "run.safetensors")
    loaded = SeenModel.load(tmp_path / "run.safetensors")
    assert last(loaded).q.device.type == "cpu"
    same_weights(seen, loaded)
