#include "nn/self_attention.h"

#include <utility>

namespace heed {
namespace {

// [B, T, H * D] as [B, H, T, D]; the rows may be part of wider ones.
View split_heads(const View& x, std::int64_t heads) {
  const std::int64_t head_dim = x.dim(2) / heads;
  return View(x.raw(), x.dtype(), {x.dim(0), x.dim(1), heads, head_dim},
              {x.stride(0), x.stride(1), head_dim, 1})
      .permute({0, 2, 1, 3});
}

// q (0), k (1) or v (2) of [B, T, 3 C] as [B, H, T, D].
View part_of(const View& qkv, int part, std::int64_t heads) {
  const std::int64_t width = qkv.dim(2) / 3;
  return split_heads(qkv.slice(2, part * width, (part + 1) * width), heads);
}

}  // namespace

SelfAttention::SelfAttention(Linear qkv, Linear out, const SelfAttentionShape& shape,
                             DropoutLayer dropout)
    : qkv_(std::move(qkv)), out_(std::move(out)), shape_(shape), dropout_(dropout) {}

AttentionArgs SelfAttention::problem(const View& qkv, const Run& run) const {
  AttentionArgs args = {
      .q = part_of(qkv, 0, shape_.heads),
      .keys = {.k = part_of(qkv, 1, shape_.heads), .v = part_of(qkv, 2, shape_.heads)},
      .extents = run.extents,
      .mask = shape_.mask,
      .scores = {.scale = {shape_.scale}}};
  if (run.tap != nullptr) args.mask = args.mask & run.tap->mask(Stack::kSelf, shape_.layer);
  return args;
}

void SelfAttention::go_on_from_cache(AttentionArgs& args, KvCache& cache, const Run& run) const {
  const std::vector<std::int64_t> counts = run.row_lengths(args.q.dim(0), args.q.dim(2));
  cache.append(shape_.layer, args.keys, counts);
  args.keys = cache.keys(shape_.layer);
  Extents held = cache.extents(counts);
  held.query_length = args.extents.query_length;
  args.extents = std::move(held);
}

Tensor SelfAttention::forward(const Tensor& x, Run& run) const {
  Tensor qkv = qkv_.forward(x, run);  // [B, T, 3 C]
  const auto show = [&](TapKind kind, const View& value) {
    run.show({.layer = shape_.layer, .kind = kind}, value);
  };
  show(TapKind::kQuery, part_of(qkv, 0, shape_.heads));
  show(TapKind::kKey, part_of(qkv, 1, shape_.heads));
  show(TapKind::kValue, part_of(qkv, 2, shape_.heads));

  AttentionArgs args = problem(qkv, run);
  if (run.cache != nullptr) go_on_from_cache(args, *run.cache, run);
  Tensor heads = Tensor::empty(x.shape(), x.dtype());  // [B, T, C]
  Tensor lse = Tensor::empty({x.dim(0), shape_.heads, x.dim(1)}, x.dtype());
  Tensor lse_low = Tensor::empty(lse.shape(), x.dtype());
  const View by_head = split_heads(heads, shape_.heads);
  attention(args, {.out = by_head, .lse = lse, .lse_low = lse_low});
  if (run.tap != nullptr)
    run.tap->attended({.layer = shape_.layer, .kind = TapKind::kHeads}, args,
                      {.out = by_head, .lse = lse, .lse_low = lse_low});
  show(TapKind::kHeads, by_head);

  if (run.saved != nullptr) {
    run.saved->put(std::move(qkv));
    run.saved->put(std::move(lse));
    run.saved->put(std::move(lse_low));
    run.saved->put(heads.share());
  }
  return dropout_.forward(out_.forward(heads, run), run);
}

Tensor SelfAttention::backward(const Tensor& dy, Run& run, Gradients& gradients) const {
  Tensor dheads = out_.backward(dropout_.backward(dy, run), run, gradients);
  Tensor heads = run.saved->take();
  const Tensor lse_low = run.saved->take();
  const Tensor lse = run.saved->take();
  Tensor qkv = run.saved->take();
  Tensor dqkv = Tensor::empty(qkv.shape(), qkv.dtype());
  attention_backward(
      problem(qkv, run),
      AttendedConstView{.out = split_heads(heads, shape_.heads), .lse = lse, .lse_low = lse_low},
      split_heads(dheads, shape_.heads),
      {.dq_into = part_of(dqkv, 0, shape_.heads),
       .dk_into = part_of(dqkv, 1, shape_.heads),
       .dv_into = part_of(dqkv, 2, shape_.heads)});
  return qkv_.backward(dqkv, run, gradients);
}

void SelfAttention::collect(std::vector<Parameter*>& into) {
  qkv_.collect(into);
  out_.collect(into);
}

}  // namespace heed
