#include "inspect/evidence/branch.h"

#include <fmt/format.h>

#include <cmath>

#include "base/wording.h"
#include "generate/forward.h"
#include "heed/error.h"
#include "inspect/evidence/read_out.h"
#include "inspect/rows/words.h"
#include "inspect/session/places.h"
#include "inspect/session/session_input.h"
#include "tensor/views.h"

namespace heed {
namespace {

void check(const Session& session, const BranchRequest& request) {
  const ModelInfo& info = session.info;
  if (!info.writes())
    fail({.code = ErrorCode::kUnsupported,
          .op = "branch",
          .found = fmt::format("{} does not write", session.model),
          .expected = "a decoder or an encoder-decoder"});
  require_unedited("branch", session);
  check_token("branch", "position", request.position, std::ssize(session.tokens));
  if (request.word < 0 || request.word >= info.vocabulary)
    fail("branch", "token", request.word,
         fmt::format("0 to {}, a word of the model", info.vocabulary - 1), ErrorCode::kNotFound);
  if (request.position + 1 >= info.positions)
    fail("branch", "position", request.position,
         fmt::format("at most {}: the model has {}", info.positions - 2,
                     number_of(info.positions, "position")));
}

GenerateArgs args_of(const Session& session, const LoadedModel& model,
                     const BranchRequest& request) {
  GenerateArgs args{
      .prompts = {ids_of(
          std::span(session.tokens).first(static_cast<std::size_t>(request.position) + 1))},
      .most_tokens = request.most_tokens - 1,
      .sampling = {.temperature = 0}};
  args.prompts.front().push_back(request.word);
  follow_folder(model, args, {{"temperature"}});
  args.rules.forced_last = {};  // for the end of a text; a branch just stops when out of room
  if (session.info.reads_source()) args.sources = {ids_of(session.key_tokens)};
  return args;
}

}  // namespace

void require_unedited(const char* op, const Session& session) {
  if (session.edits.empty()) return;
  fail({.code = ErrorCode::kUnsupported,
        .op = op,
        .found = "a session with edits, which writing would not follow",
        .expected = "one without"});
}

Branch::Branch(const Session& session, const LoadedModel& model, const BranchRequest& request)
    : session_(session), info_(session.info), request_(request) {
  check(session, request);
  require_streams("branch", session);
  const Tensor logits =
      read_out(session.streams.back(), model, request.position, request.position + 1);
  const std::span<const float> row = matrix_row(logits, 0);
  first_ = token_of(request.word, row, distribution_of(row));
  if (request.most_tokens > 1)
    generation_ =
        std::make_unique<Generation>(*model.model, args_of(session, model, request), silence_);
}

Branch::~Branch() = default;

std::optional<BranchToken> Branch::next() {
  if (!ended_.empty()) return {};
  if (const auto first = std::exchange(first_, {})) return taken(*first);
  generation_->step();
  const Generated& text = generation_->texts().front();
  const auto token = taken(text.tokens.back());
  if (ended_.empty() && generation_->has_ended(0)) ended_ = name(text.stopped);
  return token;
}

std::optional<BranchToken> Branch::taken(const GeneratedToken& token) {
  ++tokens_;
  bits_ -= std::log2(token.probability);
  BranchToken shown{token, word_of(session_.tokenizer, token.id)};
  if (shown.bytes.find('\n') != std::string::npos)
    ended_ = "line";
  else if (info_.ends_with(token.id))
    ended_ = "end";
  else if (tokens_ == request_.most_tokens)
    ended_ = "length";
  return shown;
}

double Branch::bits_a_token() const {
  return tokens_ == 0 ? 0 : bits_ / static_cast<double>(tokens_);
}

}  // namespace heed
