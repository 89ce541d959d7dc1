// The server's answers for a page in a notebook, passed to Python in pieces.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "base/stop.h"
#include "cli/look/view.h"
#include "computing.h"
#include "inspect/saved/saved_page.h"
#include "inspect/session/session_input.h"
#include "inspect/session/visible_keys.h"
#include "serve/local_answers.h"
#include "serve/page_sources.h"
#include "session.h"

namespace heed::python {
namespace {

using serve::LocalAnswers;

constexpr auto kPatience = std::chrono::milliseconds(50);  // between checks whether to stop

// One request, which another thread may cancel.
struct Asking {
  std::atomic<bool> cancelled = false;
};

// The page's session, whose statistics arrive as they are ready, and the model for other texts.
class PageAnswers {
 public:
  explicit PageAnswers(SessionHandle held) : held_(std::move(held)) {
    SessionInput input = held_->input;
    const LoadedModel* model = held_->model.get();
    if (!input.ids.empty()) {  // the page cannot post ids, so it shows only this session
      input.ids.clear();
      model = nullptr;
    }
    const std::string name =
        held_->model ? session_name(model_identity(*held_->model), held_->input) : "arrays";
    beside_ = live_beside(*held_);
    live_ = std::make_shared<LiveSession>(name, std::move(input), shared(held_->session),
                                          held_->model.get());
    answers_ =
        std::make_unique<LocalAnswers>(model, ServerOptions{.session = live_, .beside = beside_});
  }
  ~PageAnswers() { close(); }
  PageAnswers(const PageAnswers&) = delete;
  PageAnswers& operator=(const PageAnswers&) = delete;

  bool answer(const serve::LocalRequest& request, const nb::callable& begin,
              const nb::callable& take, const Asking& asking) {
    const Entered entered(*this);
    if (!entered.open) return false;
    const std::function<bool()> leaves = [&] { return asking.cancelled || interpreter_ends(); };
    const serve::AnswerTaker taker = {.is_waiting = [&] { return !leaves(); },
                                      .begin =
                                          [&](int status, const std::string& type) {
                                            const nb::gil_scoped_acquire held;
                                            begin(status, type);
                                          },
                                      .take =
                                          [&](std::string_view bytes) {
                                            const nb::gil_scoped_acquire held;
                                            take(nb::bytes(bytes.data(), bytes.size()));
                                          }};
    const Computation counted;
    const nb::gil_scoped_release released;
    const AskScope scope(leaves);
    return answers_->answer(request, taker);
  }

  // The page as a file of at most about this many bytes, at an address (empty: heed's choice), once
  // every head has its statistics.
  std::string html(std::int64_t bytes, const std::string& address) {
    const Entered entered(*this);
    if (!entered.open) fail({.op = "page", .found = "it is closed"});
    SignalWatch watch;
    return computing([&] {
      wait_for_scores(*live_, watch);
      const auto [view, chosen] =
          cli::view_of({.view = address}, live_->session(), [this] { return live_->scores(); });
      const SessionPointer other = compared_run(view) ? beside_ : nullptr;
      if (other) wait_for_scores(*other, watch);
      return saved_page(serve::page_sources(), *live_, view, bytes, other.get(), chosen);
    });
  }

  // Waits until no request is running, and releases the session. A child process has none of the
  // threads that would have to end.
  void close() {
    if (process_ != getpid()) {
      closed_ = true;
      answers_.release();  // NOLINT(bugprone-unused-return-value)
      return;
    }
    const nb::gil_scoped_release released;
    std::unique_lock lock(guard_);
    closed_ = true;
    if (answers_) answers_->stop();
    left_.wait(lock, [this] { return inside_ == 0; });
    const SessionHandle held = std::move(held_);  // the model is last: the answers run it
    const SessionPointer live = std::move(live_);
    const SessionPointer beside = std::move(beside_);
    const std::unique_ptr<LocalAnswers> answers = std::move(answers_);
    lock.unlock();
  }

 private:
  void wait_for_scores(const LiveSession& live, SignalWatch& watch) const {
    LiveSession::Progress seen = live.progress();
    while (!seen.scored && !seen.failed) {
      if (watch() || closed_) fail({.code = ErrorCode::kInterrupted, .found = "stopped"});
      seen = live.wait(seen.version, kPatience);
    }
    if (seen.failed) std::rethrow_exception(seen.failed);
  }

  struct Entered {
    explicit Entered(PageAnswers& of) : page(of) {
      const std::scoped_lock lock(page.guard_);
      open = !page.closed_;
      ++page.inside_;
    }
    ~Entered() {
      {
        const std::scoped_lock lock(page.guard_);
        --page.inside_;
      }
      page.left_.notify_all();
    }
    Entered(const Entered&) = delete;
    Entered& operator=(const Entered&) = delete;
    PageAnswers& page;
    bool open = false;
  };

  const pid_t process_ = getpid();
  SessionHandle held_;
  SessionPointer live_;
  SessionPointer beside_;
  std::unique_ptr<LocalAnswers> answers_;
  std::mutex guard_;
  std::condition_variable left_;
  int inside_ = 0;
  std::atomic<bool> closed_ = false;
};

}  // namespace

void bind_page_answers(nb::module_& module) {
  nb::class_<Asking>(module, "Asking")
      .def(nb::init<>())
      .def("cancel", [](Asking& asking) { asking.cancelled = true; })
      .def_prop_ro("cancelled", [](const Asking& asking) { return asking.cancelled.load(); });
  nb::class_<PageAnswers>(module, "PageAnswers")
      .def(nb::init<SessionHandle>(), nb::arg("session"))
      .def(
          "answer",
          [](PageAnswers& page, std::string method, std::string target, const nb::bytes& body,
             const nb::callable& begin, const nb::callable& take, const Asking& asking) {
            return page.answer({.method = std::move(method),
                                .target = std::move(target),
                                .body = std::string(body.c_str(), body.size())},
                               begin, take, asking);
          },
          nb::arg("method"), nb::arg("target"), nb::arg("body"), nb::arg("begin"), nb::arg("take"),
          nb::arg("asking"), "Whether the answer is whole.")
      .def("html", &PageAnswers::html, nb::arg("bytes"), nb::arg("address") = "")
      .def("close", &PageAnswers::close);
  module.def(
      "page_file", [](const std::string& path) { return serve::page_file(path); }, nb::arg("path"));
}

}  // namespace heed::python
