// The token that opens the page, and the file that keeps it.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "io/atomic_file.h"
#include "serve/server.h"
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

TEST_F(ServerToken, IsAnotherOneWhereItsFileIsALink) {
  const std::string token = server_token(false);
  std::filesystem::rename(file_, scratch_ / "elsewhere");
  std::filesystem::create_symlink(scratch_ / "elsewhere", file_);
  EXPECT_NE(server_token(false), token);
}

}  // namespace
}  // namespace heed
