#include "cli/option_names.h"

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
    {"query_length", "--query-lengths", "--query-lengths"},
    {"key_length", "--key-lengths", "--key-lengths"},
    {"query_starts", "--packed-q", "--packed-q"},
    {"key_starts", "--packed-k", "--packed-k"},
};

bool was_given(const CLI::App& app, const std::string& name) {
  const CLI::Option* option = app.get_option_no_throw(name);
  return option != nullptr && option->count() > 0;
}

// What stands for the argument; empty where no option gave it.
std::string words_for(const CLI::App& app, std::string_view argument) {
  argument.remove_prefix(argument.rfind('.') + 1);  // scores.softcap
  for (const Alias& alias : kAliases)
    if (alias.argument == argument) return was_given(app, alias.option) ? alias.words : "";
  std::string name = "--" + std::string(argument);
  std::ranges::replace(name, '_', '-');
  return was_given(app, name) ? name : "";
}

std::size_t name_length(std::string_view text) {
  constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyz0123456789_.";
  return std::min(text.find_first_not_of(kLetters), text.size());
}

// "top_p is 2": the name at the place and what follows it.
bool replace_name(const CLI::App& app, std::string& message, std::size_t at) {
  const std::string_view rest = std::string_view(message).substr(at);
  const std::size_t length = name_length(rest);
  std::string_view after = rest.substr(length);
  const std::string index(after.starts_with('[') ? after.substr(0, after.find(']') + 1) : "");
  after.remove_prefix(index.size());
  if (length == 0 || !(after.starts_with(' ') || after.starts_with(": "))) return false;
  const std::string words = words_for(app, rest.substr(0, length));
  if (words.empty()) return false;
  message.replace(at, length + index.size(), words);
  return true;
}

}  // namespace

std::string in_options(const CLI::App& app, const std::string& message) {
  std::string changed = message;
  if (replace_name(app, changed, 0)) return changed;  // also an operation: "view: ..."
  const std::size_t operation = name_length(message);
  if (message.compare(operation, 2, ": ") == 0) changed.erase(0, operation + 2);
  if (!replace_name(app, changed, 0)) return message;
  constexpr std::string_view kAnd = " and ";
  for (std::size_t at = 0; (at = changed.find(kAnd, at)) != std::string::npos;) {
    at += kAnd.size();
    replace_name(app, changed, at);
  }
  return changed;
}

}  // namespace heed::cli
