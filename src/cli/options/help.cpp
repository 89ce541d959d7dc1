#include "cli/options/help.h"

#include <fmt/format.h>

namespace heed::cli {
namespace {

constexpr std::size_t kWidth = 100;
constexpr std::size_t kIndent = 30;  // of descriptions

// `text` behind the name, its lines below each other.
std::string entry(const std::string& name, const std::string& text) {
  std::string line = fmt::format("  {:<{}}", name, kIndent - 2);
  std::string lines;
  if (name.size() + 2 >= kIndent) {
    lines = line + "\n";
    line = std::string(kIndent, ' ');
  }
  line += text;
  while (line.size() > kWidth) {
    const std::size_t space = line.rfind(' ', kWidth);
    if (space == std::string::npos || space <= kIndent) break;
    lines += line.substr(0, space) + "\n";
    line = std::string(kIndent, ' ') + line.substr(space + 1);
  }
  return lines + line + "\n";
}

std::string entry(const Option& option) {
  std::string name = option.name;
  const std::string type = option.type_name();
  if (!type.empty() && type != name) name += " " + type;
  if (option.list == List::kInARow && option.takes_several()) name += " ...";
  std::string text = option.help;
  if (!option.needs.empty()) text = fmt::format("with {}: {}", option.needs, text);
  if (option.required && !option.is_positional()) text += " (required)";
  const std::string value = option.shows_default ? default_of(option) : "";
  if (!value.empty()) text += fmt::format(" (default: {})", value);
  return entry(name, text);
}

}  // namespace

std::string help_of(const Command& command, const OptionList& options) {
  std::string usage = fmt::format("heed {} [OPTIONS]", command.name);
  std::string places;
  std::string others = entry("-h,--help", "print this help");
  for (const Option& option : options) {
    (option.is_positional() ? places : others) += entry(option);
    if (option.is_positional())
      usage += option.required ? " " + option.name : fmt::format(" [{}]", option.name);
  }
  if (!places.empty()) places = "Arguments:\n" + places + "\n";
  return fmt::format("{}\nUsage: {}\n\n{}Options:\n{}\nExamples:\n{}\n", command.summary, usage,
                     places, others, command.example);
}

}  // namespace heed::cli
