#include "text/model/bpe.h"

#include <fmt/format.h>

#include <cstring>
#include <optional>
#include <span>

#include "text/byte_alphabet.h"
#include "text/model/unigram.h"
#include "text/utf8.h"

namespace heed {
namespace {

// The tokens of earlier words of the same text: most words repeat.
class WordCache {
 public:
  static constexpr std::size_t kLongestWord = 64;     // bytes; longer words hardly ever repeat
  static constexpr std::size_t kMostWords = 1 << 18;  // then it accepts no more: 30 MB

  WordCache() : slots_(kFirstSlots) {}

  // The symbols of a cached word; empty if it is not cached.
  std::span<const Symbol> find(std::string_view word) const {
    const Slot& slot = slots_[place_of(word, hash(word))];
    return {symbols_.data() + slot.first, slot.count};
  }
  // `word` must not be cached yet, has at most kLongestWord bytes, and must outlive the cache.
  void keep(std::string_view word, std::span<const Symbol> symbols);

 private:
  static constexpr std::size_t kFirstSlots = 256;
  struct Slot {
    const char* word = nullptr;
    std::uint32_t bytes = 0;
    std::uint32_t hash = 0;
    std::uint32_t first = 0;  // of its symbols
    std::uint32_t count = 0;
  };

  // Eight bytes at a time (after wyhash: multiply, fold).
  static std::uint32_t hash(std::string_view word) {
    std::uint64_t state = word.size() * 0x9E3779B97F4A7C15U;
    const auto mix = [&state](std::uint64_t bytes) {
      const auto product = static_cast<unsigned __int128>(state ^ bytes) * 0xA0761D6478BD642FU;
      state = static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
    };
    std::size_t i = 0;
    for (; i + 8 <= word.size(); i += 8) {
      std::uint64_t bytes = 0;
      std::memcpy(&bytes, word.data() + i, 8);
      mix(bytes);
    }
    std::uint64_t rest = 0;
    for (std::size_t shift = 0; i < word.size(); ++i, shift += 8)
      rest |= std::uint64_t{static_cast<unsigned char>(word[i])} << shift;
    mix(rest);
    return static_cast<std::uint32_t>(state >> 32);
  }
  std::size_t place_of(std::string_view word, std::uint32_t hash) const {
    const std::size_t mask = slots_.size() - 1;
    std::size_t place = hash & mask;
    while (slots_[place].word != nullptr && !is(slots_[place], word, hash))
      place = (place + 1) & mask;
    return place;
  }
  static bool is(const Slot& slot, std::string_view word, std::uint32_t hash) {
    return slot.hash == hash && std::string_view(slot.word, slot.bytes) == word;
  }
  void grow();

  std::vector<Slot> slots_;  // a power of two, at most half full
  std::vector<Symbol> symbols_;
  std::size_t words_ = 0;
};

void WordCache::keep(std::string_view word, std::span<const Symbol> symbols) {
  if (words_ == kMostWords || symbols.empty()) return;
  if (2 * ++words_ > slots_.size()) grow();
  const std::uint32_t hashed = hash(word);
  slots_[place_of(word, hashed)] = {.word = word.data(),
                                    .bytes = static_cast<std::uint32_t>(word.size()),
                                    .hash = hashed,
                                    .first = static_cast<std::uint32_t>(symbols_.size()),
                                    .count = static_cast<std::uint32_t>(symbols.size())};
  symbols_.insert(symbols_.end(), symbols.begin(), symbols.end());
}

void WordCache::grow() {
  std::vector<Slot> old = std::move(slots_);
  slots_.assign(2 * old.size(), Slot());
  for (const Slot& slot : old)
    if (slot.word != nullptr) slots_[place_of({slot.word, slot.bytes}, slot.hash)] = slot;
}

class BpeRun {
 public:
  explicit BpeRun(const Bpe& model) : model_(model) {}

  void operator()(const Piece& piece, const TokenSink& out) {
    if (!model_.parts_at_marks()) return encode_word(piece, 0, piece.text.size(), out);
    std::size_t begin = 0;
    for (std::size_t at = 0; (at = piece.text.find(kSpaceMark, at)) != std::string_view::npos;
         at += kSpaceMark.size())
      if (at > begin && !piece.text.substr(0, at).ends_with(kSpaceMark)) {
        encode_word(piece, begin, at, out);
        begin = at;
      }
    if (begin < piece.text.size()) encode_word(piece, begin, piece.text.size(), out);
  }

 private:
  void encode_word(const Piece& piece, std::size_t begin, std::size_t end, const TokenSink& out) {
    const std::string_view word = piece.text.substr(begin, end - begin);
    const bool is_short = word.size() <= WordCache::kLongestWord;
    std::span<const Symbol> found;
    if (is_short) found = cache_.find(word);
    if (found.empty()) {
      model_.encode_word(word, symbols_);
      if (is_short) cache_.keep(word, symbols_);
      found = symbols_;
    }
    for (const Symbol& symbol : found)
      out.add(symbol.id, piece, begin + symbol.begin, begin + symbol.end);
  }

  const Bpe& model_;
  WordCache cache_;
  std::vector<Symbol> symbols_;
};

}  // namespace

Bpe::Bpe(const Vocabulary& vocabulary, BpeOptions options)
    : vocabulary_(vocabulary), options_(std::move(options)) {
  for (std::size_t byte = 0; byte < 256; ++byte)
    byte_ids_[byte] = vocabulary.find(byte_characters()[byte]);
  parts_at_marks_ = !options_.of_bytes && !options_.ignore_merges &&
                    options_.inside_prefix.empty() && options_.end_suffix.empty() &&
                    options_.whole.empty() && vocabulary.find(kSpaceMark) >= 0 &&
                    (options_.unknown >= 0 || has_every_byte(options_.bytes));
}

TokenId Bpe::unknown() const { return has_every_byte(options_.bytes) ? -1 : options_.unknown; }

ModelRun Bpe::run() const { return BpeRun(*this); }

void Bpe::add_merge(std::string_view left, std::string_view right, TokenId left_id,
                    TokenId right_id, std::int32_t rank, TokenId result) {
  if (right.starts_with(kSpaceMark) && !left.ends_with(kSpaceMark)) parts_at_marks_ = false;
  merges_.add(left_id, right_id, rank, result);
}

// The id of one character (or byte) of the word; -1 if it has no piece.
TokenId Bpe::first_id(std::string_view word, std::size_t begin, std::size_t end) const {
  const bool plain = options_.inside_prefix.empty() && options_.end_suffix.empty();
  if (plain && options_.of_bytes) return byte_ids_[static_cast<unsigned char>(word[begin])];
  if (plain) return vocabulary_.find_in_model(word.substr(begin, end - begin));
  std::string piece;
  if (begin > 0) piece += options_.inside_prefix;
  if (options_.of_bytes) {
    piece += byte_characters()[static_cast<unsigned char>(word[begin])];
  } else {
    piece += word.substr(begin, end - begin);
  }
  if (end == word.size()) piece += options_.end_suffix;
  return vocabulary_.find_in_model(piece);
}

// Like in `tokenizers`, an unknown token waits for the next known piece: bytes of a character in
// between come before it.
void Bpe::first_symbols(std::string_view word, std::vector<Symbol>& symbols) const {
  std::optional<Symbol> waiting;
  const auto symbol = [](TokenId id, std::size_t from, std::size_t to) {
    return Symbol{id, static_cast<std::uint32_t>(from), static_cast<std::uint32_t>(to)};
  };
  const auto flush = [&] {
    if (waiting) symbols.push_back(*waiting);
    waiting = {};
  };
  for (std::size_t begin = 0, end = 0; begin < word.size(); begin = end) {
    const Trie::Match whole = options_.whole.longest(word, begin);
    end = whole.id >= 0       ? whole.end
          : options_.of_bytes ? begin + 1
                              : begin + character_at(word, begin).bytes;
    const TokenId id = whole.id >= 0 ? whole.id : first_id(word, begin, end);
    if (id >= 0) {
      flush();
      symbols.push_back(symbol(id, begin, end));
    } else if (has_all_bytes(options_.bytes, word.substr(begin, end - begin))) {
      for (std::size_t i = begin; i < end; ++i)
        symbols.push_back(symbol(options_.bytes[static_cast<unsigned char>(word[i])], i, i + 1));
    } else if (waiting && options_.fuse_unknown) {
      waiting->end = static_cast<std::uint32_t>(end);
    } else if (options_.unknown >= 0) {
      flush();
      waiting = symbol(options_.unknown, begin, end);
    }
  }
  flush();
}

TokenId Bpe::whole_word(std::string_view word) const {
  return options_.of_bytes ? vocabulary_.find_in_model(piece_of_bytes(word))
                           : vocabulary_.find_in_model(word);
}

void Bpe::encode_word(std::string_view word, std::vector<Symbol>& symbols) const {
  symbols.clear();
  const TokenId whole = options_.ignore_merges ? whole_word(word) : -1;
  if (whole >= 0) {
    symbols.push_back({whole, 0, static_cast<std::uint32_t>(word.size())});
    return;
  }
  first_symbols(word, symbols);
  merges_.apply(symbols);
}

namespace {

struct MergeText {
  std::string left;
  std::string right;
};

// "left right", or ["left", "right"] in newer files.
MergeText merge_text(const Json& entry) {
  if (const std::string* text = entry.as_text()) {
    const std::size_t space = text->find(' ');
    if (space == std::string::npos) return {};
    return {text->substr(0, space), text->substr(space + 1)};
  }
  const auto pair = entry.items();
  if (pair.size() != 2 || !pair[0].is_text() || !pair[1].is_text()) return {};
  return {*pair[0].as_text(), *pair[1].as_text()};
}

void read_merges(const TokenizerFile& file, const Vocabulary& vocabulary, Bpe& model) {
  const std::string& prefix = model.options().inside_prefix;
  std::int32_t rank = 0;
  for (const Json& entry : file.list(file.model()["merges"], "model.merges")) {
    const auto [left, right] = merge_text(entry);
    const TokenId left_id = vocabulary.find(left);
    const TokenId right_id = vocabulary.find(right);
    const std::string behind = right.starts_with(prefix) ? right.substr(prefix.size()) : right;
    const TokenId result = vocabulary.find(left + behind);
    if (left_id < 0 || right_id < 0 || result < 0)
      file.refuse(entry, fmt::format("model.merges[{}]", rank),
                  "two pieces that are in the vocabulary, as their joint form is");
    model.add_merge(left, right, left_id, right_id, rank++, result);
  }
}

std::string optional_text(const TokenizerFile& file, std::string_view option) {
  const Json& value = file.model()[option];
  return value.is_null() ? "" : file.text_of(value, fmt::format("model.{}", option));
}

}  // namespace

std::unique_ptr<TokenModel> read_bpe(const TokenizerFile& file, const Vocabulary& vocabulary) {
  const auto flag = [&](std::string_view name) {
    return file.model()[name].as_flag().value_or(false);
  };
  file.require_option("dropout", 0);
  BpeOptions options = {.of_bytes = file.is_of_bytes(),
                        .ignore_merges = flag("ignore_merges"),
                        .fuse_unknown = flag("fuse_unk"),
                        .unknown = unknown_id(file, vocabulary),
                        .inside_prefix = optional_text(file, "continuing_subword_prefix"),
                        .end_suffix = optional_text(file, "end_of_word_suffix")};
  if (flag("byte_fallback")) options.bytes = byte_ids(vocabulary);
  auto model = std::make_unique<Bpe>(vocabulary, std::move(options));
  read_merges(file, vocabulary, *model);
  return model;
}

}  // namespace heed
