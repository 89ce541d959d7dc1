// Who is let in, judged from the headers alone: Host, Origin, Sec-Fetch-Site, the token.
#pragma once

#include <httplib.h>

#include <string>

namespace heed::serve {

class Gate {
 public:
  Gate(std::string host, int port, std::string token);

  /// Throws forbidden unless Host is one of this server's names and Origin, where sent, the same.
  void check_origin(const httplib::Headers& headers) const;
  /// Whoever speaks to the API, or sends a body. Throws forbidden where a browser says that a
  /// foreign page asks, unauthorized unless the cookie holds the secret of this run or
  /// `Authorization: Bearer` the token.
  void check_api(const httplib::Headers& headers) const;
  /// Whether the cookie or `Authorization` shows that the user sent the request.
  bool is_known(const httplib::Headers& headers) const;
  /// Throws forbidden where a foreign page asks for one of the page's files. A link to `/` may
  /// stand anywhere.
  void check_page(const httplib::Headers& headers, const std::string& path) const;
  bool is_token(const std::string& text) const;
  /// The value of Set-Cookie: a secret of this run, since other servers of this machine see it too
  /// (cookies do not know ports). Its name holds the port, so that two servers do not take turns.
  std::string cookie() const;

 private:
  bool is_own(const std::string& host) const;
  std::string cookie_name() const;

  std::string host_;
  int port_;
  std::string token_;
  std::string session_;
};

/// Content-Security-Policy and the other headers that every answer carries.
httplib::Headers hardening_headers();

}  // namespace heed::serve
