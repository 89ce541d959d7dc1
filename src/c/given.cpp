#include "c/given.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <span>

#include "tensor/text.h"

namespace heed::c {
namespace {

// No struct of ours is larger, so a larger size means that it was not initialised.
constexpr std::size_t kLargestStruct = 16384;

static_assert(HEED_F64 == static_cast<int>(DType::kF64) + 1 &&
              HEED_BOOL == static_cast<int>(DType::kBool) + 1);
static_assert(HEED_MAX_RANK == kMaxRank);

std::string part(std::string_view argument, std::string_view field) {
  return fmt::format("{}.{}", argument, field);
}

bool is_absent(const heed_view& given) {
  return given.data == nullptr && given.dtype == 0 && given.rank == 0;
}

void check_head(std::string_view op, std::string_view argument, const heed_view& given) {
  if (given.dtype < HEED_F64 || given.dtype > HEED_BOOL)
    fail(op, part(argument, "dtype"), given.dtype,
         fmt::format("{} (HEED_F64) to {} (HEED_BOOL)", HEED_F64, HEED_BOOL));
  if (given.rank < 0 || given.rank > HEED_MAX_RANK)
    fail(op, part(argument, "rank"), given.rank, fmt::format("0 to {}", HEED_MAX_RANK));
  check_flag(op, part(argument, "strided"), given.strided);
  check_reserved(op, part(argument, "reserved"), given.reserved);
}

void check_extents(std::string_view op, std::string_view argument, const Shape& shape,
                   DType dtype) {
  auto bytes = static_cast<std::int64_t>(size_bytes(dtype));
  for (int axis = 0; axis < shape.rank(); ++axis) {
    if (shape[axis] < 0)
      fail(op, fmt::format("{}.shape[{}]", argument, axis), shape[axis], "0 or more");
    if (__builtin_mul_overflow(bytes, std::max<std::int64_t>(shape[axis], 1), &bytes))
      fail(op, part(argument, "shape"), to_string(shape), "less than 2^63 bytes");
  }
}

// Checks that the bytes from the lowest element to the highest, and each step, fit into an int64_t.
void check_strides(std::string_view op, std::string_view argument, const Shape& shape,
                   const Shape& strides, DType dtype) {
  const auto bytes = static_cast<std::int64_t>(size_bytes(dtype));
  std::int64_t span = 0;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    const std::int64_t last = std::max<std::int64_t>(shape[axis], 1) - 1;
    std::int64_t step = 0;
    std::int64_t reach = 0;
    if (__builtin_mul_overflow(strides[axis], bytes, &step) ||
        step == std::numeric_limits<std::int64_t>::min() ||
        __builtin_mul_overflow(std::abs(step), last, &reach) ||
        __builtin_add_overflow(span, reach, &span))
      fail(op, part(argument, "strides"), to_string(strides), "less than 2^63 bytes in all");
  }
}

template <typename Number, typename List>
std::vector<Number> list_of(std::string_view op, std::string_view argument, const List& given) {
  constexpr std::int64_t kMost = PTRDIFF_MAX / sizeof(Number);
  if (given.count < 0 || given.count > kMost)
    fail(op, part(argument, "count"), given.count, fmt::format("0 to {}", kMost));
  if (given.count != 0 && given.data == nullptr)
    fail(op, part(argument, "data"), "a null pointer", fmt::format("{} numbers", given.count));
  return {given.data, given.data + given.count};
}

}  // namespace

void check_size(std::string_view op, std::string_view argument, const void* bytes, std::size_t size,
                std::size_t least, std::size_t most) {
  if (size < least || size > kLargestStruct)
    fail({.op = op,
          .argument = part(argument, "size"),
          .found = size,
          .expected = fmt::format("{} (sizeof)", most),
          .hint = "fill the struct with 0, then set its size"});
  const auto* const begin = static_cast<const unsigned char*>(bytes);
  const std::size_t known = std::min(size, most);
  if (std::any_of(begin + known, begin + size, [](unsigned char byte) { return byte != 0; }))
    fail({.code = ErrorCode::kUnsupported,
          .op = op,
          .argument = part(argument, "size"),
          .found = size,
          .expected = fmt::format("at most {}, or 0 in all fields past that", most),
          .hint = "the program was compiled for a later heed than the library that runs"});
}

View view_of(std::string_view op, std::string_view argument, const heed_view& given) {
  if (is_absent(given)) return {};
  check_head(op, argument, given);
  const auto rank = static_cast<std::size_t>(given.rank);
  const Shape shape(std::span(given.shape).first(rank));
  const auto dtype = static_cast<DType>(given.dtype - 1);
  check_extents(op, argument, shape, dtype);
  if (given.strided == 0) return {given.data, dtype, shape};
  const Shape strides(std::span(given.strides).first(rank));
  check_strides(op, argument, shape, strides, dtype);
  return {given.data, dtype, shape, strides};
}

View view_of(std::string_view op, std::string_view argument, const heed_view* given) {
  return given == nullptr ? View() : view_of(op, argument, *given);
}

std::vector<std::int64_t> integers_of(std::string_view op, std::string_view argument,
                                      const heed_integers& given) {
  return list_of<std::int64_t>(op, argument, given);
}

std::vector<double> numbers_of(std::string_view op, std::string_view argument,
                               const heed_numbers& given) {
  return list_of<double>(op, argument, given);
}

void check_enumerator(std::string_view op, std::string_view argument, std::int32_t value,
                      std::int32_t count, std::string_view expected) {
  if (value < 0 || value >= count) fail(op, argument, value, expected);
}

void check_flag(std::string_view op, std::string_view argument, std::int32_t value) {
  check_enumerator(op, argument, value, 2, "0 or 1");
}

void check_reserved(std::string_view op, std::string_view argument, std::int64_t value) {
  if (value != 0) fail(op, argument, value, "0");
}

}  // namespace heed::c
