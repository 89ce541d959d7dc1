#include "ops/plan_text.h"

#include <fmt/format.h>

namespace heed {
namespace {

// 1234567 as 1.23 M; short numbers as they are.
std::string amount(double value) {
  constexpr const char* kUnits[] = {"", " k", " M", " G", " T", " P"};
  std::size_t unit = 0;
  while (value >= 1000 && unit + 1 < std::size(kUnits)) {
    value /= 1000;
    ++unit;
  }
  return unit == 0 ? fmt::format("{:.0f}", value) : fmt::format("{:.3g}{}", value, kUnits[unit]);
}

}  // namespace

std::string plan_text(std::string_view title, const Plan& plan) {
  std::string text = fmt::format("{:<10} {}\n", title, plan.kernel);
  for (const Plan::Refusal& refusal : plan.refusals)
    text += fmt::format("  skipped  {}: {}\n", refusal.kernel, refusal.reason);
  text += fmt::format("  mask     {}\n", mask_text(plan));
  text += fmt::format("  pairs    {} query and key pairs may attend\n",
                      amount(static_cast<double>(plan.allowed_pairs)));
  text += fmt::format("  work     {} FLOP\n", amount(plan.flop));
  text += fmt::format("  memory   {}B read and written once, {}B of workspace\n",
                      amount(plan.bytes), amount(static_cast<double>(plan.workspace_bytes)));
  return text;
}

std::string mask_text(const Plan& plan) {
  return plan.mask == "none" ? plan.mask : fmt::format("{}, {}", plan.mask, plan.alignment);
}

}  // namespace heed
