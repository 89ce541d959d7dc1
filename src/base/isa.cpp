#include "base/isa.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string_view>

#include "heed/base/error.h"
#include "hwy/targets.h"

namespace heed {
namespace {

constexpr std::array<std::string_view, 5> kNames = {"portable", "avx2", "avx512", "avx512-bf16",
                                                    "amx"};

// Highway's targets are bits, the better ones lower.
std::int64_t better_than(Isa isa) {
  if (isa == Isa::kPortable) return HWY_SCALAR - 1;
  return isa == Isa::kAvx2 ? HWY_AVX2 - 1 : 0;
}

Isa read_isa() {
  const char* const variable = std::getenv("HEED_ISA");
  const std::string_view wanted = variable != nullptr ? variable : "";
  if (wanted.empty()) return Isa::kAmx;
  const auto* const found = std::ranges::find(kNames, wanted);
  if (found == kNames.end())
    fail({.code = ErrorCode::kNotFound,
          .argument = "HEED_ISA",
          .found = fmt::format("'{}'", wanted),
          .expected = fmt::format("one of {}", fmt::join(kNames, ", "))});
  const auto isa = static_cast<Isa>(found - kNames.begin());
  if (const std::int64_t disabled = better_than(isa); disabled != 0) hwy::DisableTargets(disabled);
  return isa;
}

}  // namespace

Isa allowed_isa() {
  static const Isa isa = read_isa();
  return isa;
}

}  // namespace heed
