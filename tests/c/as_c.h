// C++ problems as C structs, with the same memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "heed/attention.h"
#include "heed/c.h"

namespace heed::test {

inline heed_view as_c(const ConstView& view) {
  heed_view made = {};
  if (!view.given()) return made;
  made.data = const_cast<void*>(view.raw());
  made.dtype = static_cast<int32_t>(view.dtype()) + 1;
  made.rank = view.rank();
  made.strided = 1;
  for (int axis = 0; axis < view.rank(); ++axis) {
    made.shape[axis] = view.dim(axis);
    made.strides[axis] = view.stride(axis);
  }
  return made;
}

inline heed_integers as_c(const std::vector<std::int64_t>& list) {
  return {list.data(), std::ssize(list)};
}

inline void set_scores(const Scores& scores, heed_attention_args& made) {
  made.scale = {scores.scale.data(), std::ssize(scores.scale)};
  made.similarity = static_cast<int32_t>(scores.similarity);
  made.normaliser = static_cast<int32_t>(scores.normaliser);
  made.softcap = scores.softcap;
  made.bias = as_c(scores.bias);
  made.alibi = as_c(scores.alibi);
  made.sink = as_c(scores.sink);
}

/// Points into `args`; the mask is the caller's.
inline heed_attention_args as_c(const AttentionArgs& args, const heed_mask* mask) {
  heed_attention_args made = heed_attention_args_default();
  made.q = as_c(args.q);
  made.k = as_c(args.keys.k);
  made.v = as_c(args.keys.v);
  made.page_table = as_c(args.keys.page_table);
  made.ring_begin = as_c(args.keys.ring_begin);
  made.k_scales = as_c(args.keys.k_scales);
  made.v_scales = as_c(args.keys.v_scales);
  made.query_length = as_c(args.extents.query_length);
  made.key_begin = as_c(args.extents.key_begin);
  made.key_length = as_c(args.extents.key_length);
  made.q_offset = as_c(args.extents.q_offset);
  made.key_offset = as_c(args.extents.key_offset);
  made.query_starts = as_c(args.extents.query_starts);
  made.key_starts = as_c(args.extents.key_starts);
  made.mask = mask;
  set_scores(args.scores, made);
  if (args.dropout) {
    made.dropout_rate = args.dropout->rate;
    made.dropout_seed = args.dropout->seed;
    made.dropout_offset = args.dropout->offset;
  }
  made.kernel = args.kernel.c_str();
  return made;
}

inline heed_attended as_c(const Attended& attended) {
  heed_attended made = heed_attended_default();
  made.out = as_c(attended.out);
  if (attended.lse.given()) made.lse = as_c(attended.lse);
  if (attended.lse_low.given()) made.lse_low = as_c(attended.lse_low);
  if (attended.out_low.given()) made.out_low = as_c(attended.out_low);
  return made;
}

struct FreeMask {
  void operator()(heed_mask* mask) const { heed_mask_free(mask); }
};
using HeldMask = std::unique_ptr<heed_mask, FreeMask>;

/// Memory of the same shape and type, filled with bytes that no result has.
inline Tensor room_like(const ConstView& view) {
  if (!view.given()) return {};
  Tensor room = Tensor::empty(view.shape(), view.dtype());
  auto* const bytes = static_cast<unsigned char*>(room.view().raw());
  const std::size_t count =
      static_cast<std::size_t>(view.element_count()) * size_bytes(view.dtype());
  for (std::size_t i = 0; i < count; ++i) bytes[i] = 0xA5;
  return room;
}

}  // namespace heed::test
