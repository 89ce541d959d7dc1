#include <gtest/gtest.h>

#include "support/expect_error.h"
#include "train/initial_weights.h"

namespace heed {
namespace {

TEST(MemoryNeeded, IsThatOfWeightsGradientsAndMomentsAtLeast) {
  TrainConfig config;
  config.layers = 2;
  config.width = 100;
  config.block = 10;
  const double weights = 2 * 12 * 100 * 100 + (50 + 10) * 100;
  EXPECT_GT(least_bytes(config, 50), 16 * weights);
  EXPECT_LT(least_bytes(config, 50), 20 * weights);
}

TEST(MemoryNeeded, NamesTheExtentThatIsToBlame) {
  const TrainConfig usual = {};
  EXPECT_NO_THROW(check_memory(usual, 4096, 1e9));
  TrainConfig config = usual;
  config.layers = 1000000;
  EXPECT_HEED_ERROR(check_memory(config, 100, 16e9), ErrorCode::kInvalidArgument,
                    "train: layers is 1000000, expected less: the run would take 3310 GB of "
                    "memory, and this machine has 16 GB");
  config = usual;
  config.width = 1 << 20;
  EXPECT_HEED_ERROR(check_memory(config, 100, 8e9), ErrorCode::kInvalidArgument,
                    "train: width is 1048576, expected less: the run would take 844433 GB of "
                    "memory, and this machine has 8.0 GB");
  config = usual;
  config.block = 100000000;
  EXPECT_THROW(check_memory(config, 100, 16e9), Error);
}

}  // namespace
}  // namespace heed
