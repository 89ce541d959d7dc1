#include <iterator>

#include "base/philox.h"
#include "bench/attention_cases.h"
#include "bench/serve_bench.h"
#include "heed/mask.h"
#include "heed/session.h"

namespace heed {

std::string random_text(const Tokenizer& tokenizer, std::int64_t tokens) {
  constexpr const char* kWords[] = {"the", "cat",  "was", "tired", "and", "sat",    "on",  "a",
                                    "mat", "when", "it",  "saw",   "her", "little", "dog", "run"};
  Random random(7);
  std::string text;
  for (std::int64_t word = 0; word < tokens; ++word)
    text += std::string(word > 0 ? " " : "") + kWords[random.below(std::size(kWords))];
  const Encoding encoding = tokenizer.encode(text, /*add_special=*/true);
  const auto count = static_cast<std::size_t>(tokens);
  if (encoding.ids.size() > count)
    text.resize(static_cast<std::size_t>(encoding.spans[count - 1].end));
  return text;
}

RandomArrays::RandomArrays(std::int64_t heads, std::int64_t tokens) {
  constexpr std::int64_t kSize = 64;
  const Shape shape = {1, heads, tokens, kSize};
  q = normal(shape, DType::kF32, 1, 1);
  k = normal(shape, DType::kF32, 1, 2);
  v = normal(shape, DType::kF32, 1, 3);
}

SessionPointer RandomArrays::opened() const {
  SessionArrays arrays;
  arrays.stacks = {
      {Stack::kSelf, {{.args = {.q = q, .keys = {.k = k, .v = v}, .mask = Mask::causal()}}}}};
  return std::make_shared<LiveSession>("arrays", SessionInput(), open_session(arrays));
}

}  // namespace heed
