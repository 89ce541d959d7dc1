// Real models read texts: the published answers, word by word.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "base/file.h"
#include "heed/generate.h"
#include "heed/look.h"
#include "heed/session.h"
#include "io/tensor_files.h"
#include "support/expect_error.h"
#include "support/shared_data.h"

namespace heed {
namespace {

TEST(Stories, AtTemperatureZeroAreThePublishedOnes) {
  HEED_NEEDS_SHARED("models/stories260k");
  const auto folder = test::shared_data() / "models/stories260k";
  const LoadedModel loaded = load_model(folder);
  const Generated written = generate(*loaded.model, {.prompts = {{1}},
                                                     .most_tokens = 200,
                                                     .sampling = {.temperature = 0},
                                                     .tokenizer = loaded.tokenizer.get()})[0];
  EXPECT_EQ(written.text, read_file(folder / "expected_greedy_200.txt"));
}

std::string written_text(const Session& session) {
  std::string text;
  for (const SessionToken& token : session.tokens) text += token.bytes;
  return text;
}

TEST(Transliteration, WritesThePublishedLetters) {
  HEED_NEEDS_SHARED("models/aren-transliteration");
  const LoadedModel loaded = load_model(test::shared_data() / "models/aren-transliteration");
  ASSERT_NE(loaded.target_tokenizer, nullptr);
  const std::pair<const char*, const char*> words[] = {{"آ ت ز م و ن", "atzmon"},
                                                       {"آ ز ا", "azza"}};
  for (const auto& [source, target] : words) {
    const Session session = open_session(loaded, source);
    std::string letters = written_text(session);
    std::erase(letters, ' ');
    EXPECT_TRUE(letters.ends_with(target)) << letters;
    EXPECT_EQ(session.key_tokens.size(), target == std::string("azza") ? 3U : 6U);
  }
}

TEST(Transliteration, OfATargetThatIsGivenReadsIt) {
  HEED_NEEDS_SHARED("models/aren-transliteration");
  const LoadedModel loaded = load_model(test::shared_data() / "models/aren-transliteration");
  Session session = tokenize_session(loaded, {.text = "آ ت ز م و ن", .target = "a t s"});
  EXPECT_EQ(session.tokens.size(), 4U);  // with the first token
  run_session(session, loaded);
  EXPECT_TRUE(next_words(session, 1).words[0].bytes.ends_with("u"));
}

// HEED_MINILM is the folder of all-MiniLM-L6-v2.
TEST(MiniLm, APairOfTextsHasThePublishedAttention) {
  HEED_NEEDS_SHARED("models/minilm-golden.safetensors");
  const char* folder = std::getenv("HEED_MINILM");
  if (folder == nullptr) GTEST_SKIP() << "HEED_MINILM names no folder";
  const LoadedModel loaded = load_model(folder);
  const Safetensors golden =
      Safetensors::open(test::shared_data() / "models/minilm-golden.safetensors");
  Session session = tokenize_session(
      loaded, {.text = "time flies like an arrow", .pair = "fruit flies like a banana"});
  ASSERT_EQ(session.tokens.size(), 13U);
  EXPECT_TRUE(session.tokens[7].bytes.ends_with("fruit"));
  EXPECT_EQ(session.tokens[7].text, 1);
  EXPECT_EQ(session.tokens[7].begin, 0);
  EXPECT_EQ(session.types, (std::vector<std::int32_t>{0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1}));
  run_session(session, loaded);
  const Tensor expected = Tensor::copy_of(golden.tensor("pair.attentions.3"));  // [1, 12, 13, 13]
  double worst = 0;
  visit_rows(session.at({.layer = 3}), {},
             [&](std::int64_t head, std::int64_t query, std::span<const float> weights) {
               for (std::size_t key = 0; key < weights.size(); ++key)
                 worst = std::max(worst,
                                  std::abs(double{weights[key]} -
                                           expected.data<float>()[(head * 13 + query) * 13 +
                                                                  static_cast<std::int64_t>(key)]));
             });
  EXPECT_LE(worst, 2e-5);
}

TEST(Session, ADecoderReadsNoPair) {
  HEED_NEEDS_SHARED("models/stories260k");
  const LoadedModel loaded = load_model(test::shared_data() / "models/stories260k");
  EXPECT_HEED_ERROR(tokenize_session(loaded, {.text = "a", .pair = "b"}),
                    ErrorCode::kInvalidArgument,
                    "session: pair is given, expected none: stories260k is not an encoder");
  EXPECT_HEED_ERROR(
      tokenize_session(loaded, {.text = "a", .target = "b"}), ErrorCode::kInvalidArgument,
      "session: target is given, expected none: stories260k is not an encoder-decoder");
}

}  // namespace
}  // namespace heed
