// Small random models, for tests of commands that read a text.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/program.h"
#include "heed/model.h"
#include "support/tiny_configs.h"
#include "text/byte_bpe.h"

namespace heed::test {

/// The folder of a GPT-2 of 40 positions; each is made once.
inline const std::string& tiny_model() {
  static const std::string folder = [] {
    const auto tokenizer = train_byte_bpe(
        "the cat sat on the mat because the cat was tired. the mat was the cat on the mat.",
        {.vocabulary_size = 280});
    const nlohmann::json config = {{"model_type", "gpt2"},
                                   {"architectures", {"GPT2LMHeadModel"}},
                                   {"vocab_size", tokenizer->vocabulary_size()},
                                   {"n_positions", 40},
                                   {"n_embd", 16},
                                   {"n_layer", 2},
                                   {"n_head", 4}};
    const auto model = make_model(config.dump(), 1);
    const std::filesystem::path path = scratch() / "tiny";
    save_model(path, *model, tokenizer.get(), DType::kF32);
    return path.string();
  }();
  return folder;
}

// A model of this configuration and a vocabulary of its own, saved under a name.
inline std::string saved_model(const char* name, nlohmann::json config) {
  const std::filesystem::path path = scratch() / name;
  if (std::filesystem::exists(path)) return path.string();
  const auto tokenizer = train_byte_bpe("the cat sat on the mat.", {.vocabulary_size = 280});
  config["vocab_size"] = tokenizer->vocabulary_size();
  save_model(path, *make_model(config.dump(), 1), tokenizer.get(), DType::kF32);
  return path.string();
}

/// A small random encoder of 64 positions.
inline std::string tiny_encoder() { return saved_model("tiny-reader", tiny_encoder_config()); }

/// A small random encoder-decoder of 40 positions.
inline std::string tiny_translator() {
  return saved_model("tiny-translator", tiny_translator_config());
}

constexpr const char* kText = "the cat sat on the mat because the cat was tired.";

/// `heed look ARGUMENTS...` with tiny_model().
inline Answer look(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "look");
  arguments.insert(arguments.end(), {"--model", tiny_model()});
  return heed(arguments);
}

}  // namespace heed::test
