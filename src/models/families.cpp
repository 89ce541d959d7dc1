#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "heed/base/error.h"
#include "models/family.h"

namespace heed {
namespace {

const std::vector<Family>& families() {
  static const std::vector<Family> all = {gpt2_family(),    llama_family(),  bert_family(),
                                          seq2seq_family(), gemma2_family(), t5_family(),
                                          lesson_family()};
  return all;
}

}  // namespace

Json json_of_ids(const std::vector<std::int64_t>& ids) {
  if (ids.empty()) return {};
  if (ids.size() == 1) return ids[0];
  return ids;
}

const Family& family_of(const Config& config) {
  const std::string wanted = config.text("model_type", "");
  std::string known;
  for (const Family& family : families()) {
    if (std::ranges::find(family.model_types, wanted) != family.model_types.end()) return family;
    for (const std::string_view type : family.model_types)
      known += (known.empty() ? "" : ", ") + std::string(type);
  }
  config.refuse("model_type", fmt::format("'{}'", wanted), "one of: " + known,
                ErrorCode::kUnsupported);
}

}  // namespace heed
