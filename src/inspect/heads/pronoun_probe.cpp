#include "heed/inspect/pronoun_probe.h"

#include <cctype>

#include "inspect/rows/lines.h"
#include "train/generated/stories.h"

namespace heed {
namespace {

// Tokens [begin, end) that hold a byte of the word which begins there.
struct WordTokens {
  std::size_t begin = 0;
  std::size_t end = 0;

  double weight(std::span<const float> row) const {
    double sum = 0;
    for (std::size_t i = begin; i < end; ++i) sum += row[i];
    return sum;
  }
};

WordTokens word_at(std::string_view text, std::size_t at, std::span<const SessionToken> tokens) {
  std::size_t stop = at;
  while (stop < text.size() && std::isalpha(static_cast<unsigned char>(text[stop])) != 0) ++stop;
  WordTokens word;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const bool overlaps =
        std::cmp_less(tokens[i].begin, stop) && std::cmp_greater(tokens[i].end, at);
    if (!overlaps) continue;
    if (word.end == 0) word.begin = i;
    word.end = i + 1;
  }
  return word;
}

void add_sentence(const PronounSentence& sentence, const Session& session,
                  std::vector<PronounHead>& heads) {
  const SessionStack& stack = session.stacks.front();
  const auto tokens = session.keys(stack.shape.stack);
  const WordTokens noun = word_at(sentence.text, sentence.noun, tokens);
  const WordTokens other = word_at(sentence.text, sentence.other, tokens);
  const auto row = static_cast<std::int64_t>(word_at(sentence.text, sentence.pronoun, tokens).end -
                                             1);  // the pronoun's last token
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
        for (int head = 0; head < shape.heads; ++head)
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
