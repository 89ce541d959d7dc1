// filter := (term (blank term)*)?    term := score (">=" | "<=" | ">" | "<") number
//                                           | ("layer" | "head") whole ("-" whole)?
// Spaces are allowed between all tokens. web/src/heads/head_filter.ts implements the same grammar;
// tests/vectors/filters.json checks both.

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>

#include "base/wording.h"
#include "heed/error.h"
#include "heed/look.h"

namespace heed {
namespace {

using FilterTerm = HeadFilter::Term;

constexpr std::size_t kMostShown = 20;   // bytes of the offending text
constexpr std::size_t kMostDigits = 18;  // digits of a number
constexpr std::size_t kWholeDigits = 4;  // digits of a layer or head
constexpr const char* kDigits = "0123456789";
constexpr const char* kLetters = "abcdefghijklmnopqrstuvwxyz_";

[[noreturn]] void refuse(std::string_view text, std::size_t at, const std::string& expected,
                         std::string_view nearest = "") {
  const auto is_first = [](char byte) {
    return (static_cast<unsigned char>(byte) & 0xC0U) != 0x80U;
  };
  const auto place = std::ranges::count_if(text.substr(0, at), is_first) + 1;
  const std::string_view rest = text.substr(at);
  const std::string found =
      rest.empty() ? "the end" : fmt::format("\"{}\"", clipped(rest, kMostShown));
  fail({.op = "filter",
        .found = fmt::format("{} at character {}", found, place),
        .expected = expected,
        .hint = nearest.empty() ? "" : fmt::format("the nearest is {}", nearest)});
}

bool is_range(std::string_view name) { return name == "layer" || name == "head"; }

class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  std::vector<FilterTerm> terms() {
    std::vector<FilterTerm> terms;
    for (skip_blanks(); at_ < text_.size(); skip_blanks()) {
      if (!terms.empty() && text_[at_ - 1] != ' ') refuse(text_, at_, "a blank");
      terms.push_back(term());
    }
    return terms;
  }

 private:
  void skip_blanks() { take(" "); }

  // Takes as many of these characters as follow, at most `most`.
  std::string_view take(const char* of, std::size_t most = std::string_view::npos) {
    const std::size_t end = std::min(text_.find_first_not_of(of, at_), text_.size());
    const std::string_view taken = text_.substr(at_, std::min(end - at_, most));
    at_ += taken.size();
    return taken;
  }

  bool took(std::string_view what) {
    const bool is_there = text_.substr(at_).starts_with(what);
    if (is_there) at_ += what.size();
    return is_there;
  }

  FilterTerm term() {
    const std::size_t begin = at_;
    FilterTerm term{.name = std::string(take(kLetters)), .test = FilterTerm::Test::kWithin};
    term.at = static_cast<std::int64_t>(begin);
    if (term.name.empty()) refuse(text_, begin, "a score, layer or head");
    skip_blanks();
    if (is_range(term.name)) {
      read_range(term);
    } else {
      term.test = test();
      skip_blanks();
      term.first = number();
    }
    return term;
  }

  FilterTerm::Test test() {
    if (took(">=")) return FilterTerm::Test::kAtLeast;
    if (took("<=")) return FilterTerm::Test::kAtMost;
    if (took(">")) return FilterTerm::Test::kAbove;
    if (took("<")) return FilterTerm::Test::kBelow;
    refuse(text_, at_, ">, >=, < or <=");
  }

  // -12, 0.4, .4
  double number() {
    const std::size_t begin = at_;
    took("-");
    const std::size_t whole = take(kDigits, kMostDigits).size();
    const std::size_t part = took(".") ? take(kDigits, kMostDigits).size() : 0;
    if (whole + part == 0) refuse(text_, begin, "a number");
    double value = 0;
    std::from_chars(text_.data() + begin, text_.data() + at_, value);
    return value;
  }

  double whole() {
    const std::string_view digits = take(kDigits, kWholeDigits);
    if (digits.empty()) refuse(text_, at_, "a whole number");
    int value = 0;
    std::from_chars(digits.data(), digits.data() + digits.size(), value);
    return value;
  }

  void read_range(FilterTerm& term) {
    term.first = term.last = whole();
    const std::size_t end = at_;
    skip_blanks();
    if (!took("-")) {
      at_ = end;
      return;
    }
    skip_blanks();
    const std::size_t last = at_;
    term.last = whole();
    if (term.last < term.first) refuse(text_, last, fmt::format("{} or more", term.first));
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

// The index of a score by its name or short name.
std::optional<std::size_t> find_score(std::string_view name) {
  for (std::size_t at = 0; at < score_infos().size(); ++at)
    if (score_infos()[at].name == name || score_infos()[at].short_name == name) return at;
  return {};
}

double value_of(const HeadScores& head, const std::string& name) {
  if (name == "layer") return head.place.layer;
  if (name == "head") return head.place.head;
  const std::optional<std::size_t> score = find_score(name);
  return score ? head.values.at(*score) : std::nan("");  // compares false with everything
}

bool holds(const FilterTerm& term, double value) {
  switch (term.test) {
    case FilterTerm::Test::kAbove:
      return value > term.first;
    case FilterTerm::Test::kAtLeast:
      return value >= term.first;
    case FilterTerm::Test::kBelow:
      return value < term.first;
    case FilterTerm::Test::kAtMost:
      return value <= term.first;
    case FilterTerm::Test::kWithin:
      return value >= term.first && value <= term.last;
  }
  return false;
}

}  // namespace

bool HeadFilter::holds(const HeadScores& head) const {
  return std::ranges::all_of(
      terms, [&](const FilterTerm& term) { return heed::holds(term, value_of(head, term.name)); });
}

double HeadFilter::distance(const HeadScores& head) const {
  double sum = 0;
  for (const FilterTerm& term : terms) {
    const double value = value_of(head, term.name);
    if (heed::holds(term, value)) continue;
    const bool is_beyond = term.test == FilterTerm::Test::kWithin && value > term.first;
    const double gap = std::abs(value - (is_beyond ? term.last : term.first));
    sum += std::isnan(gap) ? 1 : gap;  // an undefined score is at the largest distance of a share
  }
  return sum;
}

HeadFilter parse_head_filter(std::string_view text) {
  return {.terms = Reader(text).terms(), .text = std::string(text)};
}

void check_head_filter(const HeadFilter& filter, std::span<const std::string_view> scores) {
  for (const FilterTerm& term : filter.terms) {
    if (is_range(term.name)) continue;
    const auto score = find_score(term.name);
    const bool is_there =
        score && std::ranges::find(scores, score_infos()[*score].name) != scores.end();
    if (!is_there)
      refuse(filter.text, static_cast<std::size_t>(term.at),
             fmt::format("{}, layer or head", joined(scores, ", ")),
             nearest_name(scores, term.name));
  }
}

}  // namespace heed
