#include "heed/session.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "heed/error.h"
#include "heed/generate.h"
#include "heed/tokenizer.h"
#include "inspect/session/carried.h"
#include "inspect/session/places.h"
#include "inspect/session/recorder.h"
#include "inspect/session/session_input.h"
#include "inspect/session/session_memory.h"
#include "models/model_tokenizer.h"

namespace heed {
namespace {

Session session_of(const LoadedModel& model) {
  Session session;
  session.model = model.name;
  session.built_in = model.built_in;
  session.info = model.model->info();
  session.tokenizer = model.writing_tokenizer();
  session.source_tokenizer = model.tokenizer.get();
  for (const StackShape& shape : session.info.stacks)
    session.stacks.push_back({.shape = shape, .layers = {}});
  return session;
}

SessionToken token_of(const Tokenizer* tokenizer, TokenId id, TokenSpan span) {
  return {id, tokenizer != nullptr ? tokenizer->token_bytes(id) : fmt::format("#{}", id),
          span.begin, span.end};
}

std::vector<SessionToken> tokens_of(const Tokenizer& tokenizer, const Encoding& encoding) {
  std::vector<SessionToken> tokens;
  for (std::size_t i = 0; i < encoding.ids.size(); ++i) {
    tokens.push_back(token_of(&tokenizer, encoding.ids[i], encoding.spans[i]));
    if (!encoding.texts.empty()) tokens.back().text = encoding.texts[i];
  }
  return tokens;
}

SessionToken first_token(const LoadedModel& model) {
  return token_of(model.writing_tokenizer(), static_cast<TokenId>(model.model->info().first_token),
                  {});
}

// Returns the tokens that the model writes by itself after its first token, without the end token.
void write_target(const LoadedModel& model, Session& session) {
  constexpr std::int64_t kMostTokens = 512;
  GenerateArgs args{.prompts = {ids_of(session.tokens)},
                    .sources = {ids_of(session.key_tokens)},
                    .most_tokens = std::min(session.info.positions - 1, kMostTokens)};
  follow_folder(model, args);
  const std::vector<Generated> written = generate(*model.model, args);
  for (const GeneratedToken& token : written[0].tokens)
    if (!session.info.ends_with(token.id))
      session.tokens.push_back(token_of(model.writing_tokenizer(), token.id, {}));
}

// Until here the session's tokens are the source's. They become the keys, and the target's tokens
// become the queries. Without a target the model writes one.
void read_target(const LoadedModel& model, const std::optional<std::vector<SessionToken>>& target,
                 Session& session) {
  if (session.info.first_token < 0)
    fail("session", "target", "without a first token",
         "decoder_start_token_id in " + model.name + "'s configuration");
  session.key_tokens = std::exchange(session.tokens, {});
  check_length(session);
  session.tokens.push_back(first_token(model));
  if (!target) return write_target(model, session);
  session.tokens.insert(session.tokens.end(), target->begin(), target->end());
}

std::vector<SessionToken> target_tokens(const LoadedModel& model, std::string_view target) {
  const Tokenizer& tokenizer = *model.writing_tokenizer();
  const Encoding encoding = tokenizer.encode(target, /*add_special=*/false);
  require_in_vocabulary("session", tokenizer, encoding.ids, model.model->info().vocabulary);
  return tokens_of(tokenizer, encoding);
}

// Makes tokens of ids, which must be in the vocabulary.
std::vector<SessionToken> named_tokens(const LoadedModel& model, const Tokenizer* tokenizer,
                                       std::span<const TokenId> ids, std::int64_t vocabulary) {
  std::vector<SessionToken> tokens;
  for (const TokenId id : ids) {
    if (id < 0 || id >= vocabulary)
      fail("session", "ids", id,
           fmt::format("0 to {} ({}'s vocabulary)", vocabulary - 1, model.name));
    tokens.push_back(token_of(tokenizer, id, {}));
  }
  return tokens;
}

}  // namespace

AttentionArgs LayerAttention::args() const {
  return {.q = q.view(),
          .keys = {.k = k.view(), .v = v.view()},
          .extents = extents,
          .mask = mask,
          .scores = scores};
}

AttendedConstView LayerAttention::attended() const {
  return {.out = {}, .lse = lse.view(), .lse_low = lse_low.view()};
}

void run_session(Session& session, const LoadedModel& model, const SessionOptions& options) {
  check_kept(session);
  require_memory(session, model, options);
  Recorder recorder(session, options);
  Tensor logits = pass_over(
      session, model,
      {.tap = &recorder, .all_positions = options.all_logits, .stopped = options.stopped});
  for (SessionStack& stack : session.stacks)  // the last layers may have no attention
    stack.layers.resize(static_cast<std::size_t>(stack.shape.layers));
  if (session.info.has_logits) session.logits = std::move(logits);
  if (options.write_lengths) measure_writes(session, model);
}

namespace {

// Encodes the text, or both texts of a pair as one sequence.
void read_texts(const LoadedModel& model, const SessionTexts& texts, Session& session) {
  const ModelInfo& info = session.info;
  if (texts.pair && (info.causal || info.reads_source()))
    fail("session", "pair", "given", "none: " + model.name + " is not an encoder");
  const Encoding encoding =
      texts.chat   ? encode_chat(model, *texts.chat, texts.text)
      : texts.pair ? model.tokenizer->encode_pair(texts.text, *texts.pair, /*add_special=*/true)
                   : model.tokenizer->encode(texts.text, /*add_special=*/true);
  require_in_vocabulary("session", *model.tokenizer, encoding.ids,
                        info.reads_source() ? info.source_vocabulary : info.vocabulary);
  session.tokens = tokens_of(*model.tokenizer, encoding);
  const auto is_space = [](std::string_view text) {
    return text.find_first_not_of(" \t\r\n") == std::string_view::npos;
  };
  const bool is_blank = is_space(texts.text) && is_space(texts.pair.value_or(""));
  const bool has_token =
      texts.chat || std::ranges::any_of(session.tokens, [](const SessionToken& token) {
        return token.begin < token.end;
      });
  if (is_blank || !has_token)
    fail("session", "text",
         texts.text.empty() ? "empty"
         : is_blank         ? "blank"
                            : "without a token",
         "at least one word");
  if (texts.pair) session.split = pair_split(session.tokens);
  if (texts.pair && info.token_types > 1) session.types = encoding.types;
}

}  // namespace

Session tokenize_session(const LoadedModel& model, const SessionTexts& texts) {
  const bool reads_source = model.model->info().reads_source();
  if (model.tokenizer == nullptr)
    fail({.op = "session",
          .argument = "text",
          .found = "given",
          .expected = "token ids",
          .hint = model.name + " has no tokenizer"});
  if (texts.target && !reads_source)
    fail("session", "target", "given", "none: " + model.name + " is not an encoder-decoder");
  Session session = session_of(model);
  read_texts(model, texts, session);
  if (!reads_source) return session;
  std::optional<std::vector<SessionToken>> target;
  if (texts.target) target = target_tokens(model, *texts.target);
  read_target(model, target, session);
  return session;
}

Session tokenize_session(const LoadedModel& model, std::string_view text) {
  return tokenize_session(model, SessionTexts{.text = text});
}

Session tokenize_session(const LoadedModel& model, std::span<const TokenId> ids,
                         std::optional<std::span<const TokenId>> target) {
  if (ids.empty()) fail("session", "ids", "empty", "at least one");
  Session session = session_of(model);
  const ModelInfo& info = session.info;
  session.tokens = named_tokens(model, model.tokenizer.get(), ids,
                                info.reads_source() ? info.source_vocabulary : info.vocabulary);
  if (!info.reads_source()) return session;
  std::optional<std::vector<SessionToken>> written;
  if (target) written = named_tokens(model, model.writing_tokenizer(), *target, info.vocabulary);
  read_target(model, written, session);
  return session;
}

Session open_session(const LoadedModel& model, std::string_view text,
                     const SessionOptions& options) {
  Session session = tokenize_session(model, text);
  run_session(session, model, options);
  return session;
}

Session open_session(const LoadedModel& model, std::span<const TokenId> ids,
                     const SessionOptions& options) {
  Session session = tokenize_session(model, ids);
  run_session(session, model, options);
  return session;
}

}  // namespace heed
