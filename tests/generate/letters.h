// A small decoder of the letters a to k, and the tokens that it generates.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "heed/generate.h"
#include "heed/model.h"
#include "support/tiny_configs.h"

namespace heed::test {

/// Weights far from flat, so that tokens differ in probability; `more` are further keys of its
/// config.json.
inline std::unique_ptr<Model> letters_model(const std::string& more = "") {
  auto model = make_model(R"({"model_type": "gpt2", "n_layer": 2, "n_head": 2, "n_embd": 16,
    "n_positions": 24, "vocab_size": 11)" +
                              more + "}",
                          1);
  sharpen(*model);
  return model;
}

inline std::vector<TokenId> ids_of(const Generated& generated) {
  std::vector<TokenId> ids;
  for (const GeneratedToken& token : generated.tokens) ids.push_back(token.id);
  return ids;
}

}  // namespace heed::test
