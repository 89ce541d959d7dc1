#include "inspect/answers/json_text.h"

#include <nlohmann/json.hpp>

#include "heed/text/tokenizer.h"

namespace heed::server {

std::string json_string(std::string_view bytes) {
  return nlohmann::json(find_invalid_utf8(bytes) < 0 ? std::string(bytes) : displayable(bytes))
      .dump();
}

std::string json_token_text(std::string_view bytes) {
  std::string fields = fmt::format("\"text\":{}", json_string(bytes));
  if (find_invalid_utf8(bytes) < 0) return fields;
  fields += ",\"bytes\":\"";
  for (const char byte : bytes)
    fmt::format_to(std::back_inserter(fields), "{:02x}", static_cast<unsigned char>(byte));
  return fields + "\"";
}

}  // namespace heed::server
