// Questions about a session's words: how likely they were, the lens, beams.
#include <algorithm>
#include <cmath>

#include "generate/beam_search.h"
#include "heed/error.h"
#include "inspect/answers/questions.h"
#include "inspect/evidence/edited_run.h"
#include "inspect/evidence/read_out.h"
#include "inspect/rows/words.h"
#include "inspect/session/session_input.h"

namespace heed {
namespace {

const LoadedModel& model_of(const char* op, const LiveSession& live) {
  if (live.model() != nullptr) return *live.model();
  fail({.code = ErrorCode::kUnsupported,
        .op = op,
        .found = "a session without a model",
        .expected = "one that this program has run"});
}

std::string level_name(const StreamLevel& level) {
  if (level.kind == TapKind::kEmbedding) return "embedding";
  if (level.kind == TapKind::kResidual) return "layer";
  return level.stack == Stack::kCross ? "cross" : "attention";
}

LensLevelAnswer answer_level(const LensLevel& level, const Tokenizer* tokenizer) {
  const StreamLevel named{level.kind, level.stack, level.layer, {}};
  LensLevelAnswer answer{.name = level_name(named),
                         .right = level.right,
                         .of = level.of,
                         .ranks = level.ranks,
                         .chances = level.chances};
  if (level.layer >= 0) answer.layer = level.layer;
  for (const LensCell& cell : level.cells)
    answer.cells.push_back({cell, word_of(tokenizer, cell.id)});
  return answer;
}

// The difference between the last level and the pass's own result, if that was kept.
std::optional<double> difference_of(const LiveSession& live, const Lens& lens) {
  std::optional<double> largest;
  for (std::size_t at = 0; at < lens.levels.back().cells.size(); ++at) {
    const std::int64_t position = lens.begin + static_cast<std::int64_t>(at);
    if (!live.keeps_next(position) || live.next(position).words.empty()) continue;
    const NextWord& first = live.next(position).words.front();
    const LensCell& cell = lens.levels.back().cells[at];
    const double apart = first.id == cell.id ? std::abs(first.probability - cell.probability) : 1;
    largest = std::max(largest.value_or(0), apart);
  }
  return largest;
}

struct StopListener final : GenerateListener {
  explicit StopListener(const Check& each) : check(each) {}
  bool stop() override {
    check();
    return false;
  }
  const Check& check;
};

// How many first tokens a text shares with any earlier one.
std::int64_t shared_tokens(const std::vector<HypothesisAnswer>& before, const Generated& text) {
  std::int64_t most = 0;
  for (const HypothesisAnswer& other : before) {
    const auto same = std::ranges::mismatch(other.tokens, text.tokens, {}, &BranchTokenAnswer::id,
                                            &GeneratedToken::id);
    most = std::max<std::int64_t>(most, same.in2 - text.tokens.begin());
  }
  return most;
}

HypothesisAnswer answer_hypothesis(const Generated& text, const Tokenizer* tokenizer) {
  HypothesisAnswer answer{.score = text.score, .stopped = std::string(name(text.stopped))};
  for (const GeneratedToken& token : text.tokens) {
    answer.log_probability += std::log(token.probability);
    answer.tokens.push_back({token.id, word_of(tokenizer, token.id), token.probability});
  }
  return answer;
}

}  // namespace

void require_words(const char* op, const LiveSession& session) {
  model_of(op, session);
  require_streams(op, session.session());
}

WordAnswer answer_word(const NextWord& word) {
  return {word.id, word.bytes, static_cast<float>(word.probability),
          static_cast<float>(word.logit)};
}

std::vector<float> word_logits(const LiveSession& live, std::int64_t position, bool masked,
                               const std::atomic<bool>* stopped) {
  const Session& session = live.session();
  const LoadedModel& model = model_of("next", live);
  require_streams("next", session);
  const Tensor logits = masked ? edited_output(session, covered(session, position), model,
                                               {.all_positions = true, .stopped = stopped})
                               : read_out(session.streams.back(), model, position, position + 1);
  const float* row = logits.data<float>() + (masked ? position : 0) * logits.dim(1);
  return {row, row + logits.dim(1)};
}

NextAnswer answer_words_at(const LiveSession& live, Stack stack, std::int64_t position,
                           std::int64_t top, bool masked, const std::atomic<bool>* stopped) {
  const std::vector<float> logits = word_logits(live, position, masked, stopped);
  const NextWords words = likeliest(logits, live.session().tokenizer, top);
  NextAnswer answer{.stack = stack,
                    .position = position,
                    .rest = {words.rest_count, static_cast<float>(words.rest_probability)}};
  if (masked) answer.masked = true;
  for (const NextWord& word : words.words) answer.words.push_back(answer_word(word));
  return answer;
}

WordsAnswer answer_words(const LiveSession& live, Stack stack, const Check& check) {
  return {stack, surprises(live.session(), model_of("words", live), check)};
}

LensAnswer answer_lens(const LiveSession& live, Stack stack, const LensRequest& request,
                       const Check& check) {
  const Session& session = live.session();
  const LoadedModel& model = model_of("lens", live);
  const Lens found = lens(session, model, request, check);
  LensAnswer answer{.stack = stack,
                    .begin = found.begin,
                    .end = found.end,
                    .has_blocks = found.has_blocks,
                    .judged_all = found.judged_all,
                    .difference = difference_of(live, found)};
  for (const LensLevel& level : found.levels)
    answer.levels.push_back(answer_level(level, session.tokenizer));
  if (!request.at) return answer;
  const std::vector<float> logits = word_logits(live, *request.at, false);
  for (const NextWord& word : likeliest(logits, session.tokenizer, request.answers).words)
    answer.answers.push_back(answer_word(word));
  return answer;
}

BeamsAnswer answer_beams(const LiveSession& live, std::int64_t beams, std::int64_t most_tokens,
                         const Check& check) {
  const Session& session = live.session();
  const LoadedModel& model = model_of("beams", live);
  if (!session.info.reads_source())
    fail({.code = ErrorCode::kUnsupported,
          .op = "beams",
          .found = session.model + " reads no source",
          .expected = "an encoder-decoder"});
  require_unedited("beams", session);
  StopListener listener(check);
  GenerateArgs args{.prompts = {{session.tokens.front().id}},
                    .sources = {ids_of(session.key_tokens)},
                    .most_tokens = std::min(most_tokens, session.info.positions - 1),
                    .beams = beams};
  follow_folder(model, args, {{"beams"}});
  BeamsAnswer answer{.beams = beams, .length_penalty = args.length_penalty};
  const auto texts = beam_hypotheses(*model.model, args, listener);
  for (const Generated& text : texts.front()) {
    HypothesisAnswer one = answer_hypothesis(text, session.tokenizer);
    one.shared = shared_tokens(answer.hypotheses, text);
    answer.hypotheses.push_back(std::move(one));
  }
  return answer;
}

}  // namespace heed
