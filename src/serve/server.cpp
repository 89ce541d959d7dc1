// HTTP: admission, dispatch to handlers, start and end.
#include "serve/server.h"

#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <thread>

#include "inspect/session/session_memory.h"
#include "serve/api.h"
#include "serve/front.h"
#include "serve/gate.h"
#include "serve/page_sources.h"
#include "serve/route.h"

namespace heed {
namespace serve {
namespace {

constexpr int kBacklog = 256;        // connections waiting while the workers are busy
constexpr int kPatienceSeconds = 5;  // for a client that does not read

std::string loopback_url(const std::string& host, int port) {
  const bool bare_ipv6 = host.find(':') != std::string::npos && !host.starts_with('[');
  return fmt::format(fmt::runtime(bare_ipv6 ? "http://[{}]:{}" : "http://{}:{}"), host, port);
}

bool is_loopback(const sockaddr_storage& address) {
  if (address.ss_family == AF_INET) {
    const auto& v4 = reinterpret_cast<const sockaddr_in&>(address);
    return ntohl(v4.sin_addr.s_addr) >> 24 == 127;
  }
  const auto& v6 = reinterpret_cast<const sockaddr_in6&>(address);
  return address.ss_family == AF_INET6 && IN6_IS_ADDR_LOOPBACK(&v6.sin6_addr);
}

void send_page_file(const PageFile& file, const httplib::Request& request,
                    httplib::Response& response) {
  const std::string etag(file.etag);
  response.set_header("ETag", etag);
  response.set_header("Cache-Control", "no-cache");
  if (request.get_header_value("If-None-Match") == etag) {
    response.status = 304;
    return;
  }
  response.set_header("Vary", "Accept-Encoding");
  if (request.get_header_value("Accept-Encoding").find("gzip") == std::string::npos) {
    response.set_content(inflated(file.gzip), std::string(file.type));
    return;
  }
  response.set_header("Content-Encoding", "gzip");
  // A provider with a length is sent unchanged; httplib would compress a body again.
  response.set_content_provider(
      file.gzip.size(), std::string(file.type),
      [content = file.gzip](std::size_t offset, std::size_t length, httplib::DataSink& sink) {
        return sink.write(content.data() + offset, length);
      });
}

}  // namespace
}  // namespace serve

using serve::ApiError;

class Server::Impl {
 public:
  Impl(const LoadedModel* model, const ServerOptions& options)
      : options_(options), api_(model, options_) {
    share_memory();
    configure();
    bind();
    gate_ = std::make_unique<serve::Gate>(options_.host, port_, options_.token);
    http_.guard(*gate_, options_.limits);
    listen();
  }

  ~Impl() { stop(); }

  void stop() {
    if (!thread_.joinable()) return;
    api_.stopping = true;
    http_.stop();
    http_.close();
    thread_.join();
  }

  int port() const { return port_; }
  std::string address() const {
    return fmt::format("{}/?token={}", serve::loopback_url(options_.host, port_), options_.token);
  }

  bool is_local() const {
    sockaddr_storage address{};
    socklen_t size = sizeof address;
    return getsockname(socket_, reinterpret_cast<sockaddr*>(&address), &size) == 0 &&
           serve::is_loopback(address);
  }

 private:
  void configure() {
    http_.set_keep_alive_max_count(100000);
    http_.set_write_timeout(serve::kPatienceSeconds);
    http_.set_tcp_nodelay(true);
    http_.set_default_headers(serve::hardening_headers());
    // httplib's default, SO_REUSEPORT, would share a port in use.
    http_.set_socket_options([this](int socket) {
      const int yes = 1;
      setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
      socket_ = socket;
    });
    http_.set_pre_routing_handler([this](const httplib::Request& request, auto& response) {
      handle(request, response);
      return httplib::Server::HandlerResponse::Handled;
    });
    http_.set_error_handler(explain);
  }

  void bind() {
    errno = 0;
    port_ = options_.port;
    if (port_ == 0) {
      port_ = http_.bind_to_any_port(options_.host);
    } else if (!http_.bind_to_port(options_.host, port_)) {
      port_ = -1;
    }
    if (port_ <= 0) fail_to_bind(errno);
    ::listen(socket_, serve::kBacklog);  // httplib's default is 5
  }

  // httplib ends at once if the socket accepts no connection: then `is_running` stays false.
  void listen() {
    thread_ = std::thread([this] {
      errno = 0;
      http_.listen_after_bind();
      reason_ = errno;
      has_ended_ = true;
    });
    while (!http_.is_running() && !has_ended_) std::this_thread::yield();
    if (!has_ended_) return;
    thread_.join();
    fail({.code = ErrorCode::kIo,
          .op = "serve",
          .found = fmt::format("cannot take connections on {} port {}: {}", options_.host, port_,
                               reason_ != 0 ? std::strerror(reason_) : "the socket was closed")});
  }

  [[noreturn]] void fail_to_bind(int reason) const {
    if (reason == EADDRINUSE)
      fail("serve", "port", fmt::format("{}, which is in use", options_.port),
           "another one, or 0 for one that is free");
    fail({.op = "serve",
          .found = fmt::format("cannot listen on {} port {}: {}", options_.host, options_.port,
                               reason != 0 ? std::strerror(reason) : "no such host")});
  }

  void handle(const httplib::Request& request, httplib::Response& response) {
    serve::answer_safely(response, [&] {
      if (!request.path.starts_with("/api/")) return page(request, response);
      gate_->check_api(request.headers);
      serve::answer_api(api_, request, response);
    });
  }

  void page(const httplib::Request& request, httplib::Response& response) {
    gate_->check_page(request.headers, request.path);
    if (request.method != "GET" && request.method != "HEAD")
      serve::refuse_method(response, serve::kRead);
    if (request.path == "/" && request.has_param("token")) {
      if (request.params.count("token") > 1 || !gate_->is_token(request.get_param_value("token")))
        serve::refuse(401, "unauthorized",
                      {.argument = "the token",
                       .found = "wrong",
                       .hint = "open the address that heed serve printed"});
      response.set_header("Set-Cookie", gate_->cookie());
      response.set_header("Cache-Control", "no-store");
      response.set_redirect("/", 303);
      return;
    }
    if (request.path == "/favicon.ico") {  // browsers request it
      response.status = 204;
      return;
    }
    for (const serve::PageFile& file : serve::page_files()) {
      if (file.path != request.path) continue;
      serve::send_page_file(file, request, response);
      return;
    }
    if (request.path != "/") serve::refuse(404, "not_found", {.found = "no such path"});
    response.set_content("heed was built without its page (HEED_PAGE=OFF); the API is at /api/.\n",
                         "text/plain; charset=utf-8");
  }

  // Errors that httplib reports itself, before any handler.
  static void explain(const httplib::Request&, httplib::Response& response) {
    if (!response.body.empty()) return;
    const bool failed = response.status >= 500;
    const ApiError error{
        response.status,
        {.code = failed ? "failed" : "bad_request",
         .message = failed ? "the request failed" : "the request is not HTTP/1.1"}};
    serve::send_json(response, error.status, serve::error_json(error));
  }

  const ServerOptions options_;
  serve::Api api_;
  std::unique_ptr<serve::Gate> gate_;  // needs the port, so made after `bind`
  serve::Front http_;
  int socket_ = -1;
  int port_ = -1;
  int reason_ = 0;  // why it accepts no more connections
  std::atomic<bool> has_ended_ = false;
  std::thread thread_;
};

Server::Server(const LoadedModel& model, const ServerOptions& options)
    : impl_(std::make_unique<Impl>(&model, options)) {}
Server::Server(const ServerOptions& options) : impl_(std::make_unique<Impl>(nullptr, options)) {}
Server::~Server() = default;

int Server::port() const { return impl_->port(); }
std::string Server::address() const { return impl_->address(); }
bool Server::is_local() const { return impl_->is_local(); }
void Server::stop() { impl_->stop(); }

}  // namespace heed
