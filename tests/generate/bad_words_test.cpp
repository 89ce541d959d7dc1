// Sequences that a model never generates: `bad_words_ids`, like in transformers.
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "generate/letters.h"
#include "heed/error.h"
#include "heed/generate.h"
#include "heed/model.h"
#include "io/atomic_file.h"
#include "support/scratch.h"

namespace heed {
namespace {

using Ids = std::vector<TokenId>;

// Token 10 ends a text.
std::unique_ptr<Model> with_bad_words(const std::string& ids) {
  return test::letters_model(", \"eos_token_id\": 10, \"bad_words_ids\": " + ids);
}

Ids written(const Model& model, std::int64_t beams = 1) {
  const auto generated = generate(model, {.prompts = {{1, 2, 3}},
                                          .most_tokens = 12,
                                          .sampling = {.temperature = 0},
                                          .stop_at_end = false,
                                          .beams = beams});
  Ids ids = {1, 2, 3};
  for (const GeneratedToken& token : generated[0].tokens) ids.push_back(token.id);
  return ids;
}

bool has(const Ids& ids, const Ids& part) { return !std::ranges::search(ids, part).empty(); }

TEST(BadWords, AreNotWrittenAndAnotherTokenStandsInTheirPlace) {
  for (const std::int64_t beams : {1, 3}) {
    const Ids free = written(*with_bad_words("null"), beams);
    const auto found = std::ranges::find_if(free.begin() + 3, free.end(),
                                            [](TokenId id) { return id > 3 && id < 10; });
    ASSERT_NE(found, free.end());
    const TokenId first = *found;
    const Ids bound = written(*with_bad_words(fmt::format("[[{}]]", first)), beams);
    EXPECT_EQ(std::ranges::count(bound, first), 0) << beams;
    EXPECT_EQ(bound.size(), free.size());
  }
}

TEST(BadWords, OfSeveralTokensEndNoText) {
  for (const std::int64_t beams : {1, 3}) {
    const Ids free = written(*with_bad_words("null"), beams);
    const Ids word = {free[2], free[3]};  // the last of the prompt and the first that is written
    ASSERT_TRUE(has(free, word));
    EXPECT_FALSE(
        has(written(*with_bad_words(fmt::format("[[{}, {}]]", word[0], word[1])), beams), word));
    const Ids longer = {7, 1, 2, 3, free[3]};  // its beginning is not in the text
    EXPECT_EQ(written(*with_bad_words(fmt::format("[[{}]]", fmt::join(longer, ", "))), beams),
              free);
    const Ids whole = {1, 2, 3, free[3]};  // longer than the prompt: transformers ignores it there
    if (beams == 1) {
      EXPECT_EQ(written(*with_bad_words(fmt::format("[[{}]]", fmt::join(whole, ", "))))[3],
                free[3]);
    }
  }
}

TEST(BadWords, TheEndTokenAloneIsNone) {
  EXPECT_EQ(written(*with_bad_words("[[10]]")), written(*with_bad_words("null")));
}

TEST(BadWords, AreThoseOfTheGenerationConfigWhereThereIsOne) {
  const test::Scratch scratch;
  const auto folder = scratch / "tiny";
  save_model(folder, *with_bad_words("[[2]]"), nullptr, DType::kF32);
  using Words = std::vector<std::vector<std::int64_t>>;
  EXPECT_EQ(load_model(folder).model->info().bad_words, Words({{2}}));
  write_file(folder / "generation_config.json", R"({"bad_words_ids": [[3, 4], [5]]})");
  EXPECT_EQ(load_model(folder).model->info().bad_words, Words({{3, 4}, {5}}));
  write_file(folder / "generation_config.json", "{}");
  EXPECT_EQ(load_model(folder).model->info().bad_words, Words());
}

TEST(BadWords, OfAnotherFormAreRefused) {
  for (const char* words : {"[3]", "[[]]", "[[-1]]", "7"})
    EXPECT_THROW(with_bad_words(words), Error) << words;
}

}  // namespace
}  // namespace heed
