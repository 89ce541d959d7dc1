#include "inspect/evidence/edited_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

#include "base/wording.h"
#include "heed/error.h"
#include "inspect/rows/words.h"
#include "inspect/session/places.h"
#include "inspect/session/session_input.h"
#include "inspect/session/visible_keys.h"

namespace heed {
namespace {

class Checks {
 public:
  Checks(std::string_view op, const Session& session)
      : op_(op), session_(session), shapes_(session.shapes()) {}

  void place(const Place& place) const {
    const StackShape& shape = find_stack(op_, session_.model, shapes_, place.stack);
    check_layer(op_, session_.model, shape, place.layer);
    check_head(op_, session_.model, shape, place.head);
  }

  void edge(const RemovedEdge& edge) const {
    place(edge.place);
    position("query", edge.query, session_.size(edge.place.stack).queries);
    position("key", edge.key, session_.size(edge.place.stack).keys);
  }

  void token(const EditedToken& token) const {
    const bool source = token.side == TokenSide::kKeyTokens;
    if (source && session_.key_tokens.empty())
      fail(op_, "side", "key_tokens", "tokens (" + session_.model + " reads no source)");
    position("position", token.position,
             std::ssize(source ? session_.key_tokens : session_.tokens));
  }

  void swap(const TokenSwap& swap) const {
    token(swap.at);
    const ModelInfo& info = session_.info;
    const std::int64_t count =
        swap.at.side == TokenSide::kKeyTokens ? info.source_vocabulary : info.vocabulary;
    if (swap.id < 0 || swap.id >= count)
      fail(op_, "id", swap.id, fmt::format("0 to {} ({}'s vocabulary)", count - 1, session_.model));
  }

  void mask(const AddedMask& mask) const {
    place({mask.stack, mask.layer.value_or(0), mask.head.value_or(0)});
    for (const auto& [name, side] : {std::pair("left", mask.left), {"right", mask.right}})
      if (side < -1) fail(op_, name, side, "-1 (all keys to that side) or a count");
  }

  void temperature(const Temperature& edit) const {
    place(edit.place);
    number("factor", edit.factor);
  }

  void steering(const Steering& edit) const {
    place(edit.place);
    number("by", edit.by);
    if (edit.query >= 0) position("query", edit.query, session_.size(edit.place.stack).queries);
    position("key", edit.key, session_.size(edit.place.stack).keys);
  }

  void masked(const MaskedHead& edit) const {
    place(edit.place);
    if (edit.mask.rule() != nullptr)
      edit.mask.rule()->check(
          {.batch = 1,
           .heads = find_stack(op_, session_.model, shapes_, edit.place.stack).heads,
           .query_length = session_.size(edit.place.stack).queries,
           .key_length = session_.size(edit.place.stack).keys});
  }

  void patched(const PatchedHead& edit) const {
    place(edit.place);
    if (edit.query >= 0) position("query", edit.query, session_.size(edit.place.stack).queries);
    other_run(edit.place, edit.from, /*of_keys=*/false);
  }

  // A head that shares its keys can be frozen only with all those that it shares them with.
  void frozen(const FrozenHead& edit, const Edits& edits) const {
    place(edit.place);
    other_run(edit.place, edit.from, /*of_keys=*/true);
    const StackShape& shape = find_stack(op_, session_.model, shapes_, edit.place.stack);
    const int each = shape.heads / shape.keys_of(edit.place.layer).kv_heads;
    const int first = edit.place.head / each * each;
    for (int head = first; head < first + each; ++head) {
      const Place beside = {edit.place.stack, edit.place.layer, head};
      if (std::ranges::find(edits.freeze, FrozenHead{beside, edit.from}) == edits.freeze.end())
        fail({.code = ErrorCode::kUnsupported,
              .op = "freeze",
              .argument = "heads",
              .found = fmt::format("head {} of layer {} without head {}", edit.place.head,
                                   edit.place.layer, head),
              .expected =
                  fmt::format("all heads that share keys: {} to {}", first, first + each - 1)});
    }
    const Edits& theirs = edit.from.session->edits;
    if (edit.from.session->model != session_.model)
      fail("freeze", "run", edit.from.session->model, session_.model);
    const auto has_own = [&](const auto& list) {
      return std::ranges::find(list, edit.place, [](const auto& of) { return of.place; }) !=
             list.end();
    };
    if (!theirs.hide.empty() || !theirs.mask.empty() || has_own(theirs.remove) ||
        has_own(theirs.temperature) || has_own(theirs.steer) || has_own(theirs.masked))
      fail("freeze", "run",
           fmt::format("edits of the scores of layer {}, head {}", edit.place.layer,
                       edit.place.head),
           "a run that leaves them as they are", ErrorCode::kUnsupported);
  }

  void something_left(const Edits& edits) const {
    for (const auto& [side, name, tokens] :
         {std::tuple(TokenSide::kTokens, "tokens", &session_.tokens),
          {TokenSide::kKeyTokens, "key_tokens", &session_.key_tokens}}) {
      const auto hidden = std::ranges::count(edits.hide, side, &EditedToken::side);
      if (hidden > 0 && hidden == std::ssize(*tokens))
        fail(op_, "hide", fmt::format("all {} {}", hidden, name), "at least one that is seen");
    }
  }

  void one_swap_a_place(const Edits& edits) const {
    const auto twice = std::ranges::adjacent_find(edits.swap, {}, &TokenSwap::at);
    if (twice != edits.swap.end())
      fail(op_, "swap", fmt::format("given twice for position {}", twice->at.position),
           "one token per place");
  }

 private:
  void other_run(const Place& place, const OtherRun& run, bool of_keys) const {
    const LayerAttention& layer = run.session->at(place);
    const auto [queries, keys] = session_.size(place.stack);
    const StackShape& own = find_stack(op_, session_.model, shapes_, place.stack);
    if (layer.queries() != queries || (of_keys && layer.keys() != keys))
      fail(op_, "run",
           fmt::format("{}, {}", number_of(layer.queries(), "query", "queries"),
                       number_of(layer.keys(), "key")),
           fmt::format("{} and {}, as this text has", queries, keys));
    const StackShape& theirs = run.session->at(place.stack).shape;
    const LayerKeys their_keys = theirs.keys_of(place.layer), own_keys = own.keys_of(place.layer);
    if (theirs.heads != own.heads || their_keys != own_keys)
      fail(op_, "run", fmt::format("{} heads of {}", theirs.heads, their_keys.head_dim),
           fmt::format("{} heads of {}", own.heads, own_keys.head_dim));
  }

  void number(const char* name, double found) const {
    if (!std::isfinite(found)) fail(op_, name, found, "a finite number");
  }

  void position(const char* name, std::int64_t at, std::int64_t count) const {
    if (at >= 0 && at < count) return;
    fail(op_, name, at, fmt::format("0 to {} ({})", count - 1, number_of(count, "token")),
         ErrorCode::kNotFound);
  }

  std::string op_;
  const Session& session_;
  std::vector<StackShape> shapes_;
};

double loss_of(std::span<const float> logits, TokenId id) {
  const double largest = *std::ranges::max_element(logits);
  double sum = 0;
  for (const float logit : logits) sum += std::exp(logit - largest);
  return std::log(sum) + largest - logits[static_cast<std::size_t>(id)];
}

}  // namespace

void check_edits(std::string_view op, const Session& session, const Edits& edits) {
  const Checks check(op, session);
  const Edits sorted = canonical(edits);
  for (const Place& place : sorted.ablate) check.place(place);
  for (const RemovedEdge& edge : sorted.remove) check.edge(edge);
  for (const EditedToken& token : sorted.hide) check.token(token);
  for (const TokenSwap& swap : sorted.swap) check.swap(swap);
  for (const AddedMask& mask : sorted.mask) check.mask(mask);
  for (const Temperature& edit : sorted.temperature) check.temperature(edit);
  for (const Steering& edit : sorted.steer) check.steering(edit);
  for (const MaskedHead& edit : sorted.masked) check.masked(edit);
  for (const FrozenHead& edit : sorted.freeze) check.frozen(edit, sorted);
  for (const PatchedHead& edit : sorted.patch) check.patched(edit);
  check.one_swap_a_place(sorted);
  check.something_left(sorted);
}

Session with_edits(const Session& session, const Edits& edits) {
  check_edits("edits", session, edits);
  Session edited = shared(session);
  for (SessionStack& stack : edited.stacks) stack.layers.clear();
  edited.logits = {};
  edited.hidden = {};
  edited.streams.clear();
  edited.edits = combined(session.edits, edits);
  check_edits("edits", session, edited.edits);
  for (const TokenSwap& swap : edits.swap) {
    const bool source = swap.at.side == TokenSide::kKeyTokens;
    const bool from_source = source || !session.info.reads_source();
    SessionToken& token =
        (source ? edited.key_tokens : edited.tokens)[static_cast<std::size_t>(swap.at.position)];
    token.id = swap.id;
    token.bytes = word_of(from_source ? session.source_tokenizer : session.tokenizer, swap.id);
  }
  return edited;
}

Tensor edited_output(const Session& session, const Edits& edits, const LoadedModel& model,
                     const OutputOptions& options) {
  return pass_over(with_edits(session, edits), model,
                   {.all_positions = options.all_positions, .stopped = options.stopped});
}

std::vector<double> edited_losses(const Session& session, const Edits& edits,
                                  const LoadedModel& model, const std::atomic<bool>* stopped) {
  if (!session.info.has_logits)
    fail("edits", "model", session.model, "one with words: a loss needs them",
         ErrorCode::kUnsupported);
  const Tensor logits =
      edited_output(session, edits, model, {.all_positions = true, .stopped = stopped});
  const std::int64_t ahead = session.info.writes() ? 1 : 0;
  std::vector<double> losses;
  for (std::int64_t t = 0; t + ahead < logits.dim(0); ++t) {
    const auto vocabulary = static_cast<std::size_t>(logits.dim(1));
    const std::span row(logits.data<float>() + t * logits.dim(1), vocabulary);
    losses.push_back(loss_of(row, session.tokens[static_cast<std::size_t>(t + ahead)].id));
  }
  return losses;
}

}  // namespace heed
