#include "generate/text_stream.h"

#include <algorithm>
#include <cstddef>

#include "text/utf8.h"

namespace heed {
namespace {

constexpr std::size_t kContext = 4;  // tokens: enough to distinguish a beginning from a middle

// Number of bytes at the end that further bytes may complete to a character.
std::size_t incomplete_tail(std::string_view text) {
  for (std::size_t tail = 1; tail <= std::min<std::size_t>(3, text.size()); ++tail) {
    const auto byte = static_cast<unsigned char>(text[text.size() - tail]);
    if ((byte & 0xC0) == 0x80) continue;  // inside a character
    const std::size_t length = byte >= 0xF5   ? 1
                               : byte >= 0xF0 ? 4
                               : byte >= 0xE0 ? 3
                               : byte >= 0xC2 ? 2
                                              : 1;
    return tail < length ? tail : 0;
  }
  return 0;
}

// Number of bytes at the end that may begin a stop string.
std::size_t begun(std::string_view text, const std::vector<std::string>& stops) {
  std::size_t most = 0;
  for (const std::string& stop : stops)
    for (std::size_t length = std::min(stop.size() - 1, text.size()); length > most; --length)
      if (text.ends_with(std::string_view(stop).substr(0, length))) most = length;
  return most;
}

}  // namespace

TextStream::TextStream(const Tokenizer& tokenizer, std::span<const TokenId> prompt,
                       std::span<const std::string> stops)
    : tokenizer_(&tokenizer), stops_(stops.begin(), stops.end()) {
  for (auto id = prompt.rbegin(); id != prompt.rend() && context_.size() < kContext; ++id)
    if (has_text(*id)) context_.insert(context_.begin(), *id);
}

// Padding ids of the vocabulary represent no token.
bool TextStream::has_text(TokenId id) const {
  return tokenizer_->has(id) && !tokenizer_->is_special(id);
}

// The text that the token adds to the previous tokens. Special tokens have no text and do not
// change the next token's place (beginning of the text or inside).
std::string TextStream::text_of(TokenId id) {
  if (!has_text(id)) return {};
  const std::size_t before = tokenizer_->decode(context_, /*skip_special=*/true).size();
  context_.push_back(id);
  const std::string with = tokenizer_->decode(context_, /*skip_special=*/true);
  if (context_.size() > kContext) context_.erase(context_.begin());
  return with.substr(std::min(before, with.size()));
}

std::string TextStream::release(std::size_t bytes) {
  const std::string text = repaired_utf8(std::string_view(held_).substr(0, bytes));
  held_.erase(0, bytes);
  return text;
}

std::string TextStream::push(TokenId id) {
  held_ += text_of(id);
  std::size_t end = std::string::npos;
  for (const std::string& stop : stops_) end = std::min(end, held_.find(stop));
  if (end != std::string::npos) {
    stopped_ = true;
    held_.resize(end);
    return release(end);
  }
  return release(held_.size() - std::max(incomplete_tail(held_), begun(held_, stops_)));
}

std::string TextStream::finish() { return release(held_.size()); }

}  // namespace heed
