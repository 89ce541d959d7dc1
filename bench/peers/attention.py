"""The peers of `heed bench attention|backward --peers PYTHON`: PyTorch's scaled_dot_product_attention
(sdpa), its compiled flex_attention (flex), onnxruntime's MultiHeadAttention (ort), and the unfused
composition of product, softmax and product in PyTorch (unfused).

heed runs this with PYTHON and asks by lines of JSON:
  a case as `--json` writes it, with "scores"   makes its tensors; answers {"peers": what can compute it}, with
                                                the bytes of memory that one run adds (Linux; else null)
  {"time": name, "seconds": S}                  runs that peer for about S seconds, at least once;
                                                answers {"times": seconds of each run}
A library that is not installed, that cannot compute the case, or that $HEED_BENCH_WITHOUT names
("flex,ort"), is no peer of it. Numbers are drawn anew; masks have the shapes of heed's.
"""
import json
import math
import os
import sys
import time

import torch
from torch.nn.functional import normalize, scaled_dot_product_attention

TYPES = {"f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16, "f64": torch.float64}


def mask_of(case):
    """[Tq, Tk], True: visible; None where everybody sees everybody."""
    name, rows, columns = case["mask"], case["query_length"], case["key_length"]
    if name == "none":
        return None
    i = torch.arange(rows)[:, None] + columns - rows
    j = torch.arange(columns)[None, :]
    if name in ("causal", "window"):
        seen = j <= i
        return seen & (j >= i - case["keys_back"]) if name == "window" else seen
    if name == "prefix":
        return (j <= i) | (j < rows // 4 + 3)
    if name == "segments":
        return i // 23 == j // 23
    if name == "blocks":
        across = -(-columns // 40)
        return (i // 30 * across + j // 40) % 3 == 0
    if name == "edges":
        return ((j == i) | (j % 9 == i % 9)) & (i % 5 != 3)
    stretches = (torch.rand(rows * columns // 40 + 1) < 2 / 3).repeat_interleave(40)
    return stretches[: rows * columns].view(rows, columns)  # keep


def status(name):
    with open("/proc/self/status") as lines:
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(name))


def peak_of(run):
    try:
        with open("/proc/self/clear_refs", "w") as refs:
            refs.write("5")  # forgets the peak
        before = status("VmRSS:")
        run()
        return max(status("VmHWM:") - before, 0)
    except OSError:
        return None


class Case:
    def __init__(self, case):
        self.case, self.scores = case, case["scores"]
        self.backward = case["pass"] == "backward"
        self.scale = case["head_dim"] ** -0.5
        dtype, batch = TYPES[case["dtype"]], case["batch"]

        def drawn(heads, length, size):
            shape = (batch, case[heads], case[length], case[size])
            return torch.randn(shape).to(dtype).requires_grad_(self.backward)

        self.q = drawn("heads", "query_length", "head_dim")
        self.k = drawn("kv_heads", "key_length", "head_dim")
        self.v = drawn("kv_heads", "key_length", "value_dim")
        self.dout = torch.randn((*self.q.shape[:3], case["value_dim"])).to(dtype)
        self.mask = mask_of(case)
        shape = self.scores["bias"]
        self.bias = torch.randn(shape).to(dtype).requires_grad_(self.backward) if shape else None
        heads = case["heads"]
        self.slopes = torch.rand(heads).to(dtype) * 0.1
        self.sinks = torch.randn(heads).to(dtype)
        self.scales = 0.2 * torch.arange(1, heads + 1).to(dtype)
        self.is_grouped = case["heads"] != case["kv_heads"]
        # Forms beyond a softmax of scaled products with a mask and a bias.
        self.beyond = {name for name in ("softcap", "sink", "alibi", "scale_a_head", "dropout") if self.scores[name]}
        if self.scores["similarity"] != "dot":
            self.beyond.add(self.scores["similarity"])
        if self.scores["normaliser"] != "softmax":
            self.beyond.add(self.scores["normaliser"])

    def peers(self):
        """By name: what computes the case once, and the memory that it took."""
        makers = {"sdpa": self.sdpa, "flex": self.flex, "ort": self.ort, "unfused": self.unfused}
        found, without = {}, os.environ.get("HEED_BENCH_WITHOUT", "").split(",")
        for name, make in makers.items():
            if name in without:
                continue
            try:
                attend = make()
                if attend is None:
                    continue
                run = self.timed(attend)
                run()  # compiles
                found[name] = (run, peak_of(run))
            except (ImportError, NotImplementedError, RuntimeError, ValueError) as error:
                print(f"{self.case['case']}: {name} cannot: {str(error).splitlines()[0]}", file=sys.stderr)
        return found

    def timed(self, attend):
        if not self.backward:
            def forward():
                with torch.no_grad():
                    attend()
            return forward
        wanted = [x for x in (self.q, self.k, self.v, self.bias) if x is not None]
        out = attend()
        return lambda: torch.autograd.grad(out, wanted, self.dout, retain_graph=True)

    def distances(self):
        rows, columns = self.case["query_length"], self.case["key_length"]
        i = torch.arange(rows)[:, None] + columns - rows
        return (torch.arange(columns)[None, :] - i).abs()

    def sdpa(self):
        if self.beyond - {"alibi", "scale_a_head", "dropout", "cosine"}:
            return None
        is_causal = self.case["mask"] == "causal" and self.bias is None and not self.scores["alibi"]
        mask = None if is_causal else self.mask
        if self.bias is not None:
            mask = self.bias if mask is None else self.bias.masked_fill(~mask, -math.inf)
        if self.scores["alibi"]:  # made once, as one who uses it would
            mask = (-self.slopes[:, None, None] * self.distances())[None].to(self.q.dtype)
        scale = 1.0 if self.beyond & {"scale_a_head", "cosine"} else self.scale
        options = {"attn_mask": mask, "is_causal": is_causal, "scale": scale,
                   "enable_gqa": self.is_grouped, "dropout_p": self.scores["dropout"]}

        def attend():
            q, k = self.q, self.k
            if "cosine" in self.beyond:
                q, k = normalize(q, dim=-1), normalize(k, dim=-1)
            if "scale_a_head" in self.beyond:
                q = q * self.scales[:, None, None]
            return scaled_dot_product_attention(q, k, self.v, **options)
        return attend

    def flex(self):
        from torch.nn.attention.flex_attention import create_block_mask, flex_attention
        if self.backward or self.beyond - {"alibi", "softcap", "scale_a_head"}:
            return None  # its backward pass needs a GPU
        case, blocks, change = self.case, None, None
        if self.mask is not None:
            offset, left, seen = case["key_length"] - case["query_length"], case.get("keys_back"), self.mask
            rules = {"causal": lambda b, h, i, j: j <= i + offset,
                     "window": lambda b, h, i, j: (j <= i + offset) & (j >= i + offset - left),
                     "segments": lambda b, h, i, j: i // 23 == j // 23}
            rule = rules.get(case["mask"], lambda b, h, i, j: seen[i, j])
            blocks = create_block_mask(rule, None, None, case["query_length"], case["key_length"], device="cpu")
        bias, slopes, scales, cap = self.bias, self.slopes, self.scales, self.scores["softcap"]
        if bias is not None:
            shared = bias.shape[1] == 1
            change = lambda s, b, h, i, j: s + bias[0, 0 if shared else h, i, j]  # noqa: E731
        elif "alibi" in self.beyond:
            change = lambda s, b, h, i, j: s - slopes[h] * (i - j).abs()  # noqa: E731
        elif "softcap" in self.beyond:
            change = lambda s, b, h, i, j: cap * torch.tanh(s / cap)  # noqa: E731
        elif "scale_a_head" in self.beyond:
            change = lambda s, b, h, i, j: s * scales[h]  # noqa: E731
        torch.compiler.reset()
        compiled = torch.compile(flex_attention, dynamic=False)
        scale = 1.0 if "scale_a_head" in self.beyond else self.scale
        return lambda: compiled(self.q, self.k, self.v, score_mod=change, block_mask=blocks,
                                scale=scale, enable_gqa=self.is_grouped)

    def ort(self):
        """MultiHeadAttention takes [B, T, H * D]; it has no groups of heads and f32 alone on CPUs."""
        case = self.case
        if self.backward or self.is_grouped or self.beyond or case["dtype"] != "f32":
            return None
        import onnxruntime
        from onnx import TensorProto, helper
        heads = case["heads"]
        bias = self.bias
        is_causal = case["mask"] == "causal" and bias is None
        if self.mask is not None and not is_causal:
            hidden = torch.zeros(self.mask.shape).masked_fill(~self.mask, torch.finfo(torch.float32).min)
            bias = hidden[None, None] if bias is None else bias.detach() + hidden
        given = {"q": self.q, "k": self.k, "v": self.v}
        feeds = {name: x.detach().transpose(1, 2).flatten(2).contiguous().numpy() for name, x in given.items()}
        names = ["q", "k", "v"]
        if bias is not None:
            feeds["bias"] = bias.detach().contiguous().numpy()
            names += ["", "", "bias"]
        node = helper.make_node("MultiHeadAttention", names, ["out"], domain="com.microsoft", num_heads=heads,
                                scale=self.scale, unidirectional=int(is_causal))
        inputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, x.shape) for name, x in feeds.items()]
        output = helper.make_tensor_value_info("out", TensorProto.FLOAT, None)
        graph = helper.make_graph([node], "attention", inputs, [output])
        model = helper.make_model(graph, ir_version=10, opset_imports=[helper.make_opsetid("", 21),
                                                                      helper.make_opsetid("com.microsoft", 1)])
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = case["threads"]
        session = onnxruntime.InferenceSession(model.SerializeToString(), options, ["CPUExecutionProvider"])
        return lambda: session.run(None, feeds)

    def unfused(self):
        groups = self.case["heads"] // self.case["kv_heads"]
        hidden = None if self.mask is None else ~self.mask
        distances = self.distances().to(self.q.dtype) if self.scores["alibi"] else None
        squares = lambda x: x.square().sum(-1)  # noqa: E731

        def attend():
            q, k, v = self.q, self.k, self.v
            if groups > 1:
                k, v = (x.repeat_interleave(groups, 1) for x in (k, v))
            if "cosine" in self.beyond:
                q, k = normalize(q, dim=-1), normalize(k, dim=-1)
            if "absolute" in self.beyond:
                s = -torch.cdist(q, k, p=1)
            else:
                s = q @ k.transpose(-1, -2)
            if "gaussian" in self.beyond:
                s = 2 * s - squares(q)[..., None] - squares(k)[..., None, :]
            elif "scale_a_head" in self.beyond:
                s = s * self.scales[:, None, None]
            else:
                s = s * self.scale
            if "softcap" in self.beyond:
                s = self.scores["softcap"] * torch.tanh(s / self.scores["softcap"])
            if self.bias is not None:
                s = s + self.bias
            if distances is not None:
                s = s - self.slopes[:, None, None] * distances
            if hidden is not None:
                s = s.masked_fill(hidden, -math.inf)
            if "sink" in self.beyond:
                sink = self.sinks[:, None, None].expand(*s.shape[:3], 1)
                return torch.cat([s, sink], -1).softmax(-1)[..., :-1] @ v
            weights = s.sigmoid() if "sigmoid" in self.beyond else s.softmax(-1)
            return torch.dropout(weights, self.scores["dropout"], True) @ v
        return attend


def main():
    peers = {}
    for line in sys.stdin:
        asked = json.loads(line)
        if "time" in asked:
            (run, _), times, end = peers[asked["time"]], [], time.perf_counter() + asked["seconds"]
            while not times or time.perf_counter() < end:
                begin = time.perf_counter()
                run()
                times.append(time.perf_counter() - begin)
            answer = {"times": times}
        else:
            torch.set_num_threads(asked["threads"])
            peers = {}
            peers = Case(asked).peers()
            answer = {"peers": {name: peak for name, (_, peak) in peers.items()}}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
