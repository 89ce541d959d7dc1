#include "tensor/strided_copy.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace heed {
namespace {

// The bytes of one type along the last axis, wherever they lie.
struct Line {
  std::int64_t count;
  std::size_t bytes;
  std::int64_t from_step;  // in bytes
  std::int64_t to_step;
};

void copy_line(const std::byte* from, std::byte* to, const Line& line) {
  const auto bytes = static_cast<std::int64_t>(line.bytes);
  if (line.from_step == bytes && line.to_step == bytes) {
    std::memcpy(to, from, line.bytes * static_cast<std::size_t>(line.count));
    return;
  }
  for (std::int64_t i = 0; i < line.count; ++i, from += line.from_step, to += line.to_step)
    std::memcpy(to, from, line.bytes);
}

}  // namespace

void copy_elements(const ConstView& from, const View& to) {
  if (from.element_count() == 0) return;
  const int last = from.rank() - 1;
  const auto bytes = static_cast<std::int64_t>(size_bytes(from.dtype()));
  const Line line = {last < 0 ? 1 : from.shape()[last], size_bytes(from.dtype()),
                     last < 0 ? bytes : from.strides()[last] * bytes,
                     last < 0 ? bytes : to.strides()[last] * bytes};
  const auto* source = static_cast<const std::byte*>(from.raw());
  auto* target = static_cast<std::byte*>(to.raw());
  std::array<std::int64_t, kMaxRank> index = {};
  for (std::int64_t left = from.element_count() / line.count; left > 0; --left) {
    std::int64_t read = 0;
    std::int64_t written = 0;
    for (int axis = 0; axis < last; ++axis) {
      read += index[static_cast<std::size_t>(axis)] * from.strides()[axis];
      written += index[static_cast<std::size_t>(axis)] * to.strides()[axis];
    }
    copy_line(source + read * bytes, target + written * bytes, line);
    for (int axis = last - 1; axis >= 0; --axis) {  // the odometer's next reading
      auto& digit = index[static_cast<std::size_t>(axis)];
      if (++digit < from.shape()[axis]) break;
      digit = 0;
    }
  }
}

}  // namespace heed
