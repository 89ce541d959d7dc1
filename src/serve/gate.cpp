#include "serve/gate.h"

#include <arpa/inet.h>

#include <array>
#include <string_view>

namespace heed::server {
namespace {

// The value of one cookie of `Cookie: a=1; b=2`; empty when it is not there.
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

bool is_loopback_name(std::string_view name) {
  return name == "localhost" || name == "[::1]" || name == "127.0.0.1";
}

// A page elsewhere can point a name of its own at this machine, but not an address.
bool is_address(const std::string& name) {
  std::array<unsigned char, sizeof(in6_addr)> parsed;
  if (inet_pton(AF_INET, name.c_str(), parsed.data()) == 1) return true;
  return name.starts_with('[') && name.ends_with(']') &&
         inet_pton(AF_INET6, name.substr(1, name.size() - 2).c_str(), parsed.data()) == 1;
}

}  // namespace

Gate::Gate(std::string host, int port, std::string token)
    : host_(std::move(host)), port_(port), token_(std::move(token)) {}

bool Gate::is_own(const std::string& host) const {
  const std::string port = fmt::format(":{}", port_);
  if (!host.ends_with(port)) return false;
  const std::string name = host.substr(0, host.size() - port.size());
  if (is_loopback_name(name) || name == host_) return true;
  return !is_loopback_name(host_) && is_address(name);
}

void Gate::check_origin(const httplib::Request& request) const {
  const std::string host = request.get_header_value("Host");
  if (request.get_header_value_count("Host") != 1 || !is_own(host))
    refuse(403, "forbidden", "Host is not this server, expected localhost:{}", port_);
  const std::size_t origins = request.get_header_value_count("Origin");
  if (origins > 1 || (origins == 1 && request.get_header_value("Origin") != "http://" + host))
    refuse(403, "forbidden", "Origin is not this server, expected http://localhost:{}", port_);
}

void Gate::check_token(const httplib::Request& request) const {
  constexpr std::string_view kBearer = "Bearer ";
  const std::string header = request.get_header_value("Authorization");
  if (header.starts_with(kBearer) && is_token(header.substr(kBearer.size()))) return;
  const std::string cookies = request.get_header_value("Cookie");
  if (is_token(std::string(cookie_of(cookies, fmt::format("heed-{}", port_))))) return;
  refuse(401, "unauthorized",
         "the token is missing or wrong: open the address that heed serve printed");
}

bool Gate::is_token(const std::string& text) const {
  if (text.size() != token_.size() || token_.empty()) return false;
  unsigned char different = 0;
  for (std::size_t i = 0; i < text.size(); ++i)
    different |= static_cast<unsigned char>(text[i] ^ token_[i]);
  return different == 0;
}

std::string Gate::cookie() const {
  return fmt::format("heed-{}={}; Path=/; HttpOnly; SameSite=Strict", port_, token_);
}

// blob: is what the page itself has drawn, on its way from SVG to PNG.
httplib::Headers hardening_headers() {
  return {{"Content-Security-Policy",
           "default-src 'self'; img-src 'self' blob:; base-uri 'none'; form-action 'none'; "
           "frame-ancestors 'none'; "
           "object-src 'none'"},
          {"X-Content-Type-Options", "nosniff"},
          {"X-Frame-Options", "DENY"},
          {"Referrer-Policy", "no-referrer"},
          {"Cross-Origin-Opener-Policy", "same-origin"},
          {"Cross-Origin-Resource-Policy", "same-origin"}};
}

}  // namespace heed::server
