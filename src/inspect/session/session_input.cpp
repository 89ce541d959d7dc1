#include "inspect/session/session_input.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <random>
#include <set>
#include <system_error>
#include <utility>

#include "base/digest.h"
#include "base/stop.h"
#include "base/wording.h"
#include "heed/threads.h"
#include "heed/tokenizer.h"
#include "inspect/session/edit_tap.h"

namespace heed {

std::int64_t pair_split(std::span<const SessionToken> tokens) {
  const auto second = std::ranges::find(tokens, 1, &SessionToken::text);
  if (second != tokens.end()) return second - tokens.begin();
  return std::max<std::int64_t>(0, std::ssize(tokens) - 1);
}

bool is_special(const Tokenizer* tokenizer, const SessionToken& token) {
  return token.text < 0 || (tokenizer != nullptr && tokenizer->is_special(token.id));
}

std::vector<TokenId> ids_of(std::span<const SessionToken> tokens) {
  std::vector<TokenId> ids;
  for (const SessionToken& token : tokens) ids.push_back(token.id);
  return ids;
}

void check_length(const Session& session) {
  const bool reads_source = session.info.reads_source();
  const bool too_long = std::ssize(session.tokens) > session.info.positions;
  const bool source_too_long =
      reads_source && std::ssize(session.key_tokens) > session.info.source_positions;
  const std::int64_t length = std::ssize(too_long ? session.tokens : session.key_tokens);
  const std::int64_t most = too_long ? session.info.positions : session.info.source_positions;
  if (too_long || source_too_long)
    throw TooManyTokens(
        {.op = "session",
         .argument = too_long && reads_source ? "target" : "input",
         .found = number_of(length, "token"),
         .expected = fmt::format("at most {} ({}'s positions)", most, session.model)});
}

bool are_mostly_parts_of_characters(std::span<const SessionToken> tokens) {
  const auto parts = std::ranges::count_if(
      tokens, [](const SessionToken& token) { return find_invalid_utf8(token.bytes) >= 0; });
  return 2 * parts > std::ssize(tokens);
}

namespace {

// Not a cryptographic hash: access to a session needs the server's token, not its name.
class Hash {
 public:
  // The length comes before the bytes, so that two fields cannot be confused with one.
  void add(std::string_view bytes) {
    for (std::uint64_t left = bytes.size(), n = 0; n < 8; ++n, left >>= 8) digest_.add(left & 0xff);
    for (const char byte : bytes) digest_.add(static_cast<unsigned char>(byte));
  }
  std::string digits() const { return fmt::format("{:016x}", digest_.value()); }

 private:
  Digest digest_;
};

std::string made_now() {
  std::random_device random;
  return fmt::format("{:08x}{:08x}", random(), random());
}

// Returns one line per file, ordered by name. Files that cannot be read are skipped: the model was
// loaded without them.
std::string state_of(const std::filesystem::path& folder) {
  std::set<std::string> lines;
  std::error_code error;
  for (const auto& file : std::filesystem::directory_iterator(folder, error)) {
    const std::uintmax_t size = file.file_size(error);
    if (error) continue;
    const auto written = file.last_write_time(error).time_since_epoch().count();
    lines.insert(fmt::format("{} {} {}", file.path().filename().string(), size, written));
  }
  return fmt::format("{}\n{}", std::filesystem::absolute(folder, error).string(),
                     joined(lines, "\n"));
}

// [1, T] i32.
Tensor batch_of(std::span<const SessionToken> tokens) {
  Tensor ids = Tensor::empty({1, std::ssize(tokens)}, DType::kI32);
  std::ranges::transform(tokens, ids.data<TokenId>(), &SessionToken::id);
  return ids;
}

}  // namespace

std::string model_identity(const LoadedModel& model) {
  return fmt::format("heed {}\n{}\n{}", version(), model.name,
                     model.folder.empty() ? made_now() : state_of(model.folder));
}

std::string session_name(std::string_view model_identity, const SessionInput& input) {
  const std::vector<TokenId>& ids = input.ids;
  Hash hash;
  hash.add(model_identity);
  hash.add(ids.empty() ? "text" : "ids");
  hash.add(input.text);
  hash.add({reinterpret_cast<const char*>(ids.data()), ids.size() * sizeof(TokenId)});
  for (const auto& [name, text] :
       {std::pair("pair", &input.pair), {"target", &input.target}, {"chat", &input.chat}}) {
    if (!*text) continue;
    hash.add(name);
    hash.add(**text);
  }
  if (!input.edits.empty()) {
    hash.add("edits");
    hash.add(to_text(input.edits));
  }
  return hash.digits();
}

Tensor pass_over(const Session& session, const LoadedModel& model, const PassOptions& options) {
  check_length(session);
  const Tensor ids = batch_of(session.tokens);
  const Tensor source = batch_of(session.key_tokens);
  EditTap edited(session, options.tap);
  Run run;
  run.tap = session.edits.empty() ? options.tap : &edited;
  run.last_position_only = !options.all_positions;
  run.in_bulk = ids.dim(1) >= kBulkRows;
  std::optional<StopScope> scope;
  if (options.stopped != nullptr) scope.emplace(*options.stopped);
  Batch batch = {.ids = ids};
  if (session.info.reads_source()) batch.source = source;
  if (!session.types.empty())
    batch.types = ConstView(session.types.data(), DType::kI32, ids.shape());
  Tensor out = model.model->forward(batch, run);
  const Shape shape = {out.dim(1), out.dim(2)};
  return std::move(out).reshaped(shape);
}

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
