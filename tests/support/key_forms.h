// The keys of a padded problem in other memory: in pages at any place, or in a ring. Unused slots
// are NaN (i8: -1 with scales of NaN).
#pragma once

#include <cstring>
#include <functional>
#include <numeric>
#include <vector>

#include "base/philox.h"
#include "heed/attention.h"

namespace heed::test {

/// Keys with the memory that they refer to.
struct HeldKeys {
  Tensor k, v, k_scales, v_scales;
  Tensor table = {};
  std::vector<std::int64_t> ring_begin = {};

  Keys keys() const {
    return {.k = k,
            .v = v,
            .page_table = table,
            .ring_begin = ring_begin,
            .k_scales = k_scales,
            .v_scales = v_scales};
  }
};

/// k and v in `dtype`, which may be i8.
inline HeldKeys held_as(const ConstView& k, const ConstView& v, DType dtype) {
  if (dtype != DType::kI8)
    return {Tensor::converted(k, dtype), Tensor::converted(v, dtype), Tensor(), Tensor()};
  Quantised keys = quantise(k);
  Quantised values = quantise(v);
  return {std::move(keys.values), std::move(values.values), std::move(keys.scales),
          std::move(values.scales)};
}

struct Slot {
  std::int64_t block;
  std::int64_t row;
};

/// Row j < lengths[b] of `from` [B, G, T, W] at place(b, j) of [blocks, G, rows, W].
inline Tensor scattered(const Tensor& from, const Shape& to,
                        const std::vector<std::int64_t>& lengths,
                        const std::function<Slot(std::int64_t b, std::int64_t j)>& place) {
  if (!from.given()) return {};
  Tensor made = Tensor::empty({to[0], from.dim(1), to[1], from.dim(3)}, from.dtype());
  const auto bytes = static_cast<std::size_t>(from.dim(3)) * size_bytes(from.dtype());
  auto* memory = static_cast<char*>(made.view().raw());
  std::memset(memory, 0xFF, bytes * static_cast<std::size_t>(to[0] * from.dim(1) * to[1]));
  const auto* rows = static_cast<const char*>(from.view().raw());
  const auto index = [](const Tensor& x, std::int64_t b, std::int64_t g, std::int64_t row) {
    return static_cast<std::size_t>((b * x.dim(1) + g) * x.dim(2) + row);
  };
  for (std::int64_t b = 0; b < from.dim(0); ++b)
    for (std::int64_t j = 0; j < lengths[static_cast<std::size_t>(b)]; ++j)
      for (std::int64_t g = 0; g < from.dim(1); ++g) {
        const Slot slot = place(b, j);
        std::memcpy(memory + index(made, slot.block, g, slot.row) * bytes,
                    rows + index(from, b, g, j) * bytes, bytes);
      }
  return made;
}

inline HeldKeys rearranged(const HeldKeys& held, const Shape& to,
                           const std::vector<std::int64_t>& lengths,
                           const std::function<Slot(std::int64_t, std::int64_t)>& place) {
  return {.k = scattered(held.k, to, lengths, place),
          .v = scattered(held.v, to, lengths, place),
          .k_scales = scattered(held.k_scales, to, lengths, place),
          .v_scales = scattered(held.v_scales, to, lengths, place)};
}

/// Pages of `size` in shuffled order, some of which are unused; entries past the keys are
/// arbitrary.
inline HeldKeys paged(const HeldKeys& held, std::int64_t size,
                      const std::vector<std::int64_t>& lengths, DType table = DType::kI32) {
  const auto batch = std::ssize(lengths);
  const std::int64_t a_row = (held.k.dim(2) + size - 1) / size + 1;
  const std::int64_t count = batch * a_row + 3;
  std::vector<std::int64_t> order(static_cast<std::size_t>(count));
  std::iota(order.begin(), order.end(), 0);
  Random random(static_cast<std::uint64_t>(size));
  for (std::size_t n = order.size(); n > 1; --n) std::swap(order[n - 1], order[random.below(n)]);
  const auto page = [&](std::int64_t b, std::int64_t n) {
    return order[static_cast<std::size_t>(b * a_row + n)];
  };
  HeldKeys made = rearranged(held, {count, size}, lengths, [&](std::int64_t b, std::int64_t j) {
    return Slot{page(b, j / size), j % size};
  });
  made.table = Tensor::empty({batch, a_row}, table);
  for (std::int64_t b = 0; b < batch; ++b)
    for (std::int64_t n = 0; n < a_row; ++n) {
      const bool held_there = n * size < lengths[static_cast<std::size_t>(b)];
      const std::int64_t entry = held_there ? page(b, n) : n % 2 == 0 ? -7 : count + 1000;
      if (table == DType::kI64)
        made.table.data<std::int64_t>()[b * a_row + n] = entry;
      else
        made.table.data<std::int32_t>()[b * a_row + n] = static_cast<std::int32_t>(entry);
    }
  return made;
}

/// A ring of `slots` whose oldest key lies at begin[b].
inline HeldKeys ring(const HeldKeys& held, std::int64_t slots,
                     const std::vector<std::int64_t>& begin,
                     const std::vector<std::int64_t>& lengths) {
  HeldKeys made =
      rearranged(held, {std::ssize(lengths), slots}, lengths, [&](std::int64_t b, std::int64_t j) {
        return Slot{b, (begin[static_cast<std::size_t>(b)] + j) % slots};
      });
  made.ring_begin = begin;
  return made;
}

}  // namespace heed::test
