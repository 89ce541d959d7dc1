// heed check: compares heed with published tests. onnx: ONNX's node tests.
#include <fmt/format.h>

#include <array>
#include <memory>

#include "base/json.h"
#include "cli/command.h"
#include "cli/terminal/output.h"
#include "heed/base/error.h"
#include "heed/text/tokenizer.h"
#include "onnx/node_tests.h"

namespace heed::cli {
namespace {

using onnx::NodeTestResult;
using onnx::Outcome;

constexpr std::array<const char*, 3> kOutcomes = {"passed", "failed", "skipped"};

const char* word(Outcome outcome) { return kOutcomes.at(static_cast<std::size_t>(outcome)); }

using Counts = std::array<int, 3>;

Json as_json(const NodeTestResult& result) {
  Json json = {{"name", result.name},
               {"status", word(result.outcome)},
               {"operator", result.op},
               {"opset", result.opset}};
  if (result.outcome == Outcome::kPassed)
    json.set("error", result.largest_error());
  else
    json.set("why", result.reason);
  Json worst = Json::object();
  for (const auto& [output, error] : result.worst) worst.set(output, error);
  if (!result.worst.empty()) json.set("worst", std::move(worst));
  return json;
}

std::string summary(const Counts& counts) {
  return fmt::format("{} passed, {} failed, {} skipped\n", counts[0], counts[1], counts[2]);
}

int check_onnx(const std::string& dir, bool json) {
  Counts counts = {};
  auto list = Json::array();
  for (const auto& folder : onnx::node_test_folders(dir)) {
    const NodeTestResult result = onnx::run_node_test(folder);
    ++counts.at(static_cast<std::size_t>(result.outcome));
    if (json)
      list.push(as_json(result));
    else if (result.outcome != Outcome::kPassed)
      print(fmt::format("{:<7}  {}: {}\n", word(result.outcome), displayable(result.name),
                        displayable(result.reason)));
  }
  if (json) {
    const Json whole = {{"passed", counts[0]},
                        {"failed", counts[1]},
                        {"skipped", counts[2]},
                        {"cases", std::move(list)}};
    print(whole.dump(2) + "\n");
  } else {
    print(summary(counts));
  }
  if (counts[0] + counts[1] == 0)
    fail({.code = ErrorCode::kFailed,
          .file = dir,
          .found = "no case was run",
          .expected = "ONNX's node tests"});
  return counts[1] == 0 ? 0 : 1;
}

Run declare(OptionList& list) {
  struct Options {
    std::string what, dir;
    bool json = false;
  };
  const auto options = std::make_shared<Options>();
  add(list,
      {{.name = "WHAT", .to = &options->what, .required = true, .help = "what to check: onnx"},
       {.name = "DIR",
        .to = &options->dir,
        .required = true,
        .help = "a folder of node tests, or one of them"},
       {.name = "--json", .to = &options->json, .help = "print every case as JSON"},
       threads_option()});
  return [options](const Given&) {
    if (options->what != "onnx")
      fail({.argument = "WHAT", .found = fmt::format("'{}'", options->what), .expected = "onnx"});
    return check_onnx(options->dir, options->json);
  };
}

}  // namespace

Command check_command() {
  return {"check", "replays ONNX's published node tests: does heed compute what they say?",
          "  heed check onnx onnx/backend/test/data/node\n"
          "  heed check onnx node/test_attention_4d_causal --json",
          declare};
}

}  // namespace heed::cli
