"""heed beside PyTorch: values, gradients, and PyTorch's meaning of every argument."""

from __future__ import annotations

import gc

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="skipped: PyTorch is not installed")

import heed  # noqa: E402
import heed.torch  # noqa: E402

theirs = torch.nn.functional.scaled_dot_product_attention
ours = heed.torch.scaled_dot_product_attention


@pytest.fixture
def tensors():
    generator = torch.Generator().manual_seed(5)
    shapes = (2, 4, 5, 8), (2, 4, 7, 8), (2, 4, 7, 6)
    return [torch.randn(s, dtype=torch.float64, generator=generator) for s in shapes]


# --- heed.attention on tensors


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.float16, torch.bfloat16])
def test_the_output_is_a_tensor_of_qs_type(tensors, dtype):
    q, k, v = (t.to(dtype) for t in tensors)
    out, seen = heed.attention(q, k, v, seen=True)
    assert isinstance(out, torch.Tensor) and out.dtype == dtype
    bound = {torch.float64: 1e-14, torch.float32: 2e-6, torch.float16: 2e-3, torch.bfloat16: 2e-2}
    torch.testing.assert_close(out, theirs(q, k, v), atol=bound[dtype], rtol=0)
    assert isinstance(seen.entropy(), torch.Tensor)
    assert isinstance(seen.weights[0, 0], torch.Tensor)
    assert seen.backward(out)[0].dtype == dtype


def test_tensors_have_the_bits_of_numpys_arrays(tensors):
    arrays = [t.numpy() for t in tensors]
    assert np.array_equal(heed.attention(*tensors).numpy(), heed.attention(*arrays))
    by_token = [t.transpose(1, 2).contiguous().transpose(1, 2) for t in tensors]
    assert torch.equal(heed.attention(*by_token), heed.attention(*tensors))


def test_a_tensor_that_requires_grad_is_named(tensors):
    q, k, v = tensors
    k.requires_grad_()
    with pytest.raises(ValueError, match="k is a tensor that requires grad") as caught:
        heed.attention(q, k, v)
    assert caught.value.argument == "k"
    assert "scaled_dot_product_attention" in caught.value.hint
    with torch.no_grad():
        assert not heed.attention(q, k, v).requires_grad


def test_a_tensor_elsewhere_is_named(tensors):
    q, k, v = tensors
    with pytest.raises(ValueError, match="v is on meta, expected an array in the host's memory"):
        heed.attention(q, k, v.to("meta"))


def test_a_sparse_tensor_is_refused(tensors):
    q, k, v = tensors
    with pytest.raises((ValueError, TypeError), match="q is a Tensor"):
        heed.attention(q.to_sparse(), k, v)


# --- the drop-in


def masks():
    generator = torch.Generator().manual_seed(6)
    may = torch.rand(2, 1, 5, 7, generator=generator) < 0.6
    may[0, 0, 2] = False  # sees nobody
    return {
        "none": {},
        "causal": {"is_causal": True},
        "boolean": {"attn_mask": may},
        "boolean of rank 2": {"attn_mask": may[1, 0]},
        "floating": {"attn_mask": torch.randn(4, 5, 7, dtype=torch.float64, generator=generator)},
        "scale": {"scale": 0.3},
    }


@pytest.mark.parametrize("name", masks())
def test_values_and_gradients_are_pytorchs(tensors, name):
    found, wanted = [], []
    for function, answers in ((ours, found), (theirs, wanted)):
        inputs = [t.clone().requires_grad_() for t in tensors]
        settings = masks()[name]
        if name == "floating":
            settings["attn_mask"].requires_grad_()
            inputs.append(settings["attn_mask"])
        out = function(*inputs[:3], **settings)
        out.square().sum().backward()
        answers += [out.detach(), *(t.grad for t in inputs)]
    for mine, other in zip(found, wanted):
        torch.testing.assert_close(mine, other.nan_to_num(0), atol=1e-12, rtol=1e-10)


def test_gradcheck(tensors):
    q, k, v = (t[:1, :2].clone().requires_grad_() for t in tensors)
    bias = torch.randn(2, 1, 7, dtype=torch.float64).requires_grad_()
    assert torch.autograd.gradcheck(ours, (q, k, v))
    assert torch.autograd.gradcheck(ours, (q, k, v, bias))
    assert torch.autograd.gradcheck(lambda *a: ours(*a, is_causal=True), (q, k, v))


def test_gradients_only_where_they_are_asked_for(tensors):
    q, k, v = tensors
    v.requires_grad_()
    ours(q, k, v).sum().backward()
    assert q.grad is None and k.grad is None and v.grad is not None
    with torch.no_grad():
        assert not ours(q, k, v).requires_grad


@pytest.mark.parametrize(
    "query, key, value",
    [
        ((5, 8), (7, 8), (7, 6)),
        ((4, 5, 8), (4, 7, 8), (4, 7, 6)),
        ((3, 2, 4, 5, 8), (3, 2, 4, 7, 8), (3, 2, 4, 7, 6)),
        ((3, 2, 4, 5, 8), (1, 2, 1, 7, 8), (3, 1, 4, 7, 6)),
        ((2, 1, 5, 8), (2, 4, 7, 8), (2, 4, 7, 6)),
        ((0, 4, 5, 8), (0, 4, 7, 8), (0, 4, 7, 6)),
    ],
    ids=str,
)
def test_any_number_of_batch_axes_that_broadcast(query, key, value):
    generator = torch.Generator().manual_seed(1)
    tensors = [
        torch.randn(s, dtype=torch.float64, generator=generator) for s in (query, key, value)
    ]
    found = ours(*tensors, is_causal=True)
    wanted = theirs(*tensors, is_causal=True)
    assert found.shape == wanted.shape
    torch.testing.assert_close(found, wanted, atol=1e-13, rtol=0)


def test_a_mask_of_rank_5(tensors):
    q, k, v = (t.unsqueeze(1).expand(-1, 3, -1, -1, -1) for t in tensors)
    mask = torch.rand(2, 1, 1, 5, 7) < 0.7
    mask[..., 0] = True
    torch.testing.assert_close(ours(q, k, v, mask), theirs(q, k, v, mask), atol=1e-13, rtol=0)


def test_grouped_heads_need_enable_gqa(tensors):
    q, k, v = tensors
    k, v = k[:, :2], v[:, :2]
    torch.testing.assert_close(
        ours(q, k, v, enable_gqa=True), theirs(q, k, v, enable_gqa=True), atol=1e-13, rtol=0
    )
    with pytest.raises(ValueError, match="key.shape\\[-3\\] is 2, expected 4"):
        ours(q, k, v)


def test_dropout_follows_pytorchs_seed(tensors):
    torch.manual_seed(3)
    first = ours(*tensors, dropout_p=0.5)
    second = ours(*tensors, dropout_p=0.5)
    torch.manual_seed(3)
    assert torch.equal(ours(*tensors, dropout_p=0.5), first)
    assert not torch.equal(first, second)
    assert (ours(*tensors, dropout_p=1.0) == 0).all()


def test_gradients_through_dropout_are_those_of_its_pattern(tensors):
    q, k, v = (t.requires_grad_() for t in tensors)

    def seeded(*inputs):
        torch.manual_seed(9)
        return ours(*inputs, dropout_p=0.3)

    assert torch.autograd.gradcheck(seeded, (q, k, v))


REFUSED = {
    "arrays of NumPy": (
        lambda q, k, v: ours(q.detach().numpy(), k.detach().numpy(), v.detach().numpy()),
        "query is a ndarray, expected a tensor of PyTorch",
    ),
    "one array": (lambda q, k, v: ours(q, k, v.tolist()), "value is a list, expected a tensor"),
    "a mask of NumPy": (
        lambda q, k, v: ours(q, k, v, np.ones((5, 7), bool)),
        "attn_mask is a ndarray, expected a tensor",
    ),
    "a mask beside is_causal": (
        lambda q, k, v: ours(q, k, v, torch.ones(5, 7, dtype=torch.bool), is_causal=True),
        "attn_mask is given beside is_causal, expected one of them",
    ),
    "types": (
        lambda q, k, v: ours(q.float(), k, v),
        "key is torch.float64, expected torch.float32",
    ),
    "rank": (
        lambda q, k, v: ours(q[0, 0, 0], k, v),
        "query.shape is [8], expected at least two axes",
    ),
    "head size": (lambda q, k, v: ours(q[..., :7], k, v), "key.shape[3] is 8, expected 7"),
    "mask": (
        lambda q, k, v: ours(q, k, v, torch.ones(5, 6, dtype=torch.bool)),
        "attn_mask.shape is [5, 6]",
    ),
    "bias": (lambda q, k, v: ours(q, k, v, torch.ones(5, 6)), "attn_mask.shape is [5, 6]"),
    "device": (lambda q, k, v: ours(q.to("meta"), k, v), "query is on meta"),
    "dropout": (lambda q, k, v: ours(q, k, v, dropout_p=1.5), "dropout_p is 1.5"),
    "negative dropout": (lambda q, k, v: ours(q, k, v, dropout_p=-0.1), "dropout_p is -0.1"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_says_what_does_not_fit_in_pytorchs_names(tensors, name):
    call, line = REFUSED[name]
    with pytest.raises((ValueError, TypeError)) as caught:
        call(*tensors)
    assert line in str(caught.value)


def test_autocast_is_followed(tensors):
    q, k, v = (each.float() for each in tensors)
    with torch.autocast("cpu", torch.bfloat16):
        out = ours(q, k.bfloat16(), v)
        wanted = torch.nn.functional.scaled_dot_product_attention(q, k.bfloat16(), v)
    assert out.dtype == wanted.dtype == torch.bfloat16
    torch.testing.assert_close(out, wanted, atol=0.02, rtol=0.02)


def test_a_write_between_forward_and_backward_is_found(tensors):
    q, k, v = tensors
    q.requires_grad_()
    k = k.clone()
    loss = ours(q, k, v).sum()
    k.zero_()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()


def test_use_puts_heeds_in_the_place_of_pytorchs(tensors):
    class Counted(Exception):
        pass

    layer = torch.nn.MultiheadAttention(8, 2, batch_first=True, dtype=torch.float64)
    x = torch.randn(2, 5, 8, dtype=torch.float64)
    wanted = layer(x, x, x, need_weights=False)[0]
    with heed.torch.use():
        assert torch.nn.functional.scaled_dot_product_attention is ours
        torch.testing.assert_close(layer(x, x, x, need_weights=False)[0], wanted)
    assert torch.nn.functional.scaled_dot_product_attention is theirs
    with pytest.raises(Counted), heed.torch.use():
        raise Counted
    assert torch.nn.functional.scaled_dot_product_attention is theirs


def test_training_leaks_nothing(tensors):
    q, k, v = (t.requires_grad_() for t in tensors)

    def living():
        gc.collect()
        return sum(type(each) is torch.Tensor for each in gc.get_objects())

    import resource

    for _ in range(200):
        ours(q, k, v).sum().backward()
    before, memory = living(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in range(3000):
        ours(q, k, v).sum().backward()
    assert living() <= before + 2
    assert (
        resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - memory < 4000
    )  # KB; 3 KB a call leak 9 MB
