#include <algorithm>
#include <cctype>
#include <iterator>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>

#include "base/file.h"
#include "heed/error.h"
#include "heed/tokenizer.h"
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

namespace {

constexpr std::string_view kSpaces = " \t\r";

std::string trimmed(const std::string& line) {
  const std::size_t begin = line.find_first_not_of(kSpaces);
  if (begin == std::string::npos) return {};
  return line.substr(begin, line.find_last_not_of(kSpaces) - begin + 1);
}

// Headings, HTML and images are useless on a terminal.
bool is_prose(const std::string& line) {
  return std::string_view("#<!").find(line.front()) == std::string_view::npos;
}

// The bracket that closes the one at `open`; npos if there is none.
std::size_t closing(std::string_view text, std::size_t open) {
  const char opens = text[open];
  const char closes = opens == '[' ? ']' : ')';
  int depth = 0;
  for (std::size_t at = open; at < text.size(); ++at) {
    if (text[at] == opens) ++depth;
    if (text[at] == closes && --depth == 0) return at;
  }
  return std::string_view::npos;
}

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; }

// Removes the markup of links, images, emphasis and code.
class Plain {
 public:
  explicit Plain(std::string_view markdown) : text_(markdown) {}

  std::string read() {
    while (at_ < text_.size())
      if (!link() && !emphasis() && !escape()) plain_ += text_[at_++];
    return std::move(plain_);
  }

 private:
  // [words](address) becomes its words, ![words](address) is dropped.
  bool link() {
    const bool image = text_.substr(at_).starts_with("![");
    const std::size_t open = at_ + (image ? 1 : 0);
    if (open >= text_.size() || text_[open] != '[') return false;
    const std::size_t end = closing(text_, open);
    if (end == std::string_view::npos || end + 1 == text_.size()) return false;
    if (text_[end + 1] != '(' && text_[end + 1] != '[') return false;
    const std::size_t behind = closing(text_, end + 1);
    if (behind == std::string_view::npos) return false;
    if (!image) plain_ += Plain(text_.substr(open + 1, end - open - 1)).read();
    at_ = behind + 1;
    return true;
  }

  // A star between spaces and an underscore within a word are literal.
  bool emphasis() {
    const char mark = text_[at_];
    if (mark != '*' && mark != '_' && mark != '`') return false;
    const std::size_t end = std::min(text_.find_first_not_of(mark, at_), text_.size());
    const char before = at_ == 0 ? ' ' : text_[at_ - 1];
    const char after = end == text_.size() ? ' ' : text_[end];
    const bool alone = before == ' ' && after == ' ';
    const bool inside = mark == '_' && is_word(before) && is_word(after);
    if (alone || inside) plain_ += text_.substr(at_, end - at_);
    at_ = end;
    return true;
  }

  bool escape() {
    const bool is_one = text_[at_] == '\\' && at_ + 1 < text_.size() &&
                        std::ispunct(static_cast<unsigned char>(text_[at_ + 1])) != 0;
    if (!is_one) return false;
    plain_ += text_[at_ + 1];
    at_ += 2;
    return true;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::string plain_;
};

std::string first_paragraph(const std::string& markdown) {
  std::istringstream lines(markdown);
  std::string paragraph;
  std::string line;
  bool front_matter = false;
  for (int number = 1; std::getline(lines, line); ++number) {
    line = trimmed(line);
    if (line == "---" && (number == 1 || front_matter)) {
      front_matter = number == 1;
      continue;
    }
    if (front_matter) continue;
    if (!line.empty() && is_prose(line)) {
      paragraph += (paragraph.empty() ? "" : " ") + line;
    } else {
      const std::string plain = trimmed(Plain(paragraph).read());
      if (!plain.empty()) return plain;
      paragraph.clear();  // only pictures
    }
  }
  return trimmed(Plain(paragraph).read());
}

}  // namespace

std::string card_line(const std::filesystem::path& folder) {
  std::error_code ignored;
  for (const char* name : {"card.md", "README.md"}) {
    const std::filesystem::path card = folder / name;
    if (!std::filesystem::is_regular_file(card, ignored)) continue;
    try {
      const std::string text = read_file(card);
      if (find_invalid_utf8(text) < 0) return first_paragraph(text);
    } catch (const Error&) {  // a broken card is no reason to reject a model
    }
  }
  return {};
}

}  // namespace heed
