#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <numeric>
#include <vector>

#include "heed/tensor.h"
#include "io/atomic_file.h"
#include "support/expect_error.h"
#include "support/scratch.h"

namespace heed {
namespace {

using testing::ElementsAre;

// A file as NumPy writes it: version `major`.0, this dictionary, these bytes.
std::string npy(int major, const std::string& dictionary, const std::string& data) {
  std::string file = "\x93NUMPY";
  file += static_cast<char>(major);
  file += '\0';
  std::uint32_t length = static_cast<std::uint32_t>(dictionary.size());
  file.append(reinterpret_cast<const char*>(&length), major == 1 ? 2 : 4);
  return file + dictionary + data;
}

template <typename T>
std::string bytes_of(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

template <typename T>
std::vector<T> values_of(const Tensor& tensor) {
  return {tensor.data<T>(), tensor.data<T>() + tensor.element_count()};
}

class Npy : public testing::Test {
 protected:
  Tensor read(const std::string& content) {
    write_file(path_, content);
    return read_npy(path_);
  }
  void expect_error(const std::string& content, ErrorCode code, const std::string& message) {
    EXPECT_HEED_ERROR(read(content), code, path_.string() + message);
  }
  test::Scratch scratch_;
  std::filesystem::path path_ = scratch_ / "a.npy";
};

TEST_F(Npy, ReadsEveryVersion) {
  for (const int major : {1, 2, 3}) {
    const Tensor tensor =
        read(npy(major, "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }  \n",
                 bytes_of<float>({1, 2, 3, 4, 5, 6})));
    EXPECT_EQ(tensor.shape(), (Shape{2, 3}));
    EXPECT_THAT(values_of<float>(tensor), ElementsAre(1, 2, 3, 4, 5, 6));
  }
}

TEST_F(Npy, FortranOrderIsBroughtIntoCOrder) {
  const Tensor tensor = read(npy(1, "{'descr': '<i4', 'fortran_order': True, 'shape': (2, 3), }\n",
                                 bytes_of<std::int32_t>({1, 4, 2, 5, 3, 6})));
  EXPECT_THAT(values_of<std::int32_t>(tensor), ElementsAre(1, 2, 3, 4, 5, 6));
}

TEST_F(Npy, ReadsAScalarAndAnEmptyArray) {
  EXPECT_EQ(read(npy(1, "{'descr': '<i8', 'fortran_order': False, 'shape': (), }",
                     bytes_of<std::int64_t>({7})))
                .shape(),
            Shape{});
  EXPECT_EQ(read(npy(1, "{'descr': '<f8', 'fortran_order': False, 'shape': (0, 3), }", "")).shape(),
            (Shape{0, 3}));
}

TEST_F(Npy, EveryTypeComesBackAsItWasWritten) {
  for (const DTypeInfo& row : kDTypes) {
    if (row.dtype == DType::kBF16) continue;
    Tensor tensor = Tensor::zeros({3, 1, 2}, row.dtype);
    auto* bytes = static_cast<unsigned char*>(tensor.view().raw());
    const auto count = 6 * row.size_bytes;
    for (std::size_t i = 0; i < count; ++i) bytes[i] = static_cast<unsigned char>(i % 2);
    write_npy(path_, tensor);
    const Tensor back = read_npy(path_);
    EXPECT_EQ(back.dtype(), row.dtype);
    EXPECT_EQ(back.shape(), tensor.shape());
    EXPECT_EQ(std::memcmp(back.view().raw(), bytes, count), 0) << row.name;
  }
}

TEST_F(Npy, ABf16ArrayIsWrittenAsF32) {
  Tensor tensor = Tensor::zeros({2}, DType::kBF16);
  tensor.data<bf16>()[1] = bf16(1.5F);
  write_npy(path_, tensor);
  EXPECT_THAT(values_of<float>(read_npy(path_)), ElementsAre(0, 1.5F));
}

TEST_F(Npy, AStridedViewIsWrittenRowMajorHoweverLarge) {
  Tensor tensor = Tensor::empty({700, 3, 200});
  std::iota(tensor.data<float>(), tensor.data<float>() + tensor.element_count(), 0.0F);
  const ConstView view = tensor.view().permute({2, 0, 1});
  write_npy(path_, view);
  EXPECT_EQ(values_of<float>(read_npy(path_)), values_of<float>(Tensor::copy_of(view)));
}

TEST_F(Npy, WritesTheHeaderThatNumPyWrites) {
  write_npy(path_, Tensor::zeros({3}));
  const std::string file = read_file(path_);
  EXPECT_EQ(file.substr(0, 10), std::string("\x93NUMPY\x01\x00\x76\x00", 10));
  EXPECT_EQ(file.size(), 128U + 12U);
  EXPECT_TRUE(
      file.substr(10).starts_with("{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }  "));
  EXPECT_EQ(file[127], '\n');
}

constexpr const char* kThreeFloats = "{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }";

TEST_F(Npy, TruncatedDataIsAnError) {
  expect_error(npy(1, kThreeFloats, "1234567"), ErrorCode::kCorrupt,
               ": byte 74: the file ends here, expected the data of f32 [3] to end at byte 79");
}

TEST_F(Npy, BytesAfterTheArrayAreAnError) {
  expect_error(npy(1, kThreeFloats, "123456789abc+"), ErrorCode::kCorrupt,
               ": byte 79: the file goes on, expected the data of f32 [3] to end at byte 79");
}

TEST_F(Npy, BrokenHeadersAreErrors) {
  expect_error("", ErrorCode::kCorrupt, ": byte 0: not an npy file, expected '\\x93NUMPY'");
  expect_error("PK\3\4 something else", ErrorCode::kCorrupt,
               ": byte 0: not an npy file, expected '\\x93NUMPY'");
  expect_error(npy(4, kThreeFloats, ""), ErrorCode::kUnsupported,
               ": byte 6: the npy version is 4.0, expected 1.0, 2.0 or 3.0");
  expect_error(npy(1, kThreeFloats, "").substr(0, 30), ErrorCode::kCorrupt,
               ": byte 30: the file ends inside its npy header of 57 bytes");
  expect_error(npy(1, "{'descr' '<f4'}", ""), ErrorCode::kCorrupt,
               ": byte 19: broken npy header, expected ':'");
  expect_error(npy(1, "{'descr': '<f4', 'shape': (3,)}", ""), ErrorCode::kCorrupt,
               ": byte 41: broken npy header, expected 'descr', 'fortran_order' and 'shape'");
  expect_error(npy(1, "{'descr': '<f4', 'fortran_order': False, 'shape': (-3,)}", ""),
               ErrorCode::kCorrupt,
               ": byte 61: broken npy header, expected a number of at least 0");
  expect_error(
      npy(1, "{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387904, 8)}", ""),
      ErrorCode::kCorrupt, ": shape is [4611686018427387904, 8], expected fewer bytes than 2^63");
}

TEST_F(Npy, TypesThatAreNotServedAreNamed) {
  expect_error(npy(1, "{'descr': '>f4', 'fortran_order': False, 'shape': ()}", "1234"),
               ErrorCode::kUnsupported,
               ": byte 25: descr is '>f4', expected one of <f8 <f4 <f2 <i8 <i4 |i1 |u1 |b1 "
               "(little-endian)");
  expect_error(npy(1, "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': ()}", "1234"),
               ErrorCode::kUnsupported,
               ": byte 20: descr is a structured type, expected one of <f8 <f4 <f2 <i8 <i4 |i1 |u1 "
               "|b1 (little-endian)");
}

TEST_F(Npy, ABoolIsZeroOrOne) {
  expect_error(npy(1, "{'descr': '|b1', 'fortran_order': False, 'shape': (2,)}", "\1\2"),
               ErrorCode::kCorrupt,
               ": byte 66: an element is 2, expected 0 or 1 in an array of bool");
}

TEST_F(Npy, AnAbsentFileIsNamed) {
  EXPECT_HEED_ERROR(read_npy("/nowhere/a.npy"), ErrorCode::kNotFound,
                    "/nowhere/a.npy: cannot be opened: No such file or directory");
}

}  // namespace
}  // namespace heed
