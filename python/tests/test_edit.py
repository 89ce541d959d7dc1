"""`heed.transformers.edit` beside the same edits written into eager attention by hand."""

from __future__ import annotations

import copy

import numpy as np
import pytest
from conftest import peer, rows_of

torch = peer("torch")
transformers = peer("transformers")

from architectures import ALL, DECODERS, IMAGE, MORE, WITH_IMAGES  # noqa: E402
from test_transformers import result  # noqa: E402
from watched import close, watch_pass  # noqa: E402

import heed  # noqa: E402
from heed.transformers import edit, patching, watch  # noqa: E402

transformers.logging.set_verbosity_error()

EVERY = ALL | MORE | WITH_IMAGES


# of each architecture: the stack that is edited, its layer 1's module
PLACES = {
    "gpt2": (None, "transformer.h.1.attn"),
    "llama": (None, "model.layers.1.self_attn"),  # grouped heads
    "mistral": (None, "model.layers.1.self_attn"),  # a sliding window
    "gemma2": (None, "model.layers.1.self_attn"),  # scores are capped
    "gpt_oss": (None, "model.layers.1.self_attn"),  # sinks
    "bert": (None, "bert.encoder.layer.1.attention.self"),
    "t5": ("decoder", "decoder.block.1.layer.0.SelfAttention"),  # a position bias
    "marian": ("cross", "model.decoder.layers.1.encoder_attn"),
    "bart": ("encoder", "model.encoder.layers.1.self_attn"),
    "jamba": (None, "model.layers.1.self_attn"),
    "gemma3_vl": ("decoder", "model.language_model.layers.1.self_attn"),
    "vit": (None, "vit.layers.1.attention"),
}  # fmt: skip
NO_SDPA = {"gemma2", "gpt_oss"}


class ByHand:
    """Eager attention with a change of the scores, weights or output of one module."""

    def __init__(self, name, scores=None, weights=None, out=None):
        self.model = EVERY[name].made()
        self.module = self.model.get_submodule(PLACES[name][1])
        self.changes = scores, weights, out
        transformers.AttentionInterface.register("by hand", self)
        transformers.AttentionMaskInterface.register(
            "by hand", transformers.masking_utils.eager_mask
        )
        self.model.set_attn_implementation("by hand")

    def __call__(self, module, q, k, v, mask, scaling=None, softcap=None, s_aux=None,
                 position_bias=None, **_):  # fmt: skip
        mine = module is self.module
        scores, weights, out = (each if each and mine else lambda x: x for each in self.changes)
        k, v = (each.repeat_interleave(q.shape[1] // each.shape[1], 1) for each in (k, v))
        z = q @ k.mT * (q.shape[-1] ** -0.5 if scaling is None else scaling)
        z = softcap * torch.tanh(z / softcap) if softcap else z
        z = z if position_bias is None else z + position_bias
        z = scores(z if mask is None else z + mask[..., : z.shape[-1]])
        if s_aux is not None:
            z = torch.cat([z, s_aux.reshape(1, -1, 1, 1).expand(*z.shape[:3], 1)], -1)
        p = weights(z.softmax(-1)[..., : k.shape[2]])
        return out(p @ v).transpose(1, 2).contiguous(), p


def changed(part, change):
    """A function that changes a part of a copy."""

    def apply(tensor):
        tensor = tensor.clone()
        tensor[part] = change(tensor[part])
        return tensor

    return apply


HEAD = (slice(None), [1, 3])
EDITS = {
    "ablate": (
        lambda e, stack: e.ablate(1, [1, 3], stack=stack),
        {"out": changed(HEAD, torch.zeros_like)},
    ),
    "remove": (
        lambda e, stack: e.remove(who=[0, 5], to=2, layers=1, heads=2, stack=stack),
        {"scores": changed((slice(None), 2, [0, 5], 2), lambda z: z - 1e9)},
    ),
    "temperature": (
        lambda e, stack: e.temperature(1, [1, 3], 1.7, stack=stack),
        {"scores": changed(HEAD, lambda z: z * 1.7)},
    ),
    "steer": (
        lambda e, stack: e.steer([0, 2], by=1.5, heads=[(1, 1), (1, 3)], stack=stack),
        {"scores": changed((slice(None), torch.tensor([1, 3])[:, None], slice(None), torch.tensor([[0, 2]])), lambda z: z + 1.5)},
    ),
}  # fmt: skip


def run(model, inputs):
    with torch.no_grad():
        return result(model(**inputs))


def cases():
    for name in PLACES:
        for kind in EDITS:
            for implementation in ("sdpa", "eager", "heed"):
                if implementation == "sdpa" and name in NO_SDPA:
                    continue
                always = name in ("llama", "gpt_oss", "marian") and implementation != "heed"
                marks = () if always else pytest.mark.slow
                yield pytest.param(name, kind, implementation, marks=marks)


@pytest.mark.parametrize("name, kind, implementation", list(cases()))
def test_an_edit_is_what_it_is_by_hand(name, kind, implementation):
    make, by_hand = EDITS[kind]
    inputs = EVERY[name].inputs()
    wanted = run(ByHand(name, **by_hand).model, inputs)
    model = EVERY[name].made(implementation)
    plain = run(model, inputs)
    with edit(model) as e:
        make(e, PLACES[name][0])
        with watch(model) as seen:
            found = run(model, inputs)
    assert (found - wanted).abs().max() < 1e-4
    assert (found - plain).abs().max() > 1e-4  # the edit does something
    assert torch.equal(run(model, inputs), plain)
    stack = PLACES[name][0] or next(iter(seen.stacks))
    weights = np.asarray(seen.attention(1, stack).weights)
    if kind == "remove":
        assert (weights[:, 2, [0, 5], 2] == 0).all()
    total = weights.sum(-1)
    assert name == "gpt_oss" or abs(total[total > 0] - 1).max() < 1e-5


@pytest.mark.parametrize("name", ["llama", "mistral", "gpt_oss", "t5", "marian"])
def test_another_runs_patterns_and_outputs(name):
    """freeze gives the weights of another text, patch the output of a head."""
    inputs = EVERY[name].inputs()
    others = EVERY[name].inputs() | {"input_ids": inputs["input_ids"].flip(1)}
    stack, path = PLACES[name]
    model = EVERY[name].made()
    kept = {}

    def keep(what):
        def apply(tensor):
            kept[what] = tensor.clone()
            return tensor

        return apply

    run(ByHand(name, weights=keep("weights"), out=keep("out")).model, others)
    with watch(model) as seen:
        run(model, others)
    heads = (slice(None), [0, 2])
    frozen = ByHand(name, weights=changed(heads, lambda _: kept["weights"][heads]))
    patched = ByHand(name, out=changed(heads, lambda _: kept["out"][heads]))
    for make, by_hand in (
        (lambda e: e.freeze(seen, 1, [0, 2], stack=stack), frozen),
        (lambda e: e.patch(seen, 1, [0, 2], stack=stack), patched),
    ):
        transformers.AttentionInterface.register("by hand", by_hand)
        wanted = run(by_hand.model, inputs)
        with edit(model) as e:
            make(e)
            found = run(model, inputs)
        assert (found - wanted).abs().max() < 1e-4
        assert (found - run(model, inputs)).abs().max() > 1e-4


@pytest.mark.parametrize("name", ["llama", "mistral"])
@pytest.mark.parametrize("implementation", ["sdpa", "heed"])
def test_a_generation_with_its_cache(name, implementation):
    ids = EVERY[name].inputs(batch=1)["input_ids"]
    settings = {"max_new_tokens": 5, "min_new_tokens": 5, "do_sample": False}
    by_hand = ByHand(name, scores=lambda z: z + 3.0 * (torch.arange(z.shape[-1]) == 8))
    model = EVERY[name].made(implementation)
    with torch.no_grad(), edit(model) as e:
        e.steer(8, by=3.0, layers=1)
        with watch(model) as seen:
            found = model.generate(ids, **settings)
        logits = model(found).logits
        weights = np.asarray(seen.attention(1).weights)
    assert (logits - run(by_hand.model, {"input_ids": found})).abs().max() < 1e-4
    assert torch.equal(logits[:, 10:-1].argmax(-1), found[:, 11:])
    with torch.no_grad():
        by_hand.model.set_attn_implementation("by hand")
        wanted = by_hand.model(found[:, :-1], output_attentions=True).attentions[1].numpy()
    assert close(weights, wanted)


def test_edits_compose(ids):
    model = DECODERS["llama"].made("sdpa")

    def change(z):
        z = changed((slice(None), 2, 5, 3), lambda part: part - 1e9)(z)
        z = changed((slice(None), 2), lambda part: part * 0.5)(z)
        return changed((slice(None), slice(None), slice(None), 1), lambda part: part + 2)(z)

    wanted = run(
        ByHand("llama", scores=change, out=changed((slice(None), 0), torch.zeros_like)).model,
        {"input_ids": ids},
    )
    with edit(model) as outer, edit(model) as inner:
        outer.remove(who=5, to=3, layers=1, heads=2)
        outer.temperature(1, 2, 0.5)
        inner.steer(1, by=2, layers=1)
        inner.ablate(1, 0)
        found = run(model, {"input_ids": ids})
    assert (found - wanted).abs().max() < 1e-4


def test_heads_that_are_not_edited_keep_their_bits(ids):
    model = DECODERS["llama"].made("sdpa")
    with watch(model) as before:
        run(model, {"input_ids": ids})
    with edit(model) as e, watch(model) as after:
        e.remove(who=5, to=3, layers=1, heads=2)
        run(model, {"input_ids": ids})
    was, now = (list(each._runs.values())[0][1][0].first.out for each in (before, after))
    changed_rows = (was != now).any(-1)
    assert changed_rows[:, 2, 5].all() and changed_rows.sum() == 2


@pytest.mark.parametrize(
    "mask",
    [heed.band(3, 0), torch.ones(11, 11, dtype=torch.bool).tril().triu(-3),
     torch.zeros(11, 11).masked_fill(torch.ones(11, 11).tril(-4) == 1, -torch.inf)],
    ids=["heed's", "bool", "float"],
)  # fmt: skip
def test_a_mask(ids, mask):
    far = torch.ones(11, 11).tril(-4) == 1
    wanted = run(
        ByHand("llama", scores=lambda z: z.masked_fill(far, -1e9)).model, {"input_ids": ids}
    )
    model = DECODERS["llama"].made("sdpa")
    with edit(model) as e:
        e.mask(mask, layers=1)
        found = run(model, {"input_ids": ids})
    assert (found - wanted).abs().max() < 1e-4


def test_gradients_go_through_an_edit(ids):
    gradients = []
    for by_hand in (True, False):
        change = changed((slice(None), 2), lambda part: part * 0.5)
        model = ByHand("llama", scores=change).model if by_hand else DECODERS["llama"].made("sdpa")
        if by_hand:
            model(ids).logits.square().mean().backward()
        else:
            with edit(model) as e:
                e.temperature(1, 2, 0.5)
                model(ids).logits.square().mean().backward()
        gradients.append(model.model.layers[0].self_attn.q_proj.weight.grad)
    torch.testing.assert_close(*gradients, atol=1e-5, rtol=1e-4)


def test_output_attentions_are_the_edited_ones(llama, ids):
    with edit(llama) as e, torch.no_grad():
        e.remove(who=7, to=[1, 2], layers=1)
        weights = llama(ids, output_attentions=True).attentions[1]
    assert (weights[:, :, 7, 1:3] == 0).all()
    assert (weights.sum(-1) - 1).abs().max() < 1e-5


class Words:
    """Token 5 is " cat", others are " w7"."""

    def convert_ids_to_tokens(self, ids):
        return ["cat" if each == 5 else f"w{each}" for each in ids]


def test_words_are_found_in_the_text(llama):
    ids = torch.tensor([[7, 5, 8, 5, 9], [5, 6, 6, 7, 8]])
    with edit(llama, Words()) as e, watch(llama) as seen:
        e.remove(who=-1, to="cat", heads=[(1, 0)])
        run(llama, {"input_ids": ids})
    weights = np.asarray(seen.attention(1).weights)[:, 0, -1]
    assert (weights[0] == 0).tolist() == [False, True, False, True, False]
    assert (weights[1] == 0).tolist() == [True, False, False, False, False]


def test_image_tokens_are_positions():
    model = WITH_IMAGES["gemma3_vl"].made("sdpa")
    inputs = WITH_IMAGES["gemma3_vl"].inputs()
    image = (inputs["input_ids"][0] == IMAGE).nonzero()[:, 0]
    with edit(model) as e, watch(model) as seen:
        e.remove(to=image, who=range(10, 24), stack="decoder")
        run(model, inputs)
    weights = np.asarray(seen.attention(1, "decoder").weights)
    assert weights[..., 10:, image].max() == 0 < weights[..., :10, image].max()


def metric(output):
    return output.logits[0, -1, 7] - output.logits[0, -1, 8]


def test_patching_sweeps_the_heads(llama, ids):
    done = []
    clean, corrupted = {"input_ids": ids[:1]}, {"input_ids": ids[1:]}

    table = rows_of(
        patching(llama, clean, corrupted, metric, progress=lambda *given: done.append(given))
    )
    assert done[-1] == (8, 8) and len(table) == 8
    assert [abs(row["effect"]) for row in table] == sorted(
        (abs(row["effect"]) for row in table), reverse=True
    )
    with torch.no_grad():
        best, worst = (float(metric(llama(**each))) for each in (clean, corrupted))
        with watch(llama) as seen:
            llama(**clean)
        with edit(llama) as e:
            e.patch(seen, 1, 2)
            found = float(metric(llama(**corrupted)))
    row = next(row for row in table if (row["layer"], row["head"]) == (1, 2))
    assert row["metric"] == pytest.approx(found, abs=1e-6)
    assert row["effect"] == pytest.approx((found - worst) / (best - worst), abs=1e-5)
    with pytest.raises(TypeError, match="patching: clean is a str, expected a dict"):
        patching(llama, "a text", corrupted, metric)


def test_patching_refuses_texts_of_unequal_length_before_the_sweep(llama, ids):
    long, short = {"input_ids": ids[:1]}, {"input_ids": ids[1:, :-3]}
    done = []

    def metric(output):
        done.append(output)
        return output.logits[0, -1, 7] - output.logits[0, -1, 8]

    with pytest.raises(ValueError, match="^patching: clean has 11 tokens and corrupted has 8, expected equally many"):
        patching(llama, long, short, metric)
    with pytest.raises(ValueError, match="clean has 8 tokens and corrupted has 11"):
        patching(llama, short, long, metric)
    other = {"input_ids": ids[1:], "attention_mask": torch.ones(1, 9)}
    with pytest.raises(ValueError, match=r"attention_mask of \[1, 11\] and corrupted of \[1, 9\], expected equal shapes"):
        patching(llama, long | {"attention_mask": torch.ones(1, 11)}, other, metric)
    assert not done
    assert len(patching(llama, long, short, metric, edges=[(-1, 2)])) == 1


def test_an_edit_after_its_with_is_refused(llama, ids):
    with edit(llama) as e:
        pass
    with pytest.raises(ValueError, match="ablate: the `with` of these edits has ended"):
        e.ablate(1)


def test_patching_says_what_is_wrong_with_a_metric_or_a_word(llama, ids):
    clean, corrupted = {"input_ids": ids[:1]}, {"input_ids": ids[1:]}

    with pytest.raises(TypeError, match=r"metric is a Tensor of \[99\], expected a function that"):
        patching(llama, clean, corrupted, lambda output: output.logits[0, -1])
    with pytest.raises(ValueError, match="patching: metric is nan for clean, expected a finite"):
        patching(llama, clean, corrupted, lambda output: float("nan"))
    with pytest.raises(ValueError, match="patching: who is 'cat', expected positions, or tokenizer="):
        patching(llama, clean, corrupted, metric, who="cat")
    with pytest.raises(ValueError, match="patching: edges is 'cat', expected positions, or token"):
        patching(llama, clean, None, metric, edges=[(-1, ["cat"])])


def test_patching_at_some_positions(llama, ids):
    clean, corrupted = {"input_ids": ids[:1]}, {"input_ids": ids[1:]}

    (row,) = rows_of(patching(llama, clean, corrupted, metric, heads=[(1, 2)], who=[-1, 4]))
    with torch.no_grad():
        with watch(llama) as seen:
            llama(**clean)
        with edit(llama) as e:
            e.patch(seen, 1, 2, who=[-1, 4])
            found = float(metric(llama(**corrupted)))
    assert row["metric"] == pytest.approx(found, abs=1e-6)
    (everywhere,) = rows_of(patching(llama, clean, corrupted, metric, heads=[(0, 2)]))
    (one,) = rows_of(patching(llama, clean, corrupted, metric, heads=[(0, 2)], who=3))
    assert one["metric"] != everywhere["metric"]
    with pytest.raises(ValueError, match="patching: who is given beside edges"):
        patching(llama, clean, None, metric, edges=[(-1, 2)], who=3)


def test_two_bare_numbers_are_two_heads_of_every_layer(llama, ids):
    clean, corrupted = {"input_ids": ids[:1]}, {"input_ids": ids[1:]}

    found = rows_of(patching(llama, clean, corrupted, metric, heads=(2, 0)))
    assert {(row["layer"], row["head"]) for row in found} == {(0, 0), (0, 2), (1, 0), (1, 2)}
    (one,) = rows_of(patching(llama, clean, corrupted, metric, heads=[(1, 0)]))
    assert (one["layer"], one["head"]) == (1, 0)
    runs = []
    for heads in ((2, 0), [(0, 2), (0, 0), (1, 2), (1, 0)]):
        with edit(llama) as e:
            e.remove(-1, 2, heads=heads)
            runs.append(run(llama, {"input_ids": ids}))
    assert torch.equal(*runs)


def test_patching_sweeps_edges(llama, ids):
    clean, corrupted = {"input_ids": ids[:1]}, {"input_ids": ids[1:]}
    done = []

    def without(heads, who, to):
        with torch.no_grad(), edit(llama) as e:
            e.remove(who, to, heads=heads)
            return float(metric(llama(**clean)))

    with torch.no_grad():
        best, worst = (float(metric(llama(**each))) for each in (clean, corrupted))
    table = rows_of(
        patching(llama, clean, corrupted, metric, edges=[(-1, 2), (5, [1, 3])],
                 heads=[(1, 2), (0, 3)], progress=lambda *given: done.append(given))
    )  # fmt: skip
    assert done == [(at, 4) for at in range(1, 5)] and len(table) == 4
    for row in table:
        found = without([(row["layer"], row["head"])], row["who"], row["to"])
        assert row["metric"] == pytest.approx(found, abs=1e-6)
        assert row["effect"] == pytest.approx((found - best) / (worst - best), abs=1e-5)
    (row,) = rows_of(patching(llama, clean, None, metric, edges=[(-1, 2)], layers=[1]))
    assert "head" not in row and row["metric"] == pytest.approx(without([(1, h) for h in range(4)], -1, 2))
    assert row["effect"] == pytest.approx(row["metric"] - best, abs=1e-6)
    length = ids.shape[1]
    every = rows_of(patching(llama, clean, None, metric, edges="all", heads=[(1, 0)]))
    assert len(every) == length * (length + 1) // 2  # causal


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        (dict(edges="every"), ValueError, "edges is 'every', expected \"all\", or pairs"),
        (dict(edges="all"), ValueError, "heads is None, expected the heads whose edges"),
        (dict(edges=[]), ValueError, "edges is empty"),
        (dict(edges=5), ValueError, "edges is an int"),
        (dict(edges=["it"]), TypeError, r"edges\[0\] is 'it', expected a pair \(who, to\)"),
        (dict(edges=[(1, 0)], heads=[(7, 0)]), IndexError, r"heads is \(7, 0\), expected"),
        (dict(edges="all", heads=[0], at_most=9), ValueError, "runs of the model, expected at most 9"),
        (dict(edges=[(1, 40)]), IndexError, "to is 40"),
    ],
)
def test_edges_that_are_refused(llama, ids, given, error, message):
    clean = {"input_ids": ids[:1]}
    with pytest.raises(error, match=message):
        patching(llama, clean, None, lambda output: output.logits[0, -1, 7], **given)


# --- what cannot apply


@pytest.mark.parametrize(
    "make, kind, line",
    [
        (lambda e: e.ablate(2, 0), LookupError, "ablate: layer is 2, expected one of 0, 1"),
        (lambda e: e.ablate(1, 4), LookupError, "ablate: heads is 4, expected 0 to 3"),
        (lambda e: e.remove(to="dog"), LookupError, "remove: to is 'dog', expected a word of the text"),
        (lambda e: e.remove(to=11), LookupError, "remove: to is 11, expected -11 to 10"),
        (lambda e: e.steer([], by=1), ValueError, "steer: to is empty"),
        (lambda e: e.temperature(1, 0, float("nan")), ValueError, "temperature: factor is nan"),
        (lambda e: e.freeze(None), TypeError, "freeze: seen is a NoneType"),
        (lambda e: e.ablate(0, 0, stack="cross"), LookupError, 'ablate: stack is "cross"'),
        (lambda e: e.mask(torch.ones(3, 3, dtype=torch.bool)), ValueError, "mask: mask is 3 x 3"),
        (lambda e: e.remove(), ValueError, "^remove: who and to are not given, expected one of them; ablate"),
        (lambda e: e.remove(heads=[(1, 0)]), ValueError, "^remove: who and to are not given"),
        (lambda e: e.remove(who=2, to=7), ValueError, "never applied, since no query in who sees a key in to"),
    ],
)  # fmt: skip
def test_what_cannot_apply_is_said(llama, ids, make, kind, line):
    with pytest.raises(kind, match=line):
        with edit(llama, Words()) as e:
            make(e)
            run(llama, {"input_ids": ids})
    assert not llama._forward_pre_hooks


def test_an_edit_without_a_pass_is_said(llama):
    with pytest.raises(
        ValueError, match=r"ablate\(.*\) is never applied, since the model did not run"
    ):
        with edit(llama) as e:
            e.ablate(0)


def test_a_stack_is_named():
    model = ALL["bart"].made()
    with pytest.raises(LookupError, match='stack is None, expected one of "encoder", "decoder"'):
        with edit(model) as e:
            e.ablate(0)


def test_a_copy_of_a_model_has_no_edits(llama, ids):
    plain = run(llama, {"input_ids": ids})
    with edit(llama) as e:
        e.ablate(0)
        twin = copy.deepcopy(llama)
        assert torch.equal(run(twin, {"input_ids": ids}), plain)
        run(llama, {"input_ids": ids})
    assert torch.equal(run(twin, {"input_ids": ids}), plain)


def test_freezing_some_queries_leaves_the_others_to_other_edits(llama, ids):
    other = watch_pass(llama, ids.flip(1))
    plain = watch_pass(llama, ids)
    with torch.no_grad(), edit(llama) as e, watch(llama) as seen:
        e.freeze(other, 1, [0, 1], who=3)
        e.steer(2, by=1.0, who=5, layers=1)
        llama(ids)
    own, theirs = (np.asarray(each.attention(1).weights)[:, 0] for each in (plain, other))
    found = np.asarray(seen.attention(1).weights)[:, 0]
    assert close(found[:, 3], theirs[:, 3])
    assert close(found[:, [0, 1, 2, 4, 6]], own[:, [0, 1, 2, 4, 6]])
    steered = own[:, 5] * np.where(np.arange(own.shape[-1]) == 2, np.e, 1)
    assert close(found[:, 5], steered / steered.sum(-1, keepdims=True))


def test_the_page_of_an_edited_layer_is_saved(llama, ids):
    with torch.no_grad(), edit(llama) as e, watch(llama) as seen:
        e.remove(who=-1, to=[1, 2], layers=1)
        llama(ids)
    try:
        assert "heed-snapshot" in seen.look().to_html()
    except heed.errors.Unsupported as error:
        pytest.skip(f"skipped: {error}")
