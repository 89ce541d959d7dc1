#include "bench/support_table.h"

#include <fmt/format.h>

#include <span>
#include <string_view>
#include <vector>

#include "attention/api/checked.h"
#include "attention/backends.h"
#include "bench/attention_cases.h"
#include "heed/error.h"
#include "heed/observe.h"

namespace heed {
namespace {

// A feature that a problem can have.
struct Trait {
  std::string_view name;
  bool (*has)(const AttentionCase& problem);
};

constexpr Trait kTraits[] = {
    {"f32", [](const AttentionCase& c) { return c.dtype == DType::kF32; }},
    {"f64", [](const AttentionCase& c) { return c.dtype == DType::kF64; }},
    {"f16", [](const AttentionCase& c) { return c.dtype == DType::kF16; }},
    {"bf16", [](const AttentionCase& c) { return c.dtype == DType::kBF16; }},
    {"k, v of 16 bit under q of f32",
     [](const AttentionCase& c) {
       return c.kv_dtype && size_bytes(*c.kv_dtype) == 2 && c.dtype == DType::kF32;
     }},
    {"k, v of i8", [](const AttentionCase& c) { return c.kv_dtype == DType::kI8; }},
    {"k, v in pages", [](const AttentionCase& c) { return c.keys == CaseKeys::kPages; }},
    {"k, v in a ring", [](const AttentionCase& c) { return c.keys == CaseKeys::kRing; }},
    {"grouped heads", [](const AttentionCase& c) { return c.kv_heads < c.heads; }},
    {"Dv != D", [](const AttentionCase& c) { return c.value_dim != c.head_dim; }},
    {"extents of 0",
     [](const AttentionCase& c) {
       return c.batch * c.heads * c.query_length * c.key_length * c.value_dim == 0;
     }},
    {"[B, T, H, D] memory", [](const AttentionCase& c) { return c.layout == Layout::kTokens; }},
    {"interleaved q, k, v",
     [](const AttentionCase& c) { return c.layout == Layout::kInterleaved; }},
    {"packed sequences", [](const AttentionCase& c) { return c.layout == Layout::kPacked; }},
    {"lengths of sequences", [](const AttentionCase& c) { return !c.extents.key_length.empty(); }},
    {"left padding", [](const AttentionCase& c) { return !c.extents.key_begin.empty(); }},
    {"positions", [](const AttentionCase& c) { return !c.extents.q_offset.empty(); }},
    {"band", [](const AttentionCase& c) { return c.mask == CaseMask::kBand; }},
    {"keep", [](const AttentionCase& c) { return c.mask == CaseMask::kKeep; }},
    {"a & b", [](const AttentionCase& c) { return c.mask == CaseMask::kBandAndKeep; }},
    {"a \\| b", [](const AttentionCase& c) { return c.mask == CaseMask::kBandOrKeep; }},
    {"prefix", [](const AttentionCase& c) { return c.mask == CaseMask::kPrefix; }},
    {"segments", [](const AttentionCase& c) { return c.mask == CaseMask::kSegments; }},
    {"blocks", [](const AttentionCase& c) { return c.mask == CaseMask::kBlocks; }},
    {"edges", [](const AttentionCase& c) { return c.mask == CaseMask::kEdges; }},
    {"one scale per head", [](const AttentionCase& c) { return c.scores.scale_a_head; }},
    {"cosine", [](const AttentionCase& c) { return c.scores.similarity == Similarity::kCosine; }},
    {"gaussian",
     [](const AttentionCase& c) { return c.scores.similarity == Similarity::kGaussian; }},
    {"absolute",
     [](const AttentionCase& c) { return c.scores.similarity == Similarity::kAbsolute; }},
    {"softcap", [](const AttentionCase& c) { return c.scores.softcap != 0; }},
    {"bias", [](const AttentionCase& c) { return !c.scores.bias.empty(); }},
    {"ALiBi", [](const AttentionCase& c) { return c.scores.alibi; }},
    {"sink", [](const AttentionCase& c) { return c.scores.sink; }},
    {"sigmoid", [](const AttentionCase& c) { return c.scores.normaliser == Normaliser::kSigmoid; }},
    {"no normaliser",
     [](const AttentionCase& c) { return c.scores.normaliser == Normaliser::kNone; }},
    {"dropout", [](const AttentionCase& c) { return c.scores.dropout != 0; }},
};

// The kernels that support a case, in the order of the candidates.
struct Served {
  const AttentionCase& problem;
  std::vector<bool> forward;
  std::vector<bool> backward;
  bool observed;
};

// On a machine with every instruction.
template <typename Results>
std::vector<bool> who_serves(std::span<const Candidate<Results>> candidates,
                             const kernels::AttentionProblem& problem) {
  std::vector<bool> served;
  for (const Candidate<Results>& candidate : candidates) {
    const std::string reason = candidate.refusal(problem);
    served.push_back(reason.empty() || reason.starts_with("this CPU has no") ||
                     reason.starts_with("heed was built for CPUs without"));
  }
  return served;
}

// Whether the observers' sweep supports the case.
bool is_observed(const AttentionArgs& args) {
  RowMaxObserver row_max;
  Observer* const observers[] = {&row_max};
  try {
    observe(args, attention(args), observers);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kUnsupported) throw;
    return false;
  }
  return true;
}

std::vector<Served> served_cases(const std::vector<AttentionCase>& cases) {
  std::vector<Served> all;
  for (const AttentionCase& one : cases) {
    const AttentionInputs inputs(one);
    const CheckedAttention checked(inputs.args);
    all.push_back({one, who_serves(forward_candidates(), checked.problem),
                   who_serves(backward_candidates(), checked.problem), is_observed(inputs.args)});
  }
  return all;
}

std::string row(const Trait& trait, const std::vector<Served>& cases) {
  std::vector<bool> forward(forward_candidates().size());
  std::vector<bool> backward(backward_candidates().size());
  bool observed = false;
  int count = 0;
  for (const Served& one : cases) {
    if (!trait.has(one.problem)) continue;
    ++count;
    observed = observed || one.observed;
    for (std::size_t n = 0; n < forward.size(); ++n) {
      forward[n] = forward[n] || one.forward[n];
      backward[n] = backward[n] || one.backward[n];
    }
  }
  std::string text = fmt::format("| {} |", trait.name);
  for (std::size_t n = 0; n < forward.size(); ++n) {
    const bool there = forward[n];
    const bool back = backward[n];
    text += there && back ? " both |" : there ? " forward |" : back ? " backward |" : " |";
  }
  return text + fmt::format("{} | {} |\n", observed ? " yes" : "", count);
}

}  // namespace

// Both lists have the same kernels in the same order.
std::string attention_support_table() {
  std::string text = "| |";
  std::string rule = "|---|";
  for (const auto& candidate : forward_candidates()) {
    text += fmt::format(" `{}` |", candidate.name);
    rule += "---|";
  }
  text += " observed | cases |\n" + rule + "---|---|\n";
  const std::vector<AttentionCase> cases = attention_cases();
  const std::vector<Served> served = served_cases(cases);
  for (const Trait& trait : kTraits) text += row(trait, served);
  return text;
}

}  // namespace heed
