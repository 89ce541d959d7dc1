// The random token in the printed address, and its file.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "base/wording.h"
#include "heed/error.h"
#include "serve/server.h"

namespace heed {
namespace {

constexpr std::size_t kTokenBytes = 16;  // 128 bits cannot be guessed

std::filesystem::path token_file() {
  const char* state = std::getenv("XDG_STATE_HOME");
  if (state != nullptr && *state == '/') return std::filesystem::path(state) / "heed" / "token";
  const char* home = std::getenv("HOME");
  if (home == nullptr || *home == '\0')
    fail({.op = "token",
          .found = "neither XDG_STATE_HOME nor HOME says where to keep it",
          .expected = "one of the two"});
  return std::filesystem::path(home) / ".local" / "state" / "heed" / "token";
}

bool is_token(const std::string& text) {
  return text.size() == 2 * kTokenBytes &&
         text.find_first_not_of("0123456789abcdef") == std::string::npos;
}

// Trust the file only if we own it and no one else can access it.
bool is_own(int file) {
  struct stat found{};
  return ::fstat(file, &found) == 0 && S_ISREG(found.st_mode) && found.st_uid == ::geteuid() &&
         (found.st_mode & 0077) == 0;
}

// Empty if there is none that only the user can access.
std::string stored_token(const std::filesystem::path& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (file < 0) return {};
  std::array<char, 2 * kTokenBytes + 2> text;
  const ssize_t size = is_own(file) ? ::read(file, text.data(), text.size()) : 0;
  ::close(file);
  std::string token(text.data(), static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
  while (!token.empty() && token.back() == '\n') token.pop_back();
  return is_token(token) ? token : std::string();
}

// Another user with write access to the folder could replace the file. A link could lead to another
// user's folder, so it is refused.
void require_own_folder(const std::filesystem::path& folder) {
  const auto refuse = [&](std::string found, std::string hint) {
    fail({.code = ErrorCode::kIo,
          .op = "token",
          .file = folder.string(),
          .found = std::move(found),
          .expected = "a folder that only its user may write to",
          .hint = std::move(hint)});
  };
  struct stat status{};
  if (::lstat(folder.c_str(), &status) != 0) return;  // storing the token reports why
  if (S_ISLNK(status.st_mode)) refuse("a link", "replace it by a folder");
  if (!S_ISDIR(status.st_mode)) return;
  if (status.st_uid != ::geteuid()) refuse("a folder of another user", "");
  if ((status.st_mode & 0022) != 0)
    refuse(fmt::format("a folder of mode {:04o}", status.st_mode & 07777),
           fmt::format("chmod go-w {}", folder.string()));
}

// Writes a new file and renames it, so that another server never reads half of it.
void store_token(const std::filesystem::path& file, const std::string& token) {
  const std::filesystem::path fresh = file.string() + fmt::format(".{}", ::getpid());
  const auto refuse = [&](const std::filesystem::path& what) {
    const int reason = errno;
    ::unlink(fresh.c_str());
    fail({.code = ErrorCode::kIo,
          .op = "token",
          .file = what.string(),
          .found = std::strerror(reason)});
  };
  std::error_code error;
  std::filesystem::create_directories(file.parent_path().parent_path(), error);
  ::mkdir(file.parent_path().c_str(), 0700);  // keeps an existing one
  ::unlink(fresh.c_str());                    // left by a process that was interrupted
  const int handle = ::open(fresh.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (handle < 0) refuse(fresh);
  const std::string line = token + "\n";
  const bool written = ::write(handle, line.data(), line.size()) == std::ssize(line);
  if (::close(handle) != 0 || !written) refuse(fresh);
  if (::rename(fresh.c_str(), file.c_str()) != 0) refuse(file);
}

}  // namespace

std::string random_token() {
  std::array<unsigned char, kTokenBytes> bytes;
  if (getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size()))
    fail({.code = ErrorCode::kIo,
          .op = "token",
          .found = fmt::format("no random bytes: {}", std::strerror(errno))});
  return joined(bytes, "", [](unsigned char byte) { return fmt::format("{:02x}", byte); });
}

std::string server_token(bool renew) {
  const std::filesystem::path file = token_file();
  require_own_folder(file.parent_path());
  std::string token = renew ? std::string() : stored_token(file);
  if (!token.empty()) return token;
  token = random_token();
  store_token(file, token);
  return token;
}

}  // namespace heed
