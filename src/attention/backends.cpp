#include "attention/backends.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "attention/reference/attention.h"
#include "attention/sweep/attention.h"
#include "base/machine.h"
#include "base/wording.h"
#include "heed/error.h"

namespace heed {
namespace {

using kernels::AttentionBackward;
using kernels::AttentionForward;
using kernels::AttentionProblem;
using kernels::SweepTarget;

std::string serves_everything(const AttentionProblem&) { return {}; }

template <SweepTarget kTarget>
constexpr Candidate<AttentionForward> forward_of(std::string_view name,
                                                 std::string (*refusal)(const AttentionProblem&)) {
  return {name, refusal,
          [](const AttentionProblem& problem, const AttentionForward& forward) {
            kernels::sweep_attention(kTarget, problem, forward);
          },
          [](const AttentionProblem& problem) {
            return kernels::sweep_attention_workspace(kTarget, problem);
          }};
}

template <SweepTarget kTarget>
constexpr Candidate<AttentionBackward> backward_of(
    std::string_view name, std::string (*refusal)(const AttentionProblem&)) {
  return {name, refusal,
          [](const AttentionProblem& problem, const AttentionBackward& backward) {
            kernels::sweep_attention_backward(kTarget, problem, backward);
          },
          [](const AttentionProblem& problem) {
            return kernels::sweep_attention_backward_workspace(kTarget, problem);
          }};
}

// The first that supports the problem runs; `reference` is last, so nothing legal is refused.
constexpr Candidate<AttentionForward> kForward[] = {
    forward_of<SweepTarget::kAvx512>("cpu-avx512", kernels::avx512_refusal),
    forward_of<SweepTarget::kAvx2>("cpu-avx2", kernels::avx2_refusal),
    forward_of<SweepTarget::kBaseline>("portable", serves_everything),
    {"reference", serves_everything, kernels::reference_attention,
     kernels::reference_attention_workspace},
};
constexpr Candidate<AttentionBackward> kBackward[] = {
    backward_of<SweepTarget::kAvx512>("cpu-avx512", kernels::avx512_refusal),
    backward_of<SweepTarget::kAvx2>("cpu-avx2", kernels::avx2_refusal),
    backward_of<SweepTarget::kBaseline>("portable", serves_everything),
    {"reference", serves_everything, kernels::reference_attention_backward,
     kernels::reference_attention_backward_workspace},
};

bool is_known(std::string_view name) {
  const auto named = [name](const auto& candidate) { return candidate.name == name; };
  return std::ranges::any_of(kForward, named) || std::ranges::any_of(kBackward, named);
}

std::string known_names() {
  std::vector<std::string_view> names;
  const auto add = [&names](const auto& candidates) {
    for (const auto& candidate : candidates)
      if (std::ranges::find(names, candidate.name) == names.end()) names.push_back(candidate.name);
  };
  add(kForward);
  add(kBackward);
  return joined(names, ", ");
}

void check_known(const char* argument, const std::string& name) {
  if (is_known(name)) return;
  fail("attention", argument, fmt::format("'{}'", name), fmt::format("one of {}", known_names()),
       ErrorCode::kNotFound);
}

template <typename Results>
const Candidate<Results>& choose(std::span<const Candidate<Results>> candidates,
                                 const AttentionProblem& problem, const std::string& wanted,
                                 std::vector<Plan::Refusal>& refusals) {
  allowed_isa();  // throws for a bad HEED_ISA
  if (!wanted.empty()) check_known("kernel", wanted);
  const char* variable = std::getenv("HEED_FORCE");
  const std::string forced = variable != nullptr ? variable : "";
  if (wanted.empty() && !forced.empty()) check_known("HEED_FORCE", forced);
  const std::string name = !wanted.empty() ? wanted : forced;
  // A name that only the other pass has is ignored here.
  const auto named = std::ranges::find(candidates, name, &Candidate<Results>::name);
  if (named != candidates.end()) {
    if (const std::string reason = named->refusal(problem); !reason.empty())
      fail({.code = ErrorCode::kUnsupported,
            .op = "attention",
            .argument = wanted.empty() ? "HEED_FORCE" : "kernel",
            .found = fmt::format("'{}', which refuses this problem: {}", name, reason)});
    return *named;
  }
  for (const Candidate<Results>& candidate : candidates) {
    std::string reason = candidate.refusal(problem);
    if (reason.empty()) return candidate;
    refusals.push_back({std::string(candidate.name), std::move(reason)});
  }
  return candidates.back();  // the reference refuses nothing
}

}  // namespace

std::span<const Candidate<AttentionForward>> forward_candidates() { return kForward; }
std::span<const Candidate<AttentionBackward>> backward_candidates() { return kBackward; }

const Candidate<AttentionForward>& choose_forward(const AttentionProblem& problem,
                                                  const std::string& wanted,
                                                  std::vector<Plan::Refusal>& refusals) {
  return choose(forward_candidates(), problem, wanted, refusals);
}

const Candidate<AttentionBackward>& choose_backward(const AttentionProblem& problem,
                                                    const std::string& wanted,
                                                    std::vector<Plan::Refusal>& refusals) {
  return choose(backward_candidates(), problem, wanted, refusals);
}

}  // namespace heed
