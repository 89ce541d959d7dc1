#include "inspect/session/texts.h"

#include <algorithm>
#include <functional>
#include <vector>

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

using Encode = std::function<Encoding(const std::string& kept)>;

std::string shortened(const LoadedModel& model, std::string kept, Keep keep, const Encode& encode) {
  if (model.tokenizer == nullptr || keep == Keep::kAll) return kept;
  const ModelInfo& info = model.model->info();
  const auto limit =
      static_cast<std::size_t>(info.reads_source() ? info.source_positions : info.positions);
  // The shortened text may be tokenised differently, even into more tokens, so it is checked again.
  while (!kept.empty()) {
    const Encoding tokens = encode(kept);
    if (tokens.ids.size() <= limit) break;
    std::vector<TokenSpan> written;
    for (std::size_t i = 0; i < tokens.ids.size(); ++i)
      if (tokens.spans[i].begin < tokens.spans[i].end &&
          (tokens.texts.empty() || tokens.texts[i] == 0))
        written.push_back(tokens.spans[i]);
    const std::size_t others = tokens.ids.size() - written.size();
    if (written.empty() || others >= limit) break;  // the other tokens alone exceed the limit
    const std::size_t room = limit - others;
    kept = keep == Keep::kFirst ? first_part(kept, written[room - 1].end)
                                : last_part(kept, written[written.size() - room].begin);
  }
  return kept;
}

}  // namespace

std::string shorten(const LoadedModel& model, const std::string& text, Keep keep,
                    std::optional<std::string_view> pair) {
  return shortened(model, text, keep, [&](const std::string& kept) {
    return pair ? model.tokenizer->encode_pair(kept, *pair, /*add_special=*/true)
                : model.tokenizer->encode(kept, /*add_special=*/true);
  });
}

std::string shorten(const LoadedModel& model, std::span<const ChatMessage> messages, Keep keep) {
  std::vector<ChatMessage> chat(messages.begin(), messages.end());
  return shortened(model, chat.back().content, keep, [&](const std::string& kept) {
    chat.back().content = kept;
    return encode_chat(model, chat_text(model, chat), kept);
  });
}

Encoding encode_chat(const LoadedModel& model, std::string_view chat, std::string_view message) {
  constexpr std::string_view kBlank = " \t\r\n\v\f";
  Encoding encoding = encode_chat(model, chat);
  const std::size_t first = message.find_first_not_of(kBlank);
  const std::size_t size = message.find_last_not_of(kBlank) - first + 1;
  const std::size_t found =
      first == std::string_view::npos ? first : chat.rfind(message.substr(first, size));
  const bool is_found = found != std::string_view::npos;
  const auto least = static_cast<std::int64_t>(is_found ? first : 0);
  const auto most = static_cast<std::int64_t>(is_found ? first + size : 0);
  const std::int64_t offset = static_cast<std::int64_t>(found) - least;
  for (TokenSpan& span : encoding.spans)
    span = {std::clamp(span.begin - offset, least, most),
            std::clamp(span.end - offset, least, most)};
  return encoding;
}

void follow_folder(const LoadedModel& model, GenerateArgs& args,
                   std::span<const std::string_view> given) {
  GenerationConfig config = read_generation_config(model.folder);
  config.samples = config.samples.value_or(false);
  args.tokenizer = model.writing_tokenizer();
  if (args.tokenizer == nullptr) config.stop.clear();  // ids alone hold no text to stop at
  check(config, model.model->info(), args.tokenizer);
  follow(std::move(config), args, given);
}

}  // namespace heed
