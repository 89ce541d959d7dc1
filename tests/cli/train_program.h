// heed train as a process of its own.
#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "support/places.h"
#include "support/scratch.h"
#include "support/training.h"

namespace heed::test {

class TrainProgram : public testing::Test {
 protected:
  TrainProgram() { write_file(scratch_ / "text.txt", counting_text(20000)); }

  std::vector<std::string> arguments(const std::string& folder) const {
    return {"train",
            "-o",
            scratch_ / folder,
            "--data",
            scratch_ / "text.txt",
            "--layers",
            "2",
            "--width",
            "64",
            "--block",
            "32",
            "--steps",
            "40",
            "--threads",
            "2",
            "--checkpoint-every",
            "1",
            "--evaluate-every",
            "10",
            "--dropout",
            "0.1"};
  }

  // `variables`: "NAME=value", of its environment.
  pid_t start(std::vector<std::string> words,
              const std::vector<std::string>& variables = {}) const {
    std::string program = HEED_BINARY_DIR "/heed";
    std::vector<char*> pointers = {program.data()};
    for (std::string& word : words) pointers.push_back(word.data());
    pointers.push_back(nullptr);
    std::fflush(nullptr);  // or the child writes the parent's lines again
    const pid_t child = ::fork();
    if (child != 0) return child;
    if (std::freopen((scratch_ / "stderr").c_str(), "w", stderr) == nullptr ||
        std::freopen("/dev/null", "w", stdout) == nullptr)
      ::_exit(99);
    for (const std::string& variable : variables)
      ::setenv(variable.substr(0, variable.find('=')).c_str(),
               variable.substr(variable.find('=') + 1).c_str(), 1);
    ::execv(pointers[0], pointers.data());
    ::_exit(98);
  }

  // The exit status, or minus the signal that ended it.
  static int wait_for(pid_t child) {
    int status = 0;
    ::waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }

  // Until it holds, or the child has ended.
  static void wait_until(pid_t child, const std::function<bool()>& holds) {
    for (siginfo_t ended{}; ended.si_pid == 0 && !holds();) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      ::waitid(P_PID, static_cast<id_t>(child), &ended, WEXITED | WNOHANG | WNOWAIT);
    }
  }

  int run(std::vector<std::string> words, const std::vector<std::string>& variables = {}) const {
    return wait_for(start(std::move(words), variables));
  }
  std::string last_line() const {
    std::string text = read_file(scratch_ / "stderr");
    while (text.ends_with('\n')) text.pop_back();
    return text.substr(text.rfind('\n') + 1);
  }

  Scratch scratch_;
};

}  // namespace heed::test
