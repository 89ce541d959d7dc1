"""Edits of models that heed runs, beside plain formulas and the same edits of transformers."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import SENTENCE, peer, rows_of, softmax

import heed
from heed import edits

LAYER, HEADS = 2, [1, 3]


@pytest.fixture(scope="module")
def plain(tales):
    return tales.look(SENTENCE, logits=True)


# --- what each does to the weights of its layer, whose q and k it leaves as they are -------------


def only(query, key):
    hidden = np.zeros((12, 12), bool)
    hidden[np.ix_(query, key)] = True
    return hidden


KINDS = {
    "remove": (
        lambda: edits.remove(who=[8, -1], to=[2, 3], layers=LAYER, heads=HEADS),
        lambda z: np.where(only([8, 11], [2, 3]), -np.inf, z),
    ),
    "temperature": (lambda: edits.temperature(LAYER, HEADS, 1.7), lambda z: 1.7 * z),
    "steer": (
        lambda: edits.steer([0, 2], by=1.5, heads=[(LAYER, 1), (LAYER, 3)]),
        lambda z: z + 1.5 * only(range(12), [0, 2]),
    ),
    "steer some": (
        lambda: edits.steer(["cat"], by=2.0, who="it", heads=[(LAYER, 1), (LAYER, 3)]),
        lambda z: z + 2.0 * only([8], [2]),
    ),
    "mask": (
        lambda: edits.mask(heed.band(2, 0), LAYER, HEADS),
        lambda z: np.where(np.tri(12) - np.tri(12, k=-3) > 0, z, -np.inf),
    ),
    "mask of an array": (
        lambda: edits.mask(np.tri(12, k=-1, dtype=bool), LAYER, HEADS),
        lambda z: np.where(np.tri(12, k=-1) > 0, z, -np.inf),
    ),
}


@pytest.mark.parametrize("kind", KINDS)
def test_weights_are_those_of_the_formula(tales, plain, kind):
    make, change = KINDS[kind]
    edited = tales.look(SENTENCE, edits=[make()], logits=True)
    scores = np.asarray(plain.scores[LAYER], np.float64)
    wanted = np.asarray(plain.weights[LAYER], np.float64)
    wanted[HEADS] = softmax(change(scores[HEADS]))
    np.testing.assert_allclose(edited.weights[LAYER], wanted, atol=1e-6)
    np.testing.assert_array_equal(edited.weights[:LAYER], plain.weights[:LAYER])
    assert abs(edited.weights[LAYER + 1 :] - plain.weights[LAYER + 1 :]).max() > 1e-4
    assert abs(edited.logits - plain.logits).max() > 1e-3
    assert [token.text for token in edited.tokens] == [token.text for token in plain.tokens]


def test_an_ablated_head_keeps_its_weights_and_changes_the_next_word(tales, plain):
    edited = tales.look(SENTENCE, edits=edits.ablate(LAYER, HEADS), logits=True)
    np.testing.assert_array_equal(edited.weights[LAYER], plain.weights[LAYER])
    assert abs(edited.logits - plain.logits).max() > 1e-3
    assert edited.next(1)[0].probability != plain.next(1)[0].probability


# --- one after another ----------------------------------------------------------------------------


def weights_with(session, *given):
    return np.asarray(session.edited(list(given)).weights[LAYER, 1], np.float64)


def test_edits_follow_each_other(plain):
    steer = edits.steer([0], by=1.5, heads=[(LAYER, 1)])
    warm = edits.temperature(LAYER, 1, 0.5)
    scores = np.asarray(plain.scores[LAYER, 1], np.float64)
    added = 1.5 * only(range(12), [0])
    for order, wanted in [
        ((steer, warm), 0.5 * (scores + added)),
        ((warm, steer), 0.5 * scores + added),
        ((steer, warm, steer), 0.5 * (scores + added) + added),
        ((warm, warm), 0.25 * scores),
    ]:
        np.testing.assert_allclose(weights_with(plain, *order), softmax(wanted), atol=1e-6)
    twice = plain.edited(steer).edited(warm)
    np.testing.assert_allclose(twice.weights[LAYER, 1], softmax(0.5 * (scores + added)), atol=1e-6)


@pytest.fixture(scope="module")
def other(tales):
    return tales.look(SENTENCE.replace("cat", "dog").replace("mat", "bed"), logits=True)


def test_a_frozen_head_has_the_weights_of_the_other_run(plain, other):
    edited = plain.edited(edits.freeze(other, LAYER, HEADS))
    np.testing.assert_allclose(edited.weights[LAYER, HEADS], other.weights[LAYER, HEADS], atol=1e-6)
    np.testing.assert_array_equal(edited.weights[LAYER, 0], plain.weights[LAYER, 0])
    # A freeze forgets earlier changes of the scores. Later ones count.
    frozen = edits.freeze(other, LAYER, 1)
    removed = edits.remove(who=8, to=2, heads=[(LAYER, 1)])
    theirs = np.asarray(other.weights[LAYER, 1], np.float64)
    np.testing.assert_allclose(weights_with(plain, removed, frozen), theirs, atol=1e-6)
    theirs[8, 2] = 0
    theirs[8] /= theirs[8].sum()
    np.testing.assert_allclose(weights_with(plain, frozen, removed), theirs, atol=1e-6)


def test_runs_that_keep_float16_or_some_layers_can_be_edited_from(tales, plain, other):
    text = SENTENCE.replace("cat", "dog").replace("mat", "bed")
    narrow = tales.look(text, keep="float16", keep_layers=[LAYER], logits=True)
    for edit in (edits.freeze, edits.patch):
        exact, rounded = (plain.edited(edit(run, LAYER, HEADS)).logits for run in (other, narrow))
        np.testing.assert_allclose(rounded, exact, atol=0.05)
        assert abs(exact - plain.logits).max() > 0.05
    with pytest.raises(LookupError, match="layer is 3, expected 2: the layers that were kept"):
        plain.edited(edits.patch(narrow, 3, HEADS))


def test_every_head_patched_and_frozen_gives_the_other_run(tales, plain, other):
    """The last layer's heads of another run, where the words that differ are not looked at."""
    edited = plain.edited(edits.patch(other, list(range(6))))
    both = plain.edited([edits.patch(other, layer) for layer in range(6)])
    np.testing.assert_array_equal(edited.logits, both.logits)
    same = plain.edited(edits.patch(plain, list(range(6))))
    np.testing.assert_array_equal(same.logits, plain.logits)
    same = plain.edited(edits.freeze(plain))
    np.testing.assert_array_equal(same.logits, plain.logits)
    assert abs(edited.logits - plain.logits).max() > 1e-3


def test_a_patch_of_an_ablated_run_is_an_ablation(plain):
    ablated = plain.edited(edits.ablate(LAYER, HEADS))
    patched = plain.edited(edits.patch(ablated, LAYER, HEADS))
    np.testing.assert_array_equal(patched.logits, ablated.logits)
    again = plain.edited([edits.patch(plain, LAYER, HEADS), edits.ablate(LAYER, HEADS)])
    np.testing.assert_array_equal(again.logits, ablated.logits)
    back = plain.edited([edits.ablate(LAYER, HEADS), edits.patch(plain, LAYER, HEADS)])
    np.testing.assert_array_equal(back.logits, plain.logits)


def test_a_patch_may_be_of_some_queries(plain, other):
    edited = plain.edited(edits.patch(other, LAYER, who=[5, "it"]))
    untouched = np.asarray(plain.logits)[:5]
    np.testing.assert_array_equal(np.asarray(edited.logits)[:5], untouched)
    assert abs(edited.logits[5] - plain.logits[5]).max() > 1e-4


# --- patching -------------------------------------------------------------------------------------


def test_patching_sweeps_every_head(tales, plain, other):
    he, she = (tales.tokenizer.encode(word, special=False).ids[0] for word in (" he", " she"))
    seen = []

    def metric(session):
        return session.logits[-1, he] - session.logits[-1, she]

    table = heed.patching(tales, SENTENCE, other, metric, layers=[1, 2],
                          progress=lambda done, of: seen.append((done, of)))  # fmt: skip
    assert len(table) == 12 and seen[-1] == (12, 12)
    rows = rows_of(table)
    assert sorted(rows, key=lambda row: -abs(row["effect"])) == rows
    ends = metric(other), metric(plain)
    first = rows[0]
    one = other.edited(edits.patch(plain, first["layer"], first["head"]))
    assert first["metric"] == pytest.approx(metric(one))
    assert first["effect"] == pytest.approx((metric(one) - ends[0]) / (ends[1] - ends[0]))
    with pytest.raises(ValueError, match="metric is 1 for clean and corrupted"):
        heed.patching(tales, plain, other, lambda session: 1.0)
    with pytest.raises(TypeError, match="clean is an int"):
        heed.patching(tales, 3, other, metric)
    with pytest.raises(TypeError, match="tokenizer"):
        heed.patching(tales, plain, other, metric, tokenizer=None)
    with pytest.raises(IndexError, match="layers is 6, expected 0 to 5"):
        heed.patching(tales, plain, other, metric, layers=[6])


def test_patching_refuses_texts_of_unequal_length_before_the_sweep(tales, plain, other):
    def metric(session):
        raise AssertionError("no run is needed to see it")

    for short in ("The cat sat.", tales.look("The cat sat.")):
        said = "^patching: clean has 5 tokens and corrupted has 12, expected equally many"
        with pytest.raises(ValueError, match=said):
            heed.patching(tales, short, other, metric)
        with pytest.raises(ValueError, match="clean has 12 tokens and corrupted has 5"):
            heed.patching(tales, plain, short, metric)
    table = heed.patching(tales, plain, "The cat sat.", lambda session: session.logits[-1, 5],
                          edges=[("it", "cat")])  # fmt: skip
    assert len(table) == 1


def test_patching_at_some_positions(tales, plain, other):
    def metric(session):
        return session.logits[-1, 5]

    (row,) = rows_of(heed.patching(tales, plain, other, metric, heads=[(2, 0)], who=["it", -1]))
    one = other.edited(edits.patch(plain, 2, 0, who=["it", -1]))
    assert row["metric"] == pytest.approx(metric(one))
    assert metric(one) != metric(other.edited(edits.patch(plain, 2, 0)))
    with pytest.raises(ValueError, match="patching: who is given beside edges"):
        heed.patching(tales, plain, None, metric, edges=[("it", "cat")], who="it")


def test_two_bare_numbers_are_two_heads_of_every_layer(tales, plain, other):
    found = heed.patching(tales, plain, other, lambda run: run.logits[-1, 5], heads=(2, 0))
    wanted = {(layer, head) for layer in range(6) for head in (0, 2)}
    assert {(row["layer"], row["head"]) for row in rows_of(found)} == wanted
    one = plain.edited(edits.remove("it", "cat", heads=(2, 0)))
    other = plain.edited(edits.remove("it", "cat", heads=sorted(wanted)))
    np.testing.assert_array_equal(one.logits, other.logits)


def test_patching_sweeps_edges(tales, plain, other):
    (he,) = tales.tokenizer.encode(" he", special=False).ids

    def metric(session):
        return session.logits[-1, he]

    places = [(2, 0), (3, 1)]
    table = heed.patching(tales, plain, other, metric, edges=[("it", "cat"), (8, 2)], heads=places)
    best, worst = metric(plain), metric(other)
    assert len(table) == 4
    for row in rows_of(table):
        one = plain.edited(edits.remove(row["who"], row["to"], heads=[(row["layer"], row["head"])]))
        assert row["metric"] == pytest.approx(metric(one))
        assert row["effect"] == pytest.approx((metric(one) - best) / (worst - best))
    (row,) = rows_of(heed.patching(tales, plain, None, metric, edges=[("it", "cat")]))
    everywhere = plain.edited(edits.remove("it", "cat"))
    assert row["effect"] == pytest.approx(metric(everywhere) - best, abs=1e-6)
    with pytest.raises(LookupError, match="who is 'dragon'"):
        heed.patching(tales, plain, None, metric, edges=[("dragon", "cat")])
    with pytest.raises(ValueError, match="edges is 78 runs of the model, expected at most 50"):
        heed.patching(tales, plain, None, metric, edges="all", heads=[(2, 0)], at_most=50)


# --- bad input ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "make, kind, text",
    [
        (lambda s: edits.ablate(6), IndexError, "ablate: layer is 6, expected 0 to 5"),
        (lambda s: edits.ablate(0, [6]), IndexError, "ablate: heads is 6, expected 0 to 5"),
        (lambda s: edits.ablate(0, []), ValueError, "ablate: heads is empty"),
        (lambda s: edits.ablate(0, stack="cross"), LookupError, "ablate: stack is 'cross'"),
        (
            lambda s: edits.remove(who="dog"),
            LookupError,
            "remove: who is 'dog', expected a word of",
        ),
        (lambda s: edits.remove(), ValueError, "remove: who and to are not given, expected one of"),
        (lambda s: edits.remove(heads=[(2, 0)]), ValueError, "remove: who and to are not given"),
        (lambda s: edits.remove(who=12), IndexError, "remove: who is 12, expected -12 to 11"),
        (lambda s: edits.remove(who=2, to=5), ValueError, "remove: to is token 5, behind token 2"),
        (lambda s: edits.steer([], 1.0), ValueError, "steer: to is empty"),
        (lambda s: edits.steer("cat", np.inf), ValueError, "steer: by is inf"),
        (lambda s: edits.temperature(0, 0, "hot"), TypeError, "temperature: factor is a str"),
        (lambda s: edits.mask(3), TypeError, "mask: mask is an int"),
        (lambda s: edits.mask(np.zeros((12, 12))), NotImplementedError, "mask is floating"),
        (lambda s: edits.mask(np.ones((3, 3), bool)), ValueError, "keep"),
        (lambda s: edits.freeze("run"), TypeError, "freeze: run is a str"),
        (lambda s: edits.patch(s, 0, what="weights"), ValueError, "patch: what is 'weights'"),
        (lambda s: "ablate", TypeError, "edits is a str"),
        (lambda s: [1], TypeError, "edits is an int"),
    ],
)
def test_an_edit_that_cannot_apply_is_an_error(plain, make, kind, text):
    with pytest.raises(kind, match=text):
        plain.edited(make(plain))


def test_runs_of_other_texts_are_refused(tales, plain):
    short = tales.look("The cat sat.")
    for name in ("freeze", "patch"):
        with pytest.raises(ValueError, match="run is .* queries, .* keys, expected 12"):
            plain.edited(getattr(edits, name)(short, LAYER))
    arrays = heed.Session.from_weights(np.asarray(plain.weights[:1]))
    with pytest.raises(NotImplementedError, match="edited: a session of arrays"):
        arrays.edited(edits.ablate(0))
    steered = plain.edited(edits.steer([0], 1.0, layers=LAYER))
    with pytest.raises(NotImplementedError, match="freeze: run is edits of the scores"):
        plain.edited(edits.freeze(steered, LAYER))


# --- shown ----------------------------------------------------------------------------------------


def test_an_edited_session_is_shown_and_saved(plain, other, tmp_path):
    edited = plain.edited([
        edits.ablate(1, 0), edits.steer("cat", 1.0, heads=[(2, 1)]), edits.freeze(other, 3),
        edits.patch(other, 4, 2), edits.temperature(2, 0, 0.5), edits.remove(who="it", to="cat"),
    ])  # fmt: skip
    assert "layer" in repr(edited) or repr(edited)
    assert len(edited.heads()) == 36
    try:
        edited.save(tmp_path / "x.html")
    except heed.errors.Unsupported as error:
        pytest.skip(f"skipped: {error}")
    page = (tmp_path / "x.html").read_text()
    assert "steer=self.L2.H1/-1/2/1" in page and "ablate=self.L1.H0" in page


# --- beside transformers --------------------------------------------------------------------------


def as_folder(name, folder):
    transformers = peer("transformers")
    torch = peer("torch")
    torch.manual_seed(3)
    common = dict(vocab_size=100, bos_token_id=0, eos_token_id=0, pad_token_id=0)
    configs = {
        "gpt2": transformers.GPT2Config(n_embd=32, n_layer=2, n_head=4, **common),
        "llama": transformers.LlamaConfig(
            hidden_size=32, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
            intermediate_size=64, **common,
        ),
        "gemma2": transformers.Gemma2Config(
            hidden_size=32, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
            head_dim=8, intermediate_size=64, sliding_window=5, query_pre_attn_scalar=8, **common,
        ),
    }  # fmt: skip
    model = transformers.AutoModelForCausalLM.from_config(
        configs[name], attn_implementation="eager"
    ).eval()
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.3)
    model.save_pretrained(folder)
    return model


IDS, OTHER = list(range(3, 13)), list(range(23, 33))
BESIDE = {
    "ablate": lambda e, run: e.ablate(1, [1, 3]),
    "remove": lambda e, run: e.remove(who=[5, -1], to=[2, 3], heads=[(0, 1), (1, 2)]),
    "temperature": lambda e, run: e.temperature(1, None, 1.7),
    "steer": lambda e, run: e.steer([0, 2], by=1.5, heads=[(1, 0), (0, 3)]),
    "steer some": lambda e, run: e.steer([2], by=1.5, who=[4, 7], layers=0),
    "mask": lambda e, run: e.mask(heed.band(2, 0), 0, [0, 3]),
    "freeze": lambda e, run: e.freeze(run, 1, [0, 1]),
    "patch": lambda e, run: e.patch(run, 0, [1, 2]),
    "patch some": lambda e, run: e.patch(run, 0, 3, who=[1, 4]),
}


@pytest.mark.parametrize("name", ["gpt2", "llama", "gemma2"])
def test_logits_are_those_of_the_same_edit_of_transformers(name, tmp_path):
    torch = peer("torch")
    theirs = as_folder(name, tmp_path)
    ours = heed.load(tmp_path)
    ids, others = torch.tensor([IDS]), torch.tensor([OTHER])
    import heed.transformers as of_transformers

    with torch.no_grad(), of_transformers.watch(theirs) as seen:
        theirs(others)
    run = ours.look(ids=OTHER)
    plain = ours.look(ids=IDS, logits=True)
    for kind, make in BESIDE.items():
        with torch.no_grad(), of_transformers.edit(theirs) as e:
            make(e, seen)
            wanted = theirs(ids).logits[0].numpy()
        found = plain.edited(make(edits, run)).logits
        assert abs(found - wanted).max() < 1e-3 * abs(wanted).max(), kind
        assert abs(found - plain.logits).max() > 1e-3, kind


def test_some_heads_of_a_layer_with_a_softcap_or_shared_keys_are_refused_by_name(tmp_path):
    as_folder("gemma2", tmp_path)
    session = heed.load(tmp_path).look(ids=IDS)
    with pytest.raises(NotImplementedError, match="temperature: heads is some heads of layer 1"):
        session.edited(edits.temperature(1, 0, 0.5))
    with pytest.raises(NotImplementedError, match="freeze: heads is head 0 .* without head 1"):
        session.edited(edits.freeze(session, 1, 0))


STACKS = {
    "temperature": lambda e, run: e.temperature(1, [0, 2], 0.6, stack="decoder"),
    "steer": lambda e, run: e.steer([2], by=1.0, who=[2, 4], layers=1, stack="decoder"),
    "steer the source": lambda e, run: e.steer([0, 4], by=1.5, layers=0, stack="cross"),
    "remove": lambda e, run: e.remove(who=[2, 3], to=[1], layers=0, stack="encoder"),
    "mask": lambda e, run: e.mask(heed.band(1, 1), 1, stack="encoder"),
    "freeze": lambda e, run: e.freeze(run, 1, [1, 2], stack="decoder"),
    "patch": lambda e, run: e.patch(run, 1, [1, 2], stack="cross"),
}


def test_edits_of_an_encoder_decoder_are_those_of_transformers(tmp_path):
    torch, transformers = peer("torch"), peer("transformers")
    import heed.transformers as of_transformers

    torch.manual_seed(5)
    config = transformers.T5Config(
        d_model=32, d_kv=8, d_ff=64, num_layers=2, num_heads=4, vocab_size=100,
        decoder_start_token_id=0, attn_implementation="eager",
    )  # fmt: skip
    theirs = transformers.T5ForConditionalGeneration(config).eval()
    theirs.save_pretrained(tmp_path)
    ours = heed.load(tmp_path)

    def inputs(source, target):
        given = torch.tensor([source]), torch.tensor([[0, *target]])
        return dict(zip(("input_ids", "decoder_input_ids"), given))

    with torch.no_grad(), of_transformers.watch(theirs) as seen:
        theirs(**inputs(OTHER, OTHER[:5]))
    run = ours.look(ids=OTHER, target=OTHER[:5])
    plain = ours.look(ids=IDS, target=IDS[:5], logits=True)
    for kind, make in STACKS.items():
        with torch.no_grad(), of_transformers.edit(theirs) as e:
            make(e, seen)
            wanted = theirs(**inputs(IDS, IDS[:5])).logits[0].numpy()
        found = plain.edited(make(edits, run)).logits
        assert abs(found - wanted).max() < 1e-4 * abs(wanted).max() + 1e-5, kind
        assert abs(found - plain.logits).max() > 1e-5, kind
    with pytest.raises(LookupError, match="ablate: stack is None, expected one of 'encoder'"):
        plain.edited(edits.ablate(0))
