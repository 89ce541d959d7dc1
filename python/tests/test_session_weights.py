"""Sessions of weights computed elsewhere, and the calls of BertViz and CircuitsVis."""

from __future__ import annotations

import base64
import pickle

import numpy as np
import pytest
from conftest import peer, snapshot, softmax

import heed

WORDS = " The cat sat on the mat".split(" ")[1:]


def weights_of(rng, shape, causal=False):
    scores = rng.normal(size=shape) * 2
    if causal:
        scores = np.where(np.tril(np.ones(shape[-2:], bool)), scores, -np.inf)
    return softmax(scores).astype(np.float32)


def hide(weights, head, query, key):
    """Takes one weight away; the row still sums to 1."""
    row = weights[0, head, query]
    row[key] = 0
    row /= row.sum()


@pytest.fixture
def layers(rng):
    return [weights_of(rng, (1, 2, 6, 6), causal=True) for _ in range(3)]


def test_weights_are_what_was_given(layers):
    session = heed.Session.from_weights(layers, WORDS)
    np.testing.assert_allclose(np.asarray(session.weights), np.concatenate(layers), rtol=2e-6)
    assert session.stack().causal and session.model_name == "weights"
    assert [token.text for token in session.tokens] == WORDS
    row = session.row("on", 1, 1)
    assert [key.weight for key in row.attends] == pytest.approx(
        sorted(layers[1][0, 1, 3], reverse=True)[:3], rel=1e-5
    )
    assert np.isneginf(session.scores[0, 0, 2, 4])
    np.testing.assert_allclose(session.scores[0, 0, 5], np.log(layers[0][0, 0, 5]), rtol=1e-6)


def test_small_weights_keep_their_digits(rng):
    weights = np.exp(rng.uniform(-23, 0, size=(1, 1, 64, 64))).astype(np.float32)
    weights /= weights.sum(-1, keepdims=True)
    session = heed.Session.from_weights([weights])
    np.testing.assert_allclose(session.weights[0], weights[0], rtol=2e-6)


def test_weights_of_0_are_hidden_wherever_they_are(layers):
    hide(layers[1], 1, 4, 2)
    session = heed.Session.from_weights(layers)
    assert np.isneginf(session.scores[1, 1, 4, 2]) and np.isfinite(session.scores[1, 0, 4, 2])
    assert 2 not in [key.index for key in session.row(4, 1, 1, top=None).attends]


def test_a_layer_without_attention_keeps_its_number(layers, page):
    session = heed.Session.from_weights([None, layers[0], None, layers[1]])
    assert session.weights.shape == (4, 2, 6, 6)
    assert not session.weights[0].any() and not session.weights[2].any()
    assert session.stack().layer_numbers == [1, 3]
    with pytest.raises(LookupError, match="layer is 2, expected 1, 3: the layers of weights that"):
        session.row(4, 2, 0)
    assert pickle.loads(pickle.dumps(session)).stack().layer_numbers == [1, 3]
    np.testing.assert_allclose(session.weights[3], layers[1][0], rtol=2e-6)
    assert sorted(set(session.heads()["layer"])) == [1, 3] and "snapshot" in session.to_html()


def test_types_and_forms_of_weights(rng, layers):
    wanted = np.concatenate(layers)
    for given, close in (
        (wanted, None),
        (np.stack(layers), 2e-6),
        ([each[0] for each in layers], 2e-6),
        ([each.astype(np.float16) for each in layers], 1e-3),
        ([each.astype(np.float64) for each in layers], 2e-6),
    ):
        if close is None:
            with pytest.raises(ValueError, match=r"weights\[0\].shape is \[3, 2, 6, 6\]"):
                heed.Session.from_weights(given)
        else:
            found = np.asarray(heed.Session.from_weights(given).weights)
            np.testing.assert_allclose(found, wanted, rtol=close, atol=1e-7)
    batch = weights_of(rng, (3, 2, 4, 5))
    session = heed.Session.from_weights([batch], sequence=1, stack="cross")
    np.testing.assert_allclose(session.weights[0], batch[1], rtol=2e-6)
    assert session.weights.shape == (1, 2, 4, 5)


def test_tensors_of_pytorch(layers):
    torch = peer("torch")
    tensors = tuple(torch.tensor(each, requires_grad=True) for each in layers)
    found = np.asarray(heed.Session.from_weights(tensors).weights)
    np.testing.assert_allclose(found, np.concatenate(layers), rtol=2e-6)
    half = [each.detach().bfloat16() for each in tensors]
    found = np.asarray(heed.Session.from_weights(half).weights)
    np.testing.assert_allclose(found, np.concatenate(layers), rtol=1e-2, atol=1e-7)


BAD = {
    "a score": (-0.5, r"weights\[1\] is -0.5 at head 1, query 4, key 2, expected 0 to 1"),
    "too large": (1.5, r"weights\[1\] is 1.5 at head 1"),
    "no number": (np.nan, r"weights\[1\] is nan at head 1"),
}


@pytest.mark.parametrize("name", BAD)
def test_numbers_that_are_no_weights(name, layers):
    value, text = BAD[name]
    layers[1][0, 1, 4, 2] = value
    with pytest.raises(ValueError, match=text):
        heed.Session.from_weights(layers)


def test_layers_that_do_not_fit(rng, layers):
    with pytest.raises(ValueError, match=r"weights\[3\].shape is \[2, 5, 5\], expected \[2, 6,"):
        heed.Session.from_weights([*layers, weights_of(rng, (1, 2, 5, 5))])
    with pytest.raises(ValueError, match="tokens is a list of 2, expected none, or 6"):
        heed.Session.from_weights(layers, ["a", "b"])
    with pytest.raises(ValueError, match="without a layer of weights"):
        heed.Session.from_weights([None, None])
    with pytest.raises(TypeError, match=r"weights\[0\] is a str"):
        heed.Session.from_weights(["text"])
    with pytest.raises(LookupError, match="sequence is 3, expected 0 to 0"):
        heed.Session.from_weights(layers, sequence=3)


def test_rows_that_do_not_sum_to_1_are_kept_and_told(layers):
    layers[1] *= 0.5
    with pytest.warns(UserWarning, match=r"rows of weights\[1\] sum to 0.5 to 0.5 and not to 1"):
        session = heed.Session.from_weights(layers)
    np.testing.assert_allclose(session.weights[1], layers[1][0], rtol=2e-6)


def test_arrays_that_are_weights_are_told(layers):
    with pytest.warns(UserWarning, match="heed.Session.from_weights takes weights"):
        heed.Session.from_arrays(layers[0], layers[0])
    with pytest.warns(UserWarning, match="from_weights"):
        heed.Session.from_arrays(layers, layers)


def test_what_needs_q_and_k_says_so(layers):
    session = heed.Session.from_weights(layers)
    scores = session.heads()
    assert not {"value_weighted", "value_sink"} & set(scores.columns)
    assert np.isfinite(np.asarray(scores["entropy"])).all()
    with pytest.raises(heed.errors.Unsupported, match="next: the session holds attention alone"):
        session.next()


def test_an_encoder_decoder(rng, page):
    weights = {
        "encoder": [weights_of(rng, (1, 2, 5, 5))],
        "decoder": [weights_of(rng, (1, 2, 3, 3), causal=True)],
        "cross": [weights_of(rng, (1, 2, 3, 5))],
    }
    for kept in (weights, {name: weights[name] for name in ("encoder", "decoder")}):
        session = heed.Session.from_weights(kept, list("xyz"), key_tokens=list("abcde"))
        for name, layers in kept.items():
            found = session.stack(name)
            np.testing.assert_allclose(found.weights[0], layers[0][0], rtol=2e-6)
        assert [str(each) for each in session.stack("encoder").query_tokens] == list("abcde")
        assert "snapshot" in session.to_html()


# --- as a file ------------------------------------------------------------------------------------


def listed(weights, queries):
    """Weights of a head as the page reads them; NaN where hidden."""

    def of(name, kind):
        return np.frombuffer(base64.b64decode(weights[name]), kind)

    counts, begins, ends = (of(name, "<u2").astype(int) for name in ("counts", "begins", "ends"))
    keys, codes, rests = of("keys", "<u2"), of("codes", "<u2"), of("rests", "<f4")
    values = np.where(codes > 0, 2.0 ** (24 * (codes / 65535 - 1)), 0)
    found = np.full((queries, queries), np.nan)
    at = 0
    for row in range(queries):
        if ends[row]:
            mean = rests[row] / (ends[row] - begins[row] - counts[row])
            found[row, begins[row] : ends[row]] = mean
        found[row, keys[at : at + counts[row]]] = values[at : at + counts[row]]
        at += counts[row]
    return found


def test_a_file_has_every_weight_of_a_short_text(layers, page):
    hide(layers[1], 1, 4, 2)
    data = snapshot(heed.Session.from_weights(layers, WORDS).to_html())
    for layer in data["held"]:
        for head in layer["heads"]:
            wanted = layers[layer["layer"]][0, head["head"]]
            found = listed(head["weights"], 6)
            np.testing.assert_array_equal(np.isnan(found), wanted == 0)
            np.testing.assert_allclose(np.nan_to_num(found), wanted, rtol=1.4e-4)
            assert "largest" not in head["weights"]


def test_a_file_of_12_by_12_heads_of_256_tokens_is_below_4_megabytes(rng, page):
    layers = [weights_of(rng, (1, 12, 256, 256)) for _ in range(12)]
    html = heed.Session.from_weights(layers).to_html(3, 5)
    assert len(html.encode()) < 4_000_000
    held = {layer["layer"]: layer["heads"] for layer in snapshot(html)["held"]}
    assert [len(held[layer]) for layer in range(12)] == [12] * 12
    pinned = listed(held[3][5]["weights"], 256)
    np.testing.assert_allclose(pinned, layers[3][0, 5], rtol=1.4e-4)
    other, wanted = listed(held[7][2]["weights"], 256), layers[7][0, 2]
    most = held[7][2]["weights"]["largest"]
    assert most >= 8
    np.testing.assert_allclose(other.sum(-1), 1, rtol=1e-4)
    largest = np.argsort(-wanted, axis=-1)[:, :most]
    np.testing.assert_allclose(
        np.take_along_axis(other, largest, -1), np.take_along_axis(wanted, largest, -1), rtol=1.4e-4
    )


def test_a_session_with_a_bias_is_saved_by_its_weights(rng, page):
    q, k, v = (rng.normal(size=(1, 2, 6, 8)).astype(np.float32) for _ in range(3))
    bias = rng.normal(size=(1, 2, 6, 6)).astype(np.float32)
    gaps = np.tril(np.ones((6, 6), bool))
    gaps[5, 2] = False
    for settings in (dict(bias=bias), dict(softcap=2.0), dict(mask=heed.keep(gaps))):
        session = heed.Session.from_arrays(q, k, v, **settings)
        head = snapshot(session.to_html())["held"][0]["heads"][1]
        found = np.nan_to_num(listed(head["weights"], 6))
        np.testing.assert_allclose(found, session.weights[0, 1], rtol=1.4e-4, atol=1e-7)
        assert "<iframe" in session._repr_html_()


def test_a_file_refuses_the_side_that_it_cannot_have(layers, page):
    session = heed.Session.from_weights(layers)
    for versus in ("ablate:self.L0.H1", "text:other"):
        with pytest.raises(heed.errors.Unsupported, match="vs is .*expected a head, or edits"):
            session.to_html(view=f"look/L1.H0/vs={versus}")
    assert "snapshot" in session.to_html(view="look/L1.H0/vs=L0.H1")


def test_flow_and_heads_are_in_a_file_that_is_saved_there(layers, page):
    session = heed.Session.from_weights(layers, WORDS)
    flow = snapshot(session.to_html(view="flow/L0.H0/i=5"))
    assert [each["question"] for each in flow["answers"]] == ["self/flow?position=5&by=rollout"]
    heads = snapshot(session.to_html(view="heads/L0.H0"))
    assert any("similar" in each["question"] for each in heads["answers"])


# --- in a notebook --------------------------------------------------------------------------------


def test_a_notebook_that_is_not_trusted_shows_the_table_and_says_why(layers, page):
    session = heed.Session.from_weights(layers, WORDS)
    html = session._repr_html_()
    assert "<details open" in html and "jupyter trust" in html and "Who attends to whom" in html


def test_what_a_file_cannot_hold_is_shown_as_a_table(rng, page):
    q = rng.normal(size=(1, 1, 4, 8)).astype(np.float32)
    q[0, 0, 2] = np.nan
    session = heed.Session.from_arrays(q, q, softcap=3.0)
    assert "<iframe" not in session._repr_html_() and "<pre>" in session._repr_html_()
    assert session._repr_mimebundle_()["text/html"]


# --- BertViz and CircuitsVis ----------------------------------------------------------------------


def test_head_view_takes_the_arguments_of_bertviz(layers, capsys, page):
    tokens = ["[CLS]", "the", "cat", "##s", "sat", "[SEP]"]
    assert heed.head_view(layers, tokens, 3, layer=1, heads=[0, 1]) is None
    assert "Who attends to whom  L1.H0;" in capsys.readouterr().out
    shown = heed.head_view(layers, tokens, 3, layer=1, heads=[1], html_action="return")
    data = snapshot(shown.data)
    assert data["view"] == "look/L1.H1" and data["session"]["split"] == 3
    assert [each["text"] for each in data["session"]["tokens"]][2:4] == [" cat", "s"]
    plain = heed.head_view(layers, tokens, prettify_tokens=False, html_action="return")
    assert [str(each) for each in plain.session.tokens] == tokens
    some = heed.head_view(layers, tokens, include_layers=[1], html_action="return").session
    assert not some.weights[0].any() and some.weights[1].any()
    everything = heed.head_view(layers, tokens, layer=2, html_action="return")
    assert snapshot(everything.data)["view"] == "look/L2.H0+H1"


def test_model_view_is_the_grid(layers, page):
    shown = heed.model_view(tuple(layers), WORDS, include_heads=[1], html_action="return")
    assert snapshot(shown.data)["view"].startswith("grid/")
    assert not shown.session.weights[:, 0].any() and shown.session.weights[:, 1].any()


def test_an_encoder_decoder_as_bertviz_has_it(rng, page):
    shown = heed.head_view(
        encoder_attention=[weights_of(rng, (1, 2, 5, 5))],
        decoder_attention=[weights_of(rng, (1, 2, 3, 3), causal=True)],
        cross_attention=[weights_of(rng, (1, 2, 3, 5))],
        encoder_tokens=list("abcde"), decoder_tokens=list("xyz"), html_action="return",
    )  # fmt: skip
    assert list(shown.session.stacks) == ["encoder", "decoder", "cross"]
    alone = heed.head_view(
        encoder_attention=[weights_of(rng, (1, 2, 5, 5))], encoder_tokens=list("abcde"),
        html_action="return",
    )  # fmt: skip
    assert [str(each) for each in alone.session.tokens] == [f" {each}" for each in "abcde"]


WRONG = {
    "nothing": (dict(attention=None), "attention is None, expected weights"),
    "no tokens": (dict(tokens=None), "tokens is None, expected a list"),
    "both": (dict(cross_attention=[1]), "attention is given beside"),
    "other tokens": (dict(encoder_tokens=["a"]), "encoder_tokens is given, expected none"),
    "layer": (dict(layer=7), "layer is 7, expected 0 to 2"),
    "heads": (dict(heads=[2]), "heads is 2, expected 0 to 1"),
    "included": (dict(include_layers=[3]), "include_layers is 3, expected 0 to 2"),
    "action": (dict(html_action="show"), "html_action is 'show'"),
    "split": (dict(sentence_b_start=9), "split is 9, expected 1 to 5"),
    "one array": (dict(attention=np.ones((1, 2, 6, 6))), "expected a list or a tuple"),
}


@pytest.mark.parametrize("name", WRONG)
def test_arguments_of_head_view_that_do_not_fit(name, layers):
    changed, text = WRONG[name]
    with pytest.raises((ValueError, TypeError, LookupError), match=text):
        heed.head_view(**{"attention": layers, "tokens": WORDS, **changed})


def test_attention_patterns_is_a_session(layers):
    session = heed.attention_patterns(WORDS, layers[0][0])
    np.testing.assert_allclose(session.weights[0], layers[0][0], rtol=2e-6)


def test_colored_tokens():
    shown = heed.colored_tokens(["a<b", " c", "d"], [0.5, -2, 0])
    assert 'title="0.5"' in str(shown) and "a&lt;b" in str(shown)
    assert "230, 120, 20, 0.750" in str(shown) and "40, 110, 220, 0.750" in str(shown)
    assert repr(shown) == "'a<b' 0.5 ' c' -2 'd' 0"
    assert shown._repr_html_() == str(shown)
    with pytest.raises(ValueError, match=r"values.shape is \[1\], expected \[2\]"):
        heed.colored_tokens(["a", "b"], [1])
    with pytest.raises(ValueError, match="min_value is 3.0, expected at most 1.0"):
        heed.colored_tokens(["a"], [1], min_value=3, max_value=1)


def test_tokens_may_be_numbers_of_an_array():
    weights = np.full((1, 2, 3, 3), 1 / 3, np.float32)
    torch = peer("torch")
    for ids in (np.arange(3) + 5, torch.arange(3) + 5):
        session = heed.Session.from_weights([weights], tokens=ids)
        assert [token.text for token in session.tokens] == ["5", "6", "7"]


def test_weights_have_no_images_to_plot():
    session = heed.Session.from_weights([np.full((1, 2, 3, 3), 1 / 3)], tokens=[" a", " b", " c"])
    with pytest.raises(LookupError, match="plot_image_map: no key .*, expected a session with im"):
        session.plot_image_map("a")
