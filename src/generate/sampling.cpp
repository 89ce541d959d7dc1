#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/philox.h"
#include "generate/forward.h"
#include "heed/error.h"
#include "heed/generate.h"

namespace heed {
namespace {

constexpr std::uint32_t kStream = 0x73616D70;  // separates it from other uses of a seed

// Heap order: most probable on top, ties to the lower id.
bool less_likely(const Choice& a, const Choice& b) {
  return a.probability < b.probability || (a.probability == b.probability && a.id > b.id);
}

bool likelier(const Choice& a, const Choice& b) { return less_likely(b, a); }

// Logits after the penalty, stored in `probability` until normalised.
std::vector<Choice> penalised(std::span<const float> logits, double penalty,
                              std::span<const TokenId> seen) {
  std::vector<Choice> all(logits.size());
  for (std::size_t i = 0; i < logits.size(); ++i)
    all[i] = {static_cast<TokenId>(i), static_cast<double>(logits[i])};
  if (penalty == 1) return all;
  for (const TokenId id : seen) {
    const auto i = static_cast<std::size_t>(id);
    const auto logit = static_cast<double>(logits[i]);  // once, no matter how often it occurred
    all[i].probability = logit > 0
                             ? logit / penalty
                             : std::max(logit * penalty, std::numeric_limits<double>::lowest());
  }
  return all;
}

void renormalise(std::vector<Choice>& all) {
  double sum = 0;
  for (const Choice& choice : all) sum += choice.probability;
  for (Choice& choice : all) choice.probability /= sum;
}

// Moves the most probable choices that together reach `mass` to the front, and drops the others.
// Sorts only those that stay, because a vocabulary has many more.
void keep_mass(std::vector<Choice>& all, double mass) {
  std::ranges::make_heap(all, less_likely);
  auto end = all.end();
  double reached = 0;
  while (end != all.begin() && reached < mass) {
    std::pop_heap(all.begin(), end, less_likely);
    reached += (--end)->probability;
  }
  all.erase(all.begin(), end);
}

}  // namespace

void check(const Sampling& s) {
  if (!(std::isfinite(s.temperature) && s.temperature >= 0))
    fail("generate", "temperature", s.temperature, "a finite number of at least 0 (greedy)");
  if (s.top_k < 0) fail("generate", "top_k", s.top_k, "at least 1, or 0 for all");
  if (!(s.top_p > 0 && s.top_p <= 1)) fail("generate", "top_p", s.top_p, "above 0 and at most 1");
  if (!(s.min_p >= 0 && s.min_p <= 1)) fail("generate", "min_p", s.min_p, "0 to 1");
  if (!(std::isfinite(s.repetition_penalty) && s.repetition_penalty > 0))
    fail("generate", "repetition_penalty", s.repetition_penalty, "above 0");
}

std::vector<Choice> choices(std::span<const float> logits, const Sampling& sampling,
                            std::span<const TokenId> seen) {
  check_logits(logits);
  std::vector<Choice> all = penalised(logits, sampling.repetition_penalty, seen);
  const auto [most_likely, largest] = *std::ranges::max_element(all, less_likely);
  if (sampling.temperature == 0) return {{most_likely, 1}};
  if (sampling.top_k > 0 && sampling.top_k < std::ssize(all)) {
    std::ranges::nth_element(all, all.begin() + (sampling.top_k - 1), likelier);
    all.resize(static_cast<std::size_t>(sampling.top_k));
  }
  for (auto& [id, value] : all) value = std::exp((value - largest) / sampling.temperature);
  renormalise(all);
  if (sampling.top_p < 1) keep_mass(all, sampling.top_p);
  const double most = std::ranges::max_element(all, less_likely)->probability;
  std::erase_if(all, [&](const Choice& c) { return c.probability < sampling.min_p * most; });
  renormalise(all);
  if (!std::ranges::is_sorted(all, {}, &Choice::id)) std::ranges::sort(all, {}, &Choice::id);
  return all;
}

TokenId choose(std::span<const Choice> choices, double uniform) {
  double reached = 0;
  for (const Choice& choice : choices) {
    reached += choice.probability;
    if (uniform < reached) return choice.id;
  }
  // Rounding left the sum below `uniform`: the last choice with a nonzero probability.
  const auto last = std::ranges::find_if(choices.rbegin(), choices.rend(),
                                         [](const Choice& c) { return c.probability > 0; });
  return last->id;
}

double sampling_number(std::uint64_t seed, std::int64_t position) {
  const auto place = static_cast<std::uint64_t>(position);
  const PhiloxCounter words = philox(
      {static_cast<std::uint32_t>(place), static_cast<std::uint32_t>(place >> 32), kStream, 0},
      philox_key(seed));
  const std::uint64_t bits = std::uint64_t{words[0]} << 32 | words[1];
  return static_cast<double>(bits >> 11) * 0x1p-53;
}

}  // namespace heed
