// heed's own source for the architecture tests: files with their floor and lines.
#pragma once

#include <filesystem>
#include <fstream>
#include <regex>
#include <string>
#include <utility>
#include <vector>

namespace heed::test {

struct SourceFile {
  std::string path = {};   // relative to the source root: "src/io/npy.cpp"
  std::string floor = {};  // "io"; empty for the umbrella header
  std::vector<std::string> lines = {};
};

/// Public headers in an order in which each includes only those before it, and the lowest floor
/// that defines some of what each declares.
inline const std::vector<std::pair<std::string, std::string>>& public_headers() {
  static const std::vector<std::pair<std::string, std::string>> kPublic = {
      {"error.h", "base"},      {"threads.h", "base"},        {"tensor.h", "tensor"},
      {"mask.h", "attention"},  {"attention.h", "attention"}, {"observe.h", "attention"},
      {"operators.h", "ops"},   {"ranks.h", "ranks"},         {"tokenizer.h", "text"},
      {"model.h", "nn"},        {"generate.h", "nn"},         {"train.h", "train"},
      {"session.h", "inspect"}, {"look.h", "inspect"},        {"c.h", "c"}};
  return kPublic;
}

/// The floor of a header: "io" for "io/gguf.h", "attention" for "heed/mask.h", empty for
/// "heed/heed.h".
inline std::string floor_of(std::string path) {
  if (path.starts_with("heed/")) {
    path.erase(0, 5);
    for (const auto& [name, floor] : public_headers())
      if (name == path) return floor;
  }
  const std::size_t slash = path.find('/');
  return slash == std::string::npos ? "" : path.substr(0, slash);
}

/// The header that a line includes in quotes, or in <heed/...>; empty for every other line.
inline std::string included_name(const std::string& line) {
  static const std::regex kInclude("^\\s*#\\s*include\\s+(?:\"([^\"]+)\"|<(heed/[^>]+)>).*");
  if (line.find("include") == std::string::npos) return "";
  std::smatch match;
  if (!std::regex_match(line, match, kInclude)) return "";
  return match[1].matched ? match[1].str() : match[2].str();
}

inline SourceFile read_source(const std::filesystem::path& root, const std::string& folder,
                              const std::filesystem::path& file) {
  SourceFile source{.path = file.lexically_relative(root).generic_string(),
                    .floor = floor_of(file.lexically_relative(root / folder).generic_string())};
  std::ifstream stream(file);
  for (std::string line; std::getline(stream, line);) source.lines.push_back(std::move(line));
  return source;
}

inline std::vector<SourceFile> source_tree(const std::filesystem::path& root) {
  std::vector<SourceFile> files;
  for (const std::string folder : {"include", "src", "bench"}) {
    const std::string base = folder == "bench" ? "." : folder;  // "bench/repeat.h" is on "bench"
    for (const auto& entry : std::filesystem::recursive_directory_iterator(root / folder)) {
      const auto kind = entry.path().extension();
      if (kind == ".h" || kind == ".cpp") files.push_back(read_source(root, base, entry.path()));
    }
  }
  return files;
}

}  // namespace heed::test
