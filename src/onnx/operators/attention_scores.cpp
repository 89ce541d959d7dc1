#include <array>
#include <cmath>
#include <limits>

#include "heed/observe.h"
#include "onnx/operators/attention.h"
#include "ops/matmul.h"
#include "tensor/computable.h"

namespace heed::onnx {
namespace {

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

}  // namespace

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
      if (dtype == DType::kF64)
        hide_head(args, operands.bias, batch, head, own.data<double>());
      else
        hide_head(args, operands.bias, batch, head, own.data<float>());
    }
  }
  return scores;
}

}  // namespace heed::onnx
