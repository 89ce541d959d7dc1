// The answers of docs/api.md without a network, for a host that transports them itself, such as a
// notebook.
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

/// The receiver of one answer. Called on the requesting thread; an exception ends the answer and
/// reaches the requester.
struct AnswerTaker {
  std::function<bool()> is_waiting;  // called often, between blocks of work
  std::function<void(int status, const std::string& type)> begin;
  std::function<void(std::string_view bytes)> take;
};

class LocalAnswers {
 public:
  /// The session in the options is shown first. `model`, which must outlive this object, runs other
  /// texts; without a model only that session is shown.
  LocalAnswers(const LoadedModel* model, const ServerOptions& options);
  /// No request may still be running.
  ~LocalAnswers();

  /// Returns whether the answer is complete: not if the requester no longer waits, or if it fails
  /// after it has begun. Many threads may call it at once.
  bool answer(const LocalRequest& request, const AnswerTaker& taker);
  /// Ends the work: later requests get no answer.
  void stop();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace heed::serve
