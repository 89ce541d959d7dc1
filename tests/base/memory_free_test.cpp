// What the system says of free memory, in folders that stand for /proc and /sys.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "base/machine.h"
#include "support/scratch.h"

namespace heed {
namespace {

class MemoryFree : public testing::Test {
 protected:
  void write(const std::string& file, const std::string& content) const {
    const std::filesystem::path path = root_ / file;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << content;
  }
  std::optional<std::int64_t> found() const { return memory_free(root_.folder()); }

  test::Scratch root_;
};

TEST_F(MemoryFree, IsNotKnownWithoutTheSystem) { EXPECT_EQ(found(), std::nullopt); }

TEST_F(MemoryFree, IsWhatIsAvailable) {
  write("proc/meminfo", "MemTotal:  8000 kB\nMemFree:  100 kB\nMemAvailable:  5000 kB\n");
  EXPECT_EQ(found(), 5000 * 1024);
}

TEST_F(MemoryFree, IsWhatTheControlGroupLeaves) {
  write("proc/meminfo", "MemAvailable:  5000 kB\n");
  write("proc/self/cgroup", "0::/user/job\n");
  write("sys/fs/cgroup/user/job/memory.max", "max\n");
  write("sys/fs/cgroup/user/job/memory.current", "700000\n");
  EXPECT_EQ(found(), 5000 * 1024);
  write("sys/fs/cgroup/user/memory.max", "1000000\n");
  write("sys/fs/cgroup/user/memory.current", "700000\n");
  write("sys/fs/cgroup/user/memory.stat", "anon 5\ninactive_file 50000\n");
  EXPECT_EQ(found(), 350000);
}

TEST_F(MemoryFree, ReadsTheFirstVersionToo) {
  write("proc/meminfo", "MemAvailable:  5000 kB\n");
  write("proc/self/cgroup", "5:cpu,memory:/job\n1:name=systemd:/\n");
  write("sys/fs/cgroup/memory/job/memory.limit_in_bytes", "1000000\n");
  write("sys/fs/cgroup/memory/job/memory.usage_in_bytes", "1200000\n");
  EXPECT_EQ(found(), 0);
}

}  // namespace
}  // namespace heed
