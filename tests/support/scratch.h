// A separate folder for each test, removed afterwards.
#pragma once

#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <string>

namespace heed::test {

class Scratch {
 public:
  Scratch() : folder_(std::filesystem::temp_directory_path() / unique_name()) {
    std::filesystem::create_directories(folder_);
  }
  ~Scratch() { std::filesystem::remove_all(folder_); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  const std::filesystem::path& folder() const { return folder_; }
  std::filesystem::path operator/(const std::string& name) const { return folder_ / name; }

 private:
  static std::string unique_name() {
    static std::atomic<int> count = 0;
    return "heed-test-" + std::to_string(::getpid()) + "-" + std::to_string(count++);
  }
  std::filesystem::path folder_;
};

}  // namespace heed::test
