#include "train/text_data.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "io/atomic_file.h"
#include "support/expect_error.h"
#include "support/scratch.h"
#include "support/training.h"

namespace heed {
namespace {

TEST(TextData, AVocabularyThatIsTooSmallIsNamedByItsKey) {
  const test::Scratch scratch;
  write_file(scratch / "text.txt", test::counting_text(500));
  TrainConfig config;
  config.data = {(scratch / "text.txt").string()};
  config.tokenizer = "byte-bpe";
  config.vocabulary = 5;
  EXPECT_HEED_ERROR(
      load_text_data(config), ErrorCode::kInvalidArgument,
      "train: vocabulary is 5, expected at least 257: 1 special tokens and 256 bytes");
}

TEST(RejoinLines, MakesALineOfEachParagraph) {
  EXPECT_EQ(rejoin_lines("one\ntwo\n\nthree\n"), "one two\nthree\n");
}

TEST(RejoinLines, BlankLinesInARowAndWindowsLineEndsAreOneBreak) {
  EXPECT_EQ(rejoin_lines("\r\n  one\r\n two  \r\n \t\r\n\r\nthree"), "one two\nthree\n");
}

TEST(RejoinLines, OfNothingIsNothing) { EXPECT_EQ(rejoin_lines(""), ""); }

TEST(ValidationBegin, LeavesTheLastShare) { EXPECT_EQ(validation_begin("0123456789", 0.2), 8U); }

TEST(ValidationBegin, StandsAtTheStartOfACharacter) {
  EXPECT_EQ(validation_begin("\xC3\xA9\xC3\xA9", 0.7), 2U);  // byte 1 is inside the first
}

TEST(ListTextFiles, TakesTheTextsOfAFolderInOrder) {
  const test::Scratch scratch;
  write_file(scratch / "b.txt", "b");
  write_file(scratch / "a.txt", "a");
  write_file(scratch / "c.md", "c");
  const std::string folder = scratch.folder().string();
  EXPECT_EQ(list_text_files(std::vector{folder}),
            (std::vector<std::filesystem::path>{scratch / "a.txt", scratch / "b.txt"}));
}

TEST(ListTextFiles, NamesWhatIsNotThere) {
  EXPECT_HEED_ERROR(list_text_files(std::vector<std::string>{"/no/such.txt"}), ErrorCode::kNotFound,
                    "train: /no/such.txt: no such file or folder");
}

TEST(TextData, KeepsTheTailOfEachFileForValidation) {
  const test::Scratch scratch;
  write_file(scratch / "1.txt", "aaaaabbbbb");
  write_file(scratch / "2.txt", "cccccddddd");
  TrainConfig config;
  config.data = {scratch.folder().string()};
  config.validation = 0.2;
  config.block = 2;
  const TextData data = load_text_data(config);
  EXPECT_EQ(data.tokenizer->decode(data.train, false), "aaaaabbbcccccddd");
  EXPECT_EQ(data.tokenizer->decode(data.validation, false), "bbdd");
}

TEST(TextData, SeparatesFilesWhereTheTokenizerCan) {
  const test::Scratch scratch;
  write_file(scratch / "1.txt", "one");
  write_file(scratch / "2.txt", "two");
  TrainConfig config;
  config.data = {scratch.folder().string()};
  config.validation = 0;
  config.block = 2;
  config.tokenizer = "byte-bpe";
  config.vocabulary = 257;
  const TextData data = load_text_data(config);
  EXPECT_EQ(data.tokenizer->decode(data.train, false), "<|endoftext|>one<|endoftext|>two");
  config.add_bos_token = true;
  const TextData begun = load_text_data(config);
  EXPECT_EQ(begun.tokenizer->decode(begun.train, false), "<s>one<s>two");
}

TEST(TextData, TooShortForOneCropIsAnError) {
  const test::Scratch scratch;
  write_file(scratch / "1.txt", "one two");
  TrainConfig config;
  config.data = {(scratch / "1.txt").string()};
  config.validation = 0;
  config.block = 16;
  EXPECT_HEED_ERROR(load_text_data(config), ErrorCode::kInvalidArgument,
                    "train: data is 7 training tokens, expected at least block + 1 = 17");
}

TEST(TextData, AByteOrderMarkIsNoText) {
  const test::Scratch scratch;
  write_file(scratch / "1.txt",
             "\xEF\xBB\xBF"
             "abc");
  EXPECT_EQ(read_text(scratch / "1.txt"), "abc");
}

TEST(TextData, BytesThatAreNotTextAreAnError) {
  const test::Scratch scratch;
  write_file(scratch / "1.txt", "abc\xFF");
  TrainConfig config;
  config.data = {(scratch / "1.txt").string()};
  EXPECT_HEED_ERROR(
      load_text_data(config), ErrorCode::kCorrupt,
      fmt::format("train: {}: byte 3: not valid UTF-8", (scratch / "1.txt").string()));
}

}  // namespace
}  // namespace heed
