// The decoders of `tokenizer.json`, by their `type`.
#include <algorithm>
#include <charconv>

#include "text/byte_alphabet.h"
#include "text/pipeline/decoder.h"
#include "text/pipeline/pattern.h"
#include "text/pipeline/pre_tokenizer.h"

namespace heed {
namespace {

using Pieces = std::vector<std::string>;

class Chain final : public Decoder {
 public:
  explicit Chain(std::vector<std::unique_ptr<Decoder>> parts) : parts_(std::move(parts)) {}
  void apply(Pieces& pieces) const override {
    for (const auto& part : parts_) part->apply(pieces);
  }
  double growth() const override {
    double growth = 1;
    for (const auto& part : parts_) growth *= part->growth();
    return growth;
  }

 private:
  std::vector<std::unique_ptr<Decoder>> parts_;
};

class Blanks final : public Decoder {
 public:
  void apply(Pieces& pieces) const override {
    for (std::size_t i = 1; i < pieces.size(); ++i) pieces[i].insert(0, 1, ' ');
  }
};

class ByteLevelDecoder final : public Decoder {
 public:
  void apply(Pieces& pieces) const override {
    for (std::string& piece : pieces) piece = bytes_of_piece(piece);
  }
};

class ByteFallback final : public Decoder {
 public:
  void apply(Pieces& pieces) const override {
    for (std::string& piece : pieces)
      if (const int byte = byte_of_piece(piece); byte >= 0)
        piece.assign(1, static_cast<char>(byte));
  }
};

class Fuse final : public Decoder {
 public:
  void apply(Pieces& pieces) const override {
    std::string all;
    for (const std::string& piece : pieces) all += piece;
    pieces = {std::move(all)};
  }
};

class Replace final : public Decoder {
 public:
  Replace(std::unique_ptr<Pattern> pattern, std::string content, std::size_t shortest_match)
      : pattern_(std::move(pattern)),
        content_(std::move(content)),
        growth_(static_cast<double>(content_.size()) / static_cast<double>(shortest_match)) {}
  double growth() const override { return std::max(growth_, 1.0); }
  void apply(Pieces& pieces) const override {
    for (std::string& piece : pieces) {
      if (find_invalid_utf8(piece) >= 0) continue;
      std::string changed;
      std::size_t done = 0;
      for (const auto& [begin, end] : pattern_->matches(piece)) {
        changed.append(piece, done, begin - done);
        changed += content_;
        done = end;
      }
      if (done > 0) piece = changed.append(piece, done);
    }
  }

 private:
  std::unique_ptr<Pattern> pattern_;
  std::string content_;
  double growth_;
};

/// Strips each piece, at most `left` and `right` times.
class Strip final : public Decoder {
 public:
  Strip(std::string content, std::int64_t left, std::int64_t right)
      : content_(std::move(content)), left_(left), right_(right) {}
  void apply(Pieces& pieces) const override {
    for (std::string& piece : pieces) {
      for (std::int64_t i = 0; i < left_ && piece.starts_with(content_); ++i)
        piece.erase(0, content_.size());
      for (std::int64_t i = 0; i < right_ && piece.ends_with(content_); ++i)
        piece.erase(piece.size() - content_.size());
    }
  }

 private:
  std::string content_;
  std::int64_t left_;
  std::int64_t right_;
};

class WordPieceDecoder final : public Decoder {
 public:
  WordPieceDecoder(std::string prefix, bool cleanup)
      : prefix_(std::move(prefix)), cleanup_(cleanup) {}
  void apply(Pieces& pieces) const override {
    for (std::size_t i = 0; i < pieces.size(); ++i) {
      std::string& piece = pieces[i];
      if (i > 0 && !prefix_.empty() && piece.starts_with(prefix_)) {
        piece.erase(0, prefix_.size());
      } else if (i > 0) {
        piece.insert(0, 1, ' ');
      }
      if (cleanup_) clean(piece);
    }
  }

 private:
  static void clean(std::string& piece) {
    constexpr std::pair<std::string_view, std::string_view> kCleaner[] = {
        {" .", "."},   {" ?", "?"},     {" !", "!"},    {" ,", ","},
        {" ' ", "'"},  {" n't", "n't"}, {" 'm", "'m"},  {" do not", " don't"},
        {" 's", "'s"}, {" 've", "'ve"}, {" 're", "'re"}};
    for (const auto& [from, to] : kCleaner) piece = replaced(piece, from, to);
  }
  std::string prefix_;
  bool cleanup_;
};

class MetaspaceDecoder final : public Decoder {
 public:
  explicit MetaspaceDecoder(Metaspace options) : options_(std::move(options)) {}
  void apply(Pieces& pieces) const override {
    for (std::size_t i = 0; i < pieces.size(); ++i) {
      // Every mark of the first piece, not only the first mark, like in tokenizers.
      const bool drops = i == 0 && options_.prepend != Metaspace::Prepend::kNever;
      pieces[i] = replaced(pieces[i], options_.mark, drops ? "" : " ");
    }
  }

 private:
  Metaspace options_;
};

/// A suffix marks the end of a word.
class SuffixDecoder final : public Decoder {
 public:
  explicit SuffixDecoder(std::string suffix) : suffix_(std::move(suffix)) {}
  void apply(Pieces& pieces) const override {
    for (std::size_t i = 0; i < pieces.size(); ++i)
      pieces[i] = replaced(pieces[i], suffix_, i + 1 < pieces.size() ? " " : "");
  }

 private:
  std::string suffix_;
};

std::unique_ptr<Decoder> read_chain(const TokenizerFile& file, const Json& component) {
  std::vector<std::unique_ptr<Decoder>> parts;
  for (const Json& part : file.list(component["decoders"], "decoder.decoders"))
    parts.push_back(read_decoder(file, part));
  return std::make_unique<Chain>(std::move(parts));
}

template <typename T>
std::unique_ptr<Decoder> read_plain(const TokenizerFile&, const Json&) {
  return std::make_unique<T>();
}

std::unique_ptr<Decoder> read_replace(const TokenizerFile& file, const Json& component) {
  auto pattern = read_pattern(file, component["pattern"], "decoder.pattern");
  const std::string* const literal = component["pattern"]["String"].as_text();
  return std::make_unique<Replace>(std::move(pattern),
                                   file.text_of(component["content"], "decoder.content"),
                                   literal == nullptr ? 1 : literal->size());
}

std::unique_ptr<Decoder> read_strip(const TokenizerFile& file, const Json& component) {
  std::string content = file.text_of(component["content"], "decoder.content");
  if (content.empty()) file.refuse(component["content"], "decoder.content", "one character");
  return std::make_unique<Strip>(std::move(content), component["start"].as_integer().value_or(0),
                                 component["stop"].as_integer().value_or(0));
}

std::unique_ptr<Decoder> read_word_piece(const TokenizerFile& file, const Json& component) {
  const Json& prefix = component["prefix"];
  return std::make_unique<WordPieceDecoder>(
      prefix.is_null() ? "##" : file.text_of(prefix, "decoder.prefix"),
      component["cleanup"].as_flag().value_or(true));
}

std::unique_ptr<Decoder> read_metaspace_decoder(const TokenizerFile& file, const Json& component) {
  return std::make_unique<MetaspaceDecoder>(read_metaspace(file, component, "decoder"));
}

std::unique_ptr<Decoder> read_suffix(const TokenizerFile& file, const Json& component) {
  const Json& suffix = component["suffix"];
  std::string text = suffix.is_null() ? "</w>" : file.text_of(suffix, "decoder.suffix");
  if (text.empty()) file.refuse(suffix, "decoder.suffix", "a text that is not empty");
  return std::make_unique<SuffixDecoder>(std::move(text));
}

constexpr ComponentReader<Decoder> kDecoders[] = {
    {"BPEDecoder", read_suffix},
    {"ByteFallback", read_plain<ByteFallback>},
    {"ByteLevel", read_plain<ByteLevelDecoder>},
    {"Fuse", read_plain<Fuse>},
    {"Metaspace", read_metaspace_decoder},
    {"Replace", read_replace},
    {"Sequence", read_chain},
    {"Strip", read_strip},
    {"WordPiece", read_word_piece},
};

}  // namespace

std::unique_ptr<Decoder> read_decoder(const TokenizerFile& file, const Json& component) {
  if (component.is_null()) return std::make_unique<Blanks>();
  constexpr double kMostGrowth = 64;
  auto decoder = read_component<Decoder>(file, component, "decoder", kDecoders);
  if (decoder->growth() > kMostGrowth)
    file.refuse_type(component, "decoder", "one that makes a text at most 64 times longer",
                     ErrorCode::kUnsupported);
  return decoder;
}

std::string replaced(std::string_view text, std::string_view from, std::string_view to) {
  std::string result;
  std::size_t done = 0;
  for (std::size_t at = 0; (at = text.find(from, done)) != std::string_view::npos;
       done = at + from.size()) {
    result += text.substr(done, at - done);
    result += to;
  }
  result += text.substr(done);
  return result;
}

int byte_of_piece(std::string_view piece) {
  if (piece.size() != 6 || !piece.starts_with("<0x") || piece.back() != '>') return -1;
  int byte = -1;
  const auto [end, error] = std::from_chars(piece.data() + 3, piece.data() + 5, byte, 16);
  return error == std::errc() && end == piece.data() + 5 ? byte : -1;
}

}  // namespace heed
