#include "text/pipeline/piece.h"

#include <fmt/format.h>

#include "base/wording.h"
#include "heed/error.h"

namespace heed {

Piece Arena::keep(std::string text, std::vector<Origin> origins) {
  require_room(text.size());
  kept_bytes_ += text.size();
  const auto& [kept_text, kept_origins] = kept_.emplace_back(std::move(text), std::move(origins));
  return {.text = kept_text, .origins = kept_origins.data()};
}

void Arena::refuse() const {
  fail("tokenizer", "the changed text",
       fmt::format("more than {} for a text of {}", number_of(most_bytes(), "byte"),
                   number_of(text_bytes_, "byte")),
       "at most 64 times the text and a megabyte", ErrorCode::kUnsupported);
}

void Rewrite::keep(std::size_t begin, std::size_t end) {
  arena_.require_room(text_.size() + (end - begin));
  text_ += from_.text.substr(begin, end - begin);
  for (std::size_t i = begin; i < end; ++i) {
    const TokenSpan span = from_.span(i, i + 1);
    origins_.push_back(
        {static_cast<std::uint32_t>(span.begin), static_cast<std::uint32_t>(span.end)});
  }
}

void Rewrite::put(std::string_view bytes, std::size_t begin, std::size_t end) {
  arena_.require_room(text_.size() + bytes.size());
  const TokenSpan span = from_.span(begin, end);
  text_ += bytes;
  origins_.insert(origins_.end(), bytes.size(),
                  {static_cast<std::uint32_t>(span.begin), static_cast<std::uint32_t>(span.end)});
}

void Rewrite::put_in_front(std::string_view bytes) {
  arena_.require_room(text_.size() + bytes.size());
  const auto first = static_cast<std::uint32_t>(from_.text.empty() ? 0 : from_.span(0, 1).begin);
  text_ += bytes;
  origins_.insert(origins_.end(), bytes.size(), {first, first});
}

}  // namespace heed
