#include "nn/attention.h"

#include <algorithm>

#include "heed/error.h"
#include "ops/elementwise.h"
#include "tensor/views.h"

namespace heed {
namespace {

// [B, T, H D] as [B, H, T, D]; x may be part of wider rows.
View split_heads(const View& x, std::int64_t heads) {
  const std::int64_t head_dim = x.dim(2) / heads;
  return View(x.raw(), x.dtype(), {x.dim(0), x.dim(1), heads, head_dim},
              {x.stride(0), x.stride(1), head_dim, 1})
      .permute({0, 2, 1, 3});
}

// `each` heads of every group, from rows [B, T, groups, each * D] that are part of wider rows.
View heads_of_groups(const View& rows, std::int64_t first, std::int64_t stride, Shape shape) {
  const View from = rows.slice(2, first, first + shape[3] * shape[4]);
  return View(from.raw(), from.dtype(), shape,
              {from.stride(0), from.stride(1), stride, shape[4], 1});
}

// Copies rows [B, T, (H + 2 G) D] of a fused projection from the order by group (`by_head`) to the
// order q, k, v, or back.
Tensor reordered(Tensor from, const AttentionShape& of, bool back) {
  const std::int64_t H = of.heads, G = of.kv_heads, D = of.head_dim, each = H / G;
  Tensor to = Tensor::empty(from.shape(), from.dtype());
  const View rows = from;
  const auto move = [&](std::int64_t heads, std::int64_t in_group, std::int64_t in_order) {
    const Shape shape = {rows.dim(0), rows.dim(1), G, heads, D};
    const auto part = [&](const View& view, bool is_by_group) {
      return is_by_group ? heads_of_groups(view, in_group * D, (each + 2) * D, shape)
                         : heads_of_groups(view, in_order * D, heads * D, shape);
    };
    copy_elements(part(rows, !back), part(to, back));
  };
  move(each, 0, 0);
  move(1, each, H);
  move(1, each + 1, H + G);
  return to;
}

// One half of every head of rows [B, T, 2 H D], as [B, T, H D].
Tensor half_of_heads(const Tensor& rows, std::int64_t heads, std::int64_t half) {
  const std::int64_t B = rows.dim(0), T = rows.dim(1), D = rows.dim(2) / heads / 2;
  return Tensor::copy_of(
             rows.view().reshape({B, T, heads, 2 * D}).slice(3, half * D, (half + 1) * D))
      .reshaped({B, T, heads * D});
}

// The same two halves together again.
Tensor halves_of_heads(const Tensor& first, const Tensor& second, std::int64_t heads) {
  const std::int64_t B = first.dim(0), T = first.dim(1), D = first.dim(2) / heads;
  Tensor both = Tensor::empty({B, T, heads, 2 * D}, first.dtype());
  const View whole = both;
  copy_elements(first.view().reshape({B, T, heads, D}), whole.slice(3, 0, D));
  copy_elements(second.view().reshape({B, T, heads, D}), whole.slice(3, D, 2 * D));
  return std::move(both).reshaped({B, T, heads * 2 * D});
}

// Selects the dropout masks of this attention's weights, like `DropoutLayer::site` for layers.
std::uint32_t dropout_offset(const AttentionShape& shape) {
  constexpr std::uint32_t kWeights = 1U << 31;
  return kWeights | static_cast<std::uint32_t>(shape.stack) << 16U |
         static_cast<std::uint32_t>(shape.layer);
}

// Applies one norm to the rows of each head of x [B, T, H D] or to all heads together, or applies
// each head's own norm. `use` computes the norm or its gradient; gradients go `back` from the last
// head, because the last saved tensor is taken first.
Tensor over_heads(Tensor x, const std::vector<Norm>& norms, bool back, const auto& use) {
  if (norms.empty()) return x;
  const Shape whole = x.shape();
  const std::int64_t width = norms[0].width(), count = std::ssize(norms);
  Tensor heads = std::move(x).reshaped({whole[0], whole[1], whole[2] / width, width});
  if (count == 1) return use(norms[0], heads).reshaped(whole);
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t head = back ? count - 1 - i : i;
    const View rows = heads.view().slice(2, head, head + 1);
    copy_elements(use(norms[static_cast<std::size_t>(head)], Tensor::copy_of(rows)), rows);
  }
  return std::move(heads).reshaped(whole);
}

}  // namespace

void SharedKeys::add_gradients(int layer, Rows rows) {
  if (const auto found = gradients_.find(layer); found != gradients_.end()) {
    add_to(found->second.k, rows.k);
    add_to(found->second.v, rows.v);
  } else {
    gradients_.emplace(layer, std::move(rows));
  }
}

void SharedKeys::add_gradients_to(int layer, Rows& own) const {
  const auto found = gradients_.find(layer);
  if (found == gradients_.end()) return;
  add_to(own.k, found->second.k);
  add_to(own.v, found->second.v);
}

std::vector<Linear> fused_projection(Linear qkv) {
  std::vector<Linear> projections;
  projections.push_back(std::move(qkv));
  return projections;
}

std::vector<Linear> separate_projections(Linear q, Linear k, Linear v) {
  std::vector<Linear> projections;
  for (Linear* linear : {&q, &k, &v}) projections.push_back(std::move(*linear));
  return projections;
}

Attention::Attention(AttentionParts parts, AttentionShape shape)
    : parts_(std::move(parts)), shape_(std::move(shape)) {}

Attention::Heads Attention::by_head(std::vector<Tensor>& projected) const {
  const std::int64_t H = shape_.heads;
  const std::int64_t G = shape_.kv_heads;
  if (!fused())
    return {split_heads(projected[0], H), split_heads(projected[1], G),
            split_heads(projected[2], G)};
  const View qkv = projected[0];
  const std::int64_t D = shape_.head_dim;
  return {split_heads(qkv.slice(2, 0, H * D), H), split_heads(qkv.slice(2, H * D, (H + G) * D), G),
          split_heads(qkv.slice(2, (H + G) * D, (H + 2 * G) * D), G)};
}

std::vector<Tensor> Attention::project(const Tensor& x, Run& run) const {
  std::vector<const Linear*> projections;
  for (const Linear& linear : parts_.projections) projections.push_back(&linear);
  std::vector<Tensor> projected = Linear::forward_each(projections, x, run);
  if (shape_.by_head) projected[0] = reordered(std::move(projected[0]), shape_, /*back=*/false);
  Tensor gates;
  if (shape_.gated) {
    gates = half_of_heads(projected[0], shape_.heads, 1);
    projected[0] = half_of_heads(projected[0], shape_.heads, 0);
  }
  const auto apply = [&](const std::vector<Norm>& norms, Tensor& rows) {
    rows =
        over_heads(std::move(rows), norms, /*back=*/false,
                   [&](const Norm& norm, const Tensor& heads) { return norm.forward(heads, run); });
  };
  apply(parts_.q_norms, projected[0]);
  if (shape_.keys_from) return projected;
  if (shape_.keys_are_values) projected.push_back(projected[1].clone());
  if (!fused()) {
    apply(parts_.k_norms, projected[1]);
    apply(parts_.v_norms, projected[2]);
  }
  if (shape_.clip > 0)
    for (Tensor& rows : projected) {
      if (run.saved != nullptr) run.saved->put(rows.clone());
      rows = clamped(std::move(rows), -shape_.clip, shape_.clip);
    }
  if (gates.given()) projected.push_back(std::move(gates));
  return projected;
}

Tensor Attention::project_backward(std::vector<Tensor> dprojected, Run& run,
                                   Gradients& gradients) const {
  Tensor dgates;
  if (shape_.gated) {
    dgates = std::move(dprojected.back());
    dprojected.pop_back();
  }
  if (shape_.clip > 0)
    for (auto rows = dprojected.rbegin(); rows != dprojected.rend(); ++rows)
      *rows = clamp_backward(run.saved->take(), -shape_.clip, shape_.clip, std::move(*rows));
  const auto undo = [&](const std::vector<Norm>& norms, Tensor& rows) {
    rows = over_heads(std::move(rows), norms, /*back=*/true,
                      [&](const Norm& norm, const Tensor& heads) {
                        return norm.backward(heads, run, gradients);
                      });
  };
  if (!fused() && !shape_.keys_from) {
    undo(parts_.v_norms, dprojected[2]);
    undo(parts_.k_norms, dprojected[1]);
    if (shape_.keys_are_values) add_to(dprojected[1], dprojected[2]);
  }
  undo(parts_.q_norms, dprojected[0]);
  if (shape_.gated) dprojected[0] = halves_of_heads(dprojected[0], dgates, shape_.heads);
  dprojected.resize(parts_.projections.size());  // a layer may compute queries alone
  if (shape_.by_head) dprojected[0] = reordered(std::move(dprojected[0]), shape_, /*back=*/true);
  Tensor dx = parts_.projections.back().backward(dprojected.back(), run, gradients);
  for (std::size_t i = parts_.projections.size() - 1; i-- > 0;)
    dx = add(std::move(dx), parts_.projections[i].backward(dprojected[i], run, gradients));
  return dx;
}

// A tap gets its own copies, because it may overwrite them.
void Attention::append_shared(std::vector<Tensor>& projected, const Run& run) const {
  const SharedKeys::Rows& rows = run.shared_keys->of(shape_.keys_from.value_or(0));
  for (const Tensor* tensor : {&rows.k, &rows.v})
    projected.push_back(run.tap == nullptr ? tensor->share() : tensor->clone());
}

// Without a cache every row counts as long as the batch, as in the published implementations of
// length-dependent scaling.
Standing Attention::standing(const ConstView& q, const Run& run) const {
  const auto rows = static_cast<std::size_t>(q.dim(0));
  if (run.cache == nullptr)
    return {std::vector<std::int64_t>(rows, 0), std::vector(rows, q.dim(2))};
  Standing standing = {{run.cache->lengths().begin(), run.cache->lengths().end()},
                       run.row_lengths(q.dim(0), q.dim(2))};
  for (std::size_t b = 0; b < rows; ++b) standing.length[b] += standing.first[b];
  return standing;
}

AttentionArgs Attention::problem(const Heads& heads, Extents extents, const Run& run) const {
  AttentionArgs args = {.q = heads.q,
                        .keys = {.k = heads.k, .v = heads.v},
                        .extents = std::move(extents),
                        .mask = shape_.mask,
                        .scores = {.scale = {shape_.scale}, .softcap = shape_.softcap}};
  if (!shape_.slopes.empty() && !shape_.rounds_slopes)
    args.scores.alibi = ConstView(shape_.slopes.data(), DType::kF64, {shape_.heads});
  if (parts_.sinks) args.scores.sink = parts_.sinks->value;
  if (run.tap != nullptr) args.mask = args.mask & run.tap->mask(shape_.stack, shape_.layer);
  if (run.dropout_seed && shape_.dropout > 0)
    args.dropout = {.rate = shape_.dropout,
                    .seed = *run.dropout_seed,
                    .offset = dropout_offset(shape_),
                    .first_row = run.first_row};
  return args;
}

Tensor Attention::go_on_from_cache(AttentionArgs& args, const Standing& standing, KvCache& cache,
                                   const Run& run) const {
  const std::vector<std::int64_t> counts = run.row_lengths(args.q.dim(0), args.q.dim(2));
  if (!shape_.keys_from) cache.append(shape_.layer, args.keys, counts);
  args.keys = cache.keys(shape_.keys_from.value_or(shape_.layer));
  args.extents = cache.extents(counts);
  if (!parts_.rotation || !parts_.rotation->depends_on_length()) return {};
  if (cache.options().form != KvForm::kContiguous || cache.options().dtype == DType::kI8)
    fail("attention", "run.cache", "a ring, pages or i8",
         "contiguous keys of a floating type: positions scaled by the text's length "
         "turn keys anew",
         ErrorCode::kUnsupported);
  const std::int64_t longest = *std::ranges::max_element(standing.length);
  Tensor turned = Tensor::converted(args.keys.k.slice(2, 0, longest), args.q.dtype());
  parts_.rotation->turn(turned,
                        {std::vector<std::int64_t>(standing.first.size(), 0), standing.length});
  args.keys.k = turned;
  args.keys.v = args.keys.v.slice(2, 0, longest);
  return turned;
}

void Attention::show(const Heads& heads, const Run& run) const {
  TapName name = {.stack = shape_.stack, .layer = shape_.layer, .kind = TapKind::kQuery};
  run.show(name, heads.q);
  name.kind = TapKind::kKey;
  run.show(name, heads.k);
  name.kind = TapKind::kValue;
  run.show(name, heads.v);
}

Tensor Attention::forward(const Tensor& x, Run& run) const {
  std::vector<Tensor> projected = project(x, run);
  if (shape_.keys_from) append_shared(projected, run);
  const Heads heads = by_head(projected);
  const Standing standing = this->standing(heads.q, run);
  if (parts_.rotation) {
    parts_.rotation->turn(heads.q, standing);
    if (!shape_.keys_from && (run.cache == nullptr || !parts_.rotation->depends_on_length()))
      parts_.rotation->turn(heads.k, standing);
  }
  show(heads, run);
  if (shape_.lends_keys)
    run.shared_keys->put(shape_.layer, {projected[1].share(), projected[2].share()});
  AttentionArgs args = problem(heads, run.extents, run);
  Tensor turned_keys;
  if (run.cache != nullptr) turned_keys = go_on_from_cache(args, standing, *run.cache, run);
  const BiasByDistance bias = bias_of(args, run);
  args.scores.bias = bias.cells;
  return attend(args, std::move(projected), run);
}

Tensor Attention::attend(const AttentionArgs& args, std::vector<Tensor> projected, Run& run) const {
  const std::int64_t B = args.q.dim(0);
  const std::int64_t T = args.q.dim(2);
  const DType dtype = args.q.dtype();
  Tensor heads = Tensor::empty({B, T, shape_.heads * shape_.head_dim}, dtype);
  Tensor lse = Tensor::empty({B, shape_.heads, T}, dtype);
  Tensor lse_low = Tensor::empty(lse.shape(), dtype);
  const View out = split_heads(heads, shape_.heads);
  attention(args, {.out = out, .lse = lse, .lse_low = lse_low});
  const TapName name = {.stack = shape_.stack, .layer = shape_.layer, .kind = TapKind::kHeads};
  if (run.tap != nullptr)
    run.tap->attended(name, args, {.out = out, .lse = lse, .lse_low = lse_low});
  const Tensor kept = shape_.gated && run.saved != nullptr ? heads.clone() : heads.share();
  if (shape_.gated) {
    Tensor gates = activate(projected.back(), Activation::kSigmoid);
    run.show({.stack = shape_.stack, .layer = shape_.layer, .kind = TapKind::kGates},
             split_heads(gates, shape_.heads));
    multiply_by(heads, gates);
  }
  run.show(name, out);
  if (run.saved != nullptr) {
    for (Tensor& tensor : projected) run.saved->put(std::move(tensor));
    run.saved->put(std::move(lse));
    run.saved->put(std::move(lse_low));
    run.saved->put(kept.share());
  }
  return parts_.dropout.forward(parts_.out.forward(heads, run), run);
}

// Uses the positions of the cache's slots, or of the text itself.
BiasByDistance Attention::bias_of(const AttentionArgs& args, const Run& run) const {
  if (!parts_.bias && !shape_.rounds_slopes) return {};
  if (run.cache != nullptr && run.cache->options().form != KvForm::kContiguous)
    fail("attention", "run.cache", "a ring or pages",
         "contiguous keys: scores have a bias by position", ErrorCode::kUnsupported);
  const std::int64_t queries = args.q.dim(2), keys = args.keys.k.dim(2);
  if (!parts_.bias)
    return rounded_alibi(shape_.slopes, shape_.scale, {args.q.dim(0), shape_.heads, queries, keys});
  return parts_.bias->forward(standing(args.q, run).first, queries, keys);
}

std::vector<Tensor> Attention::attend_backward(const Tensor& dy, const Extents& extents, Run& run,
                                               Gradients& gradients) const {
  Tensor dheads = parts_.out.backward(parts_.dropout.backward(dy, run), run, gradients);
  Tensor heads = run.saved->take();
  const Tensor lse_low = run.saved->take();
  const Tensor lse = run.saved->take();
  Tensor dgates;
  if (shape_.gated) {
    dgates = dheads.clone();
    multiply_by(dgates, heads);
    multiply_by(dheads, activate_backward(run.saved->take(), Activation::kSigmoid, dgates));
  }
  std::vector<Tensor> projected(fused() ? 1 : 3);
  std::vector<Tensor> dprojected(projected.size());
  for (std::size_t i = projected.size(); i-- > 0;) {
    projected[i] = run.saved->take();
    dprojected[i] = Tensor::empty(projected[i].shape(), projected[i].dtype());
  }
  const Heads into = by_head(dprojected);
  AttentionArgs args = problem(by_head(projected), extents, run);
  const BiasByDistance bias = bias_of(args, run);
  args.scores.bias = bias.cells;
  const AttentionGrads grads = attention_backward(
      args,
      AttendedConstView{.out = split_heads(heads, shape_.heads), .lse = lse, .lse_low = lse_low},
      split_heads(dheads, shape_.heads),
      {.dbias = parts_.bias != nullptr,
       .dsink = parts_.sinks != nullptr,
       .dq_into = into.q,
       .dk_into = into.k,
       .dv_into = into.v});
  if (parts_.bias) parts_.bias->backward(grads.dbias, standing(args.q, run).first, gradients);
  if (parts_.sinks) add_to(gradients.of(*parts_.sinks), grads.dsink);
  if (shape_.gated) dprojected.push_back(std::move(dgates));
  return dprojected;
}

Tensor Attention::backward(const Tensor& dy, Run& run, Gradients& gradients) const {
  std::vector<Tensor> dprojected = attend_backward(dy, run.extents, run, gradients);
  if (shape_.lends_keys) {
    SharedKeys::Rows own = {dprojected[1].share(), dprojected[2].share()};
    run.shared_keys->add_gradients_to(shape_.layer, own);
  }
  if (parts_.rotation) {
    const Heads heads = by_head(dprojected);
    const Standing standing = this->standing(heads.q, run);
    parts_.rotation->turn_back(heads.q, standing);
    if (!shape_.keys_from) parts_.rotation->turn_back(heads.k, standing);
  }
  if (shape_.keys_from)
    run.shared_keys->add_gradients(*shape_.keys_from,
                                   {dprojected[1].share(), dprojected[2].share()});
  return project_backward(std::move(dprojected), run, gradients);
}

SourceKeys Attention::source_keys(const Source& source, Run& run) const {
  const SourceKeys* held = run.cache == nullptr ? nullptr : run.cache->source(shape_.layer);
  if (held != nullptr) return {held->k.share(), held->v.share(), held->lengths};
  SourceKeys keys = {.k = parts_.projections[1].forward(source.states, run),
                     .v = parts_.projections[2].forward(source.states, run),
                     .lengths = source.lengths};
  if (run.cache != nullptr)
    run.cache->put_source(shape_.layer, {keys.k.share(), keys.v.share(), keys.lengths});
  return keys;
}

Extents Attention::source_extents(const std::vector<std::int64_t>& lengths, const Run& run) const {
  return {.query_length = run.extents.query_length, .key_length = lengths};
}

Tensor Attention::forward(const Tensor& x, const Source& source, Run& run) const {
  std::vector<Tensor> projected;
  projected.push_back(parts_.projections[0].forward(x, run));
  SourceKeys keys = source_keys(source, run);
  projected.push_back(std::move(keys.k));
  projected.push_back(std::move(keys.v));
  const Heads heads = by_head(projected);
  show(heads, run);
  const AttentionArgs args = problem(heads, source_extents(keys.lengths, run), run);
  return attend(args, std::move(projected), run);
}

Tensor Attention::backward(const Tensor& dy, const Source& source, Tensor& dstates, Run& run,
                           Gradients& gradients) const {
  std::vector<Tensor> dprojected =
      attend_backward(dy, source_extents(source.lengths, run), run, gradients);
  add_to(dstates, parts_.projections[2].backward(dprojected[2], run, gradients));
  add_to(dstates, parts_.projections[1].backward(dprojected[1], run, gradients));
  return parts_.projections[0].backward(dprojected[0], run, gradients);
}

void Attention::collect(std::vector<Parameter*>& into) {
  for (Linear& linear : parts_.projections) linear.collect(into);
  for (std::vector<Norm>* norms : {&parts_.q_norms, &parts_.k_norms, &parts_.v_norms})
    for (Norm& norm : *norms) norm.collect(into);
  if (parts_.sinks) into.push_back(parts_.sinks.get());
  parts_.out.collect(into);
}

}  // namespace heed
