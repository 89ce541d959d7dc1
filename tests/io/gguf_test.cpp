#include "io/gguf.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstring>

#include "io/atomic_file.h"
#include "io/gguf_header.h"
#include "support/expect_error.h"
#include "support/gguf_writer.h"
#include "support/scratch.h"

namespace heed {
namespace {

using test::GgufWriter;
using testing::HasSubstr;

std::span<const std::byte> bytes_of(const std::string& file) {
  return {reinterpret_cast<const std::byte*>(file.data()), file.size()};
}

GgufHeader parse(const std::string& file) { return parse_gguf_header(bytes_of(file), "f.gguf"); }

void expect_error(const std::string& file, const std::string& message,
                  ErrorCode code = ErrorCode::kCorrupt) {
  EXPECT_HEED_ERROR(parse(file), code, "f.gguf: " + message);
}

TEST(GgufFile, HoldsWhatWasWritten) {
  const test::Scratch scratch;
  const std::array<float, 6> values = {1, 2, 3, 4, 5, 6};
  write_file(scratch / "m.gguf", GgufWriter()
                                     .key("a.count", 7U)
                                     .key("a.small", 1e-5F)
                                     .key("a.flag", true)
                                     .key("a.name", "Llama")
                                     .key("a.words", std::vector<std::string>{"x", "yz"})
                                     .numbers<std::int32_t>("a.types", 5, {-1, 2})
                                     .tensor("first", {3}, std::span(values).first(3))
                                     .tensor("second", {2, 3}, values)
                                     .file());
  const Gguf file = Gguf::open(scratch / "m.gguf");
  EXPECT_EQ(file["a.count"], Json(7));
  EXPECT_EQ(file["a.small"], Json(1e-5));  // not the f32 next to it
  EXPECT_EQ(file["a.flag"], Json(true));
  EXPECT_EQ(file["a.name"], Json("Llama"));
  EXPECT_EQ(file["a.words"], Json(std::vector<std::string>{"x", "yz"}));
  EXPECT_EQ(file["a.types"], Json(std::vector<int>{-1, 2}));
  EXPECT_TRUE(file["nothing"].is_null());
  ASSERT_NE(file.find("second"), nullptr);
  EXPECT_EQ(file.find("second")->shape, (Shape{2, 3}));
  EXPECT_EQ(std::memcmp(file.bytes(*file.find("second")).data(), values.data(), sizeof values), 0);
  EXPECT_EQ(file.find("third"), nullptr);
}

TEST(GgufFile, OfSeveralPartsIsReadFromTheFirst) {
  const test::Scratch scratch;
  const std::array<float, 1> one = {1}, two = {2};
  const auto part = [](std::uint32_t number) {
    return GgufWriter().key("split.no", number).key("split.count", 2U);
  };
  write_file(scratch / "m-00001-of-00002.gguf",
             part(0).key("general.name", "whole").tensor("a", {1}, one).file());
  write_file(scratch / "m-00002-of-00002.gguf", part(1).tensor("b", {1}, two).file());
  const Gguf file = Gguf::open(scratch / "m-00001-of-00002.gguf");
  EXPECT_EQ(file.tensors().size(), 2U);
  EXPECT_EQ(file["general.name"], Json("whole"));
  EXPECT_EQ(file.file(*file.find("b")).filename(), "m-00002-of-00002.gguf");
  EXPECT_HEED_ERROR(
      Gguf::open(scratch / "m-00002-of-00002.gguf"), ErrorCode::kCorrupt,
      (scratch / "m-00002-of-00002.gguf").string() +
          ": split.no is 1, expected 0: name the first file, which says what the others hold");
  std::filesystem::remove(scratch / "m-00002-of-00002.gguf");
  EXPECT_THROW(Gguf::open(scratch / "m-00001-of-00002.gguf"), Error);
}

TEST(GgufHeader, ThatIsWrongIsRefusedByItsPlace) {
  constexpr std::uint64_t kHuge = std::uint64_t{1} << 60;
  expect_error("GGU", "byte 0: the file's begin is something else, expected GGUF");
  expect_error("GGML and more", "byte 0: the file's begin is something else, expected GGUF");
  GgufWriter writer;
  writer.version = 1;
  expect_error(writer.file(), "byte 4: the version is 1, expected 2 or 3, little-endian",
               ErrorCode::kUnsupported);
  writer.version = 0x03000000;
  expect_error(writer.file(),
               "byte 4: the version is that of a big-endian file, expected 2 or 3, little-endian",
               ErrorCode::kUnsupported);
  writer.version = 3;
  writer.more_tensors = kHuge;
  expect_error(writer.file(),
               "byte 24: the file is cut or broken: the number of tensors is 1152921504606846976, "
               "expected at most 0: the "
               "file ends at byte 32");
  writer.more_tensors = 0;
  writer.more_keys = kHuge;
  expect_error(writer.file(),
               "byte 24: the file is cut or broken: the number of keys is 1152921504606846976, "
               "expected at most 0: the file "
               "ends at byte 32");
  expect_error(GgufWriter().key("k", 8, GgufWriter::bytes_of(kHuge)).file(),
               "byte 37: the file is cut or broken: k is 1152921504606846976 bytes, expected at "
               "most 19: the file ends at byte 64");
  expect_error(GgufWriter().key("k", 13, "").file(), "byte 33: k.type is 13, expected 0 to 12",
               ErrorCode::kUnsupported);
  expect_error(GgufWriter().key("k", 1U).key("k", 2U).file(),
               "byte 41: k is there twice, expected different keys");
  expect_error(
      GgufWriter()
          .key("k", 9, GgufWriter::bytes_of<std::uint32_t>(4) + GgufWriter::bytes_of(kHuge))
          .file(),
      "byte 49: the file is cut or broken: k is 1152921504606846976, expected at most 3: the file "
      "ends at byte 64");
}

TEST(GgufHeader, OfTensorsIsCheckedAgainstTheFile) {
  constexpr std::uint64_t kHuge = std::uint64_t{1} << 60;
  const auto after = [](const std::string& message) { return HasSubstr(message); };
  const auto message_of = [](const GgufWriter& writer) -> std::string {
    try {
      parse(writer.file());
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  };
  const std::string data(64, '\0');
  EXPECT_THAT(message_of(GgufWriter().tensor("t", {kHuge, kHuge}, 0, data)), after("t.shape is"));
  EXPECT_THAT(message_of(GgufWriter().tensor("t", {0, 4}, 0, data)),
              after("t.shape is 0, expected an extent from 1"));
  EXPECT_THAT(message_of(GgufWriter().tensor("t", {1, 1, 1, 1, 1}, 0, data)),
              after("t.shape is 5 dimensions, expected 1 to 4"));
  EXPECT_THAT(message_of(GgufWriter().tensor("t", {4}, 16, data)),
              after("t.type is IQ2_XXS, expected F32, F16, Q4_0"));
  EXPECT_THAT(message_of(GgufWriter().tensor("t", {4}, 99, data)), after("t.type is type 99"));
  EXPECT_THAT(
      message_of(GgufWriter().tensor("t", {2, 33}, 2, data)),
      after("t.shape is [2, 33], expected rows of a multiple of 32 numbers, a block of Q4_0"));
  EXPECT_THAT(message_of(GgufWriter().tensor_at("t", {4}, 0, 1, data)),
              after("t.offset is 1, expected a multiple of 32"));
  EXPECT_THAT(message_of(GgufWriter().tensor_at("t", {4}, 0, 64, data)),
              after("t.offset is 64, expected one that leaves 16 bytes"));
  EXPECT_THAT(message_of(GgufWriter().tensor_at("t", {4}, 0, kHuge * 8, data)),
              after("t.offset is"));
  EXPECT_THAT(message_of(GgufWriter().tensor("t", {4}, 0, data).tensor_at("u", {4}, 0, 0)),
              after("a tensor that overlaps t"));
  EXPECT_THAT(message_of(GgufWriter().tensor("t", {4}, 0, data).tensor("t", {4}, 0, data)),
              after("t is there twice"));
  EXPECT_THAT(message_of(GgufWriter().key("general.alignment", 12U).tensor("t", {4}, 0, data)),
              after("general.alignment is 12, expected a multiple of 8"));
}

// Every file that is cut or has a bit turned is refused, or describes tensors inside of it.
TEST(GgufHeader, OfADamagedFileIsRefusedOrFits) {
  const std::array<float, 40> values = {};
  const std::string file = GgufWriter()
                               .key("general.architecture", "llama")
                               .key("k", std::vector<std::string>{"a", "b"})
                               .tensor("t", {2, 20}, values)
                               .tensor("u", {3, 64}, 2, std::string(108, 'x'))
                               .file();
  const auto check = [](const std::string& damaged) {
    try {
      for (const auto& [name, tensor] : parse(damaged).tensors) {
        EXPECT_LE(tensor.begin, tensor.end);
        EXPECT_LE(tensor.end, damaged.size());
      }
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), testing::StartsWith("f.gguf: "));
    }
  };
  for (std::size_t size = 0; size < file.size(); ++size) check(file.substr(0, size));
  for (std::size_t byte = 0; byte < file.size(); ++byte)
    for (int bit = 0; bit < 8; ++bit) {
      std::string damaged = file;
      damaged[byte] = static_cast<char>(damaged[byte] ^ (1 << bit));
      check(damaged);
    }
}

// One block of each type whose numbers can be reckoned by hand; all types, bit for bit, beside the
// gguf package in tests/peers.
TEST(GgufTypes, BlocksGiveTheirNumbers) {
  const auto half = [](float value) { return GgufWriter::bytes_of(f16(value).bits); };
  const auto read = [](std::uint32_t id, const std::string& block) {
    const GgufType& type = *gguf_type(id);
    EXPECT_EQ(static_cast<std::int64_t>(block.size()), type.bytes) << type.name;
    std::vector<float> out(static_cast<std::size_t>(type.elements));
    read_blocks(*type.blocks, bytes_of(block), out);
    return out;
  };
  const std::vector<float> q4 = read(2, half(0.5F) + std::string(16, '\x1f'));
  EXPECT_EQ(q4[0], 0.5F * (15 - 8));
  EXPECT_EQ(q4[16], 0.5F * (1 - 8));
  const std::vector<float> q8 = read(8, half(2) + std::string(32, '\xff'));
  EXPECT_EQ(q8[31], -2);
  // Group 0: scale 3, minimum 1; group 5: scale and minimum have their upper bits elsewhere.
  std::string scales(12, '\0');
  scales[0] = 3, scales[4] = 1, scales[9] = '\x21', scales[1] = '\x40', scales[5] = '\x80';
  const std::vector<float> q4_k =
      read(12, half(1) + half(0.25F) + scales + std::string(128, '\x57'));
  EXPECT_EQ(q4_k[0], 3 * 7 - 0.25F);
  EXPECT_EQ(q4_k[5 * 32], 17 * 5 - 0.25F * 34);
  EXPECT_EQ(q4_k[2 * 32], 0);
  const std::vector<float> mxfp4 = read(39, std::string(1, '\x80') + std::string(16, '\x92'));
  EXPECT_EQ(mxfp4[0], 2.0F);    // code 2, one, times 2^(128 - 127)
  EXPECT_EQ(mxfp4[16], -1.0F);  // code 9, minus a half
}

}  // namespace
}  // namespace heed
