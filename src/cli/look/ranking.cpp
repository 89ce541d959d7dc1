#include "cli/look/ranking.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "base/wording.h"
#include "cli/terminal/progress.h"
#include "inspect/answers/answer_writer.h"
#include "inspect/answers/look.h"
#include "inspect/heads/late_scores.h"
#include "inspect/heads/scores.h"
#include "inspect/session/places.h"

namespace heed::cli {
namespace {

constexpr int kNameEnd = 9;
constexpr int kPitch = 12;     // per column
constexpr int kBarCells = 12;  // for the ranking score
constexpr std::size_t kMostColumns = 6;
constexpr std::size_t kNearest = 3;

constexpr std::array kUsual = {"previous",           "sink",    "induction", "duplicate",
                               "normalised_entropy", "distance"};
// Between two texts there is no previous token: ranks by how sharply a head looks, and whether in
// order.
constexpr std::array kUsualBetween = {"confidence", "coverage",  "current",
                                      "sink",       "delimiter", "normalised_entropy"};

// The scores named in the filter, in its order, then the default ones.
bool is_named(const ScoreInfo& info, std::string_view name) {
  return info.name == name || info.short_name == name;
}

std::vector<std::size_t> columns_of(const HeadFilter& filter, const StackShape& shape) {
  std::vector<std::size_t> columns;
  const std::span<const char* const> usual =
      shape.stack == Stack::kCross ? std::span<const char* const>(kUsualBetween) : kUsual;
  const auto add = [&](std::string_view name) {
    for (std::size_t at = 0; at < score_infos().size(); ++at) {
      const ScoreInfo& info = score_infos()[at];
      if (is_named(info, name) && has_score(shape, info) &&
          std::ranges::find(columns, at) == columns.end())
        columns.push_back(at);
    }
  };
  for (const HeadFilter::Term& term : filter.terms) add(term.name);
  for (const char* name : usual)
    if (columns.size() < kMostColumns) add(name);
  return columns;
}

void add_late(const Session& session, const LoadedModel& model, const Ranking& ranking,
              std::vector<HeadScores>& heads, ProgressLine& progress) {
  std::set<ScoreFrom> wanted;
  for (const std::size_t column : ranking.columns) wanted.insert(score_infos()[column].from);
  wanted.erase(ScoreFrom::kText);
  if (wanted.empty()) return;
  LateScores late(session, &model);
  Cancel never;
  progress.begin("what the heads do: heads", std::ssize(heads));
  for (HeadScores& head : heads) {
    for (const ScoreFrom from : wanted) {
      const std::vector<double> values = late.values(head.place, from, never);
      for (std::size_t at = 0; at < values.size(); ++at)
        if (!std::isnan(values[at])) head.values[at] = head.adjusted[at] = values[at];
    }
    progress.advance();
  }
}

std::string written(const ScoreInfo& info, double value) {
  if (std::isnan(value)) return "-";
  if (info.unit == ScoreUnit::kShare) return hundredths(value);
  return fmt::format("{:.{}f}", value, info.unit == ScoreUnit::kTokens ? 1 : 4);
}

double value_of(const HeadScores& head, std::size_t score) {
  return std::isnan(head.values[score]) ? -INFINITY : head.values[score];
}

// The filter has a threshold of its own for this score.
bool filters(const HeadFilter& filter, const ScoreInfo& info) {
  return std::ranges::any_of(
      filter.terms, [&](const HeadFilter::Term& term) { return is_named(info, term.name); });
}

std::string threshold_line(const Terminal& terminal, const Ranking& ranking, std::size_t reached) {
  const std::size_t score = ranking.columns.front();
  const ScoreInfo& info = score_infos()[score];
  std::string text = fmt::format("threshold {}, reached by {}{}", hundredths(info.threshold),
                                 reached == 0 ? "none" : std::to_string(reached),
                                 ranking.filter.terms.empty() ? "" : " of these");
  if (reached < ranking.heads.size()) {
    const HeadScores& next = ranking.heads[reached];
    text += fmt::format("; the next is {} {}", head_name(next.place.layer, next.place.head),
                        written(info, next.values[score]));
  }
  return Line(terminal).to(1).put(text, Style::kDim).str();
}

std::string row(const Terminal& terminal, const Ranking& ranking, const HeadScores& head,
                double longest) {
  Line line(terminal);
  line.right(kNameEnd, head_name(head.place.layer, head.place.head));
  int end = kNameEnd + kPitch;
  for (const std::size_t score : ranking.columns) {
    const double value = head.values[score];
    const bool ranks = score == ranking.columns.front();
    line.right(end, written(score_infos()[score], value), ranks ? Style::kBold : Style::kPlain);
    if (ranks) {
      line.put(" ").put(bar(terminal, std::isnan(value) ? 0 : std::abs(value) / longest, kBarCells),
                        Style::kBar);
      end += kBarCells + 1;
    }
    end += kPitch;
  }
  return line.str();
}

std::vector<HeadScores> nearest_of(const HeadFilter& filter, std::vector<HeadScores> heads) {
  std::ranges::stable_sort(heads, {}, [&](const HeadScores& h) { return filter.distance(h); });
  heads.resize(std::min(heads.size(), kNearest));
  return heads;
}

std::string names(const Terminal& terminal, const Ranking& ranking) {
  Line line(terminal);
  line.right(kNameEnd, "head", Style::kDim);
  int end = kNameEnd + kPitch;
  for (const std::size_t score : ranking.columns) {
    line.right(end, score_infos()[score].short_name, Style::kDim);
    end += kPitch + (score == ranking.columns.front() ? kBarCells + 1 : 0);
  }
  return line.str();
}

// The short names of the columns after the first, which the heading explains.
std::string legend(const Terminal& terminal, const Ranking& ranking) {
  std::string text;
  for (const std::size_t score : std::span(ranking.columns).subspan(1)) {
    const ScoreInfo& info = score_infos()[score];
    text += fmt::format("{}{}: {}", text.empty() ? "" : "; ", info.short_name, info.about);
  }
  return text.empty() ? text : paragraph(terminal, text, 1);
}

// The value that fills a bar.
double longest_of(const ScoreInfo& info, std::span<const HeadScores> heads, std::size_t score) {
  double longest = info.unit == ScoreUnit::kShare ? 1 : 1e-9;
  for (const HeadScores& head : heads)
    if (!std::isnan(head.values[score])) longest = std::max(longest, std::abs(head.values[score]));
  return longest;
}

std::string nearest_text(const Terminal& terminal, const Ranking& ranking) {
  if (ranking.nearest.empty()) return {};
  const std::size_t first = ranking.columns.front();
  const double longest = longest_of(score_infos()[first], ranking.nearest, first);
  std::string text = paragraph(terminal, "the nearest heads", 1) + names(terminal, ranking);
  for (const HeadScores& head : ranking.nearest) text += row(terminal, ranking, head, longest);
  return text + legend(terminal, ranking);
}

}  // namespace

std::string filter_forms() {
  return "terms such as \"sink>0.4\", \"layer 2\" and \"head 0-3\", or all";
}

HeadFilter ranking_filter(const std::string& text, const std::string& model,
                          const StackShape& shape) {
  const std::string op = fmt::format("--heads \"{}\"", clipped(text));
  std::vector<std::string_view> names;
  for (const ScoreInfo& info : score_infos())
    if (has_score(shape, info)) names.push_back(info.name);
  const HeadFilter filter = reworded([&] { return parse_head_filter(text == "all" ? "" : text); },
                                     [&](ErrorParts& parts) {
                                       parts.op = op;
                                       parts.hint =
                                           fmt::format("{}; scores of {}: {}", filter_forms(),
                                                       model, joined(names, ", "));
                                     });
  reworded([&] { check_head_filter(filter, names); }, [&](ErrorParts& parts) { parts.op = op; });
  for (const HeadFilter::Term& term : filter.terms) {
    if (term.name == "layer") check_layer(op, model, shape, std::llround(term.first));
    if (term.name == "head") check_head(op, model, shape, std::llround(term.first));
  }
  return filter;
}

Ranking rank_heads(const Session& session, const LoadedModel& model, Stack stack,
                   const HeadFilter& filter, ProgressLine& progress) {
  const StackShape& shape = session.at(stack).shape;
  Ranking ranking{.filter = filter, .columns = columns_of(filter, shape), .heads = {}};
  progress.begin("the heads: layers", shape.layers);
  std::vector<HeadScores> heads;
  for (int layer = 0; layer < shape.layers; ++layer) {
    progress.advance();
    if (!session.keeps(shape, layer)) continue;
    std::ranges::move(score_heads(session, stack, layer), std::back_inserter(heads));
  }
  ranking.of = heads.size();
  add_late(session, model, ranking, heads, progress);
  std::ranges::copy_if(heads, std::back_inserter(ranking.heads),
                       [&](const HeadScores& head) { return filter.holds(head); });
  const std::size_t first = ranking.columns.front();
  std::ranges::stable_sort(ranking.heads, std::greater(),
                           [&](const HeadScores& head) { return value_of(head, first); });
  if (ranking.heads.empty()) ranking.nearest = nearest_of(filter, std::move(heads));
  return ranking;
}

std::string ranking_text(const Terminal& terminal, const Ranking& ranking) {
  const std::size_t first = ranking.columns.front();
  const ScoreInfo& info = score_infos()[first];
  const std::string passed = fmt::format("{} of {}", ranking.heads.size(), ranking.of);
  const std::string which = ranking.filter.terms.empty()
                                ? passed
                                : fmt::format("{} pass {}", passed, ranking.filter.text);
  std::string text =
      heading(terminal, "Heads", fmt::format("{}; by {}: {}", which, info.name, info.about));
  if (ranking.heads.empty()) return text + nearest_text(terminal, ranking);
  text += names(terminal, ranking);
  const double longest = longest_of(info, ranking.heads, first);
  const auto reached =
      static_cast<std::size_t>(std::ranges::count_if(ranking.heads, [&](const HeadScores& head) {
        return value_of(head, first) >= info.threshold;
      }));
  const bool has_threshold = info.threshold > 0 && !filters(ranking.filter, info);
  for (std::size_t at = 0; at < ranking.heads.size(); ++at) {
    if (has_threshold && at == reached) text += threshold_line(terminal, ranking, reached);
    text += row(terminal, ranking, ranking.heads[at], longest);
  }
  if (has_threshold && reached == ranking.heads.size())
    text += threshold_line(terminal, ranking, reached);
  return text + legend(terminal, ranking);
}

namespace {

struct RankedHeadsAnswer {
  const Ranking& ranking;
  bool causal = false;
  void describe(auto& field) const {
    field("filter", ranking.filter.text);
    field("by", std::string(score_infos()[ranking.columns.front()].name));
    field("of", static_cast<std::int64_t>(ranking.of));
    field.list("heads", ranking.heads,
               [&](const HeadScores& head) { return LookHeadAnswer{head, causal}; });
    field.list("nearest", ranking.nearest,
               [&](const HeadScores& head) { return LookHeadAnswer{head, causal}; });
  }
};

}  // namespace

std::string ranking_json(const Ranking& ranking, bool causal) {
  AnswerWriter writer(JsonLayout::kLines);
  writer.write(RankedHeadsAnswer{ranking, causal});
  return writer.text();
}

}  // namespace heed::cli
