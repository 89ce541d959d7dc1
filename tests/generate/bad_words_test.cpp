// Sequences that a model never writes: `bad_words_ids`, as transformers has it.
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "heed/base/error.h"
#include "heed/generate/generate.h"
#include "heed/models/registry.h"
#include "io/atomic_file.h"
#include "support/scratch.h"
#include "support/sharpen.h"

namespace heed {
namespace {

using Ids = std::vector<TokenId>;

// Weights far from flat; token 10 ends a text.
std::unique_ptr<Model> tiny(const std::string& bad_words) {
  auto model = make_model(fmt::format(R"({{"model_type": "gpt2", "n_layer": 2, "n_head": 2,
    "n_embd": 16, "n_positions": 24, "vocab_size": 11, "eos_token_id": 10,
    "bad_words_ids": {}}})",
                                      bad_words),
                          1);
  test::sharpen(*model);
  return model;
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
    const Ids free = written(*tiny("null"), beams);
    const auto found = std::ranges::find_if(free.begin() + 3, free.end(),
                                            [](TokenId id) { return id > 3 && id < 10; });
    ASSERT_NE(found, free.end());
    const TokenId first = *found;
    const Ids bound = written(*tiny(fmt::format("[[{}]]", first)), beams);
    EXPECT_EQ(std::ranges::count(bound, first), 0) << beams;
    EXPECT_EQ(bound.size(), free.size());
  }
}

TEST(BadWords, OfSeveralTokensEndNoText) {
  for (const std::int64_t beams : {1, 3}) {
    const Ids free = written(*tiny("null"), beams);
    const Ids word = {free[2], free[3]};  // the last of the prompt and the first that is written
    ASSERT_TRUE(has(free, word));
    EXPECT_FALSE(has(written(*tiny(fmt::format("[[{}, {}]]", word[0], word[1])), beams), word));
    const Ids longer = {7, 1, 2, 3, free[3]};  // its beginning does not stand there
    EXPECT_EQ(written(*tiny(fmt::format("[[{}]]", fmt::join(longer, ", "))), beams), free);
    const Ids whole = {1, 2, 3, free[3]};  // longer than the prompt: transformers ignores it there
    if (beams == 1) {
      EXPECT_EQ(written(*tiny(fmt::format("[[{}]]", fmt::join(whole, ", "))))[3], free[3]);
    }
  }
}

TEST(BadWords, TheEndTokenAloneIsNone) {
  EXPECT_EQ(written(*tiny("[[10]]")), written(*tiny("null")));
}

TEST(BadWords, AreThoseOfTheGenerationConfigWhereThereIsOne) {
  const test::Scratch scratch;
  const auto folder = scratch / "tiny";
  save_model(folder, *tiny("[[2]]"), nullptr, DType::kF32);
  using Words = std::vector<std::vector<std::int64_t>>;
  EXPECT_EQ(load_model(folder).model->info().bad_words, Words({{2}}));
  write_file(folder / "generation_config.json", R"({"bad_words_ids": [[3, 4], [5]]})");
  EXPECT_EQ(load_model(folder).model->info().bad_words, Words({{3, 4}, {5}}));
  write_file(folder / "generation_config.json", "{}");
  EXPECT_EQ(load_model(folder).model->info().bad_words, Words());
}

TEST(BadWords, OfAnotherFormAreRefused) {
  for (const char* words : {"[3]", "[[]]", "[[-1]]", "7"})
    EXPECT_THROW(tiny(words), Error) << words;
}

}  // namespace
}  // namespace heed
