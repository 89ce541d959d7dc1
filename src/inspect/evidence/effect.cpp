// The effect of a value: the write of one edge, and its direct path to the words.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "inspect/evidence/origins.h"
#include "inspect/rows/words.h"
#include "ops/elementwise.h"

namespace heed {
namespace {

double dot(const Tensor& a, const Tensor& b) {
  return std::inner_product(a.data<float>(), a.data<float>() + a.element_count(), b.data<float>(),
                            0.0);
}

Tensor row_of(std::span<const float> values, double weight) {
  Tensor row = Tensor::empty({1, std::ssize(values)});
  std::ranges::transform(values, row.data<float>(),
                         [&](float value) { return static_cast<float>(value * weight); });
  return row;
}

// Applies the norm inside the branch with the query's statistics, which are those of all heads'
// write together.
void pass_inside(const BranchParts& branch, const Tensor& heads, Tensor& write) {
  if (!branch.inside) return;
  const FrozenNorm frozen(*branch.inside, branch.attention->parts().out.apply(heads, {}));
  frozen.apply(write);
}

std::vector<ChangedWord> extremes(const Session& session, std::span<const float> changes,
                                  std::int64_t top, bool raised) {
  const auto change = [&](TokenId id) { return changes[static_cast<std::size_t>(id)]; };
  const auto size_of = [&](TokenId id) { return raised ? change(id) : -change(id); };
  std::vector<ChangedWord> words;
  for (const TokenId id : largest_ids(std::ssize(changes), top, size_of))
    words.push_back({id, word_of(session.tokenizer, id), change(id)});
  return words;
}

// Through the following norms, held fixed, to the logits.
void read_words(const Session& session, const ModelParts& parts, const PlaceInStream& at,
                StreamSum& stream, std::int64_t top, Effect& effect) {
  const StreamParts& own = *at.stream;
  if (own.stack == Stack::kEncoder || !session.info.has_logits) {
    effect.no_words = own.stack == Stack::kEncoder ? "the encoder writes no words"
                                                   : "the model has no word output";
    return;
  }
  if (parts.words == nullptr) {
    effect.no_words = "the output head is not one linear layer";
    return;
  }
  if (const auto& after = own.branches[at.branch].after) stream.pass_norm(*after);
  stream.pass_branches(own.branches.size());
  if (own.last) stream.pass_norm(*own.last);
  const Tensor logits = parts.words->product(stream.followed(), {});
  Tensor changes = logits.clone();
  const double mean =
      std::accumulate(logits.data<float>(), logits.data<float>() + logits.element_count(), 0.0) /
      static_cast<double>(logits.element_count());
  for (std::int64_t i = 0; i < changes.element_count(); ++i)
    changes.data<float>()[i] =
        static_cast<float>((logits.data<float>()[i] - mean) * parts.words_scale);
  const std::span<const float> all(changes.data<float>(),
                                   static_cast<std::size_t>(changes.element_count()));
  effect.raised = extremes(session, all, top, true);
  effect.lowered = extremes(session, all, top, false);
}

}  // namespace

Effect effect(const Session& session, const LoadedModel& model, const Writes& writes,
              const Place& place, std::int64_t query, std::int64_t key, std::int64_t top) {
  const ModelParts parts = model.model->parts();
  const PlaceInStream at = find_place(parts, place);
  const BranchParts& branch = at.stream->branches[at.branch];
  const HeadRows rows(session.at(place), place.head);
  const std::vector<LookRow> row = look_rows(session.at(place), place.head, std::vector{query}, -1);
  double weight = 0;
  for (const LookKey& edge : row.at(0).attends)
    if (edge.key == key) weight = edge.weight;
  const Tensor heads = writes.rows_of(TapKind::kHeads, place.stack, place.layer, {query});
  const Attention& attention = *branch.attention;
  Tensor value = row_of(rows.value(key), weight);
  if (attention.shape().gated)
    multiply_by(value, of_head(attention, place.head,
                               writes.rows_of(TapKind::kGates, place.stack, place.layer, {query})));
  Tensor write = head_write(attention, place.head, value);
  Tensor whole = head_write(attention, place.head, of_head(attention, place.head, heads));
  pass_inside(branch, heads, write);
  pass_inside(branch, heads, whole);
  Effect effect{.length = std::sqrt(dot(write, write)),
                .head_length = std::sqrt(dot(whole, whole))};
  const double lengths = effect.length * effect.head_length;
  effect.cosine = lengths > 0 ? dot(write, whole) / lengths : 0;
  StreamSum stream(*at.stream, writes, session, {query});
  stream.pass_branches(at.branch);
  // The branch itself joins the stream; its write is followed from there.
  stream.pass_write();
  stream.follow(std::move(write));
  read_words(session, parts, at, stream, top, effect);
  return effect;
}

}  // namespace heed
