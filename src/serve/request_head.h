// The head of a request, parsed strictly, because it decides who may send a body and how long it
// is.
#pragma once

#include <httplib.h>

#include <cstddef>
#include <string>
#include <string_view>

namespace heed::serve {

inline constexpr std::size_t kMostHeadBytes = std::size_t{32} << 10;

struct RequestHead {
  std::string line;  // "GET /?token=1 HTTP/1.1", without the line end
  httplib::Headers headers;
  bool keep_alive = true;
};

/// `text` includes the empty line at its end. Throws Refused (400, 414) if it violates RFC 9112:
/// anything that parsers could treat differently is refused.
RequestHead parse_head(std::string_view text);

/// Whether the headers announce a body.
bool announces_body(const httplib::Headers& headers);

/// The body's length in bytes. Throws Refused: 411 for Transfer-Encoding, 415 for Content-Encoding,
/// 400 for an invalid length, 413 above `most`.
std::size_t body_length(const httplib::Headers& headers, std::size_t most);

/// The value of a header; empty if it is missing or repeated.
std::string only_value(const httplib::Headers& headers, const char* name);

}  // namespace heed::serve
