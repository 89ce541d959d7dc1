// The server of the inspector's page: sessions, tiles, rows and statistics over HTTP (docs/api.md).
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "heed/model.h"
#include "heed/session.h"

namespace heed {

class LiveSession;

/// Limits of what a client may request.
struct ServerLimits {
  std::int64_t body_bytes = std::int64_t{4} << 20;
  std::int64_t text_bytes = std::int64_t{1} << 20;
  std::int64_t sessions = 16;
  std::int64_t session_bytes = std::int64_t{2} << 30;    // for Q, K, V and lse of all sessions
  std::int64_t tile_bytes = std::int64_t{4} << 20;       // cache of finished tiles
  std::int64_t coarse_bytes = std::int64_t{9} << 20;     // cache of coarse levels, as numbers
  std::int64_t overview_bytes = std::int64_t{24} << 20;  // the same as u8
  std::chrono::milliseconds request_time{10000};         // for a request to arrive, head and body
  int workers = 64;
  int streams = 16;  // each occupies a worker
};

/// Refused: the view has no such panel.
enum class PictureEnd { kDrawn, kFailed, kRefused };

/// One picture of the page: the opened page draws it and delivers it.
struct PictureOrder {
  std::string format;                     // svg or png
  int width = 0;                          // the page draws no other picture
  std::optional<std::string> panel = {};  // only this part of the view
  /// Called once, on a server thread, with the picture or the reason why there is none.
  std::function<void(PictureEnd end, std::string content)> take;
};

struct ServerOptions {
  std::string host = "127.0.0.1";
  int port = 0;  // 0: any free port
  std::string token = {};
  std::optional<std::string> text = {};               // the page's initial text
  std::optional<std::string> pair = {}, target = {};  // with it, as in SessionTexts
  std::optional<std::string> stack = {};              // the stack shown first
  /// The messages before a text, which is then a user's message for the model's chat template;
  /// none: the model reads the text as it is.
  std::optional<std::vector<ChatMessage>> chat = {};
  /// The chat whose last message is this text of the user; empty without `chat`.
  std::vector<ChatMessage> chat_of(const std::string& message) const {
    if (!chat) return {};
    std::vector<ChatMessage> messages = *chat;
    messages.push_back({"user", message});
    return messages;
  }
  std::optional<PictureOrder> picture = {};
  /// A watched training run: its models are in this folder, under the names of `watched_step`.
  std::filesystem::path watched = {};
  /// The session shown first; its text is the page's initial text.
  std::shared_ptr<LiveSession> session = {};
  /// Another one, which a view may be compared with by its id (run: in an address).
  std::shared_ptr<LiveSession> beside = {};
  KeptAttention keep = {};                  // what sessions keep
  bool stream = false;                      // weights of every model stay in the file
  std::optional<std::int64_t> memory = {};  // bytes for a model or a session; none: what is free
  ServerLimits limits = {};
};

/// Listens from construction on, until `stop` or destruction.
class Server {
 public:
  /// The model must outlive the server. Throws kInvalidArgument if the port is in use or the host
  /// is not this machine.
  Server(const LoadedModel& model, const ServerOptions& options);
  /// Shows only the session in the options: there is no model to run.
  explicit Server(const ServerOptions& options);
  ~Server();

  int port() const;
  /// `http://127.0.0.1:8321/?token=...`
  std::string address() const;
  /// Whether only this machine can reach it.
  bool is_local() const;
  /// Ends the work and closes every connection.
  void stop();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

/// The token that opens the page, stored in $XDG_STATE_HOME/heed/token (else ~/.local/state) and
/// readable only by the user; created on first use, and anew if `renew`.
std::string server_token(bool renew);

/// 128 random bits as 32 letters.
std::string random_token();

}  // namespace heed
