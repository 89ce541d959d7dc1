// The random token of the printed address, and the file that keeps it.
#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "heed/base/error.h"
#include "io/atomic_file.h"
#include "serve/server.h"

namespace heed {
namespace {

constexpr std::size_t kTokenBytes = 16;  // 128 bits cannot be guessed

std::filesystem::path token_file() {
  const char* state = std::getenv("XDG_STATE_HOME");
  if (state != nullptr && *state == '/') return std::filesystem::path(state) / "heed" / "token";
  const char* home = std::getenv("HOME");
  require(home != nullptr && *home != '\0',
          "token: neither XDG_STATE_HOME nor HOME says where to keep it, expected one of the two");
  return std::filesystem::path(home) / ".local" / "state" / "heed" / "token";
}

std::string random_token() {
  std::array<unsigned char, kTokenBytes> bytes;
  if (getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size()))
    fail(ErrorCode::kIo, "token: no random bytes: {}", std::strerror(errno));
  return fmt::format("{:02x}", fmt::join(bytes, ""));
}

bool is_token(const std::string& text) {
  return text.size() == 2 * kTokenBytes &&
         text.find_first_not_of("0123456789abcdef") == std::string::npos;
}

// Empty where there is none that is the user's alone.
std::string stored_token(const std::filesystem::path& file) {
  struct stat found{};
  if (::stat(file.c_str(), &found) != 0 || (found.st_mode & 0077) != 0) return {};
  std::string text = read_file(file);
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return is_token(text) ? text : std::string();
}

// Written beside and renamed, so that another server never reads half of it.
void store_token(const std::filesystem::path& file, const std::string& token) {
  const auto refuse = [&](const std::filesystem::path& what) {
    fail(ErrorCode::kIo, "token: {}: {}", what.string(), std::strerror(errno));
  };
  std::error_code error;
  std::filesystem::create_directories(file.parent_path(), error);
  const std::filesystem::path fresh = file.string() + fmt::format(".{}", ::getpid());
  const int handle = ::open(fresh.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (handle < 0) refuse(fresh);
  const std::string line = token + "\n";
  const bool written = ::write(handle, line.data(), line.size()) == std::ssize(line);
  if (::close(handle) != 0 || !written) refuse(fresh);
  if (::rename(fresh.c_str(), file.c_str()) != 0) refuse(file);
}

}  // namespace

std::string server_token(bool renew) {
  const std::filesystem::path file = token_file();
  std::string token = renew ? std::string() : stored_token(file);
  if (!token.empty()) return token;
  token = random_token();
  store_token(file, token);
  return token;
}

}  // namespace heed
