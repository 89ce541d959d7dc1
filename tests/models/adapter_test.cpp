// LoRA folders against the logits that peft gives (tools/make_lora_goldens.py), and what is
// refused.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "base/file.h"
#include "heed/error.h"
#include "heed/model.h"
#include "io/tensor_files.h"
#include "models/gguf_save.h"
#include "support/places.h"
#include "support/random_tensor.h"
#include "support/scratch.h"

namespace heed {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

fs::path goldens() { return fs::path(HEED_SOURCE_DIR) / "tests/models/golden/lora"; }

// Relative to the largest logit.
float largest_difference(const fs::path& model, const fs::path& golden,
                         const LoadOptions& options) {
  const LoadedModel loaded = load_model(model, options);
  const Safetensors file = Safetensors::open(golden / "golden.safetensors");
  Run run;
  const Tensor logits = loaded.model->forward({.ids = file.tensor("input_ids")}, run);
  const Tensor due = Tensor::converted(file.tensor("logits"), DType::kF32);
  EXPECT_EQ(logits.shape(), due.shape());
  float difference = 0, largest = 1;
  for (std::int64_t i = 0; i < due.element_count(); ++i) {
    difference = std::max(difference, std::abs(logits.data<float>()[i] - due.data<float>()[i]));
    largest = std::max(largest, std::abs(due.data<float>()[i]));
  }
  return difference / largest;
}

constexpr const char* kNames[] = {"gpt2",         "gpt2-biases", "llama",   "llama-words",
                                  "qwen2-biases", "phi3",        "gpt-neox"};

TEST(Adapter, GivesTheLogitsOfPeft) {
  for (const char* name : kNames) {
    const fs::path folder = goldens() / name;
    EXPECT_LT(largest_difference(folder, folder, {.tokenizers = false}), 1e-5F) << name;
    EXPECT_LT(largest_difference(folder, folder, {.tokenizers = false, .packed = true}), 1e-5F)
        << name;
  }
}

TEST(Adapter, IsSavedAsAWholeModel) {
  const test::Scratch scratch;
  const fs::path folder = goldens() / "gpt2";
  save_model(scratch / "merged", load_model(folder, {.tokenizers = false}), DType::kF32);
  EXPECT_LT(largest_difference(scratch / "merged", folder, {.tokenizers = false}), 1e-5F);
}

// A copy of one of the folders, with other members in its adapter_config.json.
class ChangedAdapter : public testing::Test {
 protected:
  fs::path changed(const std::string& name, const json& members) {
    const fs::path folder = scratch_ / name;
    fs::remove_all(folder);
    fs::copy(goldens() / name, folder, fs::copy_options::recursive);
    json config = json::parse(read_file(folder / "adapter_config.json"));
    config.update(members);
    std::ofstream(folder / "adapter_config.json") << config;
    return folder;
  }
  std::string refusal(const fs::path& folder) {
    try {
      load_model(folder, {.tokenizers = false});
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  }

  test::Scratch scratch_;
};

TEST_F(ChangedAdapter, FindsItsBaseByAnAbsolutePath) {
  const fs::path base = goldens() / "llama" / "base";
  const fs::path folder = changed("llama", {{"base_model_name_or_path", base.string()}});
  fs::remove_all(folder / "base");
  EXPECT_LT(largest_difference(folder, goldens() / "llama", {.tokenizers = false}), 1e-5F);
}

TEST_F(ChangedAdapter, FitsABaseInAGgufFile) {
  for (const char* name : kNames) {
    const fs::path folder = changed(name, {{"base_model_name_or_path", "base.gguf"}});
    save_gguf(folder / "base.gguf", load_model(folder / "base", {.tokenizers = false}), "F32");
    fs::remove_all(folder / "base");
    for (const LoadOptions& options :
         {LoadOptions{.tokenizers = false}, LoadOptions{.tokenizers = false, .packed = true},
          LoadOptions{.tokenizers = false, .packed = true, .streamed = true}})
      EXPECT_LT(largest_difference(folder, goldens() / name, options), 1e-5F) << name;
  }
}

// W + scale B A of the weights as their blocks hold them.
TEST_F(ChangedAdapter, LiftsTheWeightsThatItChangesOutOfTheirBlocks) {
  const test::Scratch scratch;
  LoadedModel whole;
  whole.model = make_model(R"({"model_type": "llama", "vocab_size": 64, "hidden_size": 64,
    "intermediate_size": 96, "num_hidden_layers": 2, "num_attention_heads": 4,
    "max_position_embeddings": 32})",
                           3);
  save_gguf(scratch / "base.gguf", whole, "Q8_0");
  save_model(scratch / "plain", load_model(scratch / "base.gguf", {.tokenizers = false}),
             DType::kF32);
  const Tensor a = test::random_tensor({2, 64}, 5), b = test::random_tensor({64, 2}, 6);
  for (const char* base : {"base.gguf", "plain"}) {
    const fs::path folder = scratch / (std::string("of_") + base);
    fs::create_directory(folder);
    std::ofstream(folder / "adapter_config.json")
        << json{{"peft_type", "LORA"}, {"base_model_name_or_path", std::string("../") + base}};
    const std::string module = "base_model.model.model.layers.1.self_attn.q_proj.lora_";
    const NamedView tensors[] = {{module + "A.weight", a}, {module + "B.weight", b}};
    write_safetensors(folder / "adapter_model.safetensors", tensors);
  }
  const auto logits_of = [&](const fs::path& folder) {
    heed::Run run;
    const Tensor ids = test::random_ids({1, 9}, 64, 1);
    return load_model(folder, {.tokenizers = false, .packed = true, .dtype = DType::kF32})
        .model->forward({.ids = ids}, run);
  };
  const Tensor plain = logits_of(scratch / "of_plain");
  EXPECT_LT(test::largest_difference(logits_of(scratch / "of_base.gguf"), plain), 1e-4);
  EXPECT_GT(test::largest_difference(logits_of(scratch / "plain"), plain), 1e-2);
}

TEST_F(ChangedAdapter, NamesWhatIsNotServed) {
  const std::pair<json, const char*> cases[] = {
      {{{"peft_type", "IA3"}}, "peft_type is \"IA3\", expected LORA"},
      {{{"use_dora", true}}, "use_dora is true, expected false"},
      {{{"init_lora_weights", "pissa"}}, "init_lora_weights is \"pissa\", expected true"},
      {{{"layer_replication", {{0, 2}}}}, "layer_replication is [[0,2]], expected null or false"},
      {{{"alpha_pattern", {{"h.[01].attn", 2}}}}, "expected names of modules"},
      {{{"base_model_name_or_path", nullptr}},
       "base_model_name_or_path is null, expected the path"},
      {{{"base_model_name_or_path", "no/such"}}, "neither a path nor a known name"},
      {{{"base_model_name_or_path", "."}}, "an adapter itself"}};
  for (const auto& [members, part] : cases) {
    const std::string found = refusal(changed("llama", members));
    EXPECT_NE(found.find(part), std::string::npos) << found;
  }
}

TEST_F(ChangedAdapter, ATensorThatFitsNoneOfTheBaseIsNamed) {
  const fs::path folder = changed("llama", {{"base_model_name_or_path", "other"}});
  fs::copy(goldens() / "gpt2" / "base", folder / "other");
  const std::string found = refusal(folder);
  EXPECT_NE(found.find("which the base does not have"), std::string::npos) << found;
  EXPECT_NE(found.find("lora_A.weight is for"), std::string::npos) << found;
}

TEST_F(ChangedAdapter, WordsOfATiedHeadAreRefused) {
  const fs::path folder = changed("llama-words", json::object());
  json config = json::parse(read_file(folder / "base" / "config.json"));
  config["tie_word_embeddings"] = true;
  std::ofstream(folder / "base" / "config.json") << config;
  const std::string found = refusal(folder);
  EXPECT_NE(found.find("the base's head too (tied)"), std::string::npos) << found;
}

TEST_F(ChangedAdapter, APickleIsRefusedWithWhatToDo) {
  const fs::path folder = changed("llama", json::object());
  fs::rename(folder / "adapter_model.safetensors", folder / "adapter_model.bin");
  EXPECT_EQ(refusal(folder),
            folder.string() +
                ": has its weights in adapter_model.bin alone, expected adapter_model.safetensors; "
                "peft writes it: PeftModel.from_pretrained(base, folder).save_pretrained(folder)");
}

}  // namespace
}  // namespace heed
