// The server of the inspector's page: sessions, tiles, rows and statistics over HTTP (docs/api.md).
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "heed/inspect/session.h"
#include "heed/models/registry.h"

namespace heed {

class LiveSession;

/// What a client may ask for at most.
struct ServerLimits {
  std::int64_t body_bytes = std::int64_t{4} << 20;
  std::int64_t text_bytes = std::int64_t{1} << 20;
  std::int64_t sessions = 16;
  std::int64_t session_bytes = std::int64_t{2} << 30;    // Q, K, V and lse of all sessions
  std::int64_t tile_bytes = std::int64_t{4} << 20;       // finished tiles that are kept
  std::int64_t coarse_bytes = std::int64_t{9} << 20;     // coarse levels of heads, as numbers
  std::int64_t overview_bytes = std::int64_t{24} << 20;  // the same as u8
  std::chrono::milliseconds request_time{10000};         // for a request to come, head and body
  int workers = 64;
  int streams = 16;  // each holds a worker
};

/// Refused: the view has no such panel.
enum class PictureEnd { kDrawn, kFailed, kRefused };

/// One picture of the page: the page that is opened draws it and hands it over.
struct PictureOrder {
  std::string format;                     // svg or png
  int width = 0;                          // of the page, which draws no other
  std::optional<std::string> panel = {};  // this part of the view alone
  /// Called once, on a thread of the server: the picture, or why there is none.
  std::function<void(PictureEnd end, std::string content)> take;
};

struct ServerOptions {
  std::string host = "127.0.0.1";
  int port = 0;  // 0: one that is free
  std::string token = {};
  std::optional<std::string> text = {};               // what the page begins with
  std::optional<std::string> pair = {}, target = {};  // beside it, as SessionTexts
  std::optional<std::string> stack = {};              // whose attention it shows first
  std::optional<PictureOrder> picture = {};
  /// A training run that is watched: its models lie in this folder, as `watched_step` names them.
  std::filesystem::path watched = {};
  /// A session that is shown first; its text is what the page begins with.
  std::shared_ptr<LiveSession> session = {};
  /// Another one, which a view may be compared with by its id (run: in an address).
  std::shared_ptr<LiveSession> beside = {};
  KeptAttention keep = {};                  // what sessions keep
  bool stream = false;                      // weights of every model stay in the file
  std::optional<std::int64_t> memory = {};  // bytes for a model or a session; none: what is free
  ServerLimits limits = {};
};

/// Listens from the constructor on, until `stop` or the destructor.
class Server {
 public:
  /// The model must outlive the server. Throws kInvalidArgument when the port is in use or the host
  /// is none of this machine.
  Server(const LoadedModel& model, const ServerOptions& options);
  /// Shows the session of the options and no other: there is no model to run.
  explicit Server(const ServerOptions& options);
  ~Server();

  int port() const;
  /// `http://127.0.0.1:8321/?token=...`
  std::string address() const;
  /// Whether no other machine can reach it.
  bool is_local() const;
  /// Ends the work and closes every connection.
  void stop();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

/// The token that opens the page, kept in $XDG_STATE_HOME/heed/token (else ~/.local/state) for the
/// user alone; made at the first use, and when `renew` asks for another one.
std::string server_token(bool renew);

/// 128 random bits as 32 letters.
std::string random_token();

}  // namespace heed
