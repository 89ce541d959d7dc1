#include "io/atomic_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>

#include "heed/tensor.h"
#include "io/tensor_files.h"
#include "support/expect_error.h"
#include "support/scratch.h"

namespace heed {
namespace {

std::ptrdiff_t file_count(const std::filesystem::path& folder) {
  return std::distance(std::filesystem::directory_iterator(folder), {});
}

TEST(AtomicFile, ReplacesTheOldFile) {
  const test::Scratch scratch;
  write_file(scratch / "a", "old");
  write_file(scratch / "a", "new");
  EXPECT_EQ(read_file(scratch / "a"), "new");
  EXPECT_EQ(file_count(scratch.folder()), 1);
}

TEST(AtomicFile, WithoutCommitNothingHappens) {
  const test::Scratch scratch;
  write_file(scratch / "a", "old");
  {
    AtomicFile file(scratch / "a");
    file.write("half of the new");
    EXPECT_EQ(file_count(scratch.folder()), 2);
  }
  EXPECT_EQ(read_file(scratch / "a"), "old");
  EXPECT_EQ(file_count(scratch.folder()), 1);
}

TEST(AtomicFile, AFullDiskLeavesTheOldFile) {
  const test::Scratch scratch;
  write_file(scratch / "a", "old");
  const std::string partial = fmt::format("a.partial-{}", ::getpid());
  std::filesystem::create_symlink("/dev/full", scratch / partial);
  EXPECT_HEED_ERROR(write_file(scratch / "a", "new"), ErrorCode::kIo,
                    (scratch / "a").string() + ": cannot be written: No space left on device");
  EXPECT_EQ(read_file(scratch / "a"), "old");
  EXPECT_EQ(file_count(scratch.folder()), 1);
}

TEST(AtomicFile, ADiskThatFillsUpInTheMiddleLeavesTheOldFile) {
  const test::Scratch scratch;
  write_file(scratch / "a", "old");
  struct rlimit before = {};
  ::getrlimit(RLIMIT_FSIZE, &before);
  const struct rlimit small = {.rlim_cur = 1000, .rlim_max = before.rlim_max};
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  ::setrlimit(RLIMIT_FSIZE, &small);
  EXPECT_HEED_ERROR(write_file(scratch / "a", std::string(5000, 'x')), ErrorCode::kIo,
                    (scratch / "a").string() + ": cannot be written: File too large");
  ::setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  EXPECT_EQ(read_file(scratch / "a"), "old");
  EXPECT_EQ(file_count(scratch.folder()), 1);
}

TEST(AtomicFile, AKilledWriterLeavesTheOldFile) {
  const test::Scratch scratch;
  write_file(scratch / "a", "old");
  const pid_t child = ::fork();
  if (child == 0) {
    AtomicFile file(scratch / "a");
    file.write("half of the new");
    ::kill(::getpid(), SIGKILL);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(read_file(scratch / "a"), "old");
}

TEST(AtomicFile, AFolderThatDoesNotExistIsNamed) {
  const test::Scratch scratch;
  const auto path = scratch / "none" / "a";
  EXPECT_HEED_ERROR(write_file(path, "x"), ErrorCode::kIo,
                    path.string() + ": cannot be written: No such file or directory");
}

TEST(AtomicFile, AFolderIsNotReplaced) {
  const test::Scratch scratch;
  std::filesystem::create_directory(scratch / "a");
  for (const auto& path : {scratch / "a", scratch / "a" / "", scratch / "none" / ""})
    EXPECT_HEED_ERROR(write_file(path, "x"), ErrorCode::kInvalidArgument,
                      path.string() + ": is a folder, expected a file's name");
  EXPECT_EQ(file_count(scratch.folder()), 1);
}

TEST(AtomicFile, ADeviceStaysADevice) {
  write_file("/dev/null", "x");
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/null"));
  EXPECT_HEED_ERROR(write_file("/dev/full", "x"), ErrorCode::kIo,
                    "/dev/full: cannot be written: No space left on device");
}

TEST(AtomicFile, APipeWithoutAReaderIsNotWaitedFor) {
  const test::Scratch scratch;
  const std::filesystem::path pipe = scratch / "pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_HEED_ERROR(write_file(pipe, "text"), ErrorCode::kIo,
                    pipe.string() + ": cannot be written: no program reads this pipe");
  const int reader = ::open(pipe.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  ASSERT_GE(reader, 0);
  write_file(pipe, "text");
  std::array<char, 8> found = {};
  EXPECT_EQ(::read(reader, found.data(), found.size()), 4);
  ::close(reader);
}

TEST(ReadFile, AnAbsentFileIsNamed) {
  EXPECT_HEED_ERROR(read_file("/nowhere/a"), ErrorCode::kNotFound,
                    "/nowhere/a: cannot be opened: No such file or directory");
}

TEST(ReadFile, AFolderIsNotRead) {
  const test::Scratch scratch;
  EXPECT_HEED_ERROR(read_file(scratch.folder()), ErrorCode::kCorrupt,
                    scratch.folder().string() + ": a folder, expected a file");
}

// Opening one of them neither waits for a writer nor reads without end.
TEST(ReadFile, OnlyRegularFilesAreRead) {
  const test::Scratch scratch;
  ASSERT_EQ(::mkfifo((scratch / "pipe").c_str(), 0600), 0);
  const int socket = ::socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = {}};
  (scratch / "socket").string().copy(address.sun_path, sizeof address.sun_path - 1);
  ASSERT_EQ(::bind(socket, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  ::close(socket);
  for (const auto& [name, kind] :
       {std::pair("pipe", "a pipe"), {"socket", "a socket or a device"}, {"zero", "a device"}}) {
    const auto path = name == std::string("zero") ? "/dev/zero" : scratch / name;
    std::filesystem::create_symlink(path, scratch / (std::string(name) + "-link"));
    for (const auto& way : {path, scratch / (std::string(name) + "-link")}) {
      const std::string expected = way.string() + ": " + kind + ", expected a file";
      EXPECT_HEED_ERROR(read_file(way), ErrorCode::kCorrupt, expected);
      EXPECT_HEED_ERROR(MappedFile{way}, ErrorCode::kCorrupt, expected);
      EXPECT_HEED_ERROR(read_npy(way), ErrorCode::kCorrupt, expected);
      EXPECT_HEED_ERROR(Safetensors::open(way), ErrorCode::kCorrupt, expected);
    }
  }
}

TEST(ReadFile, AFileLargerThanItsKindIsNotRead) {
  const test::Scratch scratch;
  write_file(scratch / "a", "");
  std::filesystem::resize_file(scratch / "a", std::uintmax_t{1} << 40);  // takes no room
  EXPECT_HEED_ERROR(
      read_file(scratch / "a"), ErrorCode::kUnsupported,
      (scratch / "a").string() + ": has 1099511627776 bytes, expected at most 8388608");
  EXPECT_EQ(read_file("/proc/self/stat", 4096).back(), '\n');  // its size is 0
  EXPECT_THROW(read_file("/proc/self/stat", 3), Error);
}

TEST(ReadFile, KeepsEveryByte) {
  const test::Scratch scratch;
  const std::string bytes("a\0\r\n\xFF", 5);
  write_file(scratch / "a", bytes);
  EXPECT_EQ(read_file(scratch / "a"), bytes);
}

}  // namespace
}  // namespace heed
