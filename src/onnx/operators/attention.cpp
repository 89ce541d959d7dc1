// Attention, opsets 23, 24 and 25.
#include "heed/attention.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "heed/error.h"
#include "heed/mask.h"
#include "heed/observe.h"
#include "onnx/operators.h"
#include "ops/matmul.h"
#include "tensor/computable.h"
#include "tensor/text.h"
#include "tensor/views.h"

namespace heed::onnx {
namespace {

// Values of the mask's type that hide keys, for keys beyond its end.
Tensor hidden(const Shape& shape, DType dtype) {
  if (!is_floating(dtype)) return Tensor::zeros(shape, dtype);  // false
  Tensor values = Tensor::empty(shape, DType::kF64);
  std::fill_n(values.data<double>(), values.element_count(),
              -std::numeric_limits<double>::infinity());
  return Tensor::converted(values, dtype);
}

// A mask shorter than the keys hides the keys beyond its end.
Tensor as_long_as(const ConstView& mask, std::int64_t keys) {
  const bool legal = mask.dtype() == DType::kBool || is_floating(mask.dtype());
  if (!legal)
    fail("Attention", "attn_mask", name(mask.dtype()), "bool or a floating type",
         ErrorCode::kUnsupported);
  if (1 > mask.rank() || mask.rank() > 4 || mask.dim(-1) > keys)
    fail("Attention", "attn_mask.shape", to_string(mask.shape()),
         fmt::format("one to four axes, the last at most {}", keys));
  if (mask.dim(-1) == keys) return Tensor::copy_of(mask);
  Shape shape = mask.shape();
  shape[mask.rank() - 1] = keys;
  Tensor longer = hidden(shape, mask.dtype());
  copy_elements(mask, longer.view().slice(-1, 0, mask.dim(-1)));
  return longer;
}

std::int64_t window(const NodeCall& call, const char* side) {
  const std::int64_t keys = call.integer(side, -1);
  if (keys < -1) fail("Attention", side, keys, "-1 or more");
  return keys;
}

// The mask and the additive bias; owns the memory viewed by `args`.
class AttentionMask {
 public:
  // `past` keys precede those of K; `total` counts both.
  AttentionMask(const NodeCall& call, std::int64_t queries, std::int64_t past, std::int64_t total);

  // Sets extents, mask and bias; the bias in the type `computed`.
  void apply(AttentionArgs& args, DType computed);

 private:
  Tensor attn_mask_;  // as long as the keys; not given: no mask
  Extents extents_;
  Band band_;
  Tensor bias_;
};

AttentionMask::AttentionMask(const NodeCall& call, std::int64_t queries, std::int64_t past,
                             std::int64_t total) {
  const ConstView mask = call.input(3);
  const ConstView lengths = call.input(6);
  if (mask.given()) attn_mask_ = as_long_as(mask, total);
  const bool causal = call.integer("is_causal", 0) != 0;
  band_ = {.left = window(call, "left_window_size"),
           .right = causal ? 0 : window(call, "right_window_size")};
  extents_.q_offset = {past};
  if (!lengths.given()) return;
  if (call.input(4).given() || lengths.dtype() != DType::kI64 || lengths.rank() != 1)
    fail("Attention", "nonpad_kv_seqlen", to_string(lengths), "i64 [batch] and no past_key");
  const auto* length = lengths.data<std::int64_t>();
  extents_.q_offset.clear();
  for (std::int64_t batch = 0; batch < lengths.dim(0); ++batch) {
    extents_.key_length.push_back(length[batch]);
    extents_.q_offset.push_back(length[batch] - queries);
  }
}

void AttentionMask::apply(AttentionArgs& args, DType computed) {
  args.extents = extents_;
  if (band_.left >= 0 || band_.right >= 0) args.mask = Mask::band(band_);
  if (!attn_mask_.given()) return;
  if (attn_mask_.dtype() == DType::kBool) {
    args.mask = args.mask & Mask::keep(attn_mask_);
  } else {
    bias_ = Tensor::converted(attn_mask_, computed);
    args.scores.bias = bias_;
  }
}

enum class ScoreStage : std::uint8_t { kRaw, kAfterSoftcap, kAfterMask, kAfterSoftmax };

// Operands of the stages before the softmax, in the computing type.
struct Operands {
  explicit Operands(const AttentionArgs& args)
      : q(args.q),
        k(args.keys.k),
        bias(args.scores.bias.given()
                 ? args.scores.bias.broadcast_to(
                       {args.q.dim(0), args.q.dim(1), args.q.dim(2), args.keys.k.dim(2)})
                 : ConstView()) {}
  Computable q, k, bias;
};

// Writes scale * q k^T of one head to [Tq, Tk], after the softcap if requested.
void fill_head(const Operands& operands, const Scores& how, std::int64_t batch, std::int64_t head,
               bool capped, const View& scores) {
  const ConstView& q = operands.q;
  const ConstView& k = operands.k;
  const std::int64_t group = q.dim(1) / k.dim(1);
  matmul({.a = q.select(0, batch).select(0, head),
          .b = k.select(0, batch).select(0, head / group).permute({1, 0})},
         scores);
  in_computing_type(scores.dtype(), [&]<typename T>(T /*zero*/) {
    T* const values = scores.data<T>();
    const double cap = capped ? how.softcap : 0;
    for (std::int64_t i = 0; i < scores.element_count(); ++i) {
      const double score = how.scale[0] * values[i];
      values[i] = static_cast<T>(cap > 0 ? cap * std::tanh(score / cap) : score);
    }
  });
}

std::int64_t entry(const std::vector<std::int64_t>& list, std::int64_t batch,
                   std::int64_t otherwise) {
  if (list.empty()) return otherwise;
  return list[list.size() == 1 ? 0 : static_cast<std::size_t>(batch)];
}

// Adds the bias, and -inf where the mask or the length hides a key.
template <typename T>
void hide_head(const AttentionArgs& args, const ConstView& bias, std::int64_t batch,
               std::int64_t head, T* scores) {
  const std::int64_t queries = args.q.dim(2);
  const std::int64_t keys = args.keys.k.dim(2);
  const std::int64_t length = entry(args.extents.key_length, batch, keys);
  const MaskPlace place = {
      .batch = batch, .head = head, .q_offset = entry(args.extents.q_offset, batch, 0)};
  const MaskRule* rule = args.mask.rule();
  const T* added =
      bias.given() ? bias.data<T>() + (batch * args.q.dim(1) + head) * queries * keys : nullptr;
  for (std::int64_t i = 0; i < queries * keys; ++i) {
    const std::int64_t row = i / keys;
    const std::int64_t key = i % keys;
    if (added != nullptr) scores[i] += added[i];
    const bool visible = key < length && (rule == nullptr || rule->visible(place, row, key));
    if (!visible) scores[i] = -std::numeric_limits<T>::infinity();
  }
}

Tensor weights(const AttentionArgs& args, const Attended& attended) {
  SelectionObserver observer;
  const std::array<Observer*, 1> observers = {&observer};
  observe(args, attended, observers);
  return std::move(observer.values);
}

// [B, H, Tq, Tk] after a stage, in quadratic memory, as the operator requires. Before the mask it
// is defined at every pair; after it masked pairs are -inf, and after the softmax 0.
Tensor scores_after(ScoreStage stage, const AttentionArgs& args, const Attended& attended) {
  if (stage == ScoreStage::kAfterSoftmax) return weights(args, attended);
  const Operands operands(args);
  const DType dtype = computing_type(args.q.dtype());
  Tensor scores =
      Tensor::empty({args.q.dim(0), args.q.dim(1), args.q.dim(2), args.keys.k.dim(2)}, dtype);
  for (std::int64_t batch = 0; batch < scores.dim(0); ++batch) {
    for (std::int64_t head = 0; head < scores.dim(1); ++head) {
      const View own = scores.view().select(0, batch).select(0, head);
      fill_head(operands, args.scores, batch, head, stage != ScoreStage::kRaw, own);
      if (stage != ScoreStage::kAfterMask) continue;
      in_computing_type(dtype, [&]<typename T>(T /*zero*/) {
        hide_head(args, operands.bias, batch, head, own.data<T>());
      });
    }
  }
  return scores;
}

// The cache followed by the new tokens, [B, G, past + T, D].
Tensor concatenated(const ConstView& past, const ConstView& now) {
  if (!past.given()) return Tensor::copy_of(now);
  if (past.rank() != 4 || past.dtype() != now.dtype() || past.dim(0) != now.dim(0) ||
      past.dim(1) != now.dim(1) || past.dim(3) != now.dim(3))
    fail("Attention", "past", to_string(past),
         fmt::format("one that the new tokens, {}, continue", to_string(now)));
  const std::int64_t before = past.dim(2);
  const std::int64_t width = now.dim(3) * static_cast<std::int64_t>(size_bytes(now.dtype()));
  Tensor all =
      Tensor::empty({now.dim(0), now.dim(1), before + now.dim(2), now.dim(3)}, now.dtype());
  const Tensor first = Tensor::copy_of(past);
  const Tensor second = Tensor::copy_of(now);
  const auto* from_first = static_cast<const std::byte*>(first.view().raw());
  const auto* from_second = static_cast<const std::byte*>(second.view().raw());
  auto* to = static_cast<std::byte*>(all.view().raw());
  for (std::int64_t place = 0; place < now.dim(0) * now.dim(1); ++place) {
    to = std::copy_n(from_first + place * before * width, before * width, to);
    to = std::copy_n(from_second + place * now.dim(2) * width, now.dim(2) * width, to);
  }
  return all;
}

// The precision of scores and weights: at least f32, f64 if requested. Lower requests use more.
DType computed_type(const NodeCall& call, DType of_q) {
  constexpr std::int64_t kDouble = 11;
  const bool wide = of_q == DType::kF64 || call.integer("softmax_precision", 1) == kDouble;
  return wide ? DType::kF64 : DType::kF32;
}

double scale_of(const NodeCall& call, const ConstView& q) {
  return call.has("scale") ? call.number("scale", 0) : 1 / std::sqrt(static_cast<double>(q.dim(3)));
}

ScoreStage stage_of(const NodeCall& call) {
  const std::int64_t mode = call.integer("qk_matmul_output_mode", 0);
  if (0 > mode || mode > 3) fail("Attention", "qk_matmul_output_mode", mode, "0 to 3");
  return static_cast<ScoreStage>(mode);
}

}  // namespace

std::vector<Tensor> attention(const NodeCall& call) {
  const ConstView given = call.required(0, "Q");
  const std::int64_t kv_heads = call.integer("kv_num_heads", 0);
  const ConstView past = call.input(4);
  if (past.given() != call.input(5).given())
    fail("Attention", past.given() ? "past_value" : "past_key", {},
         past.given() ? "one, as past_key is given" : "one, as past_value is given");
  const DType computed = computed_type(call, given.dtype());
  std::vector<Tensor> outputs(4);
  outputs[1] = concatenated(past, with_heads(call.required(1, "K"), kv_heads, "K"));
  outputs[2] = concatenated(call.input(5), with_heads(call.required(2, "V"), kv_heads, "V"));
  const Tensor q =
      Tensor::converted(with_heads(given, call.integer("q_num_heads", 0), "Q"), computed);
  const Tensor k = Tensor::converted(outputs[1], computed);
  const Tensor v = Tensor::converted(outputs[2], computed);
  AttentionArgs args = {.q = q, .keys = {.k = k, .v = v}};
  args.scores.scale = {scale_of(call, q)};
  args.scores.softcap = call.number("softcap", 0);
  AttentionMask mask(call, q.dim(2), past.given() ? past.dim(2) : 0, k.dim(2));
  mask.apply(args, computed);
  const Attended attended = heed::attention(args);
  outputs[0] = packed_heads(Tensor::converted(attended.out, given.dtype()), given.rank() == 3);
  if (call.wants(3))
    outputs[3] = Tensor::converted(scores_after(stage_of(call), args, attended), given.dtype());
  return outputs;
}

}  // namespace heed::onnx
