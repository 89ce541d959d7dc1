// The names of tensors in GGUF files. A decoder's follow from the names in its family.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "models/decoder.h"
#include "models/gguf_architecture.h"

namespace heed {
namespace {

using enum GgufChange;

struct PartName {
  const char* DecoderNames::* hub;
  std::string_view stored;
};
constexpr PartName kParts[] = {{&DecoderNames::tokens, "token_embd"},
                               {&DecoderNames::positions, "position_embd"},
                               {&DecoderNames::embedding_norm, "token_embd_norm"},
                               {&DecoderNames::last_norm, "output_norm"},
                               {&DecoderNames::head, "output"}};
constexpr PartName kLayerParts[] = {{&DecoderNames::attention_norm, "attn_norm"},
                                    {&DecoderNames::attention_inside, "post_attention_norm"},
                                    {&DecoderNames::qkv, "attn_qkv"},
                                    {&DecoderNames::q, "attn_q"},
                                    {&DecoderNames::k, "attn_k"},
                                    {&DecoderNames::v, "attn_v"},
                                    {&DecoderNames::q_norm, "attn_q_norm"},
                                    {&DecoderNames::k_norm, "attn_k_norm"},
                                    {&DecoderNames::sinks, "attn_sinks"},
                                    {&DecoderNames::out, "attn_output"},
                                    {&DecoderNames::mlp_norm, "ffn_norm"},
                                    {&DecoderNames::mlp_inside, "post_ffw_norm"},
                                    {&DecoderNames::router, "ffn_gate_inp"},
                                    {&DecoderNames::shared_gate, "ffn_gate_inp_shexp"},
                                    {&DecoderNames::gate, "ffn_gate"},
                                    {&DecoderNames::up, "ffn_up"},
                                    {&DecoderNames::down, "ffn_down"}};

bool is_head_norm(const char* DecoderNames::* part) {
  return part == &DecoderNames::q_norm || part == &DecoderNames::k_norm;
}

GgufChange change_of(const GgufDecoder& decoder, const DecoderShape& shape,
                     const char* DecoderNames::* part) {
  const bool permutes = decoder.turns_neighbours && !shape.rotations.empty() &&
                        shape.rotations[0].pairs == RopePairs::kHalves;
  if (part == &DecoderNames::q || part == &DecoderNames::k) {
    if (!permutes) return kNone;
    return part == &DecoderNames::q ? kQueryRows : kKeyRows;
  }
  if (part == &DecoderNames::qkv && shape.by_head) return kHeadRows;
  if (is_head_norm(part) && shape.head_norm.offset == 1) return kLessOne;
  constexpr std::array kNorms = {&DecoderNames::attention_norm, &DecoderNames::attention_inside,
                                 &DecoderNames::mlp_norm, &DecoderNames::mlp_inside,
                                 &DecoderNames::last_norm};
  if (std::ranges::find(kNorms, part) != kNorms.end())
    return shape.norm.offset == 1 ? kLessOne : kNone;
  constexpr std::array kTables = {&DecoderNames::tokens, &DecoderNames::positions,
                                  &DecoderNames::head};
  const bool is_table = std::ranges::find(kTables, part) != kTables.end();
  return shape.layout == WeightLayout::kInOut && !is_table && !is_head_norm(part) ? kTransposed
                                                                                  : kNone;
}

void add_experts(const DecoderNames& parts, const std::string& layer, GgufChange change,
                 std::vector<GgufName>& names) {
  const bool alternates = *parts.expert_gate == '\0';
  const char* const gate = alternates ? parts.expert_up : parts.expert_gate;
  for (const auto& [part, stored, rows] : {std::tuple(gate, "gate", GgufRows::kEven),
                                           {parts.expert_up, "up", GgufRows::kOdd},
                                           {parts.expert_down, "down", GgufRows::kAll}}) {
    names.push_back({.stored = fmt::format("blk.#.ffn_{}_exps", stored),
                     .hub = fmt::format("{}{}%.{}", layer, parts.experts, part),
                     .change = change,
                     .rows = alternates ? rows : GgufRows::kAll});
    if (*parts.shared != '\0')
      names.push_back({.stored = fmt::format("blk.#.ffn_{}_shexp", stored),
                       .hub = fmt::format("{}{}{}", layer, parts.shared, part)});
  }
}

}  // namespace

std::vector<GgufName> gguf_decoder_names(const GgufDecoder& decoder, const DecoderShape& shape) {
  std::vector<GgufName> names;
  const auto has_own = [&](const PartName& part) {
    return shape.head_norms != HeadNorms::kShared && is_head_norm(part.hub);
  };
  const auto add = [&](const PartName& part, std::string_view stored, std::string_view hub) {
    const std::string_view own = shape.names.*part.hub;
    if (!own.empty())
      names.push_back({.stored = fmt::format("{}{}", stored, part.stored),
                       .hub = fmt::format("{}{}{}", hub, own, has_own(part) ? ".norms.%" : ""),
                       .change = change_of(decoder, shape, part.hub),
                       .bare = part.hub == &DecoderNames::sinks});
  };
  const std::string hub_layer = fmt::format("{}#.", shape.names.block);
  const bool is_fused = *shape.names.qkv != '\0';
  for (const PartName& part : kParts) add(part, "", "");
  for (const PartName& part : kLayerParts) {
    const bool is_separate = part.hub == &DecoderNames::q || part.hub == &DecoderNames::k ||
                             part.hub == &DecoderNames::v;
    if (!(is_separate && is_fused)) add(part, "blk.#.", hub_layer);
  }
  if (shape.experts.count != 0)
    add_experts(shape.names, hub_layer, shape.experts.stacked ? kTransposed : kNone, names);
  if (decoder.mlp_norm_first && shape.parallel && *shape.names.mlp_norm != '\0')
    for (GgufName& name : names) {
      if (name.stored == "blk.#.attn_norm") name.stored = "blk.#.attn_norm_2";
      if (name.stored == "blk.#.ffn_norm") name.stored = "blk.#.attn_norm";
    }
  if (decoder.mlp_norm_behind)
    for (GgufName& name : names)
      if (name.stored == "blk.#.ffn_norm") name.stored = "blk.#.post_attention_norm";
  return names;
}

namespace {

/// "blk.12.attn_q.weight" split into the pattern "blk.#.attn_q", its first number and the ending.
struct ParsedName {
  std::string pattern, number, ending;
};
ParsedName parsed(std::string_view name) {
  ParsedName result;
  const std::size_t dot = name.rfind('.');
  if (dot != std::string_view::npos &&
      (name.substr(dot) == ".weight" || name.substr(dot) == ".bias")) {
    result.ending = name.substr(dot);
    name = name.substr(0, dot);
  }
  while (!name.empty()) {
    const std::size_t end = std::min(name.find('.'), name.size());
    const std::string_view part = name.substr(0, end);
    const bool is_layer = result.number.empty() && !part.empty() &&
                          part.find_first_not_of("0123456789") == std::string_view::npos;
    if (is_layer) result.number = part;
    result.pattern += is_layer ? "#" : std::string(part);
    if (end < name.size()) result.pattern += '.';
    name.remove_prefix(std::min(end + 1, name.size()));
  }
  return result;
}

}  // namespace

std::vector<RenamedTensor> renamed(const std::vector<GgufName>& names, std::string_view name,
                                   std::string GgufName::* from, std::string GgufName::* to) {
  const ParsedName found = parsed(name);
  std::vector<RenamedTensor> others;
  for (const GgufName& known : names) {
    if (known.*from != found.pattern) continue;
    const bool to_hub = to == &GgufName::hub;
    std::string other = known.*to + (!known.bare ? found.ending : to_hub ? "" : ".weight");
    if (const std::size_t layer = other.find('#'); layer != std::string::npos)
      other.replace(layer, 1, found.number);
    const bool is_shift = known.change == kLessOne && found.ending == ".bias";
    others.push_back({other, is_shift ? kNone : known.change, known.rows});
  }
  return others;
}

}  // namespace heed
