// The bytes are a safetensors file. Its header is refused with a heed::Error, or every tensor is
// within the file, after the header, and has the bytes for its shape.
#include <cstdlib>
#include <span>

#include "heed/error.h"
#include "io/safetensors_header.h"

namespace {

void check(const heed::StoredTensor& tensor, std::size_t size) {
  if (tensor.begin < 8 || tensor.begin > tensor.end || tensor.end > static_cast<std::int64_t>(size))
    std::abort();
  std::int64_t bytes = static_cast<std::int64_t>(heed::size_bytes(tensor.dtype));
  for (const std::int64_t extent : tensor.shape) bytes *= extent;
  if (bytes != tensor.end - tensor.begin) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    const std::span file(reinterpret_cast<const std::byte*>(data), size);
    const heed::SafetensorsHeader header = heed::parse_safetensors_header(file, "fuzz");
    for (const auto& [name, tensor] : header.tensors) check(tensor, size);
  } catch (const heed::Error&) {
  }
  return 0;
}
