#include "heed/inspect/session.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/stop.h"
#include "heed/base/error.h"
#include "heed/text/tokenizer.h"

namespace heed {
namespace {

// Copies what each attention leaves behind while the pass runs.
class Recorder final : public Tap {
 public:
  Recorder(Session& session, const SessionOptions& options)
      : session_(session), options_(options) {}

  void at(const TapName& name, View value) override {
    check_stop();
    if (!options_.hidden || name.kind != TapKind::kFinal) return;
    const ConstView final = value;  // [1, T, C]
    session_.hidden = Tensor::copy_of(final.select(0, 0));
  }

  void attended(const TapName& name, const AttentionArgs& args,
                const AttendedConstView& attended) override {
    check_stop();
    const auto stack = std::ranges::find(session_.stacks, name.stack,
                                         [](const auto& of) { return of.shape.stack; });
    if (stack == session_.stacks.end()) return;
    stack->layers.push_back({.q = Tensor::copy_of(args.q),
                             .k = Tensor::copy_of(args.keys.k),
                             .v = Tensor::copy_of(args.keys.v),
                             .lse = Tensor::copy_of(attended.lse),
                             .lse_low = Tensor::copy_of(attended.lse_low),
                             .extents = args.extents,
                             .mask = args.mask,
                             .scores = args.scores});
    if (options_.layer_done) options_.layer_done();
  }

 private:
  void check_stop() const {
    if (options_.stop && options_.stop())
      fail({.code = ErrorCode::kInterrupted, .op = "session", .found = "stopped"});
  }

  Session& session_;
  const SessionOptions& options_;
};

Session session_of(const LoadedModel& model) {
  Session session;
  session.model = model.name;
  session.built_in = model.built_in;
  session.info = model.model->info();
  session.tokenizer = model.tokenizer.get();
  for (const StackShape& shape : stacks_of(session.info))
    session.stacks.push_back({.shape = shape, .layers = {}});
  return session;
}

SessionToken token_of(const LoadedModel& model, TokenId id, TokenSpan span) {
  return {id, model.tokenizer ? model.tokenizer->token_bytes(id) : fmt::format("#{}", id),
          span.begin, span.end};
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

void check_length(const Session& session, std::string_view hint) {
  const std::int64_t length = std::ssize(session.tokens);
  const std::int64_t most = session.info.positions;
  if (length > most)
    fail({.op = "session",
          .argument = "input",
          .found = fmt::format("{} tokens", length),
          .expected = fmt::format("at most {} ({}'s positions)", most, session.model),
          .hint = hint});
}

void run_session(Session& session, const LoadedModel& model, const SessionOptions& options) {
  check_length(session);
  const auto length = static_cast<std::int64_t>(session.tokens.size());
  Tensor ids = Tensor::empty({1, length}, DType::kI32);
  for (std::int64_t i = 0; i < length; ++i)
    ids.data<std::int32_t>()[i] = session.tokens[static_cast<std::size_t>(i)].id;
  Recorder recorder(session, options);
  Run run;
  run.tap = &recorder;
  run.last_position_only = !options.all_logits;
  run.in_bulk = length >= kBulkRows;
  std::optional<StopScope> scope;
  if (options.stopped != nullptr) scope.emplace(*options.stopped);
  Tensor logits = model.model->forward({.ids = ids.view()}, run);
  if (!session.info.has_logits) return;
  const Shape shape = {logits.dim(1), logits.dim(2)};
  session.logits = std::move(logits).reshaped(shape);
}

bool are_mostly_parts_of_characters(std::span<const SessionToken> tokens) {
  const auto parts = std::ranges::count_if(
      tokens, [](const SessionToken& token) { return find_invalid_utf8(token.bytes) >= 0; });
  return 2 * parts > std::ssize(tokens);
}

Session tokenize_session(const LoadedModel& model, std::string_view text) {
  if (model.tokenizer == nullptr)
    fail({.op = "session",
          .argument = "text",
          .found = "given",
          .expected = "token ids",
          .hint = model.name + " has no tokenizer"});
  Session session = session_of(model);
  const Encoding encoding = model.tokenizer->encode(text, /*add_special=*/true);
  for (std::size_t i = 0; i < encoding.ids.size(); ++i)
    session.tokens.push_back(token_of(model, encoding.ids[i], encoding.spans[i]));
  if (session.tokens.empty()) {
    if (session.info.first_token < 0)
      fail({.op = "session",
            .argument = "text",
            .found = "empty",
            .expected = "at least one character",
            .hint = model.name + " has no first token to start from"});
    session.tokens.push_back(token_of(model, static_cast<TokenId>(session.info.first_token), {}));
  }
  return session;
}

Session tokenize_session(const LoadedModel& model, std::span<const TokenId> ids) {
  if (ids.empty()) fail("session", "ids", "empty", "at least one");
  Session session = session_of(model);
  for (const TokenId id : ids) {
    if (id < 0 || id >= session.info.vocabulary)
      fail({.op = "session",
            .argument = "ids",
            .found = id,
            .expected =
                fmt::format("0 to {} ({}'s vocabulary)", session.info.vocabulary - 1, model.name)});
    session.tokens.push_back(token_of(model, id, {}));
  }
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
