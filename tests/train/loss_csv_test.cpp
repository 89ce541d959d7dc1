#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "io/atomic_file.h"
#include "support/scratch.h"
#include "train/run_files.h"

namespace heed {
namespace {

std::string with_header(std::string_view rows) {
  return std::string("step,train_loss,validation_loss,learning_rate,tokens,seconds\n").append(rows);
}

TEST(LossCsv, HasARowAStep) {
  const test::Scratch scratch;
  {
    LossCsv csv(scratch / "loss.csv", 0);
    csv.append({1, 4.25, std::nullopt, 0.5, 768, 0.125});
    csv.append({2, 0.1, 3.5, 0.25, 1536, 2});
  }
  EXPECT_EQ(read_file(scratch / "loss.csv"),
            with_header("1,4.25,,0.5,768,0.125\n2,0.10000000000000001,3.5,0.25,1536,2.000\n"));
}

TEST(LossCsv, CutsRowsPastTheStepWhereARunGoesOn) {
  const test::Scratch scratch;
  write_file(scratch / "loss.csv",
             with_header("1,4,,1,1,1\n2,3,,1,2,2\n3,2,,1,3,3\n10,1,,1,10,10\n"));
  const LossCsv csv(scratch / "loss.csv", 2);
  EXPECT_EQ(read_file(scratch / "loss.csv"), with_header("1,4,,1,1,1\n2,3,,1,2,2\n"));
}

TEST(LossCsv, CutsATornRow) {
  const test::Scratch scratch;
  write_file(scratch / "loss.csv", with_header("1,4,,1,1,1\n2,3"));
  const LossCsv csv(scratch / "loss.csv", 5);
  EXPECT_EQ(read_file(scratch / "loss.csv"), with_header("1,4,,1,1,1\n"));
}

}  // namespace
}  // namespace heed
