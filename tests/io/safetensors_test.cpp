#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "io/atomic_file.h"
#include "io/tensor_files.h"
#include "support/expect_error.h"
#include "support/scratch.h"
#include "support/shared_data.h"

namespace heed {
namespace {

using testing::ElementsAre;

std::string safetensors(const std::string& header, std::size_t data_bytes) {
  const std::uint64_t length = header.size();
  std::string file(reinterpret_cast<const char*>(&length), sizeof length);
  return file + header + std::string(data_bytes, '\0');
}

class SafetensorsFile : public testing::Test {
 protected:
  void expect_error(const std::string& content, ErrorCode code, const std::string& message) {
    write_file(path_, content);
    EXPECT_HEED_ERROR(Safetensors::open(path_), code, path_.string() + message);
  }
  void expect_corrupt(const std::string& header, std::size_t data_bytes,
                      const std::string& message) {
    expect_error(safetensors(header, data_bytes), ErrorCode::kCorrupt, message);
  }
  test::Scratch scratch_;
  std::filesystem::path path_ = scratch_ / "model.safetensors";
};

TEST_F(SafetensorsFile, HoldsWhatWasWritten) {
  Tensor half = Tensor::zeros({3}, DType::kF16);
  half.data<f16>()[2] = f16(0.5F);
  Tensor whole = Tensor::zeros({2, 3});
  whole.data<float>()[1] = 7;
  const Tensor scalar = Tensor::zeros({});
  write_safetensors(
      path_,
      std::vector<NamedView>{
          {"half", half}, {"turned", whole.view().permute({1, 0})}, {"scalar", scalar}},
      {{"note", "a"}});
  const Safetensors file = Safetensors::open(path_);
  EXPECT_THAT(file.names(), ElementsAre("half", "scalar", "turned"));
  EXPECT_EQ(file.metadata(), (std::map<std::string, std::string>{{"format", "pt"}, {"note", "a"}}));
  EXPECT_EQ(file.tensor("half").data<f16>()[2].bits, f16(0.5F).bits);
  EXPECT_EQ(file.tensor("turned").shape(), (Shape{3, 2}));
  EXPECT_EQ(file.tensor("turned").data<float>()[2], 7);
  EXPECT_EQ(file.tensor("scalar").shape(), Shape{});
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(file.tensor("turned").raw()) % 4, 0U);
}

TEST_F(SafetensorsFile, AnAbsentTensorIsNamedWithWhatThereIs) {
  const Tensor tensor = Tensor::zeros({1});
  write_safetensors(path_, std::vector<NamedView>{{"a", tensor}, {"b", tensor}});
  EXPECT_HEED_ERROR(Safetensors::open(path_).tensor("c"), ErrorCode::kNotFound,
                    path_.string() + ": has no tensor 'c'; it holds 2: a, b");
}

TEST_F(SafetensorsFile, TwoTensorsOfOneNameAreRefused) {
  const Tensor tensor = Tensor::zeros({1});
  EXPECT_HEED_ERROR(write_safetensors(path_, std::vector<NamedView>{{"a", tensor}, {"a", tensor}}),
                    ErrorCode::kInvalidArgument,
                    path_.string() + ": tensors is two called 'a', expected names that differ");
}

TEST_F(SafetensorsFile, ATensorTwiceInAHeaderIsRefused) {
  const std::string entry = R"("a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]})";
  expect_corrupt("{" + entry + "," + entry + "}", 1, ": byte 65: a is given twice, expected once");
}

TEST_F(SafetensorsFile, AFileTruncatedAnywhereIsAnError) {
  const Tensor tensor = Tensor::zeros({2, 5});
  write_safetensors(path_, std::vector<NamedView>{{"weight", tensor}});
  const std::string whole = read_file(path_);
  for (std::size_t size = 0; size < whole.size(); ++size) {
    write_file(path_, whole.substr(0, size));
    EXPECT_THROW(Safetensors::open(path_), Error) << size;
  }
}

TEST_F(SafetensorsFile, TruncationNamesTensorAndByte) {
  expect_corrupt(
      R"({"w":{"dtype":"F32","shape":[2,5],"data_offsets":[0,40]}})", 39,
      ": byte 57: w.data_offsets is [0,40], expected an end of at most 39: the file ends "
      "at byte 104");
}

TEST_F(SafetensorsFile, BrokenHeadersAreErrors) {
  expect_error("abc", ErrorCode::kCorrupt,
               ": the file has 3 bytes, expected a safetensors header's length of 8 bytes first");
  expect_error(safetensors("{}", 0).substr(0, 9), ErrorCode::kCorrupt,
               ": byte 0: the header's length is 2, expected at most 1: the file ends at byte 9");
  expect_error("version 1 of something\n", ErrorCode::kCorrupt,
               ": byte 0: the header's length is 2336927755350992246, expected at most 100000000");
  expect_corrupt(R"({"w":})", 0, ": byte 13: not JSON: unexpected }");
  expect_corrupt("[]", 0, ": byte 8: the header is [], expected a JSON object");
  expect_corrupt(R"({"__metadata__":{"a":1}})", 0,
                 ": byte 29: __metadata__.a is 1, expected a text");
  expect_corrupt(R"({"w":3})", 0,
                 ": byte 13: w is 3, expected dtype, shape and data_offsets of a tensor");
  expect_corrupt(R"({"w":{"dtype":"F32","shape":[-1],"data_offsets":[0,4]}})", 4,
                 ": byte 36: w.shape is [-1], expected a list of whole numbers");
  expect_corrupt(R"({"w":{"dtype":"F32","shape":[1e400],"data_offsets":[0,4]}})", 4,
                 ": byte 37: the number 1e400 is beyond all that f64 holds");
  expect_corrupt(R"({"w":{"shape":[1],"data_offsets":[0,4]}})", 4,
                 ": w.dtype is not given, expected one of F64 F32 F16 BF16 I64 I32 I8 U8 BOOL");
}

TEST_F(SafetensorsFile, OffsetsMustFitTheShape) {
  expect_corrupt(R"({"w":{"dtype":"F32","shape":[3],"data_offsets":[0,8]}})", 8,
                 ": byte 55: w.data_offsets is [0,8], expected 12 bytes for F32 [3]");
  expect_corrupt(R"({"w":{"dtype":"F32","shape":[4611686018427387903,9],"data_offsets":[0,8]}})", 8,
                 ": byte 75: w.data_offsets is [0,8], expected more than 2^63 bytes for F32 "
                 "[4611686018427387903, 9]");
  expect_corrupt(R"({"w":{"dtype":"F32","shape":[1],"data_offsets":[4,0]}})", 4,
                 ": byte 55: w.data_offsets is [4,0], expected [begin, end]");
}

TEST_F(SafetensorsFile, TensorsCoverTheFileExactly) {
  expect_corrupt(R"({"a":{"dtype":"U8","shape":[3],"data_offsets":[0,3]},)"
                 R"("b":{"dtype":"U8","shape":[2],"data_offsets":[2,4]}})",
                 4,
                 ": byte 115: the first byte of b is 115, expected 116: tensors must neither "
                 "overlap nor leave a hole");
  expect_corrupt(R"({"a":{"dtype":"U8","shape":[3],"data_offsets":[1,4]}})", 4,
                 ": byte 62: the first byte of a is 62, expected 61: tensors must neither overlap "
                 "nor leave a hole");
  expect_corrupt(R"({"a":{"dtype":"U8","shape":[3],"data_offsets":[0,3]}})", 4,
                 ": byte 64: the tensors end here, but the file goes on to byte 65");
}

TEST_F(SafetensorsFile, ATypeThatIsNotServedIsNamed) {
  expect_error(
      safetensors(R"({"w":{"dtype":"F8_E4M3","shape":[1],"data_offsets":[0,1]}})", 1),
      ErrorCode::kUnsupported,
      ": byte 22: w.dtype is \"F8_E4M3\", expected one of F64 F32 F16 BF16 I64 I32 I8 U8 BOOL");
}

TEST(Safetensors, EverySharedFileOpens) {
  HEED_NEEDS_SHARED("models");
  int count = 0;
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(test::shared_data() / "models")) {
    if (entry.path().extension() != ".safetensors") continue;
    EXPECT_FALSE(Safetensors::open(entry.path()).names().empty()) << entry.path();
    ++count;
  }
  EXPECT_GE(count, 40);
}

}  // namespace
}  // namespace heed
