// A served model that is a LoRA folder, on a base in a folder or in a GGUF file.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "heed/model.h"
#include "inspect/session/session_memory.h"
#include "io/tensor_files.h"
#include "models/gguf_save.h"
#include "serve/model_shelf.h"
#include "serve/served.h"
#include "support/random_tensor.h"

namespace heed {
namespace {

using nlohmann::json;

class ServedAdapter : public testing::Test {
 protected:
  ServedAdapter() {
    const LoadedModel& model = test::shared_model();
    save_model(scratch_ / "base", *model.model, model.tokenizer.get(), DType::kF32);
    save_gguf(scratch_ / "base.gguf", load_model(scratch_ / "base"), "F32");
    const Tensor a = test::random_tensor({2, 16}, 5), b = test::random_tensor({16, 2}, 6);
    for (const char* base : {"base", "base.gguf"}) {
      const std::filesystem::path folder = adapter_of(base);
      std::filesystem::create_directory(folder);
      std::ofstream(folder / "adapter_config.json")
          << json{{"peft_type", "LORA"}, {"base_model_name_or_path", std::string("../") + base}};
      const std::string module = "base_model.model.transformer.h.0.attn.c_proj.lora_";
      const NamedView tensors[] = {{module + "A.weight", a}, {module + "B.weight", b}};
      write_safetensors(folder / "adapter_model.safetensors", tensors);
    }
  }
  std::filesystem::path adapter_of(const std::string& base) const {
    return scratch_ / ("of_" + base);
  }
  // The next words of a text that a server of this model gives.
  static json words(const std::filesystem::path& path, bool streams) {
    const LoadedModel model = serve::load_to_serve(path);
    if (!streams) hold_if_room(*model.model, {});
    const test::Served served(test::served_options(), model);
    httplib::Client client = served.client();
    const std::string session = served.open("the cat sat on the mat")["session"];
    return json::parse(client.Get("/api/v1/sessions/" + session + "/self/next")->body)["words"];
  }
  static double difference(const json& words, const json& others) {
    double largest = 0;
    for (std::size_t i = 0; i < words.size(); ++i)
      largest = std::max(largest, std::abs(words[i]["probability"].get<double>() -
                                           others[i]["probability"].get<double>()));
    return largest;
  }

  test::Scratch scratch_;
};

TEST_F(ServedAdapter, SaysWhatItsMergedModelSays) {
  save_model(scratch_ / "merged", load_model(adapter_of("base")), DType::kF32);
  const json merged = words(scratch_ / "merged", false);
  EXPECT_GT(difference(words(scratch_ / "base", false), merged), 1e-4);
  for (const char* base : {"base", "base.gguf"})
    for (const bool streams : {false, true})
      EXPECT_LT(difference(words(adapter_of(base), streams), merged), 1e-6) << base << streams;
}

}  // namespace
}  // namespace heed
