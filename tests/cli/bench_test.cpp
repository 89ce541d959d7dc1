// heed bench as a user runs it.
#include "cli/bench/bench.h"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "cli/program.h"
#include "heed/model.h"
#include "ops/kernels/matmul.h"
#include "support/places.h"

namespace heed {
namespace {

using test::Answer;
using test::heed;

std::string tiny_config() {
  const auto path = test::scratch() / "bench.json";
  std::ofstream(path) << R"({"model_type": "gpt2", "n_layer": 1, "n_head": 2, "n_embd": 16,
    "n_positions": 600, "vocab_size": 11})";
  return path;
}

TEST(BenchProgram, TimesTheCasesThatFitTheModel) {
  const Answer answer = heed({"bench", "model", "--config", tiny_config(), "--json"});
  ASSERT_EQ(answer.status, 0) << answer.error;
  const auto list = nlohmann::json::parse(answer.out);
  std::vector<std::string> names;
  for (const auto& timing : list) {
    names.push_back(timing["case"]);
    const double tokens = timing["query_length"];
    EXPECT_NEAR(timing["tokens_per_second"], tokens / timing["seconds"].get<double>(),
                1e-6 * timing["tokens_per_second"].get<double>());
  }
  EXPECT_EQ(names, (std::vector<std::string>{"prefill-128", "prefill-512", "step-10", "step-250"}));
  EXPECT_EQ(list[3]["key_length"], 251);
}

TEST(BenchProgram, AModelWhoseLogitsAreNoNumbersIsOneLine) {
  const std::filesystem::path folder = test::scratch() / "bench-broken";
  const auto model = make_model(R"({"model_type": "gpt2", "n_layer": 1, "n_head": 2, "n_embd": 16,
    "n_positions": 130, "vocab_size": 11})",
                                1);
  model->parameters().back()->value.data<float>()[0] = NAN;
  save_model(folder, *model, nullptr, DType::kF32);
  for (const char* name : {"prefill-128", "step-10"}) {
    test::expect_refused({"bench", "model", "--model", folder.string(), "--case", name},
                         "logits[0] is nan, expected a number; weights of the model are not "
                         "finite, or too large (heed look shows where)");
  }
}

TEST(BenchProgram, TimesBothPassesOfACaseAndTheirMemory) {
  const double pairs = 8.0 * 64 * 64;
  for (const auto& [pass, products] : {std::pair{"attention", 2}, {"backward", 5}}) {
    const Answer answer = heed({"bench", pass, "--case", "plain-n64-d64", "--json"});
    ASSERT_EQ(answer.status, 0) << answer.error;
    const auto timing = nlohmann::json::parse(answer.out)[0];
    EXPECT_NEAR(timing["gflops"].get<double>() * timing["seconds"].get<double>() * 1e9,
                products * 2 * 64 * pairs, 1);
    EXPECT_GE(timing["peak_bytes"], 0);
  }
}

// A substitute for Python: a script that receives heed's script as its second argument.
std::string peer(const std::string& name, const std::string& script) {
  const auto path = test::scratch() / name;
  std::ofstream(path) << "#!/bin/bash\n" + script;
  std::filesystem::permissions(path, std::filesystem::perms::owner_all);
  return path;
}

TEST(BenchProgram, APeerTakesTurnsWithHeed) {
  const auto log = test::scratch() / "asked.txt";
  const std::string python = peer("peer",
                                  "[[ $1 == -c && $2 == *scaled_dot_product* ]] || exit 1\n"
                                  "while read -r line; do echo \"$line\" >>" +
                                      log.string() + R"(
  case $line in
    *'"time"'*) echo '{"times": [0.5, 0.25, 0.125]}' ;;
    *) echo '{"peers": {"other": 4096}}' ;;
  esac
done
)");
  const Answer answer = heed({"bench", "backward", "--case", "causal-n64-d64", "grouped-n64-d64",
                              "--peers", python, "--json"});
  ASSERT_EQ(answer.status, 0) << answer.error;
  const auto list = nlohmann::json::parse(answer.out);
  const auto& other = list[0]["peers"]["other"];
  EXPECT_EQ(other["seconds"], 0.25);
  EXPECT_EQ(other["peak_bytes"], 4096);
  EXPECT_EQ(other["ratio"], 0.25 / list[0]["seconds"].get<double>());

  std::ifstream asked(log);
  std::string line;
  std::getline(asked, line);
  const auto first = nlohmann::json::parse(line);
  EXPECT_EQ(first["pass"], "backward");
  EXPECT_EQ(first["mask"], "causal");
  EXPECT_EQ(first["scores"]["sink"], false);
  for (int turn = 0; turn < 5; ++turn) {
    std::getline(asked, line);
    EXPECT_EQ(nlohmann::json::parse(line)["time"], "other");
  }
  std::getline(asked, line);
  EXPECT_EQ(nlohmann::json::parse(line)["kv_heads"], 2);
}

TEST(BenchProgram, APeerThatIsNotThereOrEndsIsNamed) {
  const auto said = [](const std::string& python) {
    const Answer answer =
        heed({"bench", "attention", "--case", "plain-n64-d64", "--peers", python});
    EXPECT_EQ(answer.status, 2);
    EXPECT_EQ(answer.out, "");
    return answer.error;
  };
  EXPECT_EQ(said("/no/python"),
            "heed bench: --peers is '/no/python': No such file or directory, expected a Python "
            "that has torch\n");
  const std::string ends = peer("peer-that-ends", "echo no torch >&2\n");
  EXPECT_EQ(said(ends), "no torch\nheed bench: --peers is '" + ends +
                            "', which ended; its reason is above, expected a Python that has "
                            "torch\n");
}

TEST(BenchProgram, TimesAStepOfEveryFormOfTheCache) {
  const Answer answer = heed({"bench", "decode", "--json", "--case", "k1024-f32", "k1024-i8",
                              "k1024-paged", "k1024-ring"});
  ASSERT_EQ(answer.status, 0) << answer.error;
  const auto list = nlohmann::json::parse(answer.out);
  ASSERT_EQ(list.size(), 4);
  const double seconds_of_f32 = list[0]["seconds"];
  const double numbers = 2.0 * 1024 * 8 * 128;
  for (const auto& timing : list) {
    const double seconds = timing["seconds"];
    const bool bytes = timing["dtype"] == "i8";
    EXPECT_NEAR(timing["tokens_per_second"].get<double>() * seconds, 1, 1e-9);
    EXPECT_NEAR(timing["times_faster"].get<double>() * seconds, seconds_of_f32, 1e-9);
    // Keys, values and scales; q, out and both parts of the log-sum-exp.
    EXPECT_NEAR(timing["gbytes_per_second"].get<double>() * seconds * 1e9,
                numbers * (bytes ? 1.125 : 4) + 32 * (2 * 128 + 2) * 4, 1);
    EXPECT_GT(timing["read_gbytes_per_second"], 0);
  }
  EXPECT_EQ(list[0]["form"], "contiguous");
  EXPECT_EQ(list[2]["form"], "paged");
  EXPECT_EQ(list[3]["form"], "ring");
}

TEST(BenchProgram, SetsProductsInBulkBesidePlainOnes) {
  const Answer answer = heed({"bench", "matmul", "--json", "--case", "forward-128x128",
                              "dinput-128x128", "dweight-128x128"});
  ASSERT_EQ(answer.status, 0) << answer.error;
  const auto list = nlohmann::json::parse(answer.out);
  ASSERT_EQ(list.size(), 3);
  for (const auto& timing : list) {
    const double seconds = timing["seconds"];
    const double plain = timing["seconds_plain"];
    EXPECT_NEAR(timing["gflops"].get<double>() * seconds * 1e9, 2.0 * 384 * 128 * 128, 1);
    EXPECT_NEAR(timing["gflops_plain"].get<double>() * plain * 1e9, 2.0 * 384 * 128 * 128, 1);
    EXPECT_NEAR(timing["times_faster"].get<double>() * seconds, plain, 1e-9);
    EXPECT_GT(timing["relative_error"], 0);
    EXPECT_LE(timing["relative_error"], 1);
    EXPECT_EQ(timing["kernel"], kernels::has_amx() ? "cpu-amx" : kernels::matmul_kernel_name());
  }
}

TEST(BenchProgram, SetsPackedProductsBesideTheirLimits) {
  const Answer answer = heed({"bench", "matmul", "--json", "--threads", "1", "--case",
                              "768x768-r1-f32", "768x768-r8-f16", "768x768-r512-bf16"});
  ASSERT_EQ(answer.status, 0) << answer.error;
  const auto list = nlohmann::json::parse(answer.out);
  ASSERT_EQ(list.size(), 3);
  for (const auto& timing : list) {
    const double flop = 2.0 * timing["rows"].get<double>() * 768 * 768;
    const double seconds = timing["seconds"];
    const double memory = timing["memory_seconds"];
    EXPECT_NEAR(timing["gflops"].get<double>() * seconds * 1e9, flop, 1);
    EXPECT_NEAR(timing["memory_gflops"].get<double>() * memory * 1e9, flop, 1);
    EXPECT_NEAR(timing["gbytes_per_second"].get<double>() * memory * 1e9,
                768.0 * 768 * (timing["dtype"] == "f32" ? 4 : 2), 1);
    EXPECT_GT(timing["limit_gflops"], 0);
    EXPECT_LE(timing["memory_limit_gflops"], timing["limit_gflops"]);
  }
}

TEST(BenchProgram, InspectSetsItsFiguresBesideTheirLimits) {
  const Answer answer = heed({"bench", "inspect", "--config", tiny_config(), "--json"});
  ASSERT_EQ(answer.status, 0) << answer.error;
  std::map<std::string, nlohmann::json> figures;
  for (const auto& figure : nlohmann::json::parse(answer.out)) figures[figure["name"]] = figure;
  EXPECT_EQ(figures.at("tile, any zoom, p95")["limit"], 3);
  EXPECT_EQ(figures.at("new head: tile, row, margins, p95")["limit"], 50);
  EXPECT_GT(figures.at("memory after the tiles")["limit"], 64);
  for (const auto& [name, figure] : figures) EXPECT_GT(figure["value"], 0) << name;
}

TEST(BenchProgram, TimesStepsOfTraining) {
  const Answer answer =
      heed({"bench", "train", "--layers", "1", "--heads", "2", "--width", "16", "--block", "8",
            "--batch", "4", "--vocabulary", "11", "--threads", "2", "--json"});
  ASSERT_EQ(answer.status, 0) << answer.error;
  const auto timing = nlohmann::json::parse(answer.out);
  EXPECT_EQ(timing["shares"], 2);
  // 11 x 16 and 8 x 16 embeddings; 12 x 16 x 16 and biases 9 x 16; three norms.
  EXPECT_EQ(timing["parameters"], 19 * 16 + 12 * 256 + 9 * 16 + 6 * 16);
  const double seconds = timing["seconds"];
  EXPECT_NEAR(timing["tokens_per_second"].get<double>() * seconds, 32, 1e-6);
  // Each token uses 12 x 256 + 11 x 16 weights; 36 pairs per sequence.
  EXPECT_NEAR(timing["gflops"].get<double>() * seconds * 1e9, 4.0 * (6 * 8 * 3248 + 14 * 16 * 36),
              1);
}

TEST(BenchProgram, BadInputIsOneLineAndStatusTwo) {
  test::expect_refused(
      {"bench", "nothing"},
      "WHAT is 'nothing', expected one of attention, backward, decode, matmul, model, inspect, "
      "arrays, "
      "tokenize, train, ring");
  test::expect_refused(
      {"bench", "model", "--config", tiny_config(), "--case", "step-1000"},
      "--case is 'step-1000', expected one of prefill-128, prefill-512, step-10, step-250");
  test::expect_refused({"bench", "model", "--config", "a", "--model", "b"},
                       "--model and --config are both given, expected one of them");
  test::expect_refused({"bench", "train", "--heads", "3", "--width", "16"},
                       "--heads is 3, expected a divisor of width (16)");
}

TEST(BenchProgram, AKernelThatThereIsNotPrintsNoTable) {
  const Answer answer = heed({"bench", "decode", "--case", "k1024-f32", "--kernel", "nope"});
  EXPECT_EQ(answer.status, 2);
  EXPECT_EQ(answer.out, "");
  EXPECT_TRUE(answer.error.starts_with("heed bench: --kernel is 'nope', expected one of "));
}

TEST(Steadiness, NamesTheCaseThatSpreadMost) {
  cli::Steadiness steadiness;
  steadiness.saw("calm", 0.02);
  steadiness.saw("wild", 0.61);
  steadiness.saw("rough", 0.3);
  EXPECT_EQ(
      steadiness.warning(),
      "heed bench: the machine was busy: the times of wild spread by 61 %, expected at most 25 "
      "%; measure again when it is idle\n");
}

TEST(Steadiness, IsSilentOnAQuietMachine) {
  cli::Steadiness steadiness;
  steadiness.saw("calm", 0.25);
  EXPECT_EQ(steadiness.warning(), "");
}

}  // namespace
TEST(BenchTokenize, GivesMegabytesASecondOfEachText) {
  const auto path = test::scratch() / "text.txt";
  std::ofstream(path) << "the cat sat on the mat\n";
  const Answer answer = heed({"bench", "tokenize", "--tokenizer",
                              HEED_SOURCE_DIR "/tests/text/tokenizers/bytes-gpt2.json", "--text",
                              path.string(), "--json"});
  ASSERT_EQ(answer.status, 0) << answer.error;
  const auto timing = nlohmann::json::parse(answer.out)[0];
  EXPECT_EQ(timing["case"], "text.txt");
  EXPECT_EQ(timing["bytes"], 23);
  EXPECT_NEAR(
      timing["encode_megabytes_per_second"].get<double>() * timing["encode_seconds"].get<double>(),
      23e-6, 1e-9);
}

}  // namespace heed
