// HTTP: who may come in, which handler answers, how it starts and ends.
#include "serve/server.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <thread>

#include "serve/api.h"
#include "serve/api_error.h"
#include "serve/gate.h"
#include "serve/inflate.h"
#include "serve/page_files.h"
#include "serve/workers.h"

namespace heed {
namespace server {
namespace {

constexpr int kBacklog = 256;         // connections that wait while the workers are busy
constexpr int kKeepAliveSeconds = 1;  // an idle connection holds a worker
constexpr int kPatienceSeconds = 5;   // with a client that neither reads nor writes
constexpr std::size_t kLongestPath = 512;

std::string loopback_url(const std::string& host, int port) {
  const bool bare_ipv6 = host.find(':') != std::string::npos && !host.starts_with('[');
  return fmt::format(fmt::runtime(bare_ipv6 ? "http://[{}]:{}" : "http://{}:{}"), host, port);
}

// Of a socket of IP; -1 for any other descriptor.
int local_port(int descriptor) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  if (getsockname(descriptor, reinterpret_cast<sockaddr*>(&address), &size) != 0) return -1;
  if (address.ss_family == AF_INET)
    return ntohs(reinterpret_cast<const sockaddr_in*>(&address)->sin_port);
  if (address.ss_family == AF_INET6)
    return ntohs(reinterpret_cast<const sockaddr_in6*>(&address)->sin6_port);
  return -1;
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
  // A provider with a length is sent as it is; httplib would compress a body once more.
  response.set_content_provider(
      file.gzip.size(), std::string(file.type),
      [content = file.gzip](std::size_t offset, std::size_t length, httplib::DataSink& sink) {
        return sink.write(content.data() + offset, length);
      });
}

}  // namespace
}  // namespace server

using server::ApiError;

class Server::Impl {
 public:
  Impl(const LoadedModel* model, const ServerOptions& options)
      : options_(options), api_(model, options_) {
    configure();
    bind();
    gate_ = std::make_unique<server::Gate>(options_.host, port_, options_.token);
    workers_ = std::make_unique<server::Workers>(options_.limits.workers);
    listen();
  }

  ~Impl() { stop(); }

  void stop() {
    if (!thread_.joinable()) return;
    api_.stopping = true;
    http_.stop();
    close_connections();
    thread_.join();
  }

  int port() const { return port_; }
  std::string address() const {
    return fmt::format("{}/?token={}", server::loopback_url(options_.host, port_), options_.token);
  }

 private:
  // A worker that waits for the rest of a request, or for a client to take its answer, would hold
  // `stop` until its patience ends. httplib shows nobody its connections: they are the sockets of
  // this process whose own port is the server's.
  void close_connections() const {
    std::error_code ignored;
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd", ignored)) {
      const int descriptor = std::atoi(entry.path().filename().c_str());
      if (server::local_port(descriptor) == port_) ::shutdown(descriptor, SHUT_RDWR);
    }
  }

  void configure() {
    http_.new_task_queue = [this] { return workers_.release(); };  // httplib deletes it
    http_.set_payload_max_length(static_cast<std::size_t>(options_.limits.body_bytes));
    http_.set_keep_alive_max_count(100000);
    http_.set_keep_alive_timeout(server::kKeepAliveSeconds);
    http_.set_read_timeout(server::kPatienceSeconds);
    http_.set_write_timeout(server::kPatienceSeconds);
    http_.set_tcp_nodelay(true);
    http_.set_default_headers(server::hardening_headers());
    // httplib's default, SO_REUSEPORT, would share a port that is in use.
    http_.set_socket_options([this](int socket) {
      const int yes = 1;
      setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
      socket_ = socket;
    });
    http_.set_pre_routing_handler([this](const httplib::Request& request, auto& response) {
      // Whole answers only: httplib would cut parts out of JSON, errors included.
      const_cast<httplib::Request&>(request).ranges.clear();
      if (has_body(request)) return httplib::Server::HandlerResponse::Unhandled;
      handle(request, response);
      return httplib::Server::HandlerResponse::Handled;
    });
    // A body is read before its request is refused: what is left of it would be taken for the next
    // request.
    const auto then = [this](const auto& request, auto& response) { handle(request, response); };
    constexpr const char* kAnyPath = R"([\s\S]*)";
    http_.Post(kAnyPath, then).Put(kAnyPath, then).Patch(kAnyPath, then).Delete(kAnyPath, then);
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
    require(port_ > 0 || errno != EADDRINUSE,
            "serve: port {} is in use: choose another with --port, 0 takes one that is free",
            options_.port);
    require(port_ > 0, "serve: cannot listen on {} port {}: {}", options_.host, options_.port,
            errno != 0 ? std::strerror(errno) : "no such host");
    ::listen(socket_, server::kBacklog);  // httplib's own is 5
  }

  // httplib ends at once where the socket takes no connection: `is_running` is then false for good.
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
    fail(ErrorCode::kIo, "serve: cannot take connections on {} port {}: {}", options_.host, port_,
         reason_ != 0 ? std::strerror(reason_) : "the socket was closed");
  }

  // What httplib reads the body of. Without a length there is none (RFC 9112, 6.3), where httplib
  // would wait for the connection's end. A path too long for any of ours is not worth a regular
  // expression, which recurses.
  static bool has_body(const httplib::Request& request) {
    const bool is_said =
        request.has_header("Content-Length") || request.has_header("Transfer-Encoding");
    return is_said && std::ranges::count(kBodied, request.method) > 0 &&
           request.path.size() <= server::kLongestPath;
  }

  void handle(const httplib::Request& request, httplib::Response& response) {
    try {
      answer(request, response);
    } catch (...) {
      const ApiError error = server::api_error(std::current_exception());
      server::send_json(response, error.status, server::error_json(error));
    }
  }

  void answer(const httplib::Request& request, httplib::Response& response) {
    gate_->check_origin(request);
    if (!request.path.starts_with("/api/")) return page(request, response);
    gate_->check_token(request);
    const std::string method = request.method == "HEAD" ? "GET" : request.method;
    std::vector<std::string_view> allowed;
    for (const server::Route& route : server::api_routes()) {
      auto values = server::match_path(route.pattern, request.path);
      if (values && method == route.method) {
        route.handler(api_, {request, std::move(*values)}, response);
        return;
      }
      if (values)
        allowed.emplace_back(route.method == std::string_view("GET") ? kRead : route.method);
    }
    if (!allowed.empty()) refuse_method(response, fmt::format("{}", fmt::join(allowed, ", ")));
    server::refuse(404, "not_found", "no such path, docs/api.md lists them");
  }

  [[noreturn]] static void refuse_method(httplib::Response& response, const std::string& allowed) {
    response.set_header("Allow", allowed);
    server::refuse(405, "bad_request", "this path answers {}", allowed);
  }

  void page(const httplib::Request& request, httplib::Response& response) {
    if (request.method != "GET" && request.method != "HEAD") refuse_method(response, kRead);
    if (request.path == "/" && request.has_param("token")) {
      if (!gate_->is_token(request.get_param_value("token")))
        server::refuse(401, "unauthorized",
                       "the token is wrong: open the address that heed serve printed");
      response.set_header("Set-Cookie", gate_->cookie());
      response.set_header("Cache-Control", "no-store");
      response.set_redirect("/", 303);
      return;
    }
    if (request.path == "/favicon.ico") {  // browsers ask for one
      response.status = 204;
      return;
    }
    for (const server::PageFile& file : server::page_files()) {
      if (file.path != request.path) continue;
      server::send_page_file(file, request, response);
      return;
    }
    if (request.path != "/") server::refuse(404, "not_found", "no such path");
    response.set_content("heed was built without its page (HEED_PAGE=OFF); the API is at /api/.\n",
                         "text/plain; charset=utf-8");
  }

  static constexpr const char* kRead = "GET, HEAD";
  static constexpr std::array<std::string_view, 4> kBodied = {"POST", "PUT", "PATCH", "DELETE"};
  static constexpr const char* kForm = "application/x-www-form-urlencoded";  // what curl -d sends

  // What httplib refuses by itself, before any handler.
  static void explain(const httplib::Request& request, httplib::Response& response) {
    if (!response.body.empty()) return;
    ApiError error{response.status, "bad_request", "the request is not HTTP as it should be"};
    if (response.status == 413) {
      const bool form = request.get_header_value("Content-Type").starts_with(kForm);
      error = {413, "too_large",
               form ? "a form may have 8 KiB: send the body as application/json"
                    : "the body is larger than it may be"};
    }
    if (response.status == 414) error = {414, "too_large", "the address is longer than it may be"};
    if (response.status >= 500) error = {response.status, "failed", "the request failed"};
    server::send_json(response, error.status, server::error_json(error));
  }

  const ServerOptions options_;
  server::Api api_;
  std::unique_ptr<server::Gate> gate_;  // knows the port, so made after `bind`
  httplib::Server http_;
  std::unique_ptr<server::Workers> workers_;  // until httplib takes them
  int socket_ = -1;
  int port_ = -1;
  int reason_ = 0;  // why it takes no more connections
  std::atomic<bool> has_ended_ = false;
  std::thread thread_;
};

Server::Server(const LoadedModel& model, const ServerOptions& options)
    : impl_(std::make_unique<Impl>(&model, options)) {}
Server::Server(const ServerOptions& options) : impl_(std::make_unique<Impl>(nullptr, options)) {}
Server::~Server() = default;

int Server::port() const { return impl_->port(); }
std::string Server::address() const { return impl_->address(); }
void Server::stop() { impl_->stop(); }

}  // namespace heed
