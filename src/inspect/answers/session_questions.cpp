// Questions about a whole session: its tokens, statistics, next words.
#include <algorithm>
#include <cmath>
#include <new>

#include "heed/error.h"
#include "inspect/answers/questions.h"
#include "inspect/map/tiles.h"

namespace heed {
namespace {

const char* code_of(ErrorCode code) {
  if (code == ErrorCode::kNotFound) return "not_found";
  const bool is_bad = code == ErrorCode::kInvalidArgument || code == ErrorCode::kUnsupported ||
                      code == ErrorCode::kCorrupt;
  return is_bad ? "bad_request" : "failed";
}

std::optional<std::string> given(const std::string& text) {
  return text.empty() ? std::nullopt : std::optional<std::string>(text);
}

std::vector<TokenAnswer> answer_tokens(const Tokenizer* tokenizer,
                                       std::span<const SessionToken> tokens) {
  std::vector<TokenAnswer> answer;
  for (const SessionToken& token : tokens) {
    const bool special = tokenizer != nullptr && tokenizer->is_special(token.id);
    answer.push_back({std::ssize(answer), token, special});
  }
  return answer;
}

TokenUnitsAnswer answer_units(const Tokenizer* tokenizer, std::span<const SessionToken> tokens) {
  return {token_units(tokens, tokenizer), std::ssize(tokens)};
}

std::vector<StackAnswer> answer_stacks(const std::vector<StackShape>& shapes) {
  std::vector<StackAnswer> stacks;
  for (const StackShape& shape : shapes) stacks.push_back({shape});
  return stacks;
}

std::vector<AttentionAnswer> answer_attentions(const LiveSession& live) {
  const Session& session = live.session();
  std::vector<AttentionAnswer> attentions;
  const auto list_of = [&](std::span<const SessionToken> tokens) {
    return tokens.data() == session.tokens.data() ? "tokens" : "key_tokens";
  };
  for (const StackShape& shape : live.shapes()) {
    const MatrixSize size = live.size(shape.stack);
    attentions.push_back({.shape = shape,
                          .size = size,
                          .query_tokens = list_of(session.queries(shape.stack)),
                          .key_tokens = list_of(session.keys(shape.stack)),
                          .kept = session.keep.layers,
                          .zooms = zoom_levels(size),
                          .tile = kTile});
  }
  return attentions;
}

std::string one_line(std::string text) {
  std::ranges::replace(text, '\n', ' ');
  return text;
}

}  // namespace

ModelAnswer answer_model(const std::string& name, bool built_in, const ModelInfo& info) {
  return {.name = name,
          .built_in = built_in,
          .info = info,
          .stacks = answer_stacks(info.stacks),
          .takes_pair = !info.causal && !info.reads_source(),
          .takes_target = info.reads_source(),
          .runs = true};
}

ModelAnswer answer_model(const LoadedModel& model) {
  return answer_model(model.name, model.built_in, model.model->info());
}

ModelAnswer answer_model(const Session& session) {
  return {.name = session.model,
          .built_in = session.built_in,
          .info = session.info,
          .stacks = answer_stacks(session.shapes())};
}

std::vector<ScoreAnswer> answer_scores(const std::vector<StackShape>& shapes) {
  std::vector<ScoreAnswer> scores;
  for (const ScoreInfo& info : score_infos())
    if (std::ranges::any_of(shapes, [&](const StackShape& each) { return has_score(each, info); }))
      scores.push_back({info});
  return scores;
}

ApiErrorAnswer answer_error(std::exception_ptr exception) {
  try {
    std::rethrow_exception(exception);
  } catch (const Error& error) {
    const bool has_argument = !error.argument().empty();  // else `found` is the whole message
    return {.code = code_of(error.code()),
            .message = one_line(error.what()),
            .argument = given(error.argument()),
            .found = given(has_argument || !error.expected().empty() ? error.found() : ""),
            .expected = given(error.expected()),
            .hint = given(error.hint())};
  } catch (const std::bad_alloc&) {
    return {.code = "failed", .message = "out of memory"};
  } catch (const std::exception& error) {
    return {.code = "failed", .message = one_line(error.what())};
  }
}

SessionAnswer answer_session(const LiveSession& live) {
  const LiveSession::Progress progress = live.progress();
  const Session& session = live.session();
  SessionAnswer answer{.session = live.id,
                       .model = session.model,
                       .text = live.input.text,
                       .pair = live.input.pair,
                       .target = live.input.target,
                       .chat = live.input.chat,
                       .state = progress.failed  ? "failed"
                                : progress.ready ? "ready"
                                                 : "running",
                       .heads_done = std::ssize(progress.order),
                       .tokens = answer_tokens(session.tokenizer, session.tokens),
                       .units = answer_units(session.tokenizer, session.tokens),
                       .split = session.split};
  answer.edits = given(to_text(live.input.edits));
  answer.derived_from = given(live.derived_from);
  if (progress.failed) answer.error = answer_error(progress.failed);
  if (!session.key_tokens.empty()) {
    answer.key_tokens = answer_tokens(session.source_tokenizer, session.key_tokens);
    answer.key_units = answer_units(session.source_tokenizer, session.key_tokens);
  }
  if (!session.images.empty()) answer.images = session.images;
  answer.attentions = answer_attentions(live);
  return answer;
}

ChosenAnswer answer_chosen(const ChosenHead& chosen) { return {chosen}; }

LayerHeadsAnswer answer_layer(const LiveSession& session, Stack stack, int layer) {
  const bool causal = session.session().at(stack).shape.causal;
  LayerHeadsAnswer answer{.stack = stack, .layer = layer};
  const LayerHeads heads = session.heads(stack, layer);
  for (const HeadStatistics& head : *heads) {
    answer.heads.push_back({.scores = head.scores, .causal = causal, .profile = head.profile});
    const std::vector<double> late = session.late().known(head.place());
    for (std::size_t score = 0; score < late.size(); ++score)
      if (!std::isnan(late[score])) answer.heads.back().scores.values[score] = late[score];
  }
  return answer;
}

HeadsAnswer answer_heads(const LiveSession& session, Stack stack, std::optional<int> only) {
  const StackShape shape = session.session().at(stack).shape;
  HeadsAnswer answer{.stack = stack};
  for (int layer = 0; layer < shape.layers; ++layer) {
    if (!session.session().keeps(shape, layer)) continue;
    ++answer.of;
    if (!session.heads(stack, layer)) continue;
    ++answer.done;
    if (!only || layer == *only) answer.layers.push_back(answer_layer(session, stack, layer));
  }
  return answer;
}

NextAnswer answer_next(const LiveSession& session, Stack stack, std::int64_t position,
                       std::int64_t top) {
  const bool knows_more = session.model() != nullptr && !session.session().streams.empty();
  if (knows_more &&
      (!session.keeps_next(position) || top > std::ssize(session.next(position).words)))
    return answer_words_at(session, stack, position, top);
  const NextWords& words = session.next(position);
  const std::int64_t count = std::min(top, std::ssize(words.words));
  double rest = words.rest_probability;
  NextAnswer answer{.stack = stack, .position = position};
  for (std::int64_t at = 0; at < std::ssize(words.words); ++at) {
    const NextWord& word = words.words[static_cast<std::size_t>(at)];
    if (at < count)
      answer.words.push_back(answer_word(word));
    else
      rest += word.probability;
  }
  answer.rest = {words.rest_count + std::ssize(words.words) - count, static_cast<float>(rest)};
  return answer;
}

}  // namespace heed
