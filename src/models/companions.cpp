#include <algorithm>
#include <iterator>
#include <string_view>

#include "io/atomic_file.h"
#include "models/search_path.h"

namespace heed {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kCompanions[] = {"modules.json",
                                            "sentence_bert_config.json",
                                            "config_sentence_transformers.json",
                                            "tokenizer_config.json",
                                            "special_tokens_map.json",
                                            "generation_config.json",
                                            "chat_template.jinja",
                                            "card.md",
                                            "README.md",
                                            "LICENSE"};

// The files that save_model writes, in any form.
constexpr std::string_view kWritten[] = {
    "config.json",       "model.safetensors", "model.safetensors.index.json",
    "pytorch_model.bin", "tokenizer.json",    "tokenizer_target.json",
    "tokenizer.model",   "spiece.model",      "source.spm",
    "target.spm",        "vocab.json",        "vocab.txt",
    "merges.txt",        "added_tokens.json", "pytorch_model.bin.index.json"};

// Files of a module of sentence-transformers.
constexpr std::string_view kOfModule[] = {"config.json", "model.safetensors"};

// sentence-transformers names the folders of modules like 1_Pooling.
bool is_module(const std::string& name) {
  const std::size_t number = name.find_first_not_of("0123456789");
  return number > 0 && number < name.size() && name[number] == '_';
}

bool is_shard(const std::string& name) {
  return name.starts_with("model-") && name.ends_with(".safetensors");
}

bool lists(const auto& list, std::string_view name) {
  return std::ranges::find(list, name) != std::end(list);
}

}  // namespace

void copy_companions(const fs::path& from, const fs::path& to) {
  std::error_code ignored;
  if (from.empty() || fs::equivalent(from, to, ignored)) return;
  std::vector<fs::path> names(std::begin(kCompanions), std::end(kCompanions));
  for (const auto& entry : fs::directory_iterator(from, ignored))
    if (const fs::path name = entry.path().filename(); is_module(name.string()))
      for (const std::string_view of_module : kOfModule) names.push_back(name / of_module);
  for (const fs::path& name : names) {
    if (!fs::is_regular_file(from / name, ignored)) continue;
    fs::create_directories((to / name).parent_path(), ignored);
    write_file(to / name, read_file(from / name, kMostTokenizerBytes));
  }
}

std::vector<std::string> left_out(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, ignored)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with('.') || is_shard(name) || is_module(name) || lists(kCompanions, name) ||
        lists(kWritten, name))
      continue;
    names.push_back(name + (entry.is_directory(ignored) ? "/" : ""));
  }
  std::ranges::sort(names);
  return names;
}

}  // namespace heed
