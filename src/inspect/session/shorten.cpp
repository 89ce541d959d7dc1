#include "inspect/session/shorten.h"

#include <algorithm>

namespace heed {
namespace {

bool is_inside_character(const std::string& text, std::size_t at) {
  return at < text.size() && (static_cast<unsigned char>(text[at]) & 0xC0U) == 0x80U;
}

std::string first_part(const std::string& text, std::int64_t end) {
  auto size = std::min(static_cast<std::size_t>(end), text.size() - 1);
  while (size > 0 && is_inside_character(text, size)) --size;
  return text.substr(0, size);
}

std::string last_part(const std::string& text, std::int64_t begin) {
  auto from = std::max<std::size_t>(static_cast<std::size_t>(begin), 1);
  while (is_inside_character(text, from)) ++from;
  return text.substr(from);
}

}  // namespace

std::string shorten(const LoadedModel& model, const std::string& text, Keep keep) {
  std::string kept = text;
  // What is left may be cut into other tokens, even more of them, so it is looked at again.
  while (keep != Keep::kAll && !kept.empty()) {
    const Session session = tokenize_session(model, kept);
    const auto limit = static_cast<std::size_t>(session.info.positions);
    const auto& tokens = session.tokens;
    if (tokens.size() <= limit) break;
    const auto specials = static_cast<std::size_t>(std::ranges::count_if(
        tokens, [](const SessionToken& token) { return token.begin == token.end; }));
    const std::size_t room = limit - std::min(specials, limit - 1);  // of tokens that are text
    std::vector<SessionToken> written;
    std::ranges::copy_if(tokens, std::back_inserter(written),
                         [](const SessionToken& token) { return token.begin < token.end; });
    if (written.empty()) break;  // the added tokens alone are too many
    kept = keep == Keep::kFirst ? first_part(kept, written[room - 1].end)
                                : last_part(kept, written[written.size() - room].begin);
  }
  return kept;
}

}  // namespace heed
