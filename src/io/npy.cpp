// Reads and writes NumPy's .npy.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <string>
#include <string_view>
#include <utility>

#include "base/file.h"
#include "base/wording.h"
#include "heed/error.h"
#include "heed/tensor.h"
#include "io/atomic_file.h"
#include "io/npy_header.h"

namespace heed {
namespace {

static_assert(std::endian::native == std::endian::little, "heed's files are little-endian");

constexpr std::size_t kMaxHeader = 1 << 20;  // NumPy's headers have 118 bytes

struct Opening {
  NpyHeader header;
  std::int64_t data_begin = 0;
};

// Reads the eight bytes at the beginning of every file; returns the major version.
unsigned char read_version(InputFile& file, const std::filesystem::path& path) {
  std::array<unsigned char, 8> start = {};
  const std::size_t have = file.read(start.data(), start.size());
  const std::string_view magic(reinterpret_cast<const char*>(start.data()), 6);
  if (have < start.size() || magic != "\x93NUMPY")
    fail({.code = ErrorCode::kCorrupt,
          .file = path.string(),
          .place = "byte 0",
          .found = "not an npy file",
          .expected = "'\\x93NUMPY'"});
  if (start[6] < 1 || start[6] > 3)
    fail({.code = ErrorCode::kUnsupported,
          .file = path.string(),
          .place = "byte 6",
          .argument = "the npy version",
          .found = fmt::format("{}.{}", start[6], start[7]),
          .expected = "1.0, 2.0 or 3.0"});
  return start[6];
}

Opening read_opening(InputFile& file, const std::filesystem::path& path) {
  const std::size_t length_bytes = read_version(file, path) == 1 ? 2 : 4;
  std::array<unsigned char, 4> digits = {};  // of the header's length, little-endian
  std::size_t have = file.read(digits.data(), length_bytes);
  std::size_t length = 0;
  for (std::size_t i = have; i-- > 0;) length = length << 8 | digits[i];
  const auto begin = static_cast<std::int64_t>(8 + length_bytes);
  if (have < length_bytes || length > kMaxHeader)
    fail({.code = ErrorCode::kCorrupt,
          .file = path.string(),
          .place = "byte 8",
          .found = "broken npy header length"});
  std::string dictionary(length, '\0');
  have = file.read(dictionary.data(), length);
  if (have < length)
    fail({.code = ErrorCode::kCorrupt,
          .file = path.string(),
          .place = fmt::format("byte {}", begin + static_cast<std::int64_t>(have)),
          .found =
              fmt::format("the file ends inside its npy header of {}", number_of(length, "byte"))});
  return {parse_npy_dictionary(dictionary, begin, path), begin + static_cast<std::int64_t>(length)};
}

// Size of the array in bytes; an error if it exceeds 63 bits.
std::int64_t data_bytes(const NpyHeader& header, const std::filesystem::path& path) {
  auto bytes = static_cast<std::int64_t>(size_bytes(header.dtype));
  bool overflow = false;
  for (const std::int64_t extent : header.shape) {
    if (extent == 0) return 0;
    overflow |= __builtin_mul_overflow(bytes, extent, &bytes);
  }
  if (overflow) fail_in(path.string(), "shape", to_string(header.shape), "fewer bytes than 2^63");
  return bytes;
}

void check_end(const Opening& opening, std::int64_t found, std::int64_t expected,
               const std::filesystem::path& path) {
  if (found == expected) return;
  fail({.code = ErrorCode::kCorrupt,
        .file = path.string(),
        .place = fmt::format("byte {}", opening.data_begin + std::min(found, expected)),
        .found = found < expected ? "the file ends here" : "the file goes on",
        .expected = fmt::format("the data of {} {} to end at byte {}", name(opening.header.dtype),
                                to_string(opening.header.shape), opening.data_begin + expected)});
}

void check_booleans(const Tensor& tensor, std::int64_t data_begin,
                    const std::filesystem::path& path) {
  const auto* bytes = static_cast<const unsigned char*>(tensor.view().raw());
  for (std::int64_t i = 0; i < tensor.element_count(); ++i) {
    if (bytes[i] > 1)
      fail({.code = ErrorCode::kCorrupt,
            .file = path.string(),
            .place = fmt::format("byte {}", data_begin + i),
            .argument = "an element",
            .found = bytes[i],
            .expected = "0 or 1 in an array of bool"});
  }
}

// A Fortran-order array's memory as a view with the array's own shape.
ConstView fortran_view(const Tensor& tensor) {
  Shape strides = tensor.shape();
  std::int64_t step = 1;
  for (int axis = 0; axis < strides.rank(); ++axis) {
    strides[axis] = step;
    step *= tensor.shape()[axis];
  }
  return {tensor.view().raw(), tensor.dtype(), tensor.shape(), strides};
}

}  // namespace

Tensor read_npy(const std::filesystem::path& path) {
  InputFile file(path);
  const Opening opening = read_opening(file, path);
  const NpyHeader& header = opening.header;
  const std::int64_t expected = data_bytes(header, path);
  if (const std::int64_t size = file.size(); size >= 0)  // checked before memory is allocated
    check_end(opening, size - opening.data_begin, expected, path);
  Tensor tensor = Tensor::empty(header.shape, header.dtype);
  const std::size_t found = file.read(tensor.view().raw(), static_cast<std::size_t>(expected));
  check_end(opening, static_cast<std::int64_t>(found), expected, path);
  char beyond = 0;
  if (file.read(&beyond, 1) != 0) check_end(opening, expected + 1, expected, path);
  if (header.dtype == DType::kBool) check_booleans(tensor, opening.data_begin, path);
  return header.fortran_order ? Tensor::copy_of(fortran_view(tensor)) : std::move(tensor);
}

void write_npy(const std::filesystem::path& path, const ConstView& array) {
  const DType dtype = array.dtype() == DType::kBF16 ? DType::kF32 : array.dtype();
  AtomicFile file(path);
  file.write(format_npy_header({.dtype = dtype, .fortran_order = false, .shape = array.shape()}));
  write_elements(file, array, dtype);
  file.commit();
}

}  // namespace heed
