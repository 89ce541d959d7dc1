// Pictures of a view, and the browser that draws them.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "heed/model.h"
#include "inspect/answers/live_session.h"
#include "inspect/answers/view.h"

namespace heed::cli {

/// Returns $HEED_BROWSER, else chromium-headless-shell, chromium, chromium-browser or google-chrome
/// from $PATH. Else throws kNotFound; its message says that `asked` ("--format svg") needs a
/// browser, what to install, and that `other` works without one.
std::string find_browser(const std::string& asked, const std::string& other);

struct BrowserTask {
  std::string address;  // includes the token: passed in a file, never on the command line
  int width = 1440;
  bool dark = false;
};

/// Runs from construction to destruction, which ends all its processes and removes their folder.
class Browser {
 public:
  Browser(std::string program, const BrowserTask& task);
  ~Browser();
  Browser& operator=(Browser&&) = delete;

  bool is_running();
  const std::string& program() const { return program_; }
  /// The last line of its stderr.
  std::string last_words() const;

 private:
  std::string program_;
  std::filesystem::path folder_;  // a separate profile: the user's is neither read nor changed
  pid_t process_ = -1;            // also its process group
  int was_subreaper_ = 0;         // the host's previous setting
  bool running_ = true;
};

struct PictureTask {
  std::string format;  // svg or png
  int width = 1440;
  bool dark = false;
  std::optional<std::string> panel = {};  // this part of the view alone
  std::string program;                    // of find_browser
  const LoadedModel* model = {};          // null: of a session of arrays
  SessionPointer beside = {};             // what the view's run: names
  std::function<void()> check;  // called while the browser draws; throws when it is time to stop
};

/// The view of a session whose pass has ended.
std::string draw_picture(const SessionPointer& session, const ViewAddress& view,
                         const PictureTask& task);

}  // namespace heed::cli
