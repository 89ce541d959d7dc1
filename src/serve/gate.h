// Who is let in: the right Host, no foreign Origin, the token.
#pragma once

#include <httplib.h>

#include <string>

#include "serve/api_error.h"

namespace heed::server {

class Gate {
 public:
  Gate(std::string host, int port, std::string token);

  /// Throws forbidden unless Host is one of this server's names and Origin, where sent, the same.
  void check_origin(const httplib::Request& request) const;
  /// Throws unauthorized unless the cookie or `Authorization: Bearer` holds the token.
  void check_token(const httplib::Request& request) const;
  /// Without a hint of how much of it is right in the time that it takes.
  bool is_token(const std::string& text) const;
  /// The value of Set-Cookie; its name holds the port, since cookies do not know ports.
  std::string cookie() const;

 private:
  bool is_own(const std::string& host) const;

  std::string host_;
  int port_;
  std::string token_;
};

/// Content-Security-Policy and the other headers that every answer carries.
httplib::Headers hardening_headers();

}  // namespace heed::server
