#include "serve/gate.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <array>
#include <string_view>
#include <utility>

#include "heed/error.h"
#include "serve/request_head.h"
#include "serve/route.h"
#include "serve/server.h"

namespace heed::serve {
namespace {

constexpr int kHttpPort = 80;

// Takes the same time however much of the text is right.
bool is_same(std::string_view text, std::string_view secret) {
  if (text.size() != secret.size() || secret.empty()) return false;
  unsigned char different = 0;
  for (std::size_t i = 0; i < text.size(); ++i)
    different |= static_cast<unsigned char>(text[i] ^ secret[i]);
  return different == 0;
}

// The browser's statement of the request's origin; `none` is the user. Other ports of this machine
// are `same-site`.
bool is_foreign(const httplib::Headers& headers) {
  if (!headers.contains("Sec-Fetch-Site")) return false;
  const std::string site = only_value(headers, "Sec-Fetch-Site");
  return site != "same-origin" && site != "none";
}

// The value of one cookie in `Cookie: a=1; b=2`; empty if it is missing.
std::string_view cookie_of(std::string_view header, std::string_view name) {
  while (!header.empty()) {
    std::string_view pair = header.substr(0, header.find(';'));
    header.remove_prefix(std::min(header.size(), pair.size() + 1));
    while (pair.starts_with(' ')) pair.remove_prefix(1);
    if (pair.starts_with(name) && pair.substr(name.size()).starts_with('='))
      return pair.substr(name.size() + 1);
  }
  return {};
}

[[noreturn]] void refuse_foreign(Phrase header, Phrase expected) {
  refuse(403, "forbidden",
         {.argument = std::move(header),
          .found = "not this server's",
          .expected = std::move(expected)});
}

bool is_loopback_name(std::string_view name) {
  return name == "localhost" || name == "[::1]" || name == "127.0.0.1";
}

// A foreign page can point a host name of its own at this machine, but not an address.
bool is_address(const std::string& name) {
  std::array<unsigned char, sizeof(in6_addr)> parsed;
  if (inet_pton(AF_INET, name.c_str(), parsed.data()) == 1) return true;
  return name.starts_with('[') && name.ends_with(']') &&
         inet_pton(AF_INET6, name.substr(1, name.size() - 2).c_str(), parsed.data()) == 1;
}

}  // namespace

Gate::Gate(std::string host, int port, std::string token)
    : host_(std::move(host)), port_(port), token_(std::move(token)), session_(random_token()) {}

// Browsers omit http's default port, 80.
bool Gate::is_own(const std::string& host) const {
  const std::string port = fmt::format(":{}", port_);
  const bool has_port = host.ends_with(port);
  if (!has_port && port_ != kHttpPort) return false;
  const std::string name = has_port ? host.substr(0, host.size() - port.size()) : host;
  if (is_loopback_name(name) || name == host_) return true;
  return !is_loopback_name(host_) && is_address(name);
}

void Gate::check_origin(const httplib::Headers& headers) const {
  const std::string host = only_value(headers, "Host");
  if (!is_own(host)) refuse_foreign("Host", fmt::format("localhost:{}", port_));
  if (headers.contains("Origin") && only_value(headers, "Origin") != "http://" + host)
    refuse_foreign("Origin", fmt::format("http://localhost:{}", port_));
}

void Gate::check_api(const httplib::Headers& headers) const {
  if (is_foreign(headers)) refuse_foreign("Sec-Fetch-Site", "same-origin");
  if (is_known(headers)) return;
  refuse(401, "unauthorized",
         {.argument = "the token",
          .found = "missing or wrong",
          .hint = "open the address that heed serve printed"});
}

bool Gate::is_known(const httplib::Headers& headers) const {
  constexpr std::string_view kBearer = "Bearer ";
  const std::string header = only_value(headers, "Authorization");
  if (header.starts_with(kBearer) && is_token(header.substr(kBearer.size()))) return true;
  const std::string cookies = only_value(headers, "Cookie");
  return is_same(cookie_of(cookies, cookie_name()), session_);
}

void Gate::check_page(const httplib::Headers& headers, const std::string& path) const {
  const bool is_link = path == "/" && (!headers.contains("Sec-Fetch-Mode") ||
                                       only_value(headers, "Sec-Fetch-Mode") == "navigate");
  if (is_foreign(headers) && !is_link) refuse_foreign("Sec-Fetch-Site", "same-origin");
}

bool Gate::is_token(const std::string& text) const { return is_same(text, token_); }

std::string Gate::cookie_name() const { return fmt::format("heed-{}", port_); }

std::string Gate::cookie() const {
  return fmt::format("{}={}; Path=/; HttpOnly; SameSite=Strict", cookie_name(), session_);
}

// blob: is what the page itself has drawn, on its way from SVG to PNG; data: an image of the
// session.
httplib::Headers hardening_headers() {
  return {{"Content-Security-Policy",
           "default-src 'self'; img-src 'self' blob: data:; base-uri 'none'; form-action 'none'; "
           "frame-ancestors 'none'; "
           "object-src 'none'"},
          {"X-Content-Type-Options", "nosniff"},
          {"X-Frame-Options", "DENY"},
          {"Referrer-Policy", "no-referrer"},
          {"Cross-Origin-Opener-Policy", "same-origin"},
          {"Cross-Origin-Resource-Policy", "same-origin"}};
}

}  // namespace heed::serve
