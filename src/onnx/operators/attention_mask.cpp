#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "heed/error.h"
#include "heed/mask.h"
#include "onnx/operators/attention.h"
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

}  // namespace

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

}  // namespace heed::onnx
