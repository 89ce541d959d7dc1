// Reads the JSON in the body of a request. Errors name the field.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/formats/json.h"
#include "heed/session.h"

namespace heed::serve {

JsonText parse_body(const std::string& body);

[[noreturn]] void refuse_field(const std::string& name, const Json& found, const char* expected);
/// Throws if the object has another field. `name` is its own in messages, with a dot: "swap[0].".
void check_fields(const Json& object, const std::string& name,
                  const std::vector<std::string>& fields);
std::int64_t whole_number(const Json& number, const std::string& name);
std::string text_of(const Json& text, const std::string& name);

/// {"ablate": [PLACE], "remove": [PLACE with query, key], "hide": [TOKEN], "swap": [TOKEN with id
/// or text], "mask": [{"stack", "layer"?, "head"?, "left"?, "right"?}]}; PLACE {"stack", "layer",
/// "head"}, TOKEN {"side": "tokens" | "key_tokens", "position"}. Default stack: the first. Errors
/// name the field. `session` provides stacks and words.
Edits edits_of(const Json& body, const Session& session);

}  // namespace heed::serve
