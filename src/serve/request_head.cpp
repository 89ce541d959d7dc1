#include "serve/request_head.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "base/wording.h"
#include "serve/route.h"

namespace heed::serve {
namespace {

constexpr std::size_t kLongestLine = 8192;
constexpr std::size_t kMostDigits = 18;  // of a length, so that it fits 64 bits

std::string_view next_line(std::string_view& text) {
  const std::size_t end = text.find("\r\n");
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(text.size(), line.size() + 2));
  return line;
}

// RFC 9110, 5.6.2: otherwise another parser might read "Content-Length : 5" as a different header.
bool is_name(std::string_view text) {
  constexpr std::string_view kMarks = "!#$%&'*+-.^_`|~";
  return !text.empty() && std::ranges::all_of(text, [&](unsigned char c) {
    return std::isalnum(c) != 0 || kMarks.find(static_cast<char>(c)) != std::string_view::npos;
  });
}

bool is_control(unsigned char c) { return (c < 0x20 && c != '\t') || c == 0x7F; }

std::string_view trimmed(std::string_view text) {
  const auto is_space = [](char c) { return c == ' ' || c == '\t'; };
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

std::string lower(std::string_view text) {
  std::string all(text);
  std::ranges::transform(all, all.begin(), [](unsigned char c) { return std::tolower(c); });
  return all;
}

void add_header(std::string_view line, httplib::Headers& headers) {
  const std::size_t colon = line.find(':');
  const std::string_view name = line.substr(0, colon);
  if (colon == std::string_view::npos || !is_name(name) || std::ranges::any_of(line, is_control))
    refuse_parameter("a header", "malformed", "\"Name: value\" and CR LF");
  headers.emplace(name, trimmed(line.substr(colon + 1)));
}

// RFC 9112, 9.3
bool keeps_alive(const RequestHead& head) {
  const bool old = !head.line.ends_with(" HTTP/1.1");
  const auto [begin, end] = head.headers.equal_range("Connection");
  bool keep = !old;
  for (auto each = begin; each != end; ++each) {
    const std::string value = lower(each->second);
    if (value.find("close") != std::string::npos) return false;
    keep = keep || value.find("keep-alive") != std::string::npos;
  }
  return keep;
}

}  // namespace

RequestHead parse_head(std::string_view text) {
  RequestHead head;
  const std::string_view line = next_line(text);
  if (line.size() > kLongestLine)
    refuse(414, "too_large",
           {.argument = "the address",
            .found = fmt::format("{} long", number_of(line.size(), "byte")),
            .expected = fmt::format("at most {}", kLongestLine)});
  if (line.empty() || std::ranges::any_of(line, is_control))
    refuse(400, "bad_request", {.found = "the request is not HTTP/1.1"});
  head.line = line;
  while (!text.empty() && text != "\r\n") add_header(next_line(text), head.headers);
  head.keep_alive = keeps_alive(head);
  return head;
}

bool announces_body(const httplib::Headers& headers) {
  if (headers.contains("Transfer-Encoding") || headers.contains("Content-Encoding")) return true;
  return headers.contains("Content-Length") && only_value(headers, "Content-Length") != "0";
}

std::size_t body_length(const httplib::Headers& headers, std::size_t most) {
  if (headers.contains("Transfer-Encoding"))
    refuse(411, "bad_request",
           {.argument = "Transfer-Encoding", .found = "given", .expected = "Content-Length"});
  if (headers.contains("Content-Encoding"))
    refuse(415, "bad_request",
           {.argument = "Content-Encoding", .found = "given", .expected = "the body as it is"});
  if (!headers.contains("Content-Length")) return 0;
  const std::string text = only_value(headers, "Content-Length");
  const bool digits = std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
  if (text.empty() || !digits)
    refuse_parameter("Content-Length", "no number, or several", "one whole number");
  if (text.size() > kMostDigits || std::stoull(text) > most)
    refuse(413, "too_large",
           {.argument = "the body",
            .found = text.substr(0, 2 * kMostDigits) + " bytes long",
            .expected = fmt::format("at most {} bytes", most)});
  return std::stoull(text);
}

std::string only_value(const httplib::Headers& headers, const char* name) {
  const auto [begin, end] = headers.equal_range(name);
  return begin != end && std::next(begin) == end ? begin->second : std::string();
}

}  // namespace heed::serve
