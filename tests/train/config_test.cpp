#include <fmt/format.h>
#include <gtest/gtest.h>

#include "heed/train.h"
#include "support/expect_error.h"

namespace heed {
namespace {

TrainConfig valid() {
  TrainConfig config;
  config.data = {"text.txt"};
  return config;
}

TEST(TrainConfig, KeysThatAreAbsentKeepTheirDefault) {
  const TrainConfig config = parse_train_config(R"({"steps": 7, "clip": 2})", "c.json");
  EXPECT_EQ(config.steps, 7);
  EXPECT_EQ(config.clip, 2);
  EXPECT_EQ(config.batch, TrainConfig().batch);
}

TEST(TrainConfig, IsReadBackAsItWasWritten) {
  TrainConfig config = valid();
  config.learning_rate = 0.1 + 0.2;
  config.model = R"({"n_inner":96})";
  config.groups = R"([{"names":["wte"],"frozen":true}])";
  config.rejoin_lines = true;
  EXPECT_EQ(to_json(parse_train_config(to_json(config), "c.json")), to_json(config));
}

TEST(TrainConfig, NamesOfOtherProgramsAreTranslated) {
  for (const auto& [theirs, ours] :
       {std::pair("lr", "learning_rate"), std::pair("n_layer", "layers"),
        std::pair("block_size", "block"), std::pair("max_iters", "steps")})
    EXPECT_HEED_ERROR(parse_train_config(std::string(R"({")") + theirs + R"(": 3})", "c.json"),
                      ErrorCode::kInvalidArgument,
                      fmt::format("c.json: line 1, column {}: unknown key \"{}\"; did you mean {}?",
                                  std::string_view(theirs).size() + 6, theirs, ours));
}

TEST(TrainConfig, AWholeNumberMayBeWrittenWithAPoint) {
  EXPECT_EQ(parse_train_config(R"({"steps": 10.0})", "c.json").steps, 10);
  EXPECT_THROW(parse_train_config(R"({"steps": 10.5})", "c.json"), Error);
}

TEST(TrainConfig, AnUnknownKeyIsAnErrorThatNamesTheNearest) {
  EXPECT_HEED_ERROR(parse_train_config(R"({"learn_rate": 1})", "c.json"),
                    ErrorCode::kInvalidArgument,
                    "c.json: line 1, column 16: unknown key \"learn_rate\"; the nearest known one "
                    "is \"learning_rate\"");
  EXPECT_HEED_ERROR(
      parse_train_config(R"({"save_total_limit": 1})", "c.json"), ErrorCode::kInvalidArgument,
      "c.json: line 1, column 22: unknown key \"save_total_limit\"; heed train --help "
      "lists the keys, as options");
}

TEST(TrainConfig, AValueOfAnotherTypeIsAnError) {
  EXPECT_HEED_ERROR(parse_train_config(R"({"steps": 1.5})", "c.json"), ErrorCode::kInvalidArgument,
                    "c.json: line 1, column 11: steps is 1.5, expected a whole number");
  EXPECT_HEED_ERROR(parse_train_config(R"({"data": "a.txt"})", "c.json"),
                    ErrorCode::kInvalidArgument,
                    "c.json: line 1, column 10: data is \"a.txt\", expected a list of texts");
  EXPECT_HEED_ERROR(parse_train_config(R"({"model": 3})", "c.json"), ErrorCode::kInvalidArgument,
                    "c.json: line 1, column 11: model is 3, expected an object");
}

TEST(TrainConfig, WhatIsNotJsonIsAnErrorThatNamesThePlace) {
  EXPECT_HEED_ERROR(parse_train_config("{\"steps\": }", "c.json"), ErrorCode::kCorrupt,
                    "c.json: line 1, column 11: not JSON: unexpected }");
  EXPECT_HEED_ERROR(parse_train_config("{\n  \"clip\": 1e400}", "c.json"), ErrorCode::kCorrupt,
                    "c.json: line 2, column 11: the number 1e400 is beyond all that f64 holds");
  EXPECT_HEED_ERROR(parse_train_config("[]", "c.json"), ErrorCode::kCorrupt,
                    "c.json: line 1, column 1: the whole is [], expected a JSON object");
}

struct BadValue {
  void (*change)(TrainConfig&);
  ErrorCode code;
  const char* message;
};

class TrainConfigCheck : public testing::TestWithParam<BadValue> {};

TEST_P(TrainConfigCheck, NamesKeyValueAndExpectation) {
  TrainConfig config = valid();
  GetParam().change(config);
  EXPECT_HEED_ERROR(check(config), GetParam().code, GetParam().message);
}

using C = TrainConfig;
constexpr auto kArgument = ErrorCode::kInvalidArgument;
INSTANTIATE_TEST_SUITE_P(
    Values, TrainConfigCheck,
    testing::Values(
        BadValue{[](C& c) { c.task = "ml"; }, kArgument,
                 "train: task is \"ml\", expected lm or mlm or seq2seq or classify"},
        BadValue{[](C& c) { c.task = "seq2seq"; }, kArgument,
                 "train: targets is not given, expected a file with a line for each line of data"},
        BadValue{[](C& c) { c.targets = {"a.ja"}; }, kArgument,
                 "train: targets is given, expected none: of task \"seq2seq\" with data alone"},
        BadValue{[](C& c) { c.generate = "reverse"; }, kArgument,
                 "train: data is given beside generate, expected one of them"},
        BadValue{[](C& c) { c.generate = "revers"; }, kArgument,
                 "train: generate is \"revers\", expected reverse, copy, sort, add, anomaly, "
                 "induction, pronoun"},
        BadValue{[](C& c) { c.generate_length = 4; }, kArgument,
                 "train: generate_length is 4, expected 0: generate is not given"},
        BadValue{[](C& c) { c.whole_words = true; }, kArgument,
                 "train: whole_words is true, expected none: it is of task \"mlm\", and this is "
                 "\"lm\""},
        BadValue{[](C& c) { c.label = "text"; }, kArgument,
                 "train: label is \"text\", expected none: it is of task \"classify\", and this is "
                 "\"lm\""},
        BadValue{[](C& c) { c.label_smoothing = 1; }, kArgument,
                 "train: label_smoothing is 1, expected at least 0 and below 1"},
        BadValue{[](C& c) { c.schedule = "step"; }, kArgument,
                 "train: schedule is \"step\", expected cosine or linear or inverse-sqrt or "
                 "constant"},
        BadValue{
            [](C& c) { c.decay = 5; }, kArgument,
            "train: decay is 5, expected 0: \"cosine\" falls from the warm-up to the last step"},
        BadValue{[](C& c) { c.groups = R"([{"names": ["wte"], "rate": 1}])"; }, kArgument,
                 "train: groups is a group with the key \"rate\", expected names, learning_rate, "
                 "weight_decay or frozen"},
        BadValue{[](C& c) { c.groups = R"([{"frozen": true}])"; }, kArgument,
                 "train: groups is {\"frozen\":true}, expected names: a list of texts"},
        BadValue{[](C& c) { c.data.clear(); }, kArgument,
                 "train: data is not given, expected at least one text file"},
        BadValue{[](C& c) { c.dtype = "f64"; }, kArgument,
                 "train: dtype is \"f64\", expected f32 or f16 or bf16"},
        BadValue{[](C& c) { c.batch = 100000000000; }, kArgument,
                 "train: batch is 100000000000, expected at most 262144 sequences of 64 tokens "
                 "(block) in one pass"},
        BadValue{[](C& c) { c.accumulate = 4097; }, kArgument,
                 "train: accumulate is 4097, expected at most 4096 passes in one step"},
        BadValue{[](C& c) { c.steps = 0; }, kArgument, "train: steps is 0, expected at least 1"},
        BadValue{[](C& c) { c.heads = 3; }, kArgument,
                 "train: heads is 3, expected a divisor of width (128)"},
        BadValue{[](C& c) { c.dropout = 1; }, kArgument,
                 "train: dropout is 1, expected at least 0 and below 1"},
        BadValue{[](C& c) { c.model = "4"; }, kArgument,
                 "train: model is \"4\", expected a JSON object of entries for config.json, as "
                 "{\"model_type\": \"llama\"} (start_from names a model to begin with)"}));

}  // namespace
}  // namespace heed
