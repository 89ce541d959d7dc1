#include "cli/options/option_names.h"

#include <algorithm>
#include <string_view>

namespace heed::cli {
namespace {

struct Alias {
  std::string_view argument;  // as the library calls it, without what it is a field of
  const char* option;
  const char* words;  // that replace the argument
};

constexpr Alias kAliases[] = {
    {"rate", "--dropout", "--dropout"},
    {"left", "--window", "--window: left"},
    {"right", "--window", "--window: right"},
    {"token", "--ids", "--ids: token"},
    {"text", "--file", "--file"},
    {"text", "TEXT", "TEXT"},
    {"text", "PROMPT", "PROMPT"},
    {"query_length", "--query-lengths", "--query-lengths"},
    {"key_length", "--key-lengths", "--key-lengths"},
    {"query_starts", "--packed-q", "--packed-q"},
    {"key_starts", "--packed-k", "--packed-k"},
    {"q", "Q", "Q"},
    {"k", "K", "K"},
    {"v", "V", "V"},
    {"dout", "--grad", "--grad"},
    {"entropy", "--observe", "--observe entropy"},
    {"top_k", "--observe", "--observe topk"},
    {"rows", "--observe", "--observe row"},
    {"columns", "--observe", "--observe column"},
    {"offset_profile", "--observe", "--observe offset_profile"},
    {"heatmap", "--observe", "--observe heatmap"},
    {"value_norm", "--observe", "--observe value_norm"},
};

// What stands for the argument; empty where no option gave it, or, of one that is missing, could.
std::string words_for(const Given& given, std::string_view argument, bool missing) {
  const auto has = [&](const std::string& name) {
    return missing ? given.knows(name) : given.has(name);
  };
  for (;;) {  // scores.softcap is --softcap, mask.edges.columns --edges
    const std::size_t dot = argument.rfind('.');
    const std::string_view part = argument.substr(dot + 1);
    for (const Alias& alias : kAliases)
      if (alias.argument == part && has(alias.option)) return alias.words;
    std::string name = "--" + std::string(part);
    std::ranges::replace(name, '_', '-');
    if (has(name)) return name;
    if (dot == std::string_view::npos) return "";
    argument = argument.substr(0, dot);
  }
}

std::size_t name_length(std::string_view text) {
  constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyz0123456789_.";
  return std::min(text.find_first_not_of(kLetters), text.size());
}

// "top_p is 2", "dout.shape[2] is 5": the name at the place and what follows it.
bool replace_name(const Given& given, std::string& message, std::size_t at) {
  const std::string_view rest = std::string_view(message).substr(at);
  const std::size_t length = name_length(rest);
  std::string_view after = rest.substr(length);
  const std::string index(after.starts_with('[') ? after.substr(0, after.find(']') + 1) : "");
  after.remove_prefix(index.size());
  if (length == 0 || !(after.starts_with(' ') || after.starts_with(": "))) return false;
  constexpr std::string_view kShape = ".shape";
  const bool of_shape = rest.substr(0, length).ends_with(kShape);
  const std::string_view name = rest.substr(0, length - (of_shape ? kShape.size() : 0));
  std::string words = words_for(given, name, after.starts_with(" is not given"));
  if (words.empty()) return false;
  if (of_shape) words += "'s shape" + index;
  message.replace(at, length + index.size(), words);
  return true;
}

}  // namespace

std::string in_options(const Given& given, const std::string& message) {
  std::string changed = message;
  if (replace_name(given, changed, 0)) return changed;  // also an operation: "view: ..."
  const std::size_t operation = name_length(message);
  if (message.compare(operation, 2, ": ") == 0) changed.erase(0, operation + 2);
  if (!replace_name(given, changed, 0)) return message;
  for (const std::string_view joint : {" and ", " but "})
    for (std::size_t at = 0; (at = changed.find(joint, at)) < changed.find(": ");) {
      at += joint.size();
      replace_name(given, changed, at);
    }
  return changed;
}

}  // namespace heed::cli
