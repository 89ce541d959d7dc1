#include "inspect/saved/held_answers.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "inspect/answers/answer_writer.h"
#include "inspect/answers/questions.h"
#include "inspect/saved/base64.h"

namespace heed {
namespace {

constexpr std::int64_t kShownWords = 12;
constexpr std::int64_t kBranches = 4;
constexpr std::int64_t kBranchTokens = 27;
constexpr std::int64_t kMostCells = 1 << 15;  // of a lens
const Check kNever = [] {};

using Answers = std::map<std::string, std::string>;

// The stack whose tokens the words are.
Stack words_stack(const Session& session) {
  for (const SessionStack& stack : session.stacks)
    if (stack.shape.stack != Stack::kEncoder) return stack.shape.stack;
  return session.stacks.front().shape.stack;
}

std::string base64_of(const std::vector<float>& numbers) {
  return base64({reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(float)});
}

std::string branch_lines(const LiveSession& live, std::int64_t position, TokenId word) {
  Branch branch(live.session(), *live.model(),
                {.position = position, .word = word, .most_tokens = kBranchTokens});
  std::string lines;
  while (const auto token = branch.next())
    lines +=
        to_json(BranchTokenAnswer{token->token.id, token->bytes, token->token.probability}) + '\n';
  return lines +
         to_json(
             BranchEndAnswer{std::string(branch.ended()), branch.tokens(), branch.bits_a_token()}) +
         '\n';
}

void hold_branches(const LiveSession& live, const std::string& name, std::int64_t position,
                   const NextAnswer& next, Answers& held) {
  const ModelInfo& info = live.session().info;
  if (!info.writes() || position + 1 >= info.positions) return;
  for (std::size_t at = 0; at < std::min<std::size_t>(kBranches, next.words.size()); ++at) {
    const TokenId word = next.words[at].id;
    held[fmt::format("{}/branch?position={}&token={}&most={}", name, position, word,
                     kBranchTokens)] = branch_lines(live, position, word);
  }
}

// The whole text's: the page takes the window that it shows.
void hold_lens(const LiveSession& live, Stack stack, std::int64_t position, Answers& held) {
  const Session& session = live.session();
  const std::int64_t length = std::ssize(session.tokens);
  const std::int64_t levels = session.info.layers + 1;
  const std::int64_t around = std::clamp<std::int64_t>(kMostCells / levels, 32, length);
  LensRequest lens{.begin = std::clamp<std::int64_t>(position - around / 2, 0,
                                                     std::max<std::int64_t>(length - around, 0)),
                   .at = position};
  lens.end = std::min(length, lens.begin + around);
  held[fmt::format("{}/lens", stack_name(stack))] = to_json(answer_lens(live, stack, lens, kNever));
}

Answers words_answers(const LiveSession& live, const ViewAddress& view) {
  Answers held;
  const Session& session = live.session();
  const Stack stack = words_stack(session);
  const std::string name(stack_name(stack));
  const std::int64_t last = std::ssize(session.tokens) - 1;
  const std::int64_t position = std::min(view.query.value_or(last), last);
  const NextAnswer next = answer_words_at(live, stack, position, kShownWords);
  const std::string at = fmt::format("?position={}", position);
  held[name + "/words"] = to_json(answer_words(live, stack, kNever));
  held[fmt::format("{}/next{}&top={}", name, at, kShownWords)] = to_json(next);
  held[name + "/logits" + at] = base64_of(word_logits(live, position, false));
  hold_branches(live, name, position, next, held);
  hold_lens(live, stack, position, held);
  if (session.info.reads_source())
    held[name + "/beams?beams=4"] = to_json(answer_beams(live, 4, 64, kNever));
  return held;
}

// What an encoder says where the token is covered.
void hold_masked(const LiveSession& live, const ViewAddress& view, Answers& held) {
  const Session& session = live.session();
  const Stack stack = words_stack(session);
  const std::int64_t last = std::ssize(session.tokens) - 1;
  const std::int64_t position = std::min(view.query.value_or(last), last);
  const std::string name(stack_name(stack));
  held[fmt::format("{}/next?position={}&top={}&mask=1", name, position, kShownWords)] =
      to_json(answer_words_at(live, stack, position, kShownWords, true));
  held[fmt::format("{}/logits?position={}&mask=1", name, position)] =
      base64_of(word_logits(live, position, true));
}

Answers flow_answers(const LiveSession& live, const ViewAddress& view) {
  Answers held;
  const Stack stack = place_of(view.places.front(), live.shapes()).stack;
  const std::string name(stack_name(stack));
  const MatrixSize size = live.size(stack);
  FlowRequest flow{.stack = stack,
                   .position = std::min(view.query.value_or(size.queries - 1), size.queries - 1)};
  if (view.key) flow.key = *view.key + (stack == Stack::kCross ? size.queries : 0);
  if (flow.key && *flow.key == flow.position) flow.key.reset();
  for (const FlowBy by : {FlowBy::kRollout, FlowBy::kEffect}) {
    const FlowAnswer answer = answer_flow(live, flow, by, kNever);
    held[fmt::format("{}/flow?position={}&by={}", name, flow.position, answer.by)] =
        to_json(answer);
  }
  held[fmt::format("{}/effects?position={}", name, flow.position)] =
      to_json(answer_flow_test(live, flow, kNever));
  return held;
}

}  // namespace

Answers held_answers(const LiveSession& session, const ViewAddress& view) {
  if (session.model() == nullptr) return {};
  if (view.view == "flow") return flow_answers(session, view);
  if (view.view != "words" || session.session().streams.empty()) return {};
  Answers held = words_answers(session, view);
  const ModelInfo& info = session.session().info;
  if (!info.writes()) hold_masked(session, view, held);
  return held;
}

}  // namespace heed
