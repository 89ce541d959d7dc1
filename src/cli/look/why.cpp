#include "inspect/answers/why.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/wording.h"
#include "cli/look/ranking.h"
#include "cli/look/text.h"
#include "heed/error.h"
#include "inspect/answers/answer_writer.h"
#include "inspect/evidence/origins.h"
#include "inspect/evidence/trial.h"

namespace heed::cli {
namespace {

constexpr int kIndent = 2;
constexpr int kNumberEnd = 34;   // a sum's numbers end here
constexpr int kSecondEnd = 46;   // the second column ends here
constexpr std::size_t kTop = 6;  // dimensions, keys
constexpr std::int64_t kWords = 4;

Place place_of(const WhyCell& cell) { return {cell.head.stack, cell.head.layer, cell.head.head}; }

std::string number(double value) {
  return std::abs(value) < 0.005 ? "0.00" : fmt::format("{:.2f}", value);
}
std::string signed_number(double value) {
  return std::abs(value) < 0.005 ? "0.00" : fmt::format("{:+.2f}", value);
}

class WhyText {
 public:
  WhyText(const Terminal& terminal, const Session& session, const WhyCell& cell, const Why& why)
      : terminal_(terminal), session_(session), cell_(cell), why_(why) {}

  std::string title() const {
    const ChosenHead& head = cell_.head;
    const std::string_view arrow = terminal_.utf8 ? "→" : "->";
    const std::string what = fmt::format("{} {} {} {} {}", query_name(), cell_.query, arrow,
                                         key_name(cell_.key), cell_.key);
    const std::string weight = why_.visible ? weight_text(why_.weight) : "masked";
    const std::string rank =
        why_.visible ? fmt::format(", rank {} of {}", why_.rank, why_.of) : std::string();
    const bool alone = session_.stacks.size() == 1;
    return heading(terminal_, "Why " + what,
                   fmt::format("{}{}; {}{}{}", weight, rank, alone ? "" : stack_name(head.stack),
                               alone ? "" : ".", head_name(head.layer, head.head)));
  }

  std::string sum() const {
    std::string text = heading(terminal_, "The sum", "all terms of the score");
    for (const Term& term : why_.sum.terms) text += row(term.name, signed_number(term.value));
    text += row("score", number(why_.score), Style::kBold);
    if (why_.visible) {
      text += row(fmt::format("row log-sum-exp, {}", number_of(why_.of, "key")),
                  signed_number(-why_.lse));
      text += row("weight, exp of the sum", weight_text(why_.weight), Style::kBold);
    }
    return text + left_over(why_.sum.residual);
  }

  std::string dimensions() const {
    const Sum& sum = why_.against_mean;
    std::vector<Term> terms = sum.terms;
    std::ranges::stable_sort(terms, std::greater(),
                             [](const Term& term) { return std::abs(term.value); });
    std::string text = heading(terminal_, "By dimension", "against the mean key");
    double rest = sum.sum;
    for (std::size_t at = 0; at < std::min(kTop, terms.size()); ++at) {
      text += row("dimension " + terms[at].name, signed_number(terms[at].value));
      rest -= terms[at].value;
    }
    if (terms.size() > kTop)
      text += row(fmt::format("{} more", terms.size() - kTop), signed_number(rest), Style::kDim);
    return text + row("score minus the mean key's", signed_number(sum.sum), Style::kBold) +
           left_over(sum.residual);
  }

  std::string against() const {
    std::string text = heading(terminal_, "Competing keys", "the row's largest weights");
    text += row("", "weight", Style::kDim, "score");
    std::int64_t others = why_.rest_count;
    double left = why_.rest_weight;
    for (std::size_t at = 0; at < why_.keys.size(); ++at) {
      const auto& [key, score, weight] = why_.keys[at];
      if (at >= kTop) {
        ++others;
        left += static_cast<double>(weight);
        continue;
      }
      const Style style = key == cell_.key ? Style::kBold : Style::kPlain;
      text +=
          row(fmt::format("{} {}", key_name(key), key), weight_text(weight), style, number(score));
    }
    if (others == 0) return text;
    return text + row(number_of(others, "other"), weight_text(left), Style::kDim);
  }

  std::string effect(const Effect& effect) const {
    std::string text =
        heading(terminal_, "Effect of its value",
                effect.no_words.empty() ? "directly on the logits"
                                        : "no direct effect on logits: " + effect.no_words);
    for (const auto& [name, words] :
         {std::pair("raises", &effect.raised), {"lowers", &effect.lowered}})
      for (const ChangedWord& word : *words)
        text += row(fmt::format("{} {}", name, shown(word.bytes)), signed_number(word.change));
    return text +
           paragraph(terminal_,
                     fmt::format(
                         "its output has length {:.2f}, the head's {:.2f}, cosine {:.2f}; its "
                         "share of the lengths of the row's weighted values is {}",
                         effect.length, effect.head_length, effect.cosine, weight_text(carried())),
                     kIndent);
  }

  std::string without(const Trial& trial) const {
    std::string text =
        heading(terminal_, "Without it", "the model runs again with the edge masked");
    if (!trial.words.empty()) text += row(asked_of(trial), "with it", Style::kDim, "without it");
    for (const TrialWord& word : trial.words)
      text += row(shown(word.bytes), weight_text(word.as_it_is), Style::kPlain,
                  fmt::format("{} {}", terminal_.utf8 ? "→" : "->", weight_text(word.edited)));
    std::string moved = fmt::format("the output moves by {}", weight_text(trial.moved));
    if (trial.text_moved)
      moved += fmt::format(", the text's vector by {}", weight_text(*trial.text_moved));
    return text + paragraph(terminal_, moved, kIndent);
  }

 private:
  // After a source's tokens the model predicts nothing: the words are those after an output token.
  std::string asked_of(const Trial& trial) const {
    if (cell_.head.stack != Stack::kEncoder || !session_.info.reads_source())
      return session_.info.writes() ? "next word" : "word";
    const auto at = static_cast<std::size_t>(trial.position);
    return fmt::format("written after {}", shown(session_.tokens[at].bytes));
  }
  double carried() const {
    const Place place = place_of(cell_);
    return look_cell(session_.at(place), place.head, cell_.query, cell_.key).carried;
  }
  std::string shown(const std::string& bytes) const { return TokenNames::shown(terminal_, bytes); }
  std::string query_name() const {
    const auto tokens = session_.queries(cell_.head.stack);
    return shown(tokens[static_cast<std::size_t>(cell_.query)].bytes);
  }
  std::string key_name(std::int64_t key) const {
    return shown(session_.keys(cell_.head.stack)[static_cast<std::size_t>(key)].bytes);
  }
  std::string row(const std::string& name, const std::string& value, Style style = Style::kPlain,
                  const std::string& second = {}) const {
    Line line(terminal_);
    line.to(kIndent).put(name, style).right(kNumberEnd, value, style);
    if (!second.empty()) line.right(kSecondEnd, second, Style::kDim);
    return line.str();
  }
  std::string left_over(double residual) const {
    const std::string left = residual == 0 ? "0" : fmt::format("{:.0e}", std::abs(residual));
    return paragraph(terminal_, "residual " + left, kIndent);
  }

  const Terminal& terminal_;
  const Session& session_;
  const WhyCell& cell_;
  const Why& why_;
};

// Empty if the model does not support the question.
std::string where_said(auto make) {
  try {
    return "\n" + make();
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kUnsupported) throw;
    return {};
  }
}

}  // namespace

std::string why_text(const Terminal& terminal, const Session& session, const LoadedModel& model,
                     const WhyCell& cell, const std::string& choice) {
  const Place place = place_of(cell);
  const Why found = why(session, &model, place, cell.query, cell.key);
  const WhyText text(terminal, session, cell, found);
  std::string all =
      text.title() + choice + "\n" + text.sum() + "\n" + text.dimensions() + "\n" + text.against();
  if (!found.visible) return all;
  all += where_said([&] {
    const Writes writes(session, model, rows_for(session, {place, cell.query, cell.key}));
    return text.effect(effect(session, model, writes, place, cell.query, cell.key, kWords));
  });
  return all + where_said([&] {
           return text.without(try_edits(session, model,
                                         {.remove = {{place, cell.query, cell.key}}},
                                         tried_position(session, place.stack, cell.query), kWords));
         });
}

std::string why_json(const Session& session, const LoadedModel& model, const WhyCell& cell) {
  const Place place = place_of(cell);
  return to_json(WhyAnswer{why(session, &model, place, cell.query, cell.key),
                           HeadRows(session.at(place), place.head).kv_head()}) +
         "\n";
}

}  // namespace heed::cli
