#include "inspect/session/texts.h"

#include <algorithm>
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

}  // namespace

std::string shorten(const LoadedModel& model, const std::string& text, Keep keep,
                    std::optional<std::string_view> pair) {
  if (model.tokenizer == nullptr || keep == Keep::kAll) return text;
  const ModelInfo& info = model.model->info();
  const auto limit =
      static_cast<std::size_t>(info.reads_source() ? info.source_positions : info.positions);
  std::string kept = text;
  // The shortened text may be tokenised differently, even into more tokens, so it is checked again.
  while (!kept.empty()) {
    const Encoding tokens = pair ? model.tokenizer->encode_pair(kept, *pair, /*add_special=*/true)
                                 : model.tokenizer->encode(kept, /*add_special=*/true);
    if (tokens.ids.size() <= limit) break;
    std::vector<TokenSpan> written;
    for (std::size_t i = 0; i < tokens.ids.size(); ++i)
      if (tokens.spans[i].begin < tokens.spans[i].end && (!pair || tokens.texts[i] == 0))
        written.push_back(tokens.spans[i]);
    const std::size_t others = tokens.ids.size() - written.size();
    if (written.empty() || others >= limit) break;  // the other tokens alone exceed the limit
    const std::size_t room = limit - others;
    kept = keep == Keep::kFirst ? first_part(kept, written[room - 1].end)
                                : last_part(kept, written[written.size() - room].begin);
  }
  return kept;
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
