#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "cli/options/arguments.h"

namespace heed::cli {
namespace {

struct Alias {
  std::string_view argument;  // the library's name, without the struct it belongs to
  const char* option;
  const char* words;  // replace the argument in the message
};

constexpr Alias kAliases[] = {
    {"rate", "--dropout", "--dropout"},
    {"left", "--window", "--window: left"},
    {"right", "--window", "--window: right"},
    {"token", "--ids", "--ids: token"},
    {"model", "MODEL", "MODEL"},
    {"model", "NAME", "NAME"},
    {"model", "DIR", "DIR"},
    {"input", "--ids", "--ids"},
    {"input", "--file", "--file"},
    {"input", "TEXT", "TEXT"},
    {"prompt", "--file", "--file"},
    {"prompt", "PROMPT", "PROMPT"},
    {"text", "--file", "--file"},
    {"text", "TEXT", "TEXT"},
    {"text", "PROMPT", "PROMPT"},
    {"query_length", "--query-lengths", "--query-lengths"},
    {"key_length", "--key-lengths", "--key-lengths"},
    {"query_starts", "--packed-q", "--packed-q"},
    {"key_starts", "--packed-k", "--packed-k"},
    {"query_ids", "--segments", "--segments"},
    {"key_ids", "--segments", "--segments"},
    {"q", "Q", "Q"},
    {"k", "K", "K"},
    {"v", "V", "V"},
    {"dout", "--grad", "--grad"},
    {"entropy", "--observe", "--observe entropy"},
    {"top_k", "--observe", "--observe topk"},
    {"selection", "--observe", "--observe"},
    {"offset_profile", "--observe", "--observe offset_profile"},
    {"heatmap", "--observe", "--observe heatmap"},
    {"value_norm", "--observe", "--observe value_norm"},
};

// The words for the option that gave the argument `name`; empty if none did. For a missing
// argument, options that could give it count too.
std::string words_for(const Given& given, std::string_view name, bool missing) {
  const auto has = [&](std::string_view option) {
    return missing ? given.knows(option) : given.has(option);
  };
  for (const Alias& alias : kAliases)
    if (alias.argument == name && has(alias.option)) return alias.words;
  std::string option = "--" + std::string(name);
  std::ranges::replace(option, '_', '-');
  return has(option) ? option : "";
}

// The words for the last field of a path (scores.softcap, keys.k.shape[2]) given by an option, and
// the rest of the path.
std::string in_options(const Given& given, std::string_view path, bool missing) {
  std::string rest;
  while (!path.empty()) {
    const std::size_t begin = path.rfind('.') + 1;
    const std::string_view field = path.substr(begin);
    const std::string_view name = field.substr(0, field.find('['));
    if (const std::string words = words_for(given, name, missing); !words.empty())
      return (rest.empty() ? "" : rest + " of ") + words + std::string(field.substr(name.size()));
    rest = std::string(field) + (rest.empty() ? "" : "." + rest);
    path = path.substr(0, begin == 0 ? 0 : begin - 1);
  }
  return {};
}

}  // namespace

Error in_options(const Given& given, std::string_view command, const Error& error) {
  ErrorParts parts = error.parts();
  // An observer is an operation (--observe row), whose fields no option gives.
  std::string op = words_for(given, error.op(), false);
  const bool is_own_field = !op.empty() && error.argument() != error.op() &&
                            error.argument().find('.') == std::string::npos;
  const bool is_of_file = !error.file().empty();  // a file's member, for which there is no option
  if (std::string argument = in_options(given, error.argument(), error.found().empty());
      !argument.empty() && !is_own_field && !is_of_file) {
    parts.argument = std::move(argument);
    parts.op = {};
    if (error.argument() == error.op()) op.clear();
  }
  if (error.op() == command) parts.op = {};
  if (!op.empty()) parts.op = std::move(op);
  return Error(std::move(parts));
}

}  // namespace heed::cli
