// A small random model without a tokenizer: 256 ids, 16 positions.
#pragma once

#include <fmt/format.h>

#include "heed/models/registry.h"

namespace heed::test {

inline LoadedModel tiny(int layers) {
  LoadedModel model{.name = "tiny", .folder = {}, .built_in = false, .model = {}, .tokenizer = {}};
  model.model = make_model(
      fmt::format(R"({{"model_type": "gpt2", "n_positions": 16, "n_embd": 16, "n_layer": {},)"
                  R"( "n_head": 4, "vocab_size": 256}})",
                  layers),
      1);
  return model;
}

}  // namespace heed::test
