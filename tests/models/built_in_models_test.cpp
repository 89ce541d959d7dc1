// Which built-in model is used if none is named.
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "heed/error.h"
#include "heed/model.h"
#include "support/scratch.h"
#include "support/tiny_configs.h"

namespace heed {
namespace {

namespace fs = std::filesystem;

// "a-reader" comes first by name, but is not a decoder.
TEST(Registry, WithoutANameTheFirstBuiltInModelOfTheKindIsFound) {
  const test::Scratch scratch;
  const auto save = [&](const char* name, nlohmann::json config) {
    config["vocab_size"] = 11;
    save_model(scratch / name, *make_model(config.dump(), 1), nullptr, DType::kF32);
  };
  save("a-reader", test::tiny_encoder_config());
  set_built_in_models(scratch.folder());
  const fs::path alone = find_model("");
  save("b-writer",
       {{"model_type", "gpt2"}, {"n_layer", 1}, {"n_head", 2}, {"n_embd", 8}, {"n_positions", 6}});
  save("c-translator", test::tiny_translator_config());
  const fs::path found[] = {find_model(""), find_model("", ModelKind::kEncoder),
                            find_model("", ModelKind::kEncoderDecoder)};
  set_built_in_models({});
  EXPECT_EQ(alone.filename(), "a-reader");
  EXPECT_EQ(found[0].filename(), "b-writer");
  EXPECT_EQ(found[1].filename(), "a-reader");
  EXPECT_EQ(found[2].filename(), "c-translator");
}

// As in the Python package, which brings tales alone.
TEST(Registry, AModelOfHeedThatDidNotComeWithItIsInItsSource) {
  const test::Scratch scratch;
  save_model(scratch / "tales",
             *make_model(R"({"model_type": "gpt2", "n_layer": 1, "n_head": 2, "n_embd": 8,
                             "n_positions": 6, "vocab_size": 11})",
                         1),
             nullptr, DType::kF32);
  set_built_in_models(scratch.folder());
  const fs::path here = fs::current_path();
  fs::current_path(scratch.folder());  // ./models is searched too
  std::string hint;
  try {
    find_model("enja");
  } catch (const Error& error) {
    hint = error.hint();
  }
  fs::current_path(here);
  set_built_in_models({});
  EXPECT_TRUE(
      hint.ends_with("; built in here: tales; enja is in the folder models of heed's source"))
      << hint;
}

TEST(Registry, TheTextsSayWhichKindReadsThem) {
  EXPECT_EQ(kind_that_reads("The king", false, false), ModelKind::kDecoder);
  EXPECT_EQ(kind_that_reads("The king", true, false), ModelKind::kEncoder);
  EXPECT_EQ(kind_that_reads("The [MASK] king", false, false), ModelKind::kEncoder);
  EXPECT_EQ(kind_that_reads("The [MASK] king", false, true), ModelKind::kEncoderDecoder);
}

}  // namespace
}  // namespace heed
