// Texts that a session reads and writes: cut to what the model can read, and written as its folder
// says.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "heed/generate.h"
#include "heed/model.h"
#include "heed/session.h"

namespace heed {

enum class Keep { kAll, kFirst, kLast };

/// Returns the part of `text` that has at most as many tokens as `model` has positions; all of
/// `text` if it fits or if all is to be kept. Cuts between characters, and between tokens where a
/// token ends with a character. The tokens of `pair`, a second text, count but are not cut.
std::string shorten(const LoadedModel& model, const std::string& text, Keep keep,
                    std::optional<std::string_view> pair = {});

/// The same part of the last message, such that the whole chat fits.
std::string shorten(const LoadedModel& model, std::span<const ChatMessage> messages, Keep keep);

/// The tokens of a chat, placed within its last message, which the template may have trimmed.
/// begin = end outside of the message.
Encoding encode_chat(const LoadedModel& model, std::string_view chat, std::string_view message);

/// Sets `args` from the folder's generation_config.json, except the members that are `given`. Like
/// transformers, generation is greedy unless the file asks for sampling.
void follow_folder(const LoadedModel& model, GenerateArgs& args,
                   std::span<const std::string_view> given = {});

}  // namespace heed
