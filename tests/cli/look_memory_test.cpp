// What `heed look` and `heed serve` keep and take.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/program.h"
#include "cli/tiny_model.h"
#include "tensor/text.h"

namespace heed::cli {
namespace {

using test::Answer;
using test::in_scratch;
using test::kText;
using test::look;
using testing::HasSubstr;

TEST(LookMemory, StreamedWeightsGiveTheSameAnswer) {
  const Answer streamed = look({kText, "--stream", "--json"});
  EXPECT_EQ(streamed.status, 0) << streamed.error;
  EXPECT_EQ(streamed.out, look({kText, "--json"}).out);
  EXPECT_EQ(streamed.error, "");
}

// The number of bytes behind `name` in a line as "weights 0.1 MiB".
double bytes_after(const std::string& line, const std::string& name) {
  return std::stod(line.substr(line.find(name) + name.size())) * (1 << 20);
}

TEST(LookMemory, WeightsStreamByThemselvesWhereTheyDoNotFit) {
  const Answer held = look({kText, "--memory", "0.15M", "--json"});
  ASSERT_THAT(held.error, HasSubstr(": weights 0.")) << "they fit";
  const double whole = bytes_after(held.error, " takes "),
               weights = bytes_after(held.error, "hts ");
  const std::string limit = fmt::format("{}M", (whole - weights / 2) / (1 << 20));
  const Answer streamed = look({kText, "--memory", limit, "--json"});
  EXPECT_EQ(streamed.status, 0);
  EXPECT_THAT(streamed.error, HasSubstr(": weights streamed from the file, kept "));
  EXPECT_EQ(streamed.out, held.out);
  const std::string too_little = fmt::format("{}M", (whole - 2 * weights) / (1 << 20));
  EXPECT_EQ(look({kText, "--memory", too_little}).status, 1);
}

TEST(LookMemory, ShowsTheLayersThatAreKept) {
  const Answer answer = look({kText, "--keep-layers", "1", "--json"});
  ASSERT_EQ(answer.status, 0) << answer.error;
  const auto said = nlohmann::json::parse(answer.out);
  EXPECT_EQ(said["layer"], 1);
  for (const auto& head : said["heads"]) EXPECT_EQ(head["layer"], 1);
}

TEST(LookMemory, OfTheWeightsOnlyKeptLayersAreWritten) {
  const std::string file = in_scratch("kept.npy"), all = in_scratch("all.npy");
  ASSERT_EQ(look({kText, "--keep-layers", "1", "-o", file}).status, 0);
  ASSERT_EQ(look({kText, "--layer", "1", "-o", all}).status, 0);
  EXPECT_EQ(test::content(file), test::content(all));
}

TEST(LookMemory, RanksTheHeadsOfKeptLayers) {
  const Answer answer = look({kText, "--keep-layers", "1", "--heads", "all"});
  EXPECT_EQ(answer.status, 0) << answer.error;
  EXPECT_THAT(answer.out, HasSubstr("L1.H"));
  EXPECT_THAT(answer.out, testing::Not(HasSubstr("L0.H")));
}

TEST(LookMemory, ALayerThatIsNotKeptIsAnError) {
  for (const std::vector<std::string>& more :
       {std::vector<std::string>{"--layer", "0"}, {"--layer", "0", "-o", in_scratch("no.npy")}}) {
    std::vector<std::string> arguments = {kText, "--keep-layers", "1"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const Answer answer = look(arguments);
    EXPECT_EQ(answer.status, 2);
    EXPECT_EQ(answer.error, "heed look: --layer is 0, expected 1: the layers that were kept\n");
  }
  EXPECT_EQ(look({kText, "--keep-layers", "1", "--flow"}).error,
            "heed look: --keep-layers cannot be used with --flow, which shows all layers\n");
  EXPECT_EQ(look({kText, "--keep-layers", "0-2"}).error,
            "heed look: --keep-layers is 2, expected 0 to 1 (tiny has 2 layers)\n");
  EXPECT_EQ(look({kText, "--keep-layers", "2-0"}).error,
            "heed look: --keep-layers is \"2-0\", expected layers as 8-12 or 0,8-12\n");
}

TEST(LookMemory, SaysHowFarF16MovesWeights) {
  const Answer answer = look({kText, "--keep", "f16"});
  EXPECT_EQ(answer.status, 0);
  EXPECT_THAT(answer.error,
              testing::MatchesRegex("heed look: q, k and v are kept as f16: a score changes by at "
                                    "most [0-9.e-]+, a weight by at most [0-9.e-]+ %\n"));
}

TEST(LookMemory, WhatDoesNotFitIsRefusedWithWhatWould) {
  const Answer answer = look({kText, "--memory", "0.06M"});
  EXPECT_EQ(answer.status, 1);
  EXPECT_THAT(answer.error, HasSubstr("heed look: --memory is 0.06 MiB, expected at least "));
  EXPECT_THAT(answer.error, HasSubstr("what would fit: a text of "));
  EXPECT_EQ(look({kText, "--memory", "much"}).error,
            "heed look: --memory is \"much\", expected a size as 6G or 512M\n");
}

TEST(LookMemory, SaysWhatATextTakesWhereThatIsMuch) {
  const Answer answer = look({kText, "--memory", "0.2M"});
  EXPECT_EQ(answer.status, 0);
  EXPECT_THAT(answer.error, HasSubstr("heed look: a text of 26 tokens takes "));
  EXPECT_THAT(answer.error, HasSubstr("; free: 0.2 MiB\n"));
  EXPECT_EQ(look({kText}).error, "");
}

}  // namespace
}  // namespace heed::cli
