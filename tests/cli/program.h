// Runs the built program as a user does.
#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "support/places.h"

namespace heed::test {

/// A folder of this process that goes away with it.
inline const std::filesystem::path& scratch() {
  struct Folder {
    std::filesystem::path path =
        std::filesystem::temp_directory_path() / ("heed-cli-" + std::to_string(getpid()));
    Folder() { std::filesystem::create_directories(path); }
    ~Folder() { std::filesystem::remove_all(path); }
  };
  static const Folder folder;
  return folder.path;
}

inline std::string in_scratch(const std::string& name) { return (scratch() / name).string(); }

inline std::string content(const std::filesystem::path& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

struct Answer {
  int status = -1;
  std::string out;
  std::string error;
};

/// `heed ARGUMENTS...`; `shell` is put behind them (a pipe, a redirection) as the shell reads it.
inline Answer heed(const std::vector<std::string>& arguments, const std::string& shell = "") {
  std::string command = "LC_ALL=C.UTF-8 COLUMNS=100 " HEED_BINARY_DIR "/heed";
  for (const std::string& argument : arguments) {
    command += " '";
    for (const char letter : argument) command += letter == '\'' ? "'\\''" : std::string(1, letter);
    command += "'";
  }
  const std::filesystem::path out = scratch() / "out";
  const std::filesystem::path error = scratch() / "error";
  command = "( " + command + " " + shell + " ) >" + out.string() + " 2>" + error.string();
  const int status = std::system(command.c_str());
  return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), content(out),
          content(error)};
}

/// Expects `heed ARGUMENTS...` to end with status 2 and this message alone.
inline void expect_refused(const std::vector<std::string>& arguments, const std::string& message,
                           const std::string& shell = "") {
  const Answer answer = heed(arguments, shell);
  EXPECT_EQ(answer.status, 2) << message;
  EXPECT_EQ(answer.error, "heed " + arguments[0] + ": " + message + "\n");
  EXPECT_EQ(answer.out, "");
}

}  // namespace heed::test
