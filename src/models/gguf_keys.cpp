// Reads the keys of a GGUF file, with errors that name them.
#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/formats/json.h"
#include "base/wording.h"
#include "heed/error.h"
#include "models/gguf_architecture.h"

namespace heed {

void GgufKeys::refuse(std::string_view key, Phrase found, Phrase expected, ErrorCode code) const {
  fail_in(content_.file, key, std::move(found), std::move(expected), code);
}

std::int64_t GgufKeys::count(std::string_view key) const {
  const Json& said = value(key);
  const Json& first = said.is_array() && !said.items().empty() ? said.items().front() : said;
  const std::optional<std::int64_t> number = first.as_whole_number();
  if (said.is_null()) refuse(name(key), "missing", "a whole number");
  if (!number || *number < 1 || *number > (std::int64_t{1} << 40))
    refuse(name(key), said.brief(), "a whole number from 1");
  for (const Json& item : said.items())
    if (!(item == first))
      refuse(name(key), "different from layer to layer", "the same in all layers",
             ErrorCode::kUnsupported);
  return *number;
}

std::int64_t GgufKeys::head_dim() const {
  return count("attention.key_length", count("embedding_length") / count("attention.head_count"));
}

double GgufKeys::number(std::string_view key, std::optional<double> otherwise) const {
  const Json& said = value(key);
  if (said.is_null() && otherwise) return *otherwise;
  const std::optional<double> number = said.as_number();
  if (!number || !std::isfinite(*number))
    refuse(name(key), said.is_null() ? "missing" : said.brief(), "a number");
  return *number;
}

bool GgufKeys::flag(std::string_view key, bool otherwise) const {
  const Json& said = value(key);
  if (said.is_null()) return otherwise;
  const std::optional<bool> flag = said.as_flag();
  if (!flag) refuse(name(key), said.brief(), "true or false");
  return *flag;
}

std::string GgufKeys::text(std::string_view key, std::string_view otherwise) const {
  const Json& said = value(key);
  if (said.is_null()) return std::string(otherwise);
  if (!said.is_text()) refuse(name(key), said.brief(), "a text");
  return *said.as_text();
}

Json GgufKeys::id(std::string_view key) const {
  const std::optional<std::int64_t> id = content_.value(key).as_whole_number();
  const auto words = content_.tensors.find("token_embd.weight");
  const std::int64_t count =
      words == content_.tensors.end() || words->second.rank() == 0 ? 0 : words->second[0];
  return id && *id >= 0 && *id < count ? Json(*id) : Json();
}

std::int64_t GgufKeys::extent(std::string_view tensor, int axis) const {
  const auto found = content_.tensors.find(tensor);
  if (found == content_.tensors.end())
    refuse(tensor, "missing", "a tensor that every model of this kind has");
  if (axis >= found->second.rank()) refuse(tensor, to_string(found->second), "a matrix");
  return found->second[axis];
}

bool is_factors(std::string_view tensor) {
  return tensor == "rope_freqs.weight" || tensor == "rope_factors_short.weight" ||
         tensor == "rope_factors_long.weight";
}

const std::vector<double>* GgufKeys::factors(std::string_view tensor, std::int64_t count) const {
  const auto found = content_.factors.find(tensor);
  if (found == content_.factors.end()) return nullptr;
  if (std::ssize(found->second) != count)
    refuse(tensor, fmt::format("[{}]", found->second.size()),
           fmt::format("[{}], one a pair of dimensions", count));
  return &found->second;
}

}  // namespace heed
