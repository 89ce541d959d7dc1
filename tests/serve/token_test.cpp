// The token that opens the page, and the file that keeps it.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "base/file.h"
#include "serve/server.h"
#include "support/expect_error.h"
#include "support/scratch.h"

namespace heed {
namespace {

class ServerToken : public testing::Test {
 protected:
  ServerToken() { setenv("XDG_STATE_HOME", scratch_.folder().c_str(), 1); }
  ~ServerToken() override { unsetenv("XDG_STATE_HOME"); }

  const test::Scratch scratch_;
  const std::filesystem::path file_ = scratch_ / "heed/token";
};

TEST_F(ServerToken, IsKeptForTheUserAlone) {
  const std::string token = server_token(false);
  EXPECT_EQ(token.size(), 32);
  EXPECT_EQ(server_token(false), token);
  EXPECT_EQ(read_file(file_), token + "\n");
  EXPECT_EQ(std::filesystem::status(file_).permissions(), std::filesystem::perms(0600));
}

TEST_F(ServerToken, IsAnotherOneOnDemandAndStays) {
  const std::string token = server_token(false);
  const std::string renewed = server_token(true);
  EXPECT_NE(renewed, token);
  EXPECT_EQ(server_token(false), renewed);
}

TEST_F(ServerToken, IsAnotherOneWhereItsFileWasDeleted) {
  const std::string token = server_token(false);
  std::filesystem::remove(file_);
  EXPECT_NE(server_token(false), token);
}

TEST_F(ServerToken, IsAnotherOneWhereOthersMayReadIt) {
  const std::string token = server_token(false);
  std::filesystem::permissions(file_, std::filesystem::perms(0644));
  const std::string fresh = server_token(false);
  EXPECT_NE(fresh, token);
  EXPECT_EQ(server_token(false), fresh);
  EXPECT_EQ(std::filesystem::status(file_).permissions(), std::filesystem::perms(0600));
}

TEST_F(ServerToken, IsAnotherOneWhereItsFileIsSomebodyElses) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give a file away";
  const std::string token = server_token(false);
  ASSERT_EQ(::chown(file_.c_str(), 1, 1), 0);
  const std::string fresh = server_token(false);
  EXPECT_NE(fresh, token);
  EXPECT_EQ(server_token(false), fresh);
}

TEST_F(ServerToken, IsNotKeptInAFolderThatOthersMayWriteTo) {
  server_token(false);
  const std::string folder = (scratch_ / "heed").string();
  for (const auto& [mode, shown] : {std::pair(0777U, "0777"), {0720U, "0720"}, {0702U, "0702"}}) {
    std::filesystem::permissions(folder, std::filesystem::perms(mode));
    EXPECT_HEED_ERROR(server_token(false), ErrorCode::kIo,
                      "token: " + folder + ": a folder of mode " + shown +
                          ", expected a folder that only its user may write to; chmod go-w " +
                          folder);
  }
  std::filesystem::permissions(folder, std::filesystem::perms(0755));
  EXPECT_EQ(server_token(false).size(), 32);
}

TEST_F(ServerToken, IsNotKeptBehindALink) {
  std::filesystem::create_directory(scratch_ / "elsewhere");
  std::filesystem::create_symlink(scratch_ / "elsewhere", scratch_ / "heed");
  EXPECT_HEED_ERROR(server_token(false), ErrorCode::kIo,
                    "token: " + (scratch_ / "heed").string() +
                        ": a link, expected a folder that only its user may write to; replace it "
                        "by a folder");
  EXPECT_TRUE(std::filesystem::is_empty(scratch_ / "elsewhere"));
}

TEST_F(ServerToken, LeavesNothingBesideAFileThatCannotBeReplaced) {
  std::filesystem::create_directories(file_);
  EXPECT_HEED_ERROR(server_token(false), ErrorCode::kIo,
                    "token: " + file_.string() + ": Is a directory");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(scratch_ / "heed"), {}), 1);
}

TEST_F(ServerToken, IsAnotherOneWhereItsFileIsALink) {
  const std::string token = server_token(false);
  std::filesystem::rename(file_, scratch_ / "elsewhere");
  std::filesystem::create_symlink(scratch_ / "elsewhere", file_);
  EXPECT_NE(server_token(false), token);
}

}  // namespace
}  // namespace heed
