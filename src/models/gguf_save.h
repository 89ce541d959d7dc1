// Saves a model as a GGUF file.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/formats/json.h"
#include "heed/model.h"
#include "heed/tokenizer.h"

namespace heed {

/// The types for written weights: F32, F16, BF16, Q8_0 and Q4_0.
std::vector<std::string_view> gguf_written_types();

/// The parameters and numbers that a written file does not hold.
struct GgufSaved {
  std::vector<std::string> omitted;     // parameters of BERT's head, for which GGUF has no names
  std::vector<std::string> not_finite;  // tensors with NaN or with numbers beyond the range of
                                        // their type, and how many: "output.weight (3)"
};

/// Writes atomically. Like in llama.cpp's converter, vectors, biases, norms, routers and tables of
/// positions are F32; rows that are not a multiple of the type's blocks are F16. kUnsupported for
/// anything that GGUF cannot represent (another family, a scaling of positions, a tokenizer's way
/// of splitting words). `type` is one of `gguf_written_types`.
GgufSaved save_gguf(const std::filesystem::path& path, const LoadedModel& model,
                    std::string_view type);

/// Adds `tokenizer.ggml.*`; kUnsupported for a tokenizer that such lists cannot represent. The
/// lists have at least `words` tokens, one per row of the model's embedding.
void write_token_lists(const Tokenizer& tokenizer, std::int64_t words, Json& metadata);

}  // namespace heed
