#include "cli/options/arguments.h"

#include <algorithm>
#include <sstream>
#include <string_view>
#include <utility>

#include "base/edit_distance.h"
#include "heed/base/error.h"

namespace heed::cli {
namespace {

// The option that CLI11's message names.
const CLI::Option* named_in(const CLI::App& app, std::string message) {
  constexpr std::string_view kBefore = "Could not convert: ";
  if (message.starts_with(kBefore)) message.erase(0, kBefore.size());
  const std::string name = message.substr(0, message.find_first_of(": "));
  for (const CLI::Option* option : app.get_options())
    if (option->get_name() == name) return option;
  return nullptr;
}

// CLI11's wording where heed has none of its own.
std::string translated(const CLI::App& app, const CLI::ParseError& error) {
  const std::string message = error.what();
  const CLI::Option* option = named_in(app, message);
  if (option == nullptr) return message;
  const std::string name = option->get_name();
  const std::string type = option->get_type_name();
  if (error.get_name() == "RequiredError") return fmt::format("{} is missing", name);
  if (error.get_name() == "RequiresError")
    return fmt::format("{} needs {} beside it", name, message.substr(message.rfind(' ') + 1));
  if (option->get_expected_max() == 0) return fmt::format("{}: found a value, expected none", name);
  if (error.get_name() != "ArgumentMismatch") return message;
  const bool more = message.find("At Most") != std::string::npos;
  if (option->get_expected_max() > 1)
    return fmt::format("{}: found too {} values, expected {}", name, more ? "many" : "few", type);
  return fmt::format("{}: found {}, expected {}", name, more ? "several values" : "no value", type);
}

// Empty where none is so near that it may be meant: a third of the letters may differ.
std::string nearest_option(const CLI::App& app, const std::string& found) {
  std::string nearest;
  std::size_t least = found.size() / 3 + 1;
  for (const CLI::Option* option : app.get_options()) {
    const std::string name = option->get_name();
    const std::size_t distance = edit_distance(name, found);
    if (!name.starts_with("-") || distance >= least) continue;
    nearest = name;
    least = distance;
  }
  return nearest;
}

// A value too many may be one of a list that was written with spaces.
std::string hint_of_lists(const CLI::App& app) {
  for (const CLI::Option* option : app.get_options())
    if (option->count() > 0 && option->get_delimiter() == ',' && !option->get_allow_extra_args())
      return fmt::format(" (the values of {} stand together, with commas)", option->get_name());
  return {};
}

void refuse_unknown(const CLI::App& app) {
  std::vector<std::string> left = app.remaining();
  const bool is_behind_mark = !left.empty() && left.front() == "--";
  std::erase(left, "--");
  if (left.empty()) return;
  const std::string& first = left.front();
  if (first.size() > 1 && first.starts_with("-")) {
    require(!is_behind_mark,
            "found \"{}\" after the last argument: what stands behind -- is text, expected options "
            "before it",
            first);
    const std::string name = first.substr(0, first.find('='));
    const std::string nearest = nearest_option(app, name);
    require(!nearest.empty(), "{} is no option, {} --help lists them", name, app.get_name());
    fail(ErrorCode::kInvalidArgument, "{} is no option, the nearest is {}", name, nearest);
  }
  fail(ErrorCode::kInvalidArgument,
       "found \"{}\" after the last argument, expected nothing there{}", first, hint_of_lists(app));
}

void refuse_empty(const CLI::App& app) {
  for (const CLI::Option* option : app.get_options()) {
    const std::string type = option->get_type_name();
    if (type == "TEXT" || option->get_expected_max() == 0) continue;
    const auto& values = option->results();
    require(std::ranges::find(values, "") == values.end(), "{}: found \"\", expected {}",
            option->get_name(), type);
  }
}

bool has_gap(const std::string& list) {
  return list.starts_with(',') || list.ends_with(',') || list.find(",,") != std::string::npos;
}

// CLI11 drops what is empty between two commas.
void refuse_gaps(const CLI::App& app, const std::vector<std::string>& arguments) {
  for (std::size_t n = 0; n < arguments.size(); ++n) {
    const std::size_t equals = arguments[n].find('=');
    const std::string name = arguments[n].substr(0, equals);
    const CLI::Option* option = name.starts_with('-') ? app.get_option_no_throw(name) : nullptr;
    if (option == nullptr || option->get_delimiter() != ',') continue;
    const bool joined = equals != std::string::npos;
    if (!joined && n + 1 == arguments.size()) continue;
    const std::string value = joined ? arguments[n].substr(equals + 1) : arguments[n + 1];
    require(!has_gap(value), "{}: found \"{}\", expected {}", name, value, option->get_type_name());
  }
}

}  // namespace

void read_arguments(CLI::App& app, std::vector<std::string> arguments) {
  app.allow_extras();
  refuse_gaps(app, arguments);
  std::ranges::reverse(arguments);  // CLI11 takes them from the back
  try {
    app.parse(std::move(arguments));
  } catch (const CLI::CallForHelp&) {
    throw;
  } catch (const CLI::ParseError& error) {
    fail(ErrorCode::kInvalidArgument, "{}", translated(app, error));
  }
  refuse_unknown(app);
  refuse_empty(app);
}

void require_beside(const CLI::App& app, const std::string& option, bool has_effect,
                    std::string_view needed) {
  require(has_effect || app.get_option(option)->count() == 0, "{} needs {} beside it", option,
          needed);
}

std::string wrapped_help(const std::string& help) {
  constexpr std::size_t kWidth = 100;
  constexpr std::size_t kIndent = 30;  // CLI11's column of descriptions
  std::string text;
  std::istringstream lines(help);
  for (std::string line; std::getline(lines, line);) {
    const bool is_option = line.starts_with("  ") && !line.starts_with("  heed ");
    while (is_option && line.size() > kWidth) {
      const std::size_t space = line.rfind(' ', kWidth);
      if (space == std::string::npos || space <= kIndent) break;
      text += line.substr(0, space) + "\n";
      line = std::string(kIndent, ' ') + line.substr(space + 1);
    }
    text += line + "\n";
  }
  return text;
}

CLI::Validator one_of(std::initializer_list<const char*> words) {
  const std::vector<std::string> known(words.begin(), words.end());
  const std::string help = fmt::format("{{{}}}", fmt::join(known, ","));
  return {[known](const std::string& text) -> std::string {
            if (std::ranges::find(known, text) != known.end()) return {};
            return fmt::format("found \"{}\", expected {}{}", text,
                               known.size() > 1 ? "one of " : "", fmt::join(known, ", "));
          },
          help};
}

}  // namespace heed::cli
