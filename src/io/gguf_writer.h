// Writes GGUF files, version 3.
#pragma once

#include <filesystem>
#include <span>
#include <string>

#include "base/formats/json.h"
#include "heed/tensor.h"
#include "io/gguf_types.h"

namespace heed {

struct GgufOut {
  std::string name;
  ConstView view;                  // f32
  const GgufType* type = nullptr;  // whose blocks divide the rows
};

/// Writes atomically. `metadata` is an object: a whole number becomes an u32, another number an
/// f32, a list of whole numbers one of i32, of other numbers one of f32; flags and texts stay what
/// they are.
void write_gguf(const std::filesystem::path& path, const Json& metadata,
                std::span<const GgufOut> tensors);

}  // namespace heed
