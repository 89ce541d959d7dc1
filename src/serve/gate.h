// Decides which requests are allowed, from headers alone: Host, Origin, Sec-Fetch-Site, the token.
#pragma once

#include <httplib.h>

#include <string>

namespace heed::serve {

class Gate {
 public:
  Gate(std::string host, int port, std::string token);

  /// Throws forbidden unless Host, and Origin if sent, is one of this server's names.
  void check_origin(const httplib::Headers& headers) const;
  /// For requests to the API and requests with a body. Throws forbidden if the browser says that a
  /// foreign page asks; throws unauthorized unless the cookie holds this run's secret or
  /// `Authorization: Bearer` the token.
  void check_api(const httplib::Headers& headers) const;
  /// Whether the cookie or `Authorization` proves that the user sent the request.
  bool is_known(const httplib::Headers& headers) const;
  /// Throws forbidden if a foreign page requests one of the page's files. Links to `/` are allowed
  /// everywhere.
  void check_page(const httplib::Headers& headers, const std::string& path) const;
  bool is_token(const std::string& text) const;
  /// The value of Set-Cookie: a secret of this run, because other servers of this machine see it
  /// too (cookies ignore ports). Its name contains the port, so that two servers do not overwrite
  /// each other's cookie.
  std::string cookie() const;

 private:
  bool is_own(const std::string& host) const;
  std::string cookie_name() const;

  std::string host_;
  int port_;
  std::string token_;
  std::string session_;
};

/// Content-Security-Policy and the other headers of every answer.
httplib::Headers hardening_headers();

}  // namespace heed::serve
