#include <fmt/format.h>

#include "attention/api/checked.h"
#include "base/wording.h"
#include "bench/attention_cases.h"

namespace heed {
namespace {

std::string mask_name(const AttentionCase& problem) {
  if (problem.mask == CaseMask::kNone) return "everyone";
  std::string text(name(problem.mask));
  if (text.starts_with("band"))
    text.insert(4, fmt::format(" {},{}", problem.band.left, problem.band.right));
  return text;
}

std::string scores_name(const CaseScores& scores) {
  std::string text;
  if (scores.similarity != Similarity::kDot) text += fmt::format(" {}", name(scores.similarity));
  if (scores.normaliser != Normaliser::kSoftmax)
    text += fmt::format(" {}", name(scores.normaliser));
  if (scores.softcap != 0) text += fmt::format(" softcap {}", scores.softcap);
  if (!scores.bias.empty()) text += fmt::format(" bias {}", joined(scores.bias, "x"));
  if (scores.alibi) text += " alibi";
  if (scores.sink) text += " sink";
  if (scores.scale_a_head) text += " scales";
  if (scores.dropout != 0) text += fmt::format(" dropout {}", scores.dropout);
  return text;
}

std::string keys_name(const AttentionCase& problem) {
  const char* forms[] = {"", " pages", " ring"};
  const std::string text = forms[static_cast<int>(problem.keys)];
  return problem.kv_dtype ? fmt::format("{} kv {}", text, name(*problem.kv_dtype)) : text;
}

}  // namespace

std::string_view name(CaseMask mask) {
  constexpr std::string_view kNames[] = {"none",        "band",        "keep",
                                         "band & keep", "band | keep", "prefix",
                                         "segments",    "blocks",      "edges"};
  return kNames[static_cast<std::size_t>(mask)];
}

std::string_view name(Similarity similarity) {
  constexpr std::string_view kNames[] = {"dot", "cosine", "gaussian", "absolute"};
  return kNames[static_cast<std::size_t>(similarity)];
}

std::string case_name(const AttentionCase& problem) {
  const char* layouts[] = {"", " tokens", " interleaved", " packed"};
  const Extents& extents = problem.extents;
  const bool whole =
      extents.query_length.empty() && extents.key_length.empty() && extents.q_offset.empty();
  return fmt::format("{} B{} H{} G{} Tq{} Tk{} D{} Dv{} {}{}{}{}{}{}", name(problem.dtype),
                     problem.batch, problem.heads, problem.kv_heads, problem.query_length,
                     problem.key_length, problem.head_dim, problem.value_dim, mask_name(problem),
                     layouts[static_cast<int>(problem.layout)],
                     problem.spread == 1 ? "" : fmt::format(" spread {}", problem.spread),
                     whole ? "" : " extents", scores_name(problem.scores), keys_name(problem));
}

}  // namespace heed
