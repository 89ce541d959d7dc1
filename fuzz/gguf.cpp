// The bytes are a GGUF file. Its header is refused with a heed::Error, or every tensor is within
// the file and its numbers can be read.
#include <cstdlib>
#include <span>
#include <vector>

#include "heed/error.h"
#include "io/gguf_header.h"

namespace {

void check(const heed::GgufTensor& tensor, std::span<const std::byte> file) {
  if (tensor.begin > tensor.end || tensor.end > file.size()) std::abort();
  const auto blocks = static_cast<std::int64_t>(tensor.end - tensor.begin) / tensor.type->bytes;
  if (blocks * tensor.type->elements != tensor.shape.element_count()) std::abort();
  if (tensor.type->plain || tensor.shape.element_count() > 1 << 16) return;
  std::vector<float> numbers(static_cast<std::size_t>(tensor.shape.element_count()));
  heed::read_blocks(*tensor.type->blocks, file.subspan(tensor.begin, tensor.end - tensor.begin),
                    numbers);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::span file(reinterpret_cast<const std::byte*>(data), size);
  try {
    const heed::GgufHeader header = heed::parse_gguf_header(file, "fuzz");
    for (const auto& [name, tensor] : header.tensors) check(tensor, file);
  } catch (const heed::Error&) {
  }
  return 0;
}
