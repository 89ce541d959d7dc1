// The answers of docs/api.md without a network, for a host that carries them itself: the messages
// of a notebook.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "serve/server.h"

namespace heed::serve {

struct LocalRequest {
  std::string method = "GET";
  std::string target;  // path and parameters: "/api/v1/models"
  std::string body = {};
};

/// Who waits for one answer. Called on the thread that asks; what is thrown ends the answer and
/// reaches the one who asked.
struct AnswerTaker {
  std::function<bool()> is_waiting;  // asked often, between blocks of work
  std::function<void(int status, const std::string& type)> begin;
  std::function<void(std::string_view bytes)> take;
};

class LocalAnswers {
 public:
  /// The session of the options is shown first. `model`, which must outlive this, runs other texts;
  /// without one nothing but that session is shown.
  LocalAnswers(const LoadedModel* model, const ServerOptions& options);
  /// Nobody may be asking any more.
  ~LocalAnswers();

  /// Returns whether the answer is whole: not where nobody waits any more, or where it fails after
  /// it has begun. Many threads may ask at once.
  bool answer(const LocalRequest& request, const AnswerTaker& taker);
  /// Ends the work: who asks now is not answered.
  void stop();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace heed::serve
