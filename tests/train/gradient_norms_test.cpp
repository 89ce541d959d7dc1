#include <gtest/gtest.h>

#include <array>

#include "base/file.h"
#include "support/scratch.h"
#include "train/run_files.h"

namespace heed {
namespace {

TEST(GradientNorms, PartsAreLayersAndWhatIsOutsideOfThem) {
  EXPECT_EQ(part_of_model("transformer.h.3.attn.c_attn.weight"), "transformer.h.3");
  EXPECT_EQ(part_of_model("model.decoder.layers.11.fc1.bias"), "model.decoder.layers.11");
  EXPECT_EQ(part_of_model("transformer.wte.weight"), "transformer.wte");
  EXPECT_EQ(part_of_model("weight"), "weight");
}

TEST(GradientNorms, HasARowAStepAndAColumnAPart) {
  const test::Scratch scratch;
  std::array<Parameter, 4> parameters;
  parameters[0].name = "wte.weight";
  parameters[1].name = "h.0.a.weight";
  parameters[2].name = "h.0.a.bias";
  parameters[3].name = "h.1.a.weight";
  const std::array<const Parameter*, 4> listed = {&parameters[0], &parameters[1], &parameters[2],
                                                  &parameters[3]};
  {
    GradientNorms norms(scratch / "norms.csv", 0, listed);
    norms.append(1, std::array{4.0, 9.0, 16.0, 0.0});
    norms.append(2, std::array{1.0, 0.0, 0.0, 0.0});
  }
  EXPECT_EQ(read_file(scratch / "norms.csv"), "step,all,wte,h.0,h.1\n1,5.38516,2,5,0\n2,1,1,0,0\n");
  const GradientNorms again(scratch / "norms.csv", 1, listed);
  EXPECT_EQ(read_file(scratch / "norms.csv"), "step,all,wte,h.0,h.1\n1,5.38516,2,5,0\n");
}

}  // namespace
}  // namespace heed
