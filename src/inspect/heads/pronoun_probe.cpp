#include "heed/look.h"
#include "inspect/rows/lines.h"
#include "train/generated/stories.h"

namespace heed {
namespace {

// Tokens [begin, end) that contain a byte of a phrase.
struct PhraseTokens {
  std::size_t begin = 0;
  std::size_t end = 0;

  double weight(std::span<const float> row) const {
    double sum = 0;
    for (std::size_t i = begin; i < end; ++i) sum += row[i];
    return sum;
  }
};

PhraseTokens tokens_of(const NounPhrase& phrase, std::span<const SessionToken> tokens) {
  PhraseTokens found;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const bool overlaps =
        std::cmp_less(tokens[i].begin, phrase.end) && std::cmp_greater(tokens[i].end, phrase.begin);
    if (!overlaps) continue;
    if (found.end == 0) found.begin = i;
    found.end = i + 1;
  }
  return found;
}

void add_sentence(const PronounSentence& sentence, const Session& session,
                  std::vector<PronounHead>& heads) {
  const SessionStack& stack = session.stacks.front();
  const auto tokens = session.keys(stack.shape.stack);
  const PhraseTokens noun = tokens_of(sentence.noun, tokens);
  const PhraseTokens other = tokens_of(sentence.other, tokens);
  const PhraseTokens pronoun = tokens_of({sentence.pronoun, sentence.text.size()}, tokens);
  const auto row = static_cast<std::int64_t>(pronoun.end - 1);
  for (PronounHead& head : heads)
    visit_lines(stack.layers[static_cast<std::size_t>(head.place.layer)],
                {.head = head.place.head, .rows = {row}, .hidden = 0}, [&](const RowView& line) {
                  const double right = noun.weight(line.weights);
                  const double wrong = other.weight(line.weights);
                  head.right += right > wrong ? 1 : 0;
                  head.noun += right;
                  head.other += wrong;
                });
}

}  // namespace

std::vector<PronounHead> probe_pronouns(const LoadedModel& model, const PronounOptions& options) {
  if (options.sentences < 1) fail("probe", "sentences", options.sentences, "at least 1");
  std::vector<PronounHead> heads;
  for (const PronounSentence& sentence : pronoun_sentences(options.seed, options.sentences)) {
    const Session session = open_session(model, sentence.text, {.write_lengths = false});
    const StackShape& shape = session.stacks.front().shape;
    if (heads.empty())
      for (int layer = 0; layer < shape.layers; ++layer)
        for (int head = 0; head < shape.heads && shape.has(layer); ++head)
          heads.push_back({.place = {shape.stack, layer, head}});
    add_sentence(sentence, session, heads);
  }
  const auto count = static_cast<double>(options.sentences);
  for (PronounHead& head : heads) {
    head.right /= count;
    head.noun /= count;
    head.other /= count;
  }
  return heads;
}

}  // namespace heed
