#include <fmt/format.h>

#include <string>

#include "heed/base/error.h"
#include "models/family.h"
#include "models/gpt2.h"

namespace heed {
namespace {

constexpr Family kFamilies[] = {
    {"gpt2", check_gpt2, make_gpt2, load_gpt2},
};

}  // namespace

const Family& family_of(const Config& config) {
  const std::string wanted = config.text("model_type", "");
  std::string known;
  for (const Family& family : kFamilies) {
    if (family.model_type == wanted) return family;
    known += (known.empty() ? "" : ", ") + std::string(family.model_type);
  }
  config.refuse("model_type", fmt::format("'{}'", wanted), "one of: " + known,
                ErrorCode::kUnsupported);
}

}  // namespace heed
