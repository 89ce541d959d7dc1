#include "cli/options/file_format.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <iterator>
#include <string_view>
#include <vector>

#include "heed/error.h"

namespace heed::cli {
namespace {

// Endings of formats that some command writes, or other programs do.
constexpr std::string_view kForeign[] = {"json",    "tsv", "npy", "svg", "png",  "html",
                                         "graphml", "dot", "csv", "jpg", "jpeg", "gif",
                                         "webp",    "pdf", "htm", "npz"};

std::string ending_of(const std::string& file) {
  std::string ending = std::filesystem::path(file).extension().string();
  if (ending.empty()) return {};
  ending.erase(0, 1);
  for (char& c : ending) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return ending == "txt" ? "text" : ending;
}

// Empty where the name says nothing.
std::string format_of_name(const std::string& file, std::span<const char* const> known) {
  const std::string ending = ending_of(file);
  if (std::ranges::find(known, ending) != known.end()) return ending;
  if (std::ranges::find(kForeign, ending) == std::end(kForeign)) return {};
  std::vector<std::string_view> endings(known.begin(), known.end());
  std::ranges::replace(endings, "text", "txt");
  fail({.argument = "-o",
        .found = file,
        .expected = fmt::format("an ending among .{}", fmt::join(endings, ", ."))});
}

}  // namespace

std::string format_of(const std::string& given, const std::string& out,
                      std::span<const char* const> known) {
  const std::string named = format_of_name(out, known);
  if (given.empty()) return named.empty() ? std::string(known.front()) : named;
  if (!named.empty() && named != given)
    fail({.found = fmt::format("--format {} and -o {} say two formats", given, out),
          .expected = "them to agree"});
  return given;
}

Option json_option(bool& given) {
  return {
      .name = "--json", .to = &given, .means = "--format=json", .help = "short for --format json"};
}

void add_json_options(OptionList& list, bool& json, const std::string& of_json) {
  add(list, {{.name = "--format",
              .to = [&json](const std::string& name) { json = name == "json"; },
              .words = {"text", "json"},
              .help = fmt::format("text (default), or json: {}", of_json)},
             json_option(json)});
}

}  // namespace heed::cli
