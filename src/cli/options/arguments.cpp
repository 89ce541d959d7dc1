// The one file that includes CLI11: converts options to CLI11's, and CLI11's errors to heed's.
#include "cli/options/arguments.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <functional>
#include <utility>

#include "base/wording.h"
#include "cli/terminal/output.h"

namespace heed::cli {
namespace {

bool is_flag(const Option& option) { return std::holds_alternative<bool*>(option.to); }

// The error for an option that has no effect.
ErrorParts without_effect(std::string_view name, std::string_view needed) {
  return {.found = fmt::format("{} needs {}", name, needed)};
}

// The option named in CLI11's message: "--layer: ...", "Could not convert: --json = x".
const Option* named_in(const OptionList& options, std::string_view message) {
  constexpr std::string_view kConverting = "Could not convert: ";
  if (message.starts_with(kConverting)) message.remove_prefix(kConverting.size());
  const std::string_view name = message.substr(0, message.find_first_of(": "));
  const auto found = std::ranges::find(options, name, &Option::long_name);
  return found == options.end() ? nullptr : &*found;
}

// CLI11's error in heed's words, or in CLI11's if heed has none.
ErrorParts translated(const OptionList& options, const CLI::ParseError& error) {
  const std::string message = error.what();
  const std::string kind = error.get_name();
  const Option* option = named_in(options, message);
  if (option == nullptr) return {.found = message};
  const std::string name = option->long_name();
  if (kind == "RequiredError") {
    std::string names = option->name;  // -o/--output
    std::ranges::replace(names, ',', '/');
    return {.argument = names, .found = "missing", .expected = option->expected()};
  }
  if (kind == "RequiresError") return without_effect(name, option->needs);
  if (is_flag(*option)) return {.argument = name, .found = "given a value", .expected = "none"};
  if (kind != "ArgumentMismatch") return {.found = message};
  const bool more = message.find("At Most") != std::string::npos;
  const char* const found = option->takes_several()
                                ? more ? "given too many values" : "given too few values"
                            : more ? "given several values"
                                   : "given no value";
  return {.argument = name, .found = found, .expected = option->expected()};
}

// The probable intended option: its name in other programs, a unique prefix, or at most a third of
// the letters differ. Empty if there is none.
std::string nearest_option(const OptionList& options, const std::string& found) {
  std::string key = found.substr(std::min(found.size(), found.find_first_not_of('-')));
  std::ranges::replace(key, '-', '_');
  for (const Option& option : options)
    if (std::ranges::find(option.elsewhere, key) != option.elsewhere.end())
      return option.long_name();
  const auto begins = [&](const Option& option) { return option.long_name().starts_with(found); };
  if (found.size() > 3 && std::ranges::count_if(options, begins) == 1)
    return std::ranges::find_if(options, begins)->long_name();
  std::string nearest;
  std::size_t least = found.size() / 3 + 1;
  for (const Option& option : options) {
    const std::string name = option.long_name();
    const std::size_t distance = edit_distance(name, found);
    if (option.is_positional() || distance >= least) continue;
    nearest = name;
    least = distance;
  }
  return nearest;
}

bool is_list_by_commas(const Option& option) {
  return option.takes_several() && option.list == List::kByCommas;
}

bool has_fixed_count(const Option& option) {
  return option.count.least > 1 && option.count.least == option.count.most;
}

// An extra value may come from a list written with spaces.
std::string hint_of_more(const OptionList& options, const Given& given) {
  for (const Option& option : options)
    if (given.has(option.long_name()) && is_list_by_commas(option) && !has_fixed_count(option))
      return fmt::format("separate the values of {} by commas, without spaces", option.long_name());
  const auto is_text = [](const Option& option) {
    return option.name == "TEXT" || option.name == "PROMPT";
  };
  if (std::ranges::any_of(options, is_text)) return "put quotes around a text of several words";
  if (std::ranges::any_of(options, &Option::is_positional)) return {};
  return std::ranges::find(options, "--text", &Option::long_name) != options.end()
             ? "give a text with --text"
             : "this command takes only options";
}

void refuse_unknown(const CLI::App& app, const OptionList& options, const Given& given) {
  std::vector<std::string> left = app.remaining();
  const bool is_behind_mark = !left.empty() && left.front() == "--";
  std::erase(left, "--");
  if (left.empty()) return;
  const std::string& first = left.front();
  if (first.size() > 1 && first.starts_with("-")) {
    if (is_behind_mark)
      fail({.found = fmt::format("unexpected argument \"{}\"", first),
            .hint = "options go before --, which only text follows"});
    const std::string name = first.substr(0, first.find('='));
    const std::string nearest = nearest_option(options, name);
    fail({.found = fmt::format("unknown option {}", name),
          .hint = nearest.empty() ? fmt::format("{} --help lists them", app.get_name())
                                  : fmt::format("the nearest is {}", nearest)});
  }
  fail({.found = fmt::format("unexpected argument \"{}\"", first),
        .hint = hint_of_more(options, given)});
}

// Values of such options contain neither a point nor a slash: an argument with one is a file.
bool could_be_word(const std::string& text) {
  return !text.empty() && !text.starts_with('-') && text.find_first_of("./") == std::string::npos;
}

// Replaces each option given without a value by its meaning. Returns the options that take a value.
std::vector<const Option*> write_out(const OptionList& options,
                                     std::vector<std::string>& arguments) {
  std::vector<const Option*> without_value;
  for (std::size_t n = 0; n < arguments.size() && arguments[n] != "--"; ++n) {
    const auto option = std::ranges::find(options, arguments[n], &Option::long_name);
    if (option == options.end() || option->means.empty()) continue;
    const bool has_value =
        !is_flag(*option) && n + 1 < arguments.size() && could_be_word(arguments[n + 1]);
    if (has_value) continue;
    arguments[n] = option->means;
    if (!is_flag(*option)) without_value.push_back(&*option);
  }
  return without_value;
}

// --json means --format=json and contradicts --format tsv, in either order.
void refuse_contradictions(const OptionList& options, const std::vector<std::string>& arguments) {
  for (const Option& flag : options) {
    if (!is_flag(flag) || flag.means.empty()) continue;
    const std::size_t equals = flag.means.find('=');
    const std::string name = flag.means.substr(0, equals);
    const std::string meant = flag.means.substr(equals + 1);
    const auto end = std::ranges::find(arguments, "--");
    if (std::find(arguments.begin(), end, flag.long_name()) == end) continue;
    for (auto at = arguments.begin(); at != end; ++at) {
      const bool joined = at->starts_with(name + "=");
      if (!joined && (*at != name || at + 1 == end)) continue;
      const std::string value = joined ? at->substr(name.size() + 1) : *(at + 1);
      if (value != meant)
        fail({.found =
                  fmt::format("{} and {} {} contradict each other", flag.long_name(), name, value),
              .expected = "one of them"});
    }
  }
}

bool has_gap(const std::string& list) {
  return list.starts_with(',') || list.ends_with(',') || list.find(",,") != std::string::npos;
}

// CLI11 would read -hi as -h and more.
void refuse_joined_help(const std::vector<std::string>& arguments) {
  for (const std::string& argument : arguments) {
    if (argument == "--") return;
    if (argument.starts_with("-h") && argument.size() > 2)
      fail({.found = fmt::format("unknown option {}", argument),
            .hint = "put -- before a text that begins with a hyphen"});
  }
}

// CLI11 drops empty items between commas.
void refuse_gaps(const OptionList& options, const std::vector<std::string>& arguments) {
  for (std::size_t n = 0; n < arguments.size(); ++n) {
    const std::size_t equals = arguments[n].find('=');
    const std::string name = arguments[n].substr(0, equals);
    const auto option = std::ranges::find(options, name, &Option::long_name);
    if (option == options.end() || option->is_positional() || !is_list_by_commas(*option)) continue;
    const bool joined = equals != std::string::npos;
    if (!joined && n + 1 == arguments.size()) continue;
    const std::string value = joined ? arguments[n].substr(equals + 1) : arguments[n + 1];
    if (has_gap(value)) refuse(*option, value, option->expected());
  }
}

void refuse_empty(const Option& option, const std::vector<std::string>& values) {
  if (option.type_name() != "TEXT" && std::ranges::find(values, "") != values.end())
    refuse(option, "", option.expected());
}

void declare_list(CLI::Option& declared, const Option& option) {
  declared.expected(CLI::detail::expected_max_vector_size);
  if (option.list == List::kByCommas) declared.delimiter(',');
  if (option.count.most > 0) declared.expected(option.count.least, option.count.most);
  declared.allow_extra_args(option.list == List::kInARow || has_fixed_count(option));
}

// CLI11 finds and counts the values; heed parses them.
CLI::Option* declare(CLI::App& app, const Option& option, std::function<void()> mark) {
  if (const auto* flag = std::get_if<bool*>(&option.to))
    return app.add_flag(option.name, **flag, option.help);
  const auto read = [&option, mark = std::move(mark)](const CLI::results_t& values) {
    mark();
    read_values(option, values);
    return true;
  };
  CLI::Option* const declared = app.add_option(option.name, read);
  if (option.takes_several())
    declare_list(*declared, option);
  else if (!option.is_positional())  // given twice: the last one counts
    declared->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  declared->required(option.required);
  if (!option.needs.empty()) declared->needs(app.get_option(option.needs));
  return declared;
}

}  // namespace

Given::Given(const OptionList& options) {
  for (const Option& option : options) entries_.push_back({option.long_name(), false});
}

bool Given::has(std::string_view name) const {
  const auto entry = std::ranges::find(entries_, name, &Entry::name);
  return entry != entries_.end() && entry->given;
}

bool Given::knows(std::string_view name) const {
  return std::ranges::find(entries_, name, &Entry::name) != entries_.end();
}

void Given::require_beside(std::initializer_list<std::string_view> names, bool has_effect,
                           std::string_view needed) const {
  for (const std::string_view name : names)
    if (has(name) && !has_effect) fail(without_effect(name, needed));
}

void Given::refuse_beside(std::initializer_list<std::string_view> names,
                          std::string_view other) const {
  for (const std::string_view name : names)
    if (has(name)) fail({.found = fmt::format("{} cannot be used with {}", name, other)});
}

bool read_arguments(const std::string& command, const OptionList& options,
                    std::vector<std::string> arguments, Given& given) {
  CLI::App app("", command);
  app.allow_extras();
  std::vector<const CLI::Option*> declared;
  for (std::size_t n = 0; n < options.size(); ++n)
    declared.push_back(declare(app, options[n], [&given, n] { given.mark(n); }));
  refuse_contradictions(options, arguments);
  const std::vector<const Option*> without_value = write_out(options, arguments);
  refuse_gaps(options, arguments);
  refuse_joined_help(arguments);
  std::ranges::reverse(arguments);  // CLI11 takes them from the end
  try {
    app.parse(std::move(arguments));
  } catch (const CLI::CallForHelp&) {
    return false;
  } catch (const CLI::ParseError& error) {
    fail(translated(options, error));
  }
  for (std::size_t n = 0; n < options.size(); ++n)
    if (declared[n]->count() > 0) given.mark(n);
  refuse_unknown(app, options, given);
  for (std::size_t n = 0; n < options.size(); ++n)
    if (!is_flag(options[n])) refuse_empty(options[n], declared[n]->results());
  for (const Option* option : without_value)
    tell("{}: {} means {}\n", command, option->long_name(), option->means);
  return true;
}

}  // namespace heed::cli
