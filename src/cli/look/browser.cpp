#include "cli/look/browser.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cctype>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <future>
#include <string_view>
#include <vector>

#include "base/wording.h"
#include "heed/error.h"
#include "serve/server.h"

namespace heed::cli {
namespace {

namespace fs = std::filesystem;

// Prefers the headless shell, which draws the same bytes in half the CPU time.
constexpr std::array<const char*, 5> kNames = {"chromium-headless-shell", "chromium",
                                               "chromium-browser", "google-chrome",
                                               "google-chrome-stable"};
constexpr int kHeight = 900;        // of the window; the picture has the page's height
constexpr int kNarrowHeight = 844;  // for a phone's width
constexpr int kNarrow = 760;
constexpr int kLeastWindow = 500;  // windows with a frame cannot be narrower
constexpr int kNotStarted = 127;

bool is_program(const fs::path& path) {
  std::error_code error;
  return fs::is_regular_file(path, error) && access(path.c_str(), X_OK) == 0;
}

// The program's path in $PATH; empty if it is not there.
std::string in_path(const std::string& name) {
  const char* path = std::getenv("PATH");
  std::string_view left = path == nullptr ? "" : path;
  while (!left.empty()) {
    const std::string_view folder = left.substr(0, left.find(':'));
    left.remove_prefix(std::min(left.size(), folder.size() + 1));
    const fs::path place = fs::path(folder) / name;
    if (is_program(place)) return place.string();
  }
  return {};
}

[[noreturn]] void fail_of_system(const std::string& path) {
  fail({.code = ErrorCode::kIo, .file = path, .found = std::strerror(errno)});
}

fs::path new_folder() {
  std::string folder = (fs::temp_directory_path() / "heed-browser-XXXXXX").string();
  if (mkdtemp(folder.data()) == nullptr) fail_of_system(folder);
  return folder;
}

// Encodes characters with a meaning in addresses or HTML.
std::string percent_encoded(const std::string& path) {
  std::string url;
  for (const unsigned char c : path) {
    const bool plain = std::isalnum(c) != 0 || std::string_view("/-._~").find(
                                                   static_cast<char>(c)) != std::string_view::npos;
    url += plain ? std::string(1, static_cast<char>(c)) : fmt::format("%{:02X}", c);
  }
  return url;
}

std::string html_escaped(const std::string& text) {
  return replaced(text, {{'&', "&amp;"}, {'"', "&quot;"}, {'<', "&lt;"}});
}

// Every user of this machine can read command lines, and the address contains the token: so the
// browser gets a private file that redirects to it.
fs::path start_page(const fs::path& folder, const std::string& address) {
  fs::path path = folder / "start.html";
  const std::string html = fmt::format(
      "<!doctype html><meta charset=\"utf-8\"><meta http-equiv=\"refresh\" "
      "content=\"0; url={}\">\n",
      html_escaped(address));
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  const bool written = file >= 0 && write(file, html.data(), html.size()) == std::ssize(html);
  if (file < 0 || close(file) != 0 || !written) fail_of_system(path.string());
  return path;
}

std::vector<std::string> arguments(const std::string& program, const fs::path& folder,
                                   const BrowserTask& task) {
  std::vector<std::string> all = {
      program, "--headless=new", "--user-data-dir=" + (folder / "profile").string(),
      fmt::format("--window-size={},{}", task.width,
                  task.width < kNarrow ? kNarrowHeight : kHeight),
      // The same pixels, letters and colours on every machine.
      "--force-device-scale-factor=1", "--font-render-hinting=none", "--disable-lcd-text",
      "--force-color-profile=srgb", "--hide-scrollbars",
      fmt::format("--blink-settings=preferredColorScheme={}", task.dark ? 0 : 1),
      // Prevents the browser from sending requests, even at its first start.
      "--no-first-run", "--no-default-browser-check", "--disable-extensions",
      "--disable-background-networking", "--disable-component-update", "--disable-sync",
      "--disable-default-apps", "--disable-breakpad", "--disable-gpu", "--mute-audio",
      // A small /dev/shm, as in containers, would crash the browser.
      "--disable-dev-shm-usage", "--no-proxy-server"};
  if (task.width < kLeastWindow) {  // a screen of that width, without a frame
    all.push_back(fmt::format("--screen-info={{{}x{}}}", task.width, kNarrowHeight));
    all.emplace_back("--kiosk");
  }
  // Chromium's sandbox does not run as root. The page is heed's own, from this machine, and loads
  // nothing.
  if (geteuid() == 0) all.emplace_back("--no-sandbox");
  all.push_back("file://" + percent_encoded(start_page(folder, task.address).string()));
  return all;
}

// This process's environment with temporary files in `folder`, because a killed browser does not
// remove its own.
std::vector<std::string> environment(const fs::path& folder) {
  std::vector<std::string> all = {"TMPDIR=" + folder.string()};
  for (char** entry = environ; *entry != nullptr; ++entry)
    if (!std::string_view(*entry).starts_with("TMPDIR=")) all.emplace_back(*entry);
  return all;
}

std::vector<char*> pointers_to(std::vector<std::string>& all) {
  std::vector<char*> pointers;
  for (std::string& each : all) pointers.push_back(each.data());
  pointers.push_back(nullptr);
  return pointers;
}

// Runs between fork and exec, so makes only calls that are safe there.
[[noreturn]] void become(const std::vector<char*>& pointers, const std::vector<char*>& environment,
                         const char* log) {
  setsid();
  prctl(PR_SET_PDEATHSIG, SIGKILL);  // otherwise it survives if this program is killed
  const int none = open("/dev/null", O_RDWR);
  const int to = open(log, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  dup2(none, STDIN_FILENO);
  dup2(none, STDOUT_FILENO);
  dup2(to, STDERR_FILENO);
  execve(pointers[0], pointers.data(), environment.data());
  _exit(kNotStarted);
}

}  // namespace

std::string find_browser(const std::string& asked, const std::string& other) {
  if (const char* named = std::getenv("HEED_BROWSER"); named != nullptr && *named != '\0') {
    const std::string found = std::string_view(named).find('/') == std::string_view::npos
                                  ? in_path(named)
                                  : (is_program(named) ? named : "");
    if (found.empty())
      fail({.code = ErrorCode::kNotFound,
            .argument = "HEED_BROWSER",
            .found = fmt::format("\"{}\", which is not a program", named),
            .expected = "a Chromium"});
    return found;
  }
  for (const char* name : kNames)
    if (std::string found = in_path(name); !found.empty()) return found;
  fail({.code = ErrorCode::kNotFound,
        .found = asked + " is drawn by a browser and none was found",
        .hint = "install chromium (apt-get install chromium) or name a Chromium in HEED_BROWSER; " +
                other + " works without"});
}

Browser::Browser(std::string program, const BrowserTask& task)
    : program_(std::move(program)), folder_(new_folder()) {
  std::vector<std::string> words = arguments(program_, folder_, task);
  std::vector<std::string> variables = environment(folder_);
  const std::vector<char*> pointers = pointers_to(words);
  const std::vector<char*> surroundings = pointers_to(variables);
  const std::string log = (folder_ / "log").string();
  // Orphans of the browser become children of this process, so that it can wait for all of them.
  prctl(PR_GET_CHILD_SUBREAPER, &was_subreaper_);
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  process_ = fork();
  if (process_ == 0) become(pointers, surroundings, log.c_str());
  if (process_ < 0) fail_of_system(program_);
}

Browser::~Browser() {
  if (process_ > 0) {
    kill(-process_, SIGKILL);
    while (waitpid(-process_, nullptr, 0) > 0 || errno == EINTR) {
    }
    prctl(PR_SET_CHILD_SUBREAPER, was_subreaper_);
  }
  std::error_code ignored;  // a leftover folder in /tmp is no reason to fail
  fs::remove_all(folder_, ignored);
}

bool Browser::is_running() {
  if (running_ && waitpid(process_, nullptr, WNOHANG) == process_) running_ = false;
  return running_;
}

std::string Browser::last_words() const {
  std::ifstream log(folder_ / "log");
  std::string last = "it printed nothing";
  for (std::string line; std::getline(log, line);)
    if (!line.empty()) last = line;
  return last;
}

namespace {

constexpr auto kPatience = std::chrono::milliseconds(50);
constexpr auto kMostWait = std::chrono::seconds(300);  // a long text takes time to read
constexpr std::int64_t kPictureBytes = std::int64_t{256} << 20;

struct Taken {
  PictureEnd end = PictureEnd::kFailed;
  std::string content;
};

// The page's picture, or the error why there is none.
std::string wait_for(std::future<Taken>& picture, Browser& browser,
                     const std::function<void()>& check) {
  const auto end = std::chrono::steady_clock::now() + kMostWait;
  while (picture.wait_for(kPatience) != std::future_status::ready) {
    check();
    if (!browser.is_running())
      fail({.code = ErrorCode::kFailed,
            .found = fmt::format("the browser {} ended before it had drawn the view: {}",
                                 browser.program(), browser.last_words())});
    if (std::chrono::steady_clock::now() > end)
      fail({.code = ErrorCode::kFailed,
            .found = fmt::format("the browser {} has not drawn the view in {} seconds",
                                 browser.program(), kMostWait.count())});
  }
  Taken taken = picture.get();
  if (taken.end == PictureEnd::kRefused) fail({.op = "--panel", .found = taken.content});
  if (taken.end == PictureEnd::kFailed)
    fail({.code = ErrorCode::kFailed,
          .found = "the page could not draw the view: " + taken.content});
  return std::move(taken.content);
}

}  // namespace

std::string draw_picture(const SessionPointer& session, const ViewAddress& view,
                         const PictureTask& task) {
  const auto taken = std::make_shared<std::promise<Taken>>();
  std::future<Taken> picture = taken->get_future();
  ServerOptions serve = {.token = random_token(), .session = session, .beside = task.beside};
  serve.limits.body_bytes = kPictureBytes;
  serve.picture = PictureOrder{.format = task.format,
                               .width = task.width,
                               .panel = task.panel,
                               .take = [taken](PictureEnd end, std::string content) {
                                 taken->set_value({end, std::move(content)});
                               }};
  // The server drops its sessions when it ends; they are the caller's.
  struct Kept {
    SessionPointer session, beside;
    ~Kept() {
      session->dropped = false;
      if (beside) beside->dropped = false;
    }
  } const kept{session, task.beside};
  std::optional<Server> server;
  if (task.model != nullptr)
    server.emplace(*task.model, serve);
  else
    server.emplace(serve);
  Browser browser(task.program, {.address = server->address() + "#" + format_view(view),
                                 .width = task.width,
                                 .dark = task.dark});
  return wait_for(picture, browser, task.check);
}

}  // namespace heed::cli
