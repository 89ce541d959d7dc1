#include "models/text_pass.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/wording.h"
#include "heed/error.h"
#include "heed/generate.h"
#include "tensor/text.h"

namespace heed {
namespace {

class Checks {
 public:
  Checks(const ModelInfo& info, const Batch& batch, const Run& run)
      : info_(info), batch_(batch), run_(run) {}

  void all() const {
    check_ids("ids", batch_.ids, info_.positions);
    check_types();
    check_source();
    check_run();
    if (run_.cache != nullptr) check_cache();
  }

 private:
  [[noreturn]] void refuse(const char* argument, Phrase found, Phrase expected) const {
    fail(info_.family, argument, std::move(found), std::move(expected));
  }

  void check_ids(const char* name_of_it, const ConstView& ids, std::int64_t most) const {
    if (ids.rank() != 2 || ids.dtype() != DType::kI32 || !ids.is_contiguous())
      refuse(name_of_it, fmt::format("{} {}", name(ids.dtype()), to_string(ids.shape())),
             "i32 [batch, tokens], row-major");
    if (ids.dim(1) > most)
      refuse(name_of_it, fmt::format("{} long", number_of(ids.dim(1), "token")),
             fmt::format("at most {} (the model's positions)", most));
  }

  void check_types() const {
    const ConstView& types = batch_.types;
    if (!types.given()) return;
    if (types.shape() != batch_.ids.shape() || types.dtype() != DType::kI32 ||
        !types.is_contiguous())
      refuse("types", fmt::format("{} {}", name(types.dtype()), to_string(types.shape())),
             fmt::format("i32 {} (ids'), row-major", to_string(batch_.ids.shape())));
  }

  void check_source() const {
    if (!info_.reads_source()) {
      if (batch_.source.given()) refuse("source", "given", "none: the model reads no source");
      return;
    }
    const bool held = run_.cache != nullptr && run_.cache->source(0) != nullptr;
    if (!batch_.source.given()) {
      if (!held) refuse("source", "", "what the encoder reads");
      return;
    }
    check_ids("source", batch_.source, info_.source_positions);
    if (batch_.source.dim(0) != batch_.ids.dim(0))
      refuse("source", fmt::format("of {}", number_of(batch_.source.dim(0), "row")),
             fmt::format("{} (ids')", batch_.ids.dim(0)));
    check_source_lengths();
  }

  void check_source_lengths() const {
    const auto& lengths = batch_.source_lengths;
    if (!lengths.empty() && std::ssize(lengths) != batch_.source.dim(0))
      refuse("source_lengths", fmt::format("a list of {}", lengths.size()),
             fmt::format("none or {} entries (the batch)", batch_.source.dim(0)));
    for (const std::int64_t length : lengths)
      if (length < 0 || length > batch_.source.dim(1))
        refuse("source_lengths", length,
               fmt::format("0 to {}, the tokens given", batch_.source.dim(1)));
  }

  void check_run() const {
    const std::vector<std::int64_t> lengths =
        run_.row_lengths(batch_.ids.dim(0), batch_.ids.dim(1));
    if (run_.last_position_only && std::ranges::find(lengths, 0) != lengths.end())
      refuse("ids", "without a token", "at least one for the last position's logits");
    if (run_.last_position_only && run_.saved != nullptr)
      refuse("run.last_position_only", "given with run.saved",
             "one of them: backward needs all positions");
  }

  void check_cache() const {
    if (!info_.causal && !info_.reads_source())
      refuse("run.cache", "given", "none: an encoder reads the whole text at once");
    if (run_.saved != nullptr)
      refuse("run.cache", "given with run.saved", "one of them: backward needs the whole text");
    const Extents& extents = run_.extents;
    if (!extents.key_begin.empty() || !extents.key_length.empty() || !extents.q_offset.empty() ||
        !extents.key_offset.empty())
      refuse("run.extents", "given for keys or offsets",
             "query_length alone: the cache knows the others");
    const auto counts = run_.row_lengths(batch_.ids.dim(0), batch_.ids.dim(1));
    run_.cache->require_room(counts);
    for (std::size_t b = 0; b < counts.size(); ++b)
      if (run_.cache->lengths()[b] + counts[b] > info_.positions)
        refuse("ids",
               fmt::format("{} long behind {} in the cache, in row {}",
                           number_of(counts[b], "token"), run_.cache->lengths()[b], b),
               fmt::format("at most {} in all (the model's positions)", info_.positions));
  }

  const ModelInfo& info_;
  const Batch& batch_;
  const Run& run_;
};

}  // namespace

StackShape stack_shape(Stack stack, bool causal, const StackNumbers& numbers) {
  return {.stack = stack,
          .layers = static_cast<int>(numbers.layers),
          .heads = static_cast<int>(numbers.heads),
          .kv_heads = static_cast<int>(numbers.kv_heads),
          .causal = causal,
          .head_dim = static_cast<int>(numbers.head_dim)};
}

bool is_causal(const Config& config) {
  return !config.null("is_causal") && config.flag("is_causal", true);
}

Mask text_mask(bool causal, std::int64_t window) {
  if (window == 0) return causal ? heed::Mask::causal() : Mask();
  return causal ? Mask::band({.left = window - 1, .right = 0})
                : Mask::band({.left = window, .right = window});
}

void check_pass(const ModelInfo& info, const Batch& batch, const Run& run) {
  Checks(info, batch, run).all();
}

void check_dropout(const ModelInfo& info, const UnservedDropout& unserved, const Run& run) {
  for (const auto& [key, share] : unserved)
    if (run.dropout_seed && share > 0)
      fail(info.family, key, share, "0: dropout of attention weights is not served in training yet",
           ErrorCode::kUnsupported);
}

void check_saved(const ModelInfo& info, const Run& run) {
  if (run.saved == nullptr) fail(info.family, "run.saved", "", "what forward filled");
}

Tensor positions_of(const ConstView& ids, const Run& run, const PositionRows& rows) {
  Tensor positions = Tensor::empty(ids.shape(), DType::kI32);
  const std::int64_t T = ids.dim(1);
  for (std::int64_t b = 0; b < ids.dim(0); ++b) {
    std::int64_t next =
        run.cache != nullptr ? run.cache->lengths()[static_cast<std::size_t>(b)] : 0;
    for (std::int64_t at = b * T; at < (b + 1) * T; ++at) {
      const bool is_padding = rows.pad >= 0 && ids.data<std::int32_t>()[at] == rows.pad;
      const std::int64_t row =
          is_padding ? rows.pad : rows.first + std::min(next++, rows.count - 1);
      positions.data<std::int32_t>()[at] = static_cast<std::int32_t>(row);
    }
  }
  return positions;
}

Tensor wanted_rows(Tensor x, const Run& run) {
  if (!run.last_position_only) return x;
  const std::vector<std::int64_t> lengths = run.row_lengths(x.dim(0), x.dim(1));
  Tensor last = Tensor::empty({x.dim(0), 1, x.dim(2)}, x.dtype());
  const std::size_t bytes = static_cast<std::size_t>(x.dim(2)) * size_bytes(x.dtype());
  for (std::int64_t b = 0; b < x.dim(0); ++b)
    std::memcpy(last.view().select(0, b).raw(),
                x.view().select(0, b).select(0, lengths[static_cast<std::size_t>(b)] - 1).raw(),
                bytes);
  return last;
}

Tensor logits_of(const Linear& head, const Tensor& x, Run& run) {
  return run.last_position_only ? head.apply(wanted_rows(x.share(), run), {})
                                : head.forward(x, run);
}

std::vector<std::int64_t> source_lengths(const Batch& batch) {
  if (!batch.source_lengths.empty() || !batch.source.given()) return batch.source_lengths;
  return std::vector(static_cast<std::size_t>(batch.source.dim(0)), batch.source.dim(1));
}

Run source_run(const Batch& batch, const Run& run) {
  Run reading = run;
  reading.cache = nullptr;
  reading.extents = {.query_length = source_lengths(batch), .key_length = source_lengths(batch)};
  return reading;
}

}  // namespace heed
