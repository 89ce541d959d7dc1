#include <fmt/format.h>

#include <charconv>
#include <cstdint>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "heed/error.h"
#include "text/pipeline/pattern.h"
#include "text/pipeline/regex_set.h"
#include "text/utf8.h"

namespace heed {
namespace {

// A program for a backtracking machine: jumps are relative to the step.
struct Step {
  enum class Op : std::uint8_t {
    kSet,        // one character of set `first`
    kEither,     // continues at `first`, or else at `second`
    kJump,       // to `first`
    kAhead,      // the next `first` steps match here, consuming nothing; second 1: they do not
    kAtomic,     // the next `first` steps match, without backtracking into them
    kLineBegin,  // ^
    kLineEnd,    // $
    kMatch
  } op = Op::kMatch;
  std::int32_t first = 0, second = 0;
};
using Op = Step::Op;

struct Program {
  std::vector<Step> steps = {};
  bool may_be_empty = true;
};

Program joined(Program a, const Program& b) {
  a.steps.insert(a.steps.end(), b.steps.begin(), b.steps.end());
  a.may_be_empty = a.may_be_empty && b.may_be_empty;
  return a;
}

std::int32_t size_of(const Program& program) {
  return static_cast<std::int32_t>(program.steps.size());
}

Program either(const Program& a, const Program& b) {
  Program both{.steps = {{Op::kEither, 1, size_of(a) + 2}},
               .may_be_empty = a.may_be_empty || b.may_be_empty};
  both.steps.insert(both.steps.end(), a.steps.begin(), a.steps.end());
  both.steps.push_back({Op::kJump, size_of(b) + 1});
  both.steps.insert(both.steps.end(), b.steps.begin(), b.steps.end());
  return both;
}

// The body between a step with its length and a last step.
Program enclosed(Op op, std::int32_t second, Program body, bool may_be_empty) {
  body.steps.insert(body.steps.begin(), {op, size_of(body) + 1, second});
  body.steps.push_back({Op::kMatch});
  body.may_be_empty = may_be_empty;
  return body;
}

Program optional(const Program& body, bool lazy) {
  const std::int32_t past = size_of(body) + 1;
  Program program{.steps = {{Op::kEither, lazy ? past : 1, lazy ? 1 : past}}};
  program = joined(std::move(program), body);
  program.may_be_empty = true;
  return program;
}

Program any_number(const Program& body, bool lazy) {
  Program program = optional(body, lazy);
  program.steps[0].first += lazy ? 1 : 0;  // the jump back is in between
  program.steps[0].second += lazy ? 0 : 1;
  program.steps.push_back({Op::kJump, -size_of(program)});
  return program;
}

// Recursive descent. Throws Unread if the expression is unsupported.
struct Unread {};

class PatternReader {
 public:
  explicit PatternReader(std::string_view regex) : regex_(regex) {}

  std::vector<RegexSet> sets;

  Program whole() {
    Program program = alternatives();
    if (at_ < regex_.size() || program.may_be_empty) throw Unread();
    program.steps.push_back({Op::kMatch});
    return program;
  }

 private:
  bool takes(std::string_view text) {
    if (!regex_.substr(at_).starts_with(text)) return false;
    at_ += text.size();
    return true;
  }
  bool at_end() const { return at_ >= regex_.size(); }
  char32_t next() {
    if (at_end()) throw Unread();
    const Character character = character_at(regex_, at_);
    at_ += character.bytes;
    return character.code;
  }

  Program alternatives() {
    if (++depth_ > kDeepest) throw Unread();
    Program program = sequence();
    while (takes("|")) program = either(program, sequence());
    --depth_;
    if (program.steps.size() > kMostSteps) throw Unread();
    return program;
  }

  Program sequence() {
    Program program;
    while (!at_end() && regex_[at_] != '|' && regex_[at_] != ')')
      program = joined(std::move(program), repeated(atom()));
    return program;
  }

  Program atom() {
    if (takes("(?i:")) return in_any_case();
    if (takes("(?:")) return closed(alternatives());
    if (takes("(?=")) return enclosed(Op::kAhead, 0, closed(alternatives()), true);
    if (takes("(?!")) return enclosed(Op::kAhead, 1, closed(alternatives()), true);
    if (takes("(?>")) {
      Program body = closed(alternatives());
      const bool may_be_empty = body.may_be_empty;
      return enclosed(Op::kAtomic, 0, std::move(body), may_be_empty);
    }
    if (takes("(?")) throw Unread();
    if (takes("(")) return closed(alternatives());
    if (takes("^")) return {.steps = {{Op::kLineBegin}}};
    if (takes("$")) return {.steps = {{Op::kLineEnd}}};
    RegexSet set;
    if (takes("["))
      set = bracket();
    else
      add_one(set);
    return one_of(std::move(set));
  }

  Program in_any_case() {
    const bool before = std::exchange(any_case_, true);
    Program program = closed(alternatives());
    any_case_ = before;
    return program;
  }

  Program closed(Program program) {
    if (!takes(")")) throw Unread();
    return program;
  }

  Program one_of(RegexSet set) {
    if (any_case_) set.ignore_case();
    set.close();
    sets.push_back(std::move(set));
    return {.steps = {{Op::kSet, static_cast<std::int32_t>(sets.size()) - 1}},
            .may_be_empty = false};
  }

  // One character outside brackets.
  void add_one(RegexSet& set) {
    if (takes(".")) {
      set.add_range('\n', '\n');
      return set.negate();
    }
    if (regex_[at_] == '\\') return add_escaped(set);
    const char32_t code = next();
    if (std::u32string_view(U"*+?{}]").find(code) != std::u32string_view::npos) throw Unread();
    set.add_range(code, code);
  }

  // `\s`, `\p{L}`; false for a single character, which is not consumed.
  bool add_class(RegexSet& set) {
    if (at_ + 1 >= regex_.size() || regex_[at_] != '\\') return false;
    const char letter = regex_[at_ + 1];
    if (letter == 'p' || letter == 'P') {
      at_ += 2;
      if (!takes("{")) throw Unread();
      const bool inside = takes("^");
      const std::size_t end = regex_.find('}', at_);
      if (end == std::string_view::npos) throw Unread();
      if (!set.add_category(regex_.substr(at_, end - at_), inside != (letter == 'P')))
        throw Unread();
      at_ = end + 1;
      return true;
    }
    const bool negated = letter >= 'A' && letter <= 'Z';
    if (!set.add_class(negated ? static_cast<char>(letter + 32) : letter, negated)) return false;
    at_ += 2;
    return true;
  }

  void add_escaped(RegexSet& set) {
    if (add_class(set)) return;
    const char32_t code = character();
    set.add_range(code, code);
  }

  // One character, escaped or not.
  char32_t character() {
    const char32_t code = next();
    if (code != '\\') return code;
    const char32_t escaped = next();
    constexpr std::pair<char32_t, char32_t> kNamed[] = {
        {'n', '\n'}, {'r', '\r'}, {'t', '\t'}, {'f', '\f'}, {'v', '\v'}};
    for (const auto& [name, meant] : kNamed)
      if (name == escaped) return meant;
    if (escaped == 'u') return hexadecimal(4);
    if (escaped == 'x') return takes("{") ? braced() : hexadecimal(2);
    const bool is_letter = (escaped >= 'a' && escaped <= 'z') || (escaped >= 'A' && escaped <= 'Z');
    if (is_letter || (escaped >= '0' && escaped <= '9')) throw Unread();
    return escaped;
  }

  char32_t hexadecimal(std::size_t digits) {
    const std::string_view text = regex_.substr(at_, digits);
    std::uint32_t code = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), code, 16);
    if (error != std::errc() || end != text.data() + digits || code > 0x10FFFF) throw Unread();
    at_ += digits;
    return code;
  }

  char32_t braced() {
    const std::size_t end = regex_.find('}', at_);
    if (end == std::string_view::npos || end == at_ || end - at_ > 6) throw Unread();
    const char32_t code = hexadecimal(end - at_);
    ++at_;
    return code;
  }

  // After the opening bracket.
  RegexSet bracket() {
    RegexSet set;
    if (++depth_ > kDeepest) throw Unread();
    if (takes("^")) set.negate();
    for (bool first = true; first || !takes("]"); first = false) {
      if (at_end() || regex_.substr(at_).starts_with("[:") ||
          regex_.substr(at_).starts_with("&&") || (first && regex_[at_] == ']'))
        throw Unread();
      if (takes("["))
        set.add_set(bracket());
      else if (!add_class(set))
        add_characters(set);
    }
    --depth_;
    return set;
  }

  void add_characters(RegexSet& set) {
    const char32_t first = character();
    const bool is_range =
        regex_.substr(at_).starts_with("-") && !regex_.substr(at_).starts_with("-]") && takes("-");
    if (is_range && (at_end() || regex_[at_] == '[')) throw Unread();
    RegexSet ignored;
    if (is_range && add_class(ignored)) throw Unread();
    const char32_t last = is_range ? character() : first;
    if (last < first) throw Unread();
    set.add_range(first, last);
  }

  struct Counts {
    std::int32_t least = 0;
    std::optional<std::int32_t> most = {};
  };

  std::optional<std::int32_t> number() {
    std::int32_t value = 0;
    const char* begin = regex_.data() + at_;
    const auto [end, error] = std::from_chars(begin, regex_.data() + regex_.size(), value);
    if (end == begin) return {};
    if (error != std::errc() || value < 0 || value > kMostRepeats) throw Unread();
    at_ += static_cast<std::size_t>(end - begin);
    return value;
  }

  Counts braces() {
    const std::optional<std::int32_t> least = number();
    std::optional<std::int32_t> most = least;
    if (takes(",")) most = number();
    if (!takes("}") || (!least && !most) || (most && *most < least.value_or(0))) throw Unread();
    return {least.value_or(0), most};
  }

  // Like Oniguruma: `{n,m}+` repeats the repetition, and only `{n}?` is optional instead of lazy.
  Program repeated(Program program) {
    for (;;) {
      Counts counts;
      const bool braced_counts = takes("{");
      if (braced_counts)
        counts = braces();
      else if (takes("?"))
        counts = {0, 1};
      else if (takes("+"))
        counts = {1, {}};
      else if (!takes("*"))
        return program;
      const bool exact = braced_counts && counts.most == counts.least;
      const bool lazy = !exact && takes("?");
      const bool possessive = !braced_counts && !lazy && takes("+");
      program = times(program, counts, lazy);
      const bool may_be_empty = program.may_be_empty;
      if (possessive) program = enclosed(Op::kAtomic, 0, std::move(program), may_be_empty);
    }
  }

  static Program times(const Program& body, const Counts& counts, bool lazy) {
    if (body.may_be_empty && !counts.most) throw Unread();  // it would never end
    Program program;
    for (std::int32_t i = 0; i < counts.least; ++i) program = joined(std::move(program), body);
    if (!counts.most) return joined(std::move(program), any_number(body, lazy));
    Program rest;
    for (std::int32_t i = counts.least; i < *counts.most; ++i)
      rest = optional(joined(body, rest), lazy);
    program = joined(std::move(program), rest);
    if (program.steps.size() > kMostSteps) throw Unread();
    return program;
  }

  static constexpr int kDeepest = 32;
  static constexpr std::size_t kMostSteps = 10000;
  static constexpr std::int32_t kMostRepeats = 1000;
  std::string_view regex_;
  std::size_t at_ = 0;
  int depth_ = 0;
  bool any_case_ = false;
};

constexpr std::size_t kNowhere = std::string_view::npos;

// A search in one text.
class Search {
 public:
  Search(const std::vector<Step>& steps, const std::vector<RegexSet>& sets, std::string_view text)
      : steps_(steps), sets_(sets), text_(text) {}

  // The end of the match from this step and character; kNowhere if there is none.
  std::size_t end_of(std::size_t step, std::size_t at) {
    const std::size_t floor = open_.size();
    for (;;) {
      if (++done_ > kMostSteps * (text_.size() + 1000)) fail_too_long();
      if (steps_[step].op == Op::kMatch) {
        open_.resize(floor);
        return at;
      }
      if (advance(step, at)) continue;
      if (open_.size() == floor) return kNowhere;
      std::tie(step, at) = open_.back();
      open_.pop_back();
    }
  }

 private:
  // Executes a step, which is not the last; false if it does not match.
  bool advance(std::size_t& step, std::size_t& at) {
    const Step& now = steps_[step];
    const auto moved = [&](std::int32_t by) {
      return static_cast<std::size_t>(static_cast<std::int64_t>(step) + by);
    };
    if (now.op == Op::kSet) {
      if (at >= text_.size()) return false;
      const Character character = character_at(text_, at);
      if (!sets_[static_cast<std::size_t>(now.first)].has(character.code)) return false;
      at += character.bytes;
    }
    if (now.op == Op::kEither) open_.emplace_back(moved(now.second), at);
    if (now.op == Op::kEither || now.op == Op::kJump) {
      step = moved(now.first);
      return true;
    }
    if (now.op == Op::kLineBegin && at > 0 && text_[at - 1] != '\n') return false;
    if (now.op == Op::kLineEnd && at < text_.size() && text_[at] != '\n') return false;
    ++step;
    if (now.op != Op::kAhead && now.op != Op::kAtomic) return true;
    const std::size_t end = end_of(step, at);
    if (now.op == Op::kAhead ? (end == kNowhere) != (now.second == 1) : end == kNowhere)
      return false;
    if (now.op == Op::kAtomic) at = end;
    step += static_cast<std::size_t>(now.first);
    return true;
  }

  [[noreturn]] static void fail_too_long() {
    fail("tokenizer", "a regular expression", "one that goes back too often in this text",
         fmt::format("at most {} steps per byte", kMostSteps));
  }

  static constexpr std::size_t kMostSteps = 1000;
  const std::vector<Step>& steps_;
  const std::vector<RegexSet>& sets_;
  std::string_view text_;
  std::vector<std::pair<std::size_t, std::size_t>> open_;  // backtracking points
  std::size_t done_ = 0;
};

std::vector<PatternMatch> matches(Search search, std::string_view text) {
  std::vector<PatternMatch> found;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = search.end_of(0, begin);
    const bool is_match = end != kNowhere && end > begin;
    if (is_match) found.push_back({begin, end});
    begin = is_match ? end : begin + character_at(text, begin).bytes;
  }
  return found;
}

}  // namespace

Pattern read_regex(std::string_view regex) {
  try {
    PatternReader reader(regex);
    const std::vector<Step> steps = reader.whole().steps;
    return [steps, sets = std::move(reader.sets)](std::string_view text) {
      return matches(Search(steps, sets, text), text);
    };
  } catch (const Unread&) {
    return {};
  }
}

}  // namespace heed
