// What chat models read: a conversation, as the model's own template writes it.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "heed/models/registry.h"
#include "heed/text/tokenizer.h"

namespace heed {

struct ChatMessage {
  std::string role;  // "system", "user", "assistant"
  std::string content;
};

/// The text that the chat template makes of the messages and of the beginning of the answer. The
/// template is `chat_template.jinja` in the model's folder, else `chat_template` in
/// tokenizer_config.json (of a list "default"), or `tokenizer.chat_template` of a GGUF file.
/// kNotFound names what was sought; an error of the template names its file and line.
std::string chat_text(const LoadedModel& model, std::span<const ChatMessage> messages);

/// The same from the template's variables, a JSON object with `messages` (members of a message that
/// are null are left out) and whatever else it reads: `add_generation_prompt`, `tools`,
/// `enable_thinking`. `chat_template`: used in place of the model's own, unless empty.
std::string chat_text(const LoadedModel& model, std::string_view variables,
                      std::string_view chat_template = {});

/// The tokens of that text: a special token that the template wrote is one token, and the tokenizer
/// adds none of its own.
Encoding encode_chat(const LoadedModel& model, std::string_view text);

}  // namespace heed
