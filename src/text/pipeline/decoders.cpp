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

// `change` is applied to each piece independently.
Decoder of_each(auto change, double growth = 1) {
  return {[change](Pieces& pieces) {
            for (std::string& piece : pieces) change(piece);
          },
          growth};
}

Decoder read_decoders(const TokenizerFile& file, const Json& component) {
  std::vector<Decoder> parts;
  double growth = 1;
  for (const Json& part : file.list(component["decoders"], "decoder.decoders")) {
    parts.push_back(read_decoder(file, part));
    growth *= parts.back().growth;
  }
  return {[parts](Pieces& pieces) {
            for (const Decoder& part : parts) part.apply(pieces);
          },
          growth};
}

Decoder read_byte_decoder(const TokenizerFile&, const Json&) {
  return of_each([](std::string& piece) { piece = bytes_of_piece(piece); });
}

Decoder read_byte_fallback(const TokenizerFile&, const Json&) {
  return of_each([](std::string& piece) {
    if (const int byte = byte_of_piece(piece); byte >= 0) piece.assign(1, static_cast<char>(byte));
  });
}

Decoder read_fuse(const TokenizerFile&, const Json&) {
  return {[](Pieces& pieces) {
    std::string all;
    for (const std::string& piece : pieces) all += piece;
    pieces = {std::move(all)};
  }};
}

Decoder read_replace_pieces(const TokenizerFile& file, const Json& component) {
  Pattern pattern = read_pattern(file, component["pattern"], "decoder.pattern");
  const std::string* const literal = component["pattern"]["String"].as_text();
  const std::string content = file.text_of(component["content"], "decoder.content");
  const auto shortest_match = static_cast<double>(literal == nullptr ? 1 : literal->size());
  const auto change = [pattern = std::move(pattern), content](std::string& piece) {
    if (find_invalid_utf8(piece) >= 0) return;
    std::string changed;
    std::size_t done = 0;
    for (const auto& [begin, end] : pattern(piece)) {
      changed.append(piece, done, begin - done);
      changed += content;
      done = end;
    }
    if (done > 0) piece = changed.append(piece, done);
  };
  return of_each(change, std::max(static_cast<double>(content.size()) / shortest_match, 1.0));
}

// Strips `content` from each piece, at most `left` and `right` times.
Decoder read_strip_pieces(const TokenizerFile& file, const Json& component) {
  const std::string content = file.text_of(component["content"], "decoder.content");
  if (content.empty()) file.refuse(component["content"], "decoder.content", "one character");
  const std::int64_t left = component["start"].as_integer().value_or(0);
  const std::int64_t right = component["stop"].as_integer().value_or(0);
  return of_each([=](std::string& piece) {
    for (std::int64_t i = 0; i < left && piece.starts_with(content); ++i)
      piece.erase(0, content.size());
    for (std::int64_t i = 0; i < right && piece.ends_with(content); ++i)
      piece.erase(piece.size() - content.size());
  });
}

void clean_up(std::string& piece) {
  constexpr std::pair<std::string_view, std::string_view> kCleaner[] = {
      {" .", "."},   {" ?", "?"},     {" !", "!"},    {" ,", ","},
      {" ' ", "'"},  {" n't", "n't"}, {" 'm", "'m"},  {" do not", " don't"},
      {" 's", "'s"}, {" 've", "'ve"}, {" 're", "'re"}};
  for (const auto& [from, to] : kCleaner) piece = replaced(piece, from, to);
}

Decoder read_word_piece(const TokenizerFile& file, const Json& component) {
  const Json& given = component["prefix"];
  const std::string prefix = given.is_null() ? "##" : file.text_of(given, "decoder.prefix");
  const bool cleanup = component["cleanup"].as_flag().value_or(true);
  return {[=](Pieces& pieces) {
    for (std::size_t i = 0; i < pieces.size(); ++i) {
      std::string& piece = pieces[i];
      if (i > 0 && !prefix.empty() && piece.starts_with(prefix)) {
        piece.erase(0, prefix.size());
      } else if (i > 0) {
        piece.insert(0, 1, ' ');
      }
      if (cleanup) clean_up(piece);
    }
  }};
}

Decoder read_metaspace_decoder(const TokenizerFile& file, const Json& component) {
  return {[options = read_metaspace(file, component, "decoder")](Pieces& pieces) {
    for (std::size_t i = 0; i < pieces.size(); ++i) {
      // Every mark of the first piece, not only the first mark, like in tokenizers.
      const bool drops = i == 0 && options.prepend != Metaspace::Prepend::kNever;
      pieces[i] = replaced(pieces[i], options.mark, drops ? "" : " ");
    }
  }};
}

// A suffix marks the end of a word.
Decoder read_suffix(const TokenizerFile& file, const Json& component) {
  const Json& given = component["suffix"];
  const std::string suffix = given.is_null() ? "</w>" : file.text_of(given, "decoder.suffix");
  if (suffix.empty()) file.refuse(given, "decoder.suffix", "a text that is not empty");
  return {[=](Pieces& pieces) {
    for (std::size_t i = 0; i < pieces.size(); ++i)
      pieces[i] = replaced(pieces[i], suffix, i + 1 < pieces.size() ? " " : "");
  }};
}

void separate(Pieces& pieces) {
  for (std::size_t i = 1; i < pieces.size(); ++i) pieces[i].insert(0, 1, ' ');
}

constexpr ComponentReader<Decoder> kDecoders[] = {
    {"BPEDecoder", read_suffix},           {"ByteFallback", read_byte_fallback},
    {"ByteLevel", read_byte_decoder},      {"Fuse", read_fuse},
    {"Metaspace", read_metaspace_decoder}, {"Replace", read_replace_pieces},
    {"Sequence", read_decoders},           {"Strip", read_strip_pieces},
    {"WordPiece", read_word_piece},
};

}  // namespace

Decoder read_decoder(const TokenizerFile& file, const Json& component) {
  if (component.is_null()) return {separate};
  constexpr double kMostGrowth = 64;
  Decoder decoder = read_component<Decoder>(file, component, "decoder", kDecoders);
  if (decoder.growth > kMostGrowth)
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
