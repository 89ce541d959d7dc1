// A folder's generation settings, compared with transformers.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "heed/generate.h"
#include "heed/model.h"
#include "io/atomic_file.h"
#include "support/expect_error.h"
#include "support/places.h"
#include "support/scratch.h"

namespace heed {
namespace {

namespace fs = std::filesystem;
using Ids = std::vector<TokenId>;

const fs::path kGoldenModels = fs::path(HEED_SOURCE_DIR) / "tests/models/golden";

// What `generate(..., max_new_tokens=12)` of transformers 5.23 gives for the model of that name
// with this generation_config.json, and `sequences_scores`, 0 if there is none.
struct GoldenAnswer {
  const char* model;
  Ids text;  // the source of an encoder-decoder, else the prompt
  const char* file;
  Ids answer;
  double score;
};

const Ids kText = {5, 3, 9, 4, 2, 7, 6, 1};
// clang-format off
const GoldenAnswer kCases[] = {
    {"llama", kText, R"({})",
     {40, 41, 28, 26, 41, 46, 16, 10, 20, 46, 35, 26}, 0},
    {"llama", kText, R"({"repetition_penalty": 1.7})",
     {40, 41, 28, 26, 44, 20, 26, 24, 44, 35, 58, 50}, 0},
    {"llama", kText, R"({"no_repeat_ngram_size": 1})",
     {40, 41, 28, 26, 44, 20, 38, 49, 23, 53, 25, 50}, 0},
    {"llama", kText, R"({"suppress_tokens": [8, 10, 3]})",
     {40, 41, 28, 26, 41, 46, 16, 16, 58, 46, 46, 36}, 0},
    {"llama", kText, R"({"forced_eos_token_id": 4})",
     {40, 41, 28, 26, 41, 46, 16, 10, 20, 46, 35, 4}, 0},
    {"llama", kText, R"({"num_beams": 3})",
     {40, 41, 26, 41, 41, 28, 26, 44, 41, 46, 46, 40}, -1.245301},
    {"llama", kText, R"({"num_beams": 3, "length_penalty": 0.2, "early_stopping": true})",
     {40, 41, 26, 41, 41, 28, 26, 44, 41, 46, 46, 40}, -9.091161},
    {"llama", kText, R"({"num_beams": 3, "no_repeat_ngram_size": 2, "renormalize_logits": true})",
     {40, 41, 26, 41, 41, 28, 26, 44, 41, 46, 46, 40}, -1.208333},
    {"llama", kText, R"({"num_beams": 3, "forced_eos_token_id": 4})",
     {40, 41, 26, 41, 41, 28, 26, 44, 41, 46, 46, 4}, -1.161571},
    {"llama", kText, R"({"num_beams": 3, "forced_eos_token_id": [7, 4]})",
     {40, 41, 26, 41, 41, 28, 26, 44, 41, 46, 46, 4}, -1.161571},
    {"llama", kText, R"({"num_beams": 3, "forced_eos_token_id": [7, 4],
     "renormalize_logits": true})",
     {40, 41, 26, 41, 41, 28, 26, 44, 41, 46, 46, 4}, -1.219333},
    {"llama", kText, R"({"forced_eos_token_id": [7, 4]})",
     {40, 41, 28, 26, 41, 46, 16, 10, 20, 46, 35, 4}, 0},
    {"llama", kText, R"({"num_beams": 2, "suppress_tokens": [8], "renormalize_logits": true})",
     {40, 28, 48, 41, 46, 41, 60, 58, 28, 44, 41, 60}, -1.418947},
    {"llama", kText, R"({"num_beams": 3, "repetition_penalty": 1.7})",
     {40, 28, 48, 41, 46, 34, 35, 25, 58, 28, 26, 44}, -1.495684},
    {"gpt2", kText, R"({})",
     {30, 30, 16, 17, 23, 54, 57, 34, 54, 40, 40, 40}, 0},
    {"gpt2", kText, R"({"repetition_penalty": 1.7})",
     {30, 23, 16, 17, 14, 54, 57, 31, 57, 40, 27, 49}, 0},
    {"gpt2", kText, R"({"no_repeat_ngram_size": 2})",
     {30, 30, 16, 17, 23, 54, 57, 34, 54, 40, 40, 31}, 0},
    {"gpt2", kText, R"({"no_repeat_ngram_size": 1})",
     {30, 23, 16, 17, 14, 54, 57, 31, 48, 40, 27, 49}, 0},
    {"gpt2", kText, R"({"forced_eos_token_id": 4})",
     {30, 30, 16, 17, 23, 54, 57, 34, 54, 40, 40, 4}, 0},
    {"gpt2", kText, R"({"num_beams": 3})",
     {30, 23, 16, 17, 23, 54, 16, 57, 54, 52, 54, 49}, -1.416217},
    {"gpt2", kText, R"({"num_beams": 3, "length_penalty": 0.2, "early_stopping": true})",
     {30, 23, 16, 17, 23, 54, 16, 57, 54, 52, 54, 49}, -10.338913},
    {"gpt2", kText, R"({"num_beams": 3, "no_repeat_ngram_size": 2, "renormalize_logits": true})",
     {30, 23, 16, 17, 23, 54, 16, 57, 54, 52, 54, 49}, -1.396700},
    {"gpt2", kText, R"({"num_beams": 3, "forced_eos_token_id": 4})",
     {30, 23, 16, 17, 23, 54, 16, 57, 54, 52, 54, 4}, -1.271532},
    {"gpt2", kText, R"({"num_beams": 3, "repetition_penalty": 1.7})",
     {30, 23, 16, 17, 14, 54, 57, 31, 57, 40, 27, 54}, -1.870082},
    {"marian", kText, R"({})",
     {18, 18, 18, 18, 18, 18, 18, 18, 18, 18, 18, 18}, 0},
    {"marian", kText, R"({"num_beams": 4})",
     {18, 18, 18, 18, 18, 18, 18, 18, 18, 18, 18, 18}, -0.677460},
    {"marian", kText, R"({"num_beams": 4, "forced_eos_token_id": 0, "renormalize_logits": true,
     "bad_words_ids": [[60]]})",
     {18, 18, 18, 18, 18, 18, 18, 18, 18, 18, 18, 0}, -0.620321},
    {"marian", kText, R"({"forced_bos_token_id": 5})",
     {5, 45, 45, 45, 45, 45, 45, 45, 45, 45, 45, 45}, 0},
    {"marian", kText, R"({"begin_suppress_tokens": [3, 4]})",
     {18, 18, 18, 18, 18, 18, 18, 18, 18, 18, 18, 18}, 0},
    {"marian", kText, R"({"forced_bos_token_id": 5, "begin_suppress_tokens": [3, 4, 7]})",
     {5, 45, 45, 45, 45, 45, 45, 45, 45, 45, 45, 45}, 0},
    {"marian", kText, R"({"no_repeat_ngram_size": 2})",
     {18, 18, 4, 18, 45, 45, 50, 18, 50, 45, 18, 37}, 0},
    {"marian", kText, R"({"num_beams": 4, "no_repeat_ngram_size": 2, "length_penalty": 2.0})",
     {18, 4, 18, 18, 45, 45, 50, 18, 37, 50, 48, 18}, -0.120190},
    {"llama", kText, R"({"eos_token_id": 46})",
     {40, 41, 28, 26, 41, 46}, 0},
    {"llama", kText, R"({"eos_token_id": 46, "min_new_tokens": 9})",
     {40, 41, 28, 26, 41, 60, 41, 41, 41, 41, 46}, 0},
    {"llama", kText, R"({"eos_token_id": 46, "min_length": 15})",
     {40, 41, 28, 26, 41, 60, 41, 46}, 0},
    {"llama", kText, R"({"eos_token_id": [46, 26], "num_beams": 3})",
     {40, 41, 26}, -1.270572},
    {"llama", kText, R"({"eos_token_id": [46, 26], "num_beams": 3, "min_new_tokens": 9})",
     {40, 41, 28, 44, 58, 41, 60, 58, 41, 46}, -1.374575},
    {"llama", kText, R"({"begin_suppress_tokens": [40]})",
     {26, 44, 41, 41, 46, 58, 41, 60, 58, 41, 60, 20}, 0},
    {"llama", kText, R"({"suppress_tokens": [41, 300]})",
     {40, 28, 48, 28, 44, 58, 46, 34, 27, 53, 25, 34}, 0},
    {"llama", {5}, R"({"forced_bos_token_id": 4})",
     {4, 20, 26, 28, 26, 28, 44, 20, 58, 41, 60, 41}, 0},
    {"llama", {5}, R"({"forced_bos_token_id": 4,
     "begin_suppress_tokens": [40, 41, 26, 8, 57, 35, 20]})",
     {4, 1, 14, 32, 32, 20, 48, 26, 28, 26, 41, 46}, 0},
    {"llama", {5}, R"({"begin_suppress_tokens": [40, 41, 26]})",
     {28, 56, 41, 60, 41, 46, 16, 40, 60, 58, 46, 46}, 0},
};
// clang-format on

LoadedModel with_file(const test::Scratch& scratch, const char* model, const std::string& file) {
  for (const char* name : {"config.json", "model.safetensors"})
    fs::copy_file(kGoldenModels / model / name, scratch / name);
  write_file(scratch / "generation_config.json", file);
  return load_model(scratch.folder());
}

// As transformers begins: greedy, where the file does not ask for anything else.
GenerateArgs args_for(const Model& model, const Ids& text, const GenerationConfig& config) {
  GenerateArgs args{.prompts = {text}, .most_tokens = 12, .sampling = {.temperature = 0}};
  if (model.info().reads_source()) {
    args.sources = args.prompts;
    args.prompts = {{static_cast<TokenId>(model.info().first_token)}};
  }
  follow(config, args);
  return args;
}

TEST(GenerationConfig, GivesTheTextsOfTransformers) {
  for (const GoldenAnswer& golden : kCases) {
    SCOPED_TRACE(std::string(golden.model) + " " + golden.file);
    const test::Scratch scratch;
    const LoadedModel loaded = with_file(scratch, golden.model, golden.file);
    const GenerationConfig config = read_generation_config(scratch.folder());
    EXPECT_TRUE(config.not_followed.empty());
    const auto generated = generate(*loaded.model, args_for(*loaded.model, golden.text, config));
    Ids answer;
    for (const GeneratedToken& token : generated[0].tokens) answer.push_back(token.id);
    EXPECT_EQ(answer, golden.answer);
    if (golden.score != 0) {
      EXPECT_NEAR(generated[0].score, golden.score, 2e-5);
    }
  }
}

GenerationConfig read(const std::string& file) {
  const test::Scratch scratch;
  write_file(scratch / "generation_config.json", file);
  return read_generation_config(scratch.folder());
}

TEST(GenerationConfig, NamesWhatItDoesNotFollow) {
  using Keys = std::vector<std::string>;
  EXPECT_EQ(read(R"({"typical_p": 0.9, "top_h": 0.4, "guidance_scale": 1.5})").not_followed,
            (Keys{"typical_p", "guidance_scale", "top_h"}));
  EXPECT_EQ(read(R"({"num_beams": 4, "do_sample": true})").not_followed, Keys{"num_beams"});
  EXPECT_EQ(read(R"({"typical_p": 1.0, "sequence_bias": null, "constraints": [], "num_beams": 4,
                     "pad_token_id": 3, "max_length": 512})")
                .not_followed,
            Keys{});
}

TEST(GenerationConfig, SamplesAsTheFileSays) {
  GenerateArgs args;
  follow(read(R"({"do_sample": true, "temperature": 0.6, "top_k": 20, "top_p": 0.9, "num_beams": 4,
                  "stop_strings": "END"})"),
         args);
  EXPECT_EQ(args.sampling.temperature, 0.6);
  EXPECT_EQ(args.sampling.top_k, 20);
  EXPECT_EQ(args.sampling.top_p, 0.9);
  EXPECT_EQ(args.beams, 1);
  EXPECT_EQ(args.stop, std::vector<std::string>{"END"});
  args = {};
  follow(read(R"({"do_sample": true})"), args);  // transformers' own
  EXPECT_EQ(args.sampling.temperature, 1);
  EXPECT_EQ(args.sampling.top_k, 50);
  follow(read(R"({"do_sample": false, "temperature": 0.6})"), args);
  EXPECT_EQ(args.sampling.temperature, 0);
}

TEST(GenerationConfig, WhatTheCallerHasSetStays) {
  using Names = std::vector<std::string_view>;
  const GenerationConfig config = read(
      R"({"num_beams": 4, "temperature": 0.6, "top_k": 20, "repetition_penalty": 1.5,
          "no_repeat_ngram_size": 3, "length_penalty": 2.0, "stop_strings": "END"})");
  GenerateArgs args{.sampling = {.repetition_penalty = 1.1}, .stop = {"own"}};
  args.rules.no_repeat_ngram = 2;
  follow(config, args, Names{"repetition_penalty", "no_repeat_ngram", "stop"});
  EXPECT_EQ(args.sampling.repetition_penalty, 1.1);
  EXPECT_EQ(args.rules.no_repeat_ngram, 2);
  EXPECT_EQ(args.stop, std::vector<std::string>{"own"});
  EXPECT_EQ(args.beams, 4);
  EXPECT_EQ(args.length_penalty, 2);
  for (const std::string_view name : {"temperature", "top_k", "top_p", "min_p", "seed", "beams"}) {
    GenerateArgs other{.sampling = {.temperature = 0.5, .top_k = 3}};
    follow(config, other, Names{name});
    EXPECT_EQ(other.beams, 1) << name;
    EXPECT_EQ(other.sampling.temperature, name == "temperature" ? 0.5 : 0.6);
    EXPECT_EQ(other.sampling.top_k, name == "top_k" ? 3 : 20);
  }
}

TEST(GenerationConfig, SamplingOfTheFileStaysBesideAnyOtherOption) {
  using Names = std::vector<std::string_view>;
  const GenerationConfig config =
      read(R"({"do_sample": true, "top_p": 0.9, "min_p": 0.1, "repetition_penalty": 1.2})");
  for (const std::string_view name : {"temperature", "top_k", "top_p", "min_p", "seed"}) {
    GenerateArgs args{.sampling = {.temperature = 0.5, .top_k = 3, .top_p = 0.7, .min_p = 0.2}};
    follow(config, args, Names{name});
    EXPECT_EQ(args.sampling.temperature, name == "temperature" ? 0.5 : 1) << name;
    EXPECT_EQ(args.sampling.top_k, name == "top_k" ? 3 : 50) << name;
    EXPECT_EQ(args.sampling.top_p, name == "top_p" ? 0.7 : 0.9) << name;
    EXPECT_EQ(args.sampling.min_p, name == "min_p" ? 0.2 : 0.1) << name;
    EXPECT_EQ(args.sampling.repetition_penalty, 1.2);
  }
  GenerateArgs greedy;
  follow(read(R"({"do_sample": false, "top_k": 7})"), greedy, Names{"top_p"});
  EXPECT_EQ(greedy.sampling.temperature, 0.8);  // who asks for a filter wants it used
  EXPECT_EQ(greedy.sampling.top_k, 7);
  const GenerationConfig wrong = read(R"({"do_sample": true, "top_p": 3})");
  follow(wrong, greedy, Names{"top_p"});  // what is not used is not judged
  EXPECT_THROW(follow(wrong, greedy), Error);
}

TEST(GenerationConfig, AnIdThatNoTokenHasIsRefused) {
  for (const char* key : {"suppress_tokens", "forced_bos_token_id"}) {
    const test::Scratch scratch;
    const fs::path file = scratch / "generation_config.json";
    write_file(file, fmt::format(R"({{"{}": 4294967301}})", key));
    EXPECT_HEED_ERROR(read_generation_config(scratch.folder()), ErrorCode::kCorrupt,
                      fmt::format("{}: line 1, column {}: {} is 4294967301, expected at most "
                                  "2147483647",
                                  file.string(), std::string(key).size() + 6, key));
  }
}

TEST(GenerationConfig, NoFolderSaysNothing) {
  EXPECT_TRUE(read_generation_config({}).file.empty());
}

TEST(GenerationConfig, IsTheModelsOwnWhereThereIsNoOther) {
  const test::Scratch scratch;
  write_file(scratch / "config.json", R"({"model_type": "gpt2", "num_beams": 3})");
  EXPECT_EQ(read_generation_config(scratch.folder()).beams, 3);
  write_file(scratch / "generation_config.json", "{}");
  EXPECT_FALSE(read_generation_config(scratch.folder()).beams);
}

TEST(GenerationConfig, AValueThatDoesNotFitIsNamedWithItsFile) {
  const test::Scratch scratch;
  const fs::path file = scratch / "generation_config.json";
  write_file(file, R"({"num_beams": "many"})");
  EXPECT_HEED_ERROR(read_generation_config(scratch.folder()), ErrorCode::kCorrupt,
                    file.string() +
                        ": line 1, column 15: num_beams is \"many\", expected a whole "
                        "number, 1 to 4096");
  write_file(file, R"({"temperature": -1})");
  GenerateArgs args;
  EXPECT_HEED_ERROR(
      follow(read_generation_config(scratch.folder()), args), ErrorCode::kCorrupt,
      file.string() +
          ": line 1, column 17: temperature is -1, expected a finite number of at least 0 "
          "(greedy)");
}

}  // namespace
}  // namespace heed
