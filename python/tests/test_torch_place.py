"""heed in every place where PyTorch's attention works: tracers, transforms, subclasses, modules."""

from __future__ import annotations

import threading
import weakref

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="skipped: PyTorch is not installed")

import heed  # noqa: E402
import heed.torch  # noqa: E402
from attended import close, made, masks, ours, qkv, theirs  # noqa: E402
from torch.autograd import forward_ad  # noqa: E402
from torch._dynamo.backends.common import aot_autograd  # noqa: E402
from torch.nn.attention import bias as biases  # noqa: E402

functional = torch.nn.functional


# --- derivatives ---------------------------------------------------------------------------------


@pytest.mark.parametrize("name", masks())
def test_forward_mode_gives_the_tangent(name):
    tensors = qkv(2, 3)
    tangents = [made(*t.shape, seed=20 + i) for i, t in enumerate(tensors)]

    def tangent(function):
        with forward_ad.dual_level():
            duals = [forward_ad.make_dual(t, d) for t, d in zip(tensors, tangents)]
            return forward_ad.unpack_dual(function(*duals, **masks()[name]))

    found, wanted = tangent(ours), tangent(theirs)
    close(found.primal, wanted.primal)
    close(found.tangent, wanted.tangent)


def test_forward_mode_over_the_backward_pass():
    """The product of the Hessian with a vector."""
    q, k, v = qkv(1, 2)

    def product(function):
        with forward_ad.dual_level():
            dual = forward_ad.make_dual(q.clone().requires_grad_(), torch.ones_like(q))
            (gradient,) = torch.autograd.grad(
                function(dual, k, v).square().sum(), dual, create_graph=True
            )
            return forward_ad.unpack_dual(gradient).tangent

    close(product(ours), product(lambda *a: formula(*a)))


def formula(q, k, v):
    return (q @ k.mT * q.shape[-1] ** -0.5).softmax(-1) @ v


def test_forward_mode_over_a_backward_pass_of_an_ordinary_forward_pass():
    q, k, v = qkv(1, 2)
    v.requires_grad_()
    dout = made(1, 2, 5, 6, seed=4)
    tangent = made(1, 2, 5, 6, seed=5)

    def product(function):
        out = function(q, k, v)
        with forward_ad.dual_level():
            (dv,) = torch.autograd.grad(out, v, forward_ad.make_dual(dout, tangent))
            return forward_ad.unpack_dual(dv).tangent

    close(product(ours), product(formula))


def test_an_operator_of_heed_refuses_a_tangent():
    q, k, v = qkv(1, 2)
    with forward_ad.dual_level(), pytest.raises(ValueError, match="k is a tensor with a forward-"):
        heed.attention(q, forward_ad.make_dual(k, k), v)


@pytest.mark.parametrize("name", masks())
def test_second_derivatives_are_pytorchs(name):
    settings = masks()[name]

    def gradients(function):
        q, k, v = (t.requires_grad_() for t in qkv(2, 3))
        first = torch.autograd.grad(function(q, k, v, **settings).pow(3).sum(), (q, k, v),
                                    create_graph=True)  # fmt: skip
        return torch.autograd.grad(sum(each.pow(2).sum() for each in first), (q, k, v))

    with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):
        wanted = gradients(theirs)
    for mine, other in zip(gradients(ours), wanted):
        close(mine, other, atol=1e-9)


def test_gradgradcheck():
    q, k, v = (t.requires_grad_() for t in qkv(1, 1, tq=2, tk=3, d=2, dv=2))
    assert torch.autograd.gradgradcheck(ours, (q, k, v))
    assert torch.autograd.gradcheck(ours, (q, k, v), check_forward_ad=True)
    assert torch.autograd.gradcheck(ours, (q, k, v), check_batched_grad=True)


def test_second_derivatives_through_dropout_are_refused():
    q, k, v = qkv(1, 2)
    q.requires_grad_()
    (first,) = torch.autograd.grad(ours(q, k, v, dropout_p=0.5).sum(), q, create_graph=True)
    with pytest.raises(NotImplementedError, match="dropout_p is 0.5, expected 0 or 1 for forward"):
        first.sum().backward()


@pytest.mark.parametrize("name", masks())
def test_all_derivatives_of_everything_dropped_are_0(name):
    q, k, v = qkv(1, 2, tq=2, tk=3)
    settings = masks(2, 3)[name] | {"dropout_p": 1.0}

    def tangent(function):
        with forward_ad.dual_level():
            return forward_ad.unpack_dual(
                function(*(forward_ad.make_dual(t, t) for t in (q, k, v)), **settings)
            )

    def second(function):
        gradient = torch.func.grad(lambda q: function(q, k, v, **settings).square().sum())
        return torch.func.jvp(gradient, (q,), (q,))[1]

    for mine, other in zip((*tangent(ours), second(ours)), (*tangent(theirs), second(theirs))):
        close(mine, other)
        assert (mine == 0).all()
    q.requires_grad_()
    (first,) = torch.autograd.grad(ours(q, k, v, **settings).sum(), q, create_graph=True)
    assert first.requires_grad
    assert (torch.autograd.grad(first.sum(), q)[0] == 0).all()


@pytest.mark.parametrize("is_batched", [False, True])
def test_jacobians(is_batched):
    q, k, v = qkv(1, 1, tq=2, tk=3, d=2, dv=2)
    found = torch.autograd.functional.jacobian(lambda q: ours(q, k, v), q, vectorize=is_batched)
    close(found, torch.autograd.functional.jacobian(lambda q: theirs(q, k, v), q))
    q.requires_grad_()
    out = ours(q, k, v)
    units = torch.eye(out.numel(), dtype=q.dtype).view(-1, *out.shape)
    if is_batched:
        (rows,) = torch.autograd.grad(out, q, units, is_grads_batched=True)
        close(rows.view(found.shape), found)


@pytest.mark.parametrize("name", ["vmap", "vmap of one", "grad", "jvp", "jacrev", "jacfwd", "hessian",
                                  "vmap of grad"])  # fmt: skip
def test_functional_transforms(name):
    q, k, v = qkv(3, 2, tq=2, tk=3, d=2, dv=2)
    transform = {
        "vmap": lambda f: torch.func.vmap(f)(q[None], k[None], v[None]),
        "vmap of one": lambda f: torch.func.vmap(f, in_dims=(None, 1, None))(q, k[:, None], v),
        "grad": lambda f: torch.func.grad(lambda q: f(q, k, v).square().sum())(q),
        "jvp": lambda f: torch.func.jvp(lambda q: f(q, k, v), (q,), (k[:, :, :2],))[1],
        "jacrev": lambda f: torch.func.jacrev(lambda q: f(q, k, v))(q),
        "jacfwd": lambda f: torch.func.jacfwd(lambda q: f(q, k, v))(q),
        "hessian": lambda f: torch.func.hessian(lambda q: f(q, k, v).square().sum())(q),
        "vmap of grad": lambda f: torch.func.vmap(
            torch.func.grad(lambda q, k, v: f(q[None], k[None], v[None]).square().sum())
        )(q, k, v),
    }[name]
    close(transform(ours), transform(formula), atol=1e-10)


# --- tracers -------------------------------------------------------------------------------------


@pytest.fixture(autouse=True)
def forget_compiled():
    """PyTorch compiles a function for eight kinds of arguments at most."""
    torch.compiler.reset()


class Layer(torch.nn.Module):
    def __init__(self, function, **settings):
        super().__init__()
        self.function, self.settings = function, settings

    def forward(self, q, k, v):
        return self.function(q * 2, k, v, **self.settings) + 1


TRACERS = [
    (tracer, name)
    for tracer in ("trace", "make_fx", "fake make_fx", "export", "aot_eager")
    for name in masks()
    if tracer != "fake make_fx" or name in ("none", "causal")  # it takes no constant tensors
]


@pytest.mark.parametrize("tracer, name", TRACERS)
def test_tracers_see_the_attention(tracer, name):
    tensors, others = qkv(2, 3, dtype=torch.float32), [made(*t.shape, dtype=torch.float32, seed=7)
                                                       for t in qkv(2, 3)]  # fmt: skip
    settings = masks()[name]
    if name == "floating":
        settings["attn_mask"] = settings["attn_mask"].float()
    layer = Layer(ours, **settings)
    from torch.fx.experimental.proxy_tensor import make_fx

    traced = {
        "trace": lambda: torch.jit.trace(layer, tuple(tensors)),
        "make_fx": lambda: make_fx(layer)(*tensors),
        "fake make_fx": lambda: make_fx(layer, tracing_mode="symbolic")(*tensors),
        "export": lambda: torch.export.export(layer, tuple(tensors)).module(),
        "aot_eager": lambda: torch.compile(layer, fullgraph=True, backend="aot_eager"),
    }[tracer]()
    close(traced(*others), Layer(theirs, **settings)(*others), atol=1e-5)
    if tracer == "make_fx":
        assert "heed.attention" in traced.code


TRACED = {
    "rank 3": lambda f, q, k, v: f(q[0], k[0], v[0], is_causal=True),
    "broadcast": lambda f, q, k, v: f(q, k[:1], v),
    "grouped heads": lambda f, q, k, v: f(q, k[:, :2], v[:, :2], enable_gqa=True),
    "upper left": lambda f, q, k, v: f(
        q, k, v, biases.causal_upper_left(q.shape[2], k.shape[2])
    ),
    "lower right": lambda f, q, k, v: f(
        q, k, v, biases.causal_lower_right(q.shape[2], k.shape[2])
    ),
}


@pytest.mark.parametrize("name", TRACED)
def test_a_trace_serves_other_lengths(name):
    traced = torch.jit.trace(lambda *each: TRACED[name](ours, *each), tuple(qkv(2, 4)))
    others = qkv(3, 4, tq=6, tk=10)
    close(traced(*others), TRACED[name](theirs, *others))


SYMBOLIC = {
    "tensors": lambda f, x, q: f(q, q, q, is_causal=True),
    "keywords": lambda f, x, q: f(query=q, key=x, value=x, enable_gqa=True),
    "a mask": lambda f, x, q: f(x, x, x, attn_mask=q[0, 0] @ q[0, 0].T),
    "a causal bias": lambda f, x, q: f(q, x, x, attn_mask=biases.causal_upper_left(5, 5)),
    "scale": lambda f, x, q: f(x, x, x, scale=q.size(-1) ** -0.25),
    "is_causal": lambda f, x, q: f(x, x, x, is_causal=q.size(2) > 1),
    "dropout_p": lambda f, x, q: f(x, x, x, dropout_p=q.size(2) * 0.0),
}


@pytest.mark.parametrize("name", SYMBOLIC)
def test_a_symbolic_trace_has_a_node_of_the_attention(name):
    x = made(1, 2, 5, 8)

    class Traced(torch.nn.Module):
        def forward(self, q):
            return SYMBOLIC[name](ours, x, q)

    traced = torch.fx.symbolic_trace(Traced())
    assert ours in {node.target for node in traced.graph.nodes}
    other = made(1, 2, 5, 8, seed=1)
    close(traced(other), SYMBOLIC[name](theirs, x, other))


@pytest.mark.parametrize("is_dynamic", [False, True])
def test_compiled_gradients(is_dynamic):
    layer = torch.compile(Layer(ours, is_causal=True), fullgraph=True, backend="aot_eager",
                          dynamic=is_dynamic)  # fmt: skip
    for tq in (5, 6):
        found, wanted = [], []
        for function, answers in ((layer, found), (Layer(theirs, is_causal=True), wanted)):
            tensors = [t.requires_grad_() for t in qkv(2, 3, tq=tq, dtype=torch.float32)]
            function(*tensors).square().sum().backward()
            answers += [t.grad for t in tensors]
        for mine, other in zip(found, wanted):
            close(mine, other, atol=1e-4)


@pytest.mark.parametrize("tracer", ["compiled", "exported", "make_fx"])
def test_numbers_of_a_dynamic_shape(tracer):
    class Layer(torch.nn.Module):
        def __init__(self, function):
            super().__init__()
            self.function = function

        def forward(self, q, k, v):
            return self.function(q, k, v, is_causal=q.shape[2] > 1, scale=2 / k.shape[2],
                                 dropout_p=0 * q.shape[2])  # fmt: skip

    from torch.fx.experimental.proxy_tensor import make_fx

    tensors = qkv(2, 3, dtype=torch.float32)
    lengths = tuple({2: torch.export.Dim.AUTO} for _ in tensors)
    layer = {
        "compiled": lambda: torch.compile(
            Layer(ours), fullgraph=True, backend="aot_eager", dynamic=True
        ),
        "exported": lambda: torch.export.export(
            Layer(ours), tuple(tensors), dynamic_shapes=lengths
        ).module(),
        "make_fx": lambda: make_fx(Layer(ours), tracing_mode="symbolic")(*tensors),
    }[tracer]()
    close(layer(*tensors), Layer(theirs)(*tensors), atol=1e-5)


@pytest.mark.parametrize("heads, enable_gqa", [((4, 1, 4), False), ((8, 4, 2), True)], ids=str)
def test_compiled_with_different_head_counts(heads, enable_gqa):
    tensors = [made(n, 5, 8, seed=seed) for seed, n in enumerate(heads)]
    layer = torch.compile(Layer(ours, enable_gqa=enable_gqa), fullgraph=True, backend="aot_eager",
                          dynamic=True)  # fmt: skip
    close(layer(*tensors), Layer(theirs, enable_gqa=enable_gqa)(*tensors))


def test_compiled_inside_of_use():
    def called(q, k, v):
        return functional.scaled_dot_product_attention(q, k, v) * 2

    tensors = qkv(2, 3, dtype=torch.float32)
    graphs = []

    def backend(graph, _):
        graphs.append(graph.code)
        return graph.forward

    with heed.torch.use():
        found = torch.compile(called, fullgraph=True, backend=backend)(*tensors)
    assert "heed" in graphs[0]
    close(found, called(*tensors), atol=1e-5)


@pytest.mark.parametrize("need_weights", [False, True])
@pytest.mark.parametrize("is_evaluated", [False, True])
def test_compiled_modules_inside_of_use(need_weights, is_evaluated):
    layer = torch.nn.MultiheadAttention(8, 2, batch_first=True).train(not is_evaluated)
    x, seen = made(2, 5, 8, dtype=torch.float32), []
    wanted = layer(x, x, x, need_weights=need_weights)

    class Operators(torch.utils._python_dispatch.TorchDispatchMode):
        def __torch_dispatch__(self, function, types, args=(), kwargs=None):
            seen.append(str(function))
            return function(*args, **(kwargs or {}))

    def backend(graph, inputs):
        with Operators():
            graph(*inputs)
        return graph.forward

    def called(x):
        return layer(x, x, x, need_weights=need_weights)

    compiled = torch.compile(called, fullgraph=True, backend=aot_autograd(fw_compiler=backend))
    with heed.torch.use():
        found = compiled(x)
    assert "heed.attention.default" in seen
    for mine, other in zip(found, wanted):
        close(mine, other, atol=1e-5) if other is not None else None
    seen.clear()
    compiled(x)  # PyTorch's again
    assert seen and "heed.attention.default" not in seen


def test_dropout_of_a_compiled_function_is_drawn_anew():
    tensors = qkv(2, 3, dtype=torch.float32)
    layer = torch.compile(Layer(ours, dropout_p=0.5), fullgraph=True, backend="aot_eager")
    assert not torch.equal(layer(*tensors), layer(*tensors))


def test_the_operators_are_registered_completely():
    q, k, v = (t.requires_grad_() for t in qkv(1, 2, dtype=torch.float32))
    keep = torch.ones(5, 7, dtype=torch.bool)
    for by_token in (False, True):
        given = (q, k, v, None, None, keep, None, None, 0.0, None, 0.0, by_token)
        torch.library.opcheck(torch.ops.heed.attention.default, given)
    saved = [q.detach(), k.detach(), v.detach(), None, None, keep, None]
    out = torch.ops.heed.attention(*saved, None, 0.0, None, 0.0, False)
    given = (out[0], *saved, *out, None, 0.0, None, 0.0, [True, False, True, False, False])
    torch.library.opcheck(torch.ops.heed.attention_backward.default, given)


def test_a_script_is_refused():
    def scripted(q, k, v):
        return heed.torch.scaled_dot_product_attention(q, k, v)

    with pytest.raises(RuntimeError, match="heed.torch.scaled_dot_product_attention is not Torch"):
        torch.jit.script(scripted)
    with pytest.raises(RuntimeError, match="heed.torch.scaled_dot_product_attention is not Torch"):
        torch.jit.script(ours)
    layer = torch.nn.MultiheadAttention(8, 2)
    with heed.torch.use(), pytest.raises(RuntimeError, match="heed.torch.scaled_dot_product_att"):
        torch.jit.script(layer)


@pytest.mark.parametrize("tracer", ["trace", "make_fx", "vmap", "fake"])
def test_heed_attention_says_that_a_tracer_does_not_see_it(tracer):
    from torch._subclasses.fake_tensor import FakeTensorMode
    from torch.fx.experimental.proxy_tensor import make_fx

    tensors = qkv(1, 2)

    def fake():
        with FakeTensorMode() as mode:
            heed.attention(*(mode.from_tensor(t) for t in tensors))

    traced = {
        "trace": lambda: torch.jit.trace(lambda *a: heed.attention(*a), tuple(tensors)),
        "make_fx": lambda: make_fx(lambda *a: heed.attention(*a))(*tensors),
        "vmap": lambda: torch.func.vmap(lambda *a: heed.attention(*a))(*(t[None] for t in tensors)),
        "fake": fake,
    }[tracer]
    with pytest.raises(heed.errors.Error, match="heed.torch.scaled_dot_product_attention"):
        traced()


# --- tensors whose bytes are not their values ----------------------------------------------------


def negative(tensor):
    view = torch.complex(torch.zeros_like(tensor), -tensor).conj().imag
    assert view.is_neg() and torch.equal(view, tensor)
    return view


@pytest.mark.parametrize("place", range(4))
def test_the_negative_bit_is_resolved(place):
    tensors = [*qkv(2, 3), made(5, 7, seed=9)]
    wanted, attended = ours(*tensors), heed.attention(*tensors[:3], bias=tensors[3])
    tensors[place] = negative(tensors[place])
    close(ours(*tensors), wanted)
    close(heed.attention(*tensors[:3], bias=tensors[3]), attended)
    for t in tensors:
        t.requires_grad_()
    ours(*tensors).sum().backward()
    assert all(t.grad.isfinite().all() for t in tensors)


def test_a_negative_cotangent_is_resolved():
    gradients = []
    for dout in (made(2, 3, 5, 6), negative(made(2, 3, 5, 6))):
        q, k, v = (t.requires_grad_() for t in qkv(2, 3))
        gradients.append(torch.autograd.grad(ours(q, k, v), (q, k, v), dout))
    for mine, other in zip(*gradients):
        close(mine, other)


def test_an_output_with_the_negative_bit_gets_the_values():
    q, k, v = qkv(2, 3)
    out = torch.zeros(2, 3, 5, 6, dtype=torch.complex128).conj().imag
    assert heed.attention(q, k, v, out=out) is out
    close(out.resolve_neg(), heed.attention(q, k, v))
    out.zero_()
    _, seen = heed.attention(q, k, v, out=out, seen=True)
    close(out.resolve_neg(), heed.attention(q, k, v))
    assert seen.backward(torch.ones(2, 3, 5, 6, dtype=torch.float64))[0].isfinite().all()


def test_zeros_without_memory():
    q, k, v = qkv(2, 3)
    zeros = torch._efficientzerotensor(k.shape, dtype=k.dtype)
    close(ours(q, zeros, v), ours(q, torch.zeros_like(k), v))
    close(heed.attention(q, zeros, v), heed.attention(q, torch.zeros_like(k), v))


# --- subclasses ----------------------------------------------------------------------------------


@pytest.mark.parametrize("made_bias", [biases.causal_upper_left, biases.causal_lower_right])
@pytest.mark.parametrize("tq, tk", [(5, 7), (6, 6)])
@pytest.mark.parametrize("is_in_use", [False, True])
def test_causal_biases(made_bias, tq, tk, is_in_use):
    tensors = [t.requires_grad_() for t in qkv(2, 3, tq=tq, tk=tk)]
    wanted = theirs(*tensors, made_bias(tq, tk)._materialize())
    if is_in_use:
        with heed.torch.use():
            found = functional.scaled_dot_product_attention(*tensors, made_bias(tq, tk))
    else:
        found = ours(*tensors, attn_mask=made_bias(tq, tk))
    close(found, wanted)
    found.sum().backward()
    with pytest.raises(RuntimeError, match="attn_mask is a causal bias of"):
        ours(*tensors, made_bias(tq + 1, tk + 1))
    with pytest.raises(RuntimeError, match="attn_mask is given beside is_causal"):
        ours(*tensors, made_bias(tq, tk), is_causal=True)
    with pytest.raises(RuntimeError, match="Explicit attn_mask should not be set when is_causal"):
        ours(*tensors, torch.ones(tq, tk, dtype=torch.bool), is_causal=True)


def test_an_operator_of_heed_refuses_a_causal_bias():
    with pytest.raises(TypeError, match="bias is of the tensor class CausalBias"):
        heed.attention(*qkv(2, 3), bias=biases.causal_upper_left(5, 7))


class Plain(torch.Tensor):
    pass


def test_a_subclass_without_functions_of_its_own():
    q, k, v = qkv(2, 3)
    found = ours(q.as_subclass(Plain), k, v)
    assert type(found) is Plain
    close(found.as_subclass(torch.Tensor), ours(q, k, v))
    close(heed.attention(q.as_subclass(Plain), k, v).as_subclass(torch.Tensor), ours(q, k, v))


def test_subclasses_that_dispatch():
    from torch.testing._internal.two_tensor import TwoTensor

    q, k, v = qkv(2, 3)
    two = TwoTensor(q, q * 2)
    found = ours(two, TwoTensor(k, k), TwoTensor(v, v))
    close(found.a, ours(q, k, v))
    close(found.b, ours(q * 2, k, v))
    with pytest.raises(TypeError, match="q is of the tensor class TwoTensor"):
        heed.attention(two, k, v)


def test_a_subclass_that_overrides_functions_decides():
    class Mine(torch.Tensor):
        @classmethod
        def __torch_function__(cls, function, types, args=(), kwargs=None):
            return "mine" if function is ours else super().__torch_function__(function, types, args, kwargs)

    q, k, v = qkv(2, 3)
    assert ours(q, k.as_subclass(Mine), v) == "mine"
    with pytest.raises(TypeError, match="k is of the tensor class Mine"):
        heed.attention(q, k.as_subclass(Mine), v)


def test_function_modes_and_dispatch_modes_see_the_call():
    from torch.utils.flop_counter import FlopCounterMode

    tensors = qkv(2, 3)
    wanted = ours(*tensors)
    with torch.device("cpu"):
        close(ours(*tensors), wanted)
    with FlopCounterMode(display=False):
        close(ours(*tensors), wanted)
        close(heed.attention(*tensors), wanted)


@pytest.mark.parametrize("layout", [torch.strided, torch.jagged])
def test_nested_tensors_are_refused(layout):
    parts = [torch.randn(n, 3, 8) for n in (4, 5)]
    nested = torch.nested.nested_tensor(parts, layout=layout).transpose(1, 2)
    for function in (ours, heed.attention):
        with pytest.raises(heed.errors.Error):
            function(nested, nested, nested)
    with pytest.raises(NotImplementedError, match="query is a nested tensor"):
        ours(nested, nested, nested)


def test_masked_arrays_are_refused():
    q, k, v = (t.numpy() for t in qkv(1, 2))
    with pytest.raises(TypeError, match="k is a MaskedArray, expected an array without a mask"):
        heed.attention(q, np.ma.masked_array(k, k > 0), v)
    one = torch.ones(1, 1, 1, 1)
    masked = torch.masked.masked_tensor(one, one > 0)
    with pytest.raises(TypeError, match="q is of the tensor class MaskedTensor"):
        heed.attention(masked, one, one)
    for place, name in enumerate(("query", "key", "value", "attn_mask")):
        given = [one] * 4
        given[place] = masked
        with pytest.raises(heed.errors.WrongType, match=f"{name} is a MaskedTensor") as caught:
            ours(*given)
        assert caught.value.argument == name


# --- what is kept for the backward pass ----------------------------------------------------------


@pytest.mark.parametrize("name", ["boolean", "floating"])
def test_a_mask_that_is_written_to_is_found(name):
    q, k, v = qkv(2, 3)
    mask = masks()[name]["attn_mask"].clone()
    out = ours(q.requires_grad_(), k, v, mask)
    mask.fill_(True)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        out.sum().backward()


def test_hooks_see_every_tensor_that_is_kept():
    q, k, v = (t.requires_grad_() for t in qkv(2, 3))
    packed = []

    def pack(tensor):
        packed.append(tensor.shape)
        return tensor.detach().clone()

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        out = ours(q, k, v, torch.ones(5, 7, dtype=torch.bool))
    shapes = {q.shape, k.shape, v.shape, out.shape, torch.Size([2, 2, 3, 5]), torch.Size([5, 7])}
    assert shapes <= set(packed)
    wanted = torch.autograd.grad(theirs(q, k, v).sum(), (q, k, v))
    for mine, other in zip(torch.autograd.grad(out.sum(), (q, k, v)), wanted):
        close(mine, other)


def test_nothing_is_kept_after_the_backward_pass():
    q, k, v = (t.requires_grad_() for t in qkv(2, 3))
    held = []

    class Held:
        def __init__(self, tensor):
            self.tensor = tensor

    def pack(tensor):
        box = Held(tensor)
        held.append(weakref.ref(box))
        return box

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda box: box.tensor):
        out = ours(q, k, v)
    out.sum().backward()
    assert held and all(each() is None for each in held)


@pytest.mark.parametrize("use_reentrant", [False, True])
def test_checkpoints_have_the_same_gradients(use_reentrant):
    from torch.utils.checkpoint import checkpoint

    def gradients(run):
        q, k, v = (t.requires_grad_() for t in qkv(2, 3))
        torch.manual_seed(1)
        return torch.autograd.grad(run(q, k, v).sum(), (q, k, v)) if not use_reentrant else backward(
            run(q, k, v), q, k, v
        )

    def backward(out, *tensors):
        out.sum().backward()
        return [t.grad for t in tensors]

    def layer(q, k, v):
        return ours(q, k, v, dropout_p=0.5)

    found = gradients(lambda *a: checkpoint(layer, *a, use_reentrant=use_reentrant))
    for mine, other in zip(found, gradients(layer)):
        assert torch.equal(mine, other)


# --- use() ---------------------------------------------------------------------------------------


def test_overlapping_uses_in_threads_put_pytorchs_back():
    inside, leave = threading.Event(), threading.Event()

    def other():
        with heed.torch.use():
            inside.set()
            leave.wait(10)

    first = heed.torch.use()
    first.__enter__()
    thread = threading.Thread(target=other)
    thread.start()
    inside.wait(10)
    first.__exit__(None, None, None)
    assert functional.scaled_dot_product_attention is ours  # the thread is inside
    leave.set()
    thread.join()
    assert functional.scaled_dot_product_attention is theirs
    assert torch.backends.mha.get_fastpath_enabled()


@pytest.fixture
def calls(monkeypatch):
    """How often heed attended."""
    counted = []
    attend = heed.torch.attend

    def counting(*args, **kwargs):
        counted.append(1)
        return attend(*args, **kwargs)

    monkeypatch.setattr(heed.torch, "attend", counting)
    monkeypatch.setattr(heed.torch, "_is_simple", lambda *_: False)
    return counted


@pytest.mark.parametrize("need_weights", [False, True])
@pytest.mark.parametrize("is_evaluated", [False, True])
@pytest.mark.parametrize("average", [False, True])
@pytest.mark.parametrize("is_batched", [False, True])
def test_multi_head_attention(calls, need_weights, is_evaluated, average, is_batched):
    layer = torch.nn.MultiheadAttention(8, 2, batch_first=True, dtype=torch.float64)
    layer.train(not is_evaluated)
    x = made(2, 5, 8) if is_batched else made(5, 8)
    keep = torch.ones(5, 5, dtype=torch.bool).triu(1)
    settings = {"need_weights": need_weights, "average_attn_weights": average, "attn_mask": keep}
    with torch.no_grad():
        wanted, their_weights = layer(x, x, x, **settings)
        with heed.torch.use():
            found, weights = layer(x, x, x, **settings)
    assert calls
    close(found, wanted)
    close(weights, their_weights) if need_weights else None
    assert (weights is None) == (not need_weights)


@pytest.mark.parametrize("is_compiled", [False, True])
def test_weights_of_multi_head_attention_have_gradients_and_dropout(is_compiled):
    layer = torch.nn.MultiheadAttention(8, 2, dropout=0.5, dtype=torch.float64)
    x = made(5, 2, 8)
    with heed.torch.use():
        called = torch.compile(layer, fullgraph=True, backend="aot_eager") if is_compiled else layer
        out, weights = called(x, x, x, average_attn_weights=False)
    assert (weights == 0).any() and weights.requires_grad
    v = functional.linear(x, *(each.chunk(3)[2] for each in (layer.in_proj_weight, layer.in_proj_bias)))
    v = v.view(5, 2, 2, 4).permute(1, 2, 0, 3)
    by_hand = layer.out_proj((weights @ v).permute(2, 0, 1, 3).reshape(5, 2, 8))
    close(out, by_hand)


@pytest.mark.parametrize("has_padding", [False, True])
def test_the_transformer_encoder(calls, has_padding):
    layer = torch.nn.TransformerEncoderLayer(8, 2, 16, batch_first=True, dtype=torch.float64)
    encoder = torch.nn.TransformerEncoder(layer, 2).eval()
    x = made(2, 5, 8)
    padding = torch.tensor([[False] * 5, [False] * 3 + [True] * 2]) if has_padding else None
    with torch.no_grad():
        wanted = encoder(x, src_key_padding_mask=padding)
        with heed.torch.use():
            found = encoder(x, src_key_padding_mask=padding)
    assert len(calls) == 2
    rows = slice(None) if padding is None else ~padding
    close(found[rows], wanted[rows])
