#include "generate/logits.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "heed/error.h"

namespace heed {

void check_logits(std::span<const float> logits) {
  const auto wrong = [](float logit) { return std::isnan(logit) || logit == HUGE_VALF; };
  if (const auto bad = std::ranges::find_if(logits, wrong); bad != logits.end())
    fail({.code = ErrorCode::kCorrupt,
          .op = "generate",
          .argument = fmt::format("logits[{}]", bad - logits.begin()),
          .found = static_cast<double>(*bad),
          .expected = "a number",
          .hint = "weights of the model are not finite, or too large (heed look shows where)"});
  if (std::isinf(*std::ranges::max_element(logits)))
    fail({.code = ErrorCode::kInvalidArgument,
          .op = "generate",
          .argument = "logits",
          .found = "-inf for every token",
          .expected = "a number for at least one",
          .hint = "are all of them suppressed, or bad words?"});
}

Distribution distribution_of(std::span<const float> logits) {
  const double largest = *std::ranges::max_element(logits);
  double sum = 0;
  double weighted = 0;  // sum of e^x x over x = logit - largest
  for (const float logit : logits) {
    const double x = logit - largest;
    const double weight = std::exp(x);
    if (weight == 0) continue;
    sum += weight;
    weighted += weight * x;
  }
  return {.log_sum = largest + std::log(sum), .entropy = std::log(sum) - weighted / sum};
}

GeneratedToken token_of(TokenId id, std::span<const float> logits,
                        const Distribution& distribution) {
  const double logit = logits[static_cast<std::size_t>(id)];
  return {id, std::exp(logit - distribution.log_sum), distribution.entropy};
}

}  // namespace heed
