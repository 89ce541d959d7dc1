#include "text/utf8.h"

#include <gtest/gtest.h>

#include "heed/tokenizer.h"
#include "support/expect_error.h"

namespace heed {
namespace {

TEST(Utf8, EveryCharacterComesBack) {
  for (char32_t code = 0; code <= 0x10FFFF; ++code) {
    if (code >= 0xD800 && code <= 0xDFFF) continue;
    const std::string bytes = to_utf8(code);
    const Character character = character_at(bytes, 0);
    ASSERT_EQ(character.code, code);
    ASSERT_EQ(character.bytes, bytes.size());
  }
}

TEST(Utf8, FindsTheFirstInvalidByte) {
  EXPECT_EQ(find_invalid_utf8("añb€c𝄞"), -1);
  EXPECT_EQ(find_invalid_utf8(""), -1);
  EXPECT_EQ(find_invalid_utf8("ab\x80"), 2);            // a continuation by itself
  EXPECT_EQ(find_invalid_utf8("a\xC3"), 1);             // cut off
  EXPECT_EQ(find_invalid_utf8("\xC3(b"), 0);            // no continuation
  EXPECT_EQ(find_invalid_utf8("a\xC0\xAF"), 1);         // overlong
  EXPECT_EQ(find_invalid_utf8("\xE0\x80\x80"), 0);      // overlong
  EXPECT_EQ(find_invalid_utf8("\xED\xA0\x80"), 0);      // surrogate
  EXPECT_EQ(find_invalid_utf8("\xF4\x90\x80\x80"), 0);  // beyond U+10FFFF
  EXPECT_EQ(find_invalid_utf8(std::string_view("\0a", 2)), -1);
}

// Like Python's and Rust's decoders.
TEST(Utf8, BrokenBytesBecomeOneReplacementForEachBeginning) {
  const std::string r = "\xEF\xBF\xBD";
  EXPECT_EQ(repaired_utf8("aé日🦉\n"), "aé日🦉\n");
  EXPECT_EQ(repaired_utf8("\xE6\x97x"), r + "x");
  EXPECT_EQ(repaired_utf8("\xF0\x9F\xA6"), r);
  EXPECT_EQ(repaired_utf8("\x80\x80"), r + r);
  EXPECT_EQ(repaired_utf8("\xC0\xAF"), r + r);          // overlong
  EXPECT_EQ(repaired_utf8("\xED\xA0\x80"), r + r + r);  // a surrogate
  EXPECT_EQ(repaired_utf8("\xE6\xE6\x97\xA5"), r + "日");
}

TEST(Utf8, TheErrorNamesTheByte) {
  EXPECT_HEED_ERROR(require_utf8("caf\xE9!"), ErrorCode::kInvalidArgument,
                    "text: byte 3 is 0xE9, which is not valid UTF-8 there");
}

TEST(Displayable, ShowsWhatPeopleCannotRead) {
  EXPECT_EQ(displayable(" cat"), " cat");
  EXPECT_EQ(displayable("é猫"), "é猫");
  EXPECT_EQ(displayable("\xE3\x81"), "<0xE3><0x81>");
  EXPECT_EQ(displayable("a\n\x7F"), "a<0x0A><0x7F>");
  EXPECT_EQ(displayable("\xC2\x85"), "<0xC2><0x85>");  // next line, a control character
  EXPECT_EQ(displayable("\xE3\x81x\xFF"), "<0xE3><0x81>x<0xFF>");
  EXPECT_EQ(displayable("\xE2\x80\xAEx"), "<0xE2><0x80><0xAE>x");  // right-to-left override
  EXPECT_EQ(displayable("\xE2\x80\x8D"), "\xE2\x80\x8D");          // joins the parts of an emoji
}

}  // namespace
}  // namespace heed
