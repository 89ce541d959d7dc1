#include "cli/options/file_format.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <string_view>
#include <vector>

#include "base/wording.h"
#include "heed/error.h"

namespace heed::cli {
namespace {

std::string ending_of(const std::string& file) {
  std::string ending = std::filesystem::path(file).extension().string();
  if (ending.empty()) return {};
  ending.erase(0, 1);
  for (char& c : ending) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return ending == "txt" ? "text" : ending;
}

[[noreturn]] void refuse_ending(const std::string& file, std::span<const char* const> known) {
  std::vector<std::string_view> endings(known.begin(), known.end());
  std::ranges::replace(endings, "text", "txt");
  fail({.argument = "-o",
        .found = file,
        .expected = fmt::format("an ending among .{}", joined(endings, ", .")),
        .hint = "--format allows any other ending"});
}

}  // namespace

std::string format_of(const std::string& given, const std::string& out,
                      std::span<const char* const> known) {
  const std::string ending = ending_of(out);
  const bool is_known = std::ranges::find(known, ending) != known.end();
  if (given.empty()) {
    if (!is_known && !ending.empty()) refuse_ending(out, known);
    return is_known ? ending : known.front();
  }
  if (is_known && ending != given)
    fail({.found = fmt::format("--format {} and -o {} say two formats", given, out),
          .expected = "them to agree"});
  return given;
}

Option json_option(bool& given) {
  return {
      .name = "--json", .to = &given, .help = "short for --format json", .means = "--format=json"};
}

void add_json_options(OptionList& list, bool& json, const std::string& of_json) {
  add(list, {{.name = "--format",
              .to = [&json](const std::string& name) { json = name == "json"; },
              .help = fmt::format("text (default), or json: {}", of_json),
              .words = {"text", "json"}},
             json_option(json)});
}

}  // namespace heed::cli
