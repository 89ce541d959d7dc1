#include "heed/nn/tap.h"

#include <algorithm>
#include <array>

namespace heed {
namespace {

constexpr std::array<std::string_view, 4> kStackNames = {"self", "encoder", "decoder", "cross"};

}  // namespace

std::string_view stack_name(Stack stack) { return kStackNames[static_cast<std::size_t>(stack)]; }

std::optional<Stack> stack_of(std::string_view name) {
  const auto found = std::ranges::find(kStackNames, name);
  if (found == kStackNames.end()) return {};
  return static_cast<Stack>(found - kStackNames.begin());
}

void Tap::at(const TapName& /*name*/, View /*value*/) {}
void Tap::attended(const TapName& /*name*/, const AttentionArgs& /*args*/,
                   const AttendedConstView& /*attended*/) {}
Mask Tap::mask(Stack /*stack*/, int /*layer*/) { return {}; }

}  // namespace heed
