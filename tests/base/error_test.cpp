#include "heed/error.h"

#include <gtest/gtest.h>

#include <type_traits>

#include "support/expect_error.h"

namespace heed {
namespace {

TEST(Error, PartsJoinToOneLine) {
  EXPECT_HEED_ERROR(
      fail({.op = "attention", .argument = "k.shape[3]", .found = 32, .expected = "64 (q's)"}),
      ErrorCode::kInvalidArgument, "attention: k.shape[3] is 32, expected 64 (q's)");
}

TEST(Error, TheUsualOneIsWrittenInTheOrderInWhichItIsRead) {
  EXPECT_HEED_ERROR(fail("attention", "k.shape[3]", 32, "64 (q's)"), ErrorCode::kInvalidArgument,
                    "attention: k.shape[3] is 32, expected 64 (q's)");
}

TEST(Error, AFileAndThePlaceInItComeBeforeTheArgument) {
  EXPECT_EQ(
      to_string({.op = "safetensors",
                 .file = "m/model.safetensors",
                 .place = "byte 40",
                 .argument = "wte.weight",
                 .found = "cut off",
                 .expected = "3072 bytes"}),
      "safetensors: m/model.safetensors: byte 40: wte.weight is cut off, expected 3072 bytes");
}

TEST(Error, WithoutAnArgumentTheFindingStandsAlone) {
  EXPECT_EQ(to_string({.op = "tensor", .found = "out of memory"}), "tensor: out of memory");
}

TEST(Error, AnArgumentOfWhichNothingIsFoundIsNotGiven) {
  EXPECT_EQ(to_string({.op = "attention", .argument = "q", .expected = "a tensor"}),
            "attention: q is not given, expected a tensor");
}

TEST(Error, AHintEndsTheLine) {
  EXPECT_EQ(to_string({.found = "no model", .hint = "name one with --model"}),
            "no model; name one with --model");
}

TEST(Error, ProgramsReadTheParts) {
  const Error error(ErrorParts{.code = ErrorCode::kCorrupt,
                               .op = "npy",
                               .file = "x.npy",
                               .place = "byte 10",
                               .argument = "shape",
                               .found = -1,
                               .expected = "0 or more",
                               .hint = "write it again"});
  EXPECT_EQ(error.code(), ErrorCode::kCorrupt);
  EXPECT_EQ(error.op(), "npy");
  EXPECT_EQ(error.file(), "x.npy");
  EXPECT_EQ(error.place(), "byte 10");
  EXPECT_EQ(error.argument(), "shape");
  EXPECT_EQ(error.found(), "-1");
  EXPECT_EQ(error.expected(), "0 or more");
  EXPECT_EQ(error.hint(), "write it again");
}

TEST(Error, TheSameIsSaidAboutAnArgumentOfAnotherName) {
  const Error inner(ErrorParts{.op = "attention", .argument = "mask", .found = "empty"});
  ErrorParts parts = inner.parts();
  parts.argument = "--causal";
  EXPECT_STREQ(Error(parts).what(), "attention: --causal is empty");
  EXPECT_STREQ(inner.what(), "attention: mask is empty");
}

TEST(Error, NumbersReadAsTheyAreWritten) {
  EXPECT_EQ(Phrase(0.1F).text(), "0.1");
  EXPECT_EQ(Phrase(1e300).text(), "1e+300");
  EXPECT_EQ(Phrase(std::int64_t{-5}).text(), "-5");
}

TEST(Error, CopyingAnExceptionCannotThrow) {
  static_assert(std::is_nothrow_copy_constructible_v<Error>);
}

}  // namespace
}  // namespace heed
