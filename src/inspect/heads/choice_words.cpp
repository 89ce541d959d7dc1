#include "inspect/heads/choice_words.h"

#include <fmt/format.h>

#include <cstdlib>
#include <span>

#include "base/wording.h"
#include "heed/tokenizer.h"
#include "inspect/rows/words.h"

namespace heed {
namespace {

// `king`; for a piece of a word, the word
std::string named(std::span<const SessionToken> tokens, std::int64_t index) {
  const auto at = static_cast<std::size_t>(index);
  const std::string word = pieces_of_words(tokens)[at].word;
  if (!word.empty()) return fmt::format("`{}`", displayable(word));
  const std::string text = displayable(tokens[at].bytes);
  const std::size_t begin = text.find_first_not_of(' ');
  return fmt::format("`{}`", begin == std::string::npos ? text : text.substr(begin));
}

}  // namespace

std::string ChoiceWords::query(std::int64_t index) const {
  return named(session.queries(stack), index);
}

std::string ChoiceWords::key(std::int64_t index) const { return named(session.keys(stack), index); }

std::string ChoiceWords::seen(const Edge& edge) const {
  return fmt::format("looks {} {} to {} ({})", edge.key > edge.query ? "ahead" : "back",
                     number_of(std::abs(edge.query - edge.key), "token"), key(edge.key),
                     hundredths(edge.weight));
}

std::string ChoiceWords::than_any_other() const {
  return head    ? fmt::format("than head {} of any other layer", *head)
         : layer ? fmt::format("than any other of layer {}", *layer)
                 : "than any other";
}

std::string ChoiceWords::of_induction(const Edge& edge) const {
  return fmt::format("{} {}, the word that followed the earlier {}: an induction head",
                     query(edge.query), seen(edge), query(edge.query));
}

std::string ChoiceWords::of_link(const Edge& edge) const {
  const std::string weight = hundredths(edge.weight);
  if (stack != Stack::kCross) {
    const bool back = edge.query >= session.split.value_or(0);
    return fmt::format(
        "{} of the {} text looks at {} of the {} ({}): this head links words of the two texts more "
        "{}",
        query(edge.query), back ? "second" : "first", key(edge.key), back ? "first" : "second",
        weight, than_any_other());
  }
  const bool writes = session.info.reads_source();
  const std::string who =
      writes ? fmt::format("to write {}, the decoder", query(edge.query + 1)) : query(edge.query);
  return fmt::format("{} looks at {} ({}): this head picks out words of the source more {}", who,
                     key(edge.key), weight, than_any_other());
}

std::string ChoiceWords::of_row(const Edge& edge, bool is_gap) const {
  return fmt::format("{}{} {}: from here this head links {} more strongly {}",
                     is_gap ? "the gap " : "", query(edge.query), seen(edge),
                     is_beside(edge.query, edge.key) ? "words" : "distant words", than_any_other());
}

std::string ChoiceWords::of_content(const std::optional<Edge>& edge, double score) const {
  std::string why = fmt::format("this head links distant words more strongly {}", than_any_other());
  if (score == 0)
    why = stack == Stack::kCross ? "the first head, as none looks hardest at a word of the source"
          : edge                 ? "the first head that links words, as none links distant ones"
                                 : "the first head, as none links distant words";
  return edge ? fmt::format("{} {}: {}", query(edge->query), seen(*edge), why) : why;
}

}  // namespace heed
