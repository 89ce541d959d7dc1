// A real server on a free port with a small random GPT-2, and clients for it.
#pragma once

#include <gtest/gtest.h>
#include <httplib.h>

#include <chrono>
#include <ctime>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>

#include "serve/raw_client.h"
#include "serve/server.h"
#include "support/scratch.h"
#include "text/byte_bpe.h"

namespace heed::test {

inline constexpr const char* kServedText =
    "the cat sat on the mat because the cat was tired. the mat was the cat on the mat.";
inline const std::string kToken(32, 'a');

/// Random weights of this configuration; a vocabulary of bytes and a few merges.
inline LoadedModel with_bytes(nlohmann::json config) {
  LoadedModel model{.name = "tiny", .folder = {}, .built_in = false, .model = {}, .tokenizer = {}};
  model.tokenizer = train_byte_bpe(kServedText, {.vocabulary_size = 280});
  config["vocab_size"] = model.tokenizer->vocabulary_size();
  model.model = make_model(config.dump(), 1);
  return model;
}

/// Layers of 4 heads.
inline LoadedModel served_model(int layers, int positions) {
  return with_bytes({{"model_type", "gpt2"},
                     {"n_positions", positions},
                     {"n_embd", 16},
                     {"n_layer", layers},
                     {"n_head", 4}});
}

inline const LoadedModel& shared_model() {
  static const LoadedModel model = served_model(2, 600);
  return model;
}

/// Long enough for coarse levels, and for work that takes time.
inline const LoadedModel& long_model() {
  static const LoadedModel model = served_model(4, 4096);
  return model;
}

/// Its pass over `text_of(16384)` takes far longer than requests do.
inline const LoadedModel& slow_model() {
  static const LoadedModel model = served_model(24, 16384);
  return model;
}

/// A text of `count` tokens: letters without merges.
inline std::string text_of(std::int64_t count) {
  std::string text;
  for (std::int64_t i = 0; i < count; ++i) text += static_cast<char>('A' + i * i % 26);
  return text;
}

inline ServerOptions served_options(const ServerLimits& limits = {}) {
  return {.token = kToken, .limits = limits};
}

/// A client with a patience for busy machines: the library's default is 5 seconds.
inline httplib::Client client_of(int port, bool with_token = true) {
  httplib::Client client("127.0.0.1", port);
  client.set_keep_alive(true);
  client.set_read_timeout(kPatience);
  if (with_token) client.set_bearer_token_auth(kToken);
  return client;
}

inline std::string path_of(const nlohmann::json& session) {
  return "/api/v1/sessions/" + session.value("session", "none");
}

class Served {
 public:
  explicit Served(const ServerOptions& options = served_options(),
                  const LoadedModel& model = shared_model())
      : server(model, options), layers(model.model->info().layers) {}

  httplib::Client client(bool with_token = true) const {
    return client_of(server.port(), with_token);
  }

  /// Posts the text and waits for the pass and, if asked, for the statistics.
  nlohmann::json open(const std::string& text, bool statistics = false) const {
    httplib::Client client = this->client();
    const auto posted = client.Post("/api/v1/sessions", nlohmann::json({{"text", text}}).dump(),
                                    "application/json");
    EXPECT_TRUE(posted);
    nlohmann::json session = nlohmann::json::parse(posted->body);
    return wait_for(client, std::move(session), statistics ? layers : 0);
  }

  /// The session once its pass has ended and as many layers have their statistics.
  static nlohmann::json wait_for(httplib::Client& client, nlohmann::json session,
                                 std::int64_t layers_done) {
    const std::string path = path_of(session);
    for (;;) {
      const auto answer = client.Get(path);
      if (!answer) break;
      session = nlohmann::json::parse(answer->body);
      if (session["state"] == "ready" && session["heads_done"] >= layers_done) return session;
      if (session["state"] != "running" && session["state"] != "ready") break;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    ADD_FAILURE() << "the session did not open: " << session.dump();
    return session;
  }

  Server server;
  const std::int64_t layers;
};

inline nlohmann::json got(httplib::Client& client, const std::string& path, int status = 200) {
  const auto answer = client.Get(path);
  EXPECT_TRUE(answer) << path;
  if (!answer) return {};
  EXPECT_EQ(answer->status, status) << path << " " << answer->body;
  return nlohmann::json::parse(answer->body, nullptr, false);
}

/// A server with one open session.
struct Opened {
  explicit Opened(const std::string& text, bool statistics = false)
      : session(served.open(text, statistics)) {}

  httplib::Result ask(const std::string& rest) { return client.Get(path + rest); }
  nlohmann::json get(const std::string& rest, int status = 200) {
    return got(client, path + rest, status);
  }

  Served served;
  httplib::Client client = served.client();
  nlohmann::json session;
  std::string path = path_of(session);
};

inline httplib::Result post(httplib::Client& client, const std::string& body) {
  return client.Post("/api/v1/sessions", body, "application/json");
}

inline httplib::Result post_text(httplib::Client& client, const std::string& text) {
  return post(client, nlohmann::json({{"text", text}}).dump());
}

/// The CPU time of this process, which does not depend on the machine's other work.
inline double cpu_seconds() {
  timespec used{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  return static_cast<double>(used.tv_sec) + 1e-9 * static_cast<double>(used.tv_nsec);
}

inline std::string error_code(const httplib::Result& answer) {
  if (!answer) return "no answer";
  const auto json = nlohmann::json::parse(answer->body, nullptr, false);
  return json.is_object() ? json["error"].value("code", "no code") : "not JSON: " + answer->body;
}

/// Expects the status and `{"error":{"code","message"}}`, the message on one line.
inline void expect_error(const httplib::Result& answer, int status, const std::string& code) {
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, status) << answer->body;
  EXPECT_EQ(error_code(answer), code);
  EXPECT_EQ(answer->body.find('\n'), std::string::npos);
}

}  // namespace heed::test
