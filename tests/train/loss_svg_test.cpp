#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "train/run_files.h"

namespace heed {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr std::string_view kHeader =
    "step,train_loss,validation_loss,learning_rate,tokens,seconds\n";

std::string of_rows(std::string_view rows) {
  std::string csv(kHeader);
  csv += rows;
  return loss_svg(csv);
}

TEST(LossSvg, DrawsBothLossesOverTheSteps) {
  const std::string svg = of_rows("1,4,,0.1,10,0.1\n2,3,3.5,0.1,20,0.2\n3,2,,0.1,30,0.3\n");
  EXPECT_THAT(svg, HasSubstr("validation (blue), 3.5000 at the end"));
  EXPECT_THAT(svg, HasSubstr("class=\"t\" d=\"M268.0 36.0"));  // a third of the way, at the top
  EXPECT_THAT(svg, HasSubstr("<circle class=\"v\" cx=\"480.0\""));
}

TEST(LossSvg, ARunWithoutRowsOrValidationIsAPictureToo) {
  EXPECT_THAT(loss_svg(kHeader), HasSubstr("</svg>"));
  EXPECT_THAT(of_rows("1,4,,0.1,10,0.1\n"), Not(HasSubstr("circle class")));
}

TEST(LossSvg, ALongRunIsThinned) {
  std::string csv(kHeader);
  for (int i = 1; i <= 100000; ++i) csv += std::to_string(i) + ",2,,0.1,1,1\n";
  EXPECT_LT(loss_svg(csv).size(), 10000U);
}

}  // namespace
}  // namespace heed
