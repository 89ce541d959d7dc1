// The head of a request, read strictly: it decides who may send a body, and how long that is.
#pragma once

#include <httplib.h>

#include <cstddef>
#include <string>
#include <string_view>

namespace heed::serve {

inline constexpr std::size_t kMostHeadBytes = std::size_t{32} << 10;

struct RequestHead {
  std::string line;  // "GET /?token=1 HTTP/1.1", without its end
  httplib::Headers headers;
  bool keep_alive = true;
};

/// `text` ends with the empty line. Throws Refused (400, 414) where it is not as RFC 9112 wants it:
/// what one parser would skip and another would take is refused.
RequestHead parse_head(std::string_view text);

/// Whether the headers say that a body follows.
bool announces_body(const httplib::Headers& headers);

/// The bytes of the body. Throws Refused: 411 for Transfer-Encoding, 415 for Content-Encoding, 400
/// for a length that is none, 413 above `most`.
std::size_t body_length(const httplib::Headers& headers, std::size_t most);

/// The one value of a header; empty where it is missing or stands there twice.
std::string only_value(const httplib::Headers& headers, const char* name);

}  // namespace heed::serve
