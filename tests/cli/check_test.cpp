// heed check as a user runs it.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "cli/program.h"
#include "support/protobuf_writer.h"

namespace heed {
namespace {

using test::Answer;
using test::heed;
using test::ProtobufWriter;

void write(const std::filesystem::path& path, const ProtobufWriter& message) {
  std::ofstream(path, std::ios::binary) << message.text();
}

ProtobufWriter two_floats(float first, float second) {
  return ProtobufWriter().varint(1, 2).varint(2, 1).bytes(
      9, ProtobufWriter().raw(first).raw(second).text());
}

// A node test of one input and one output; y is what is expected.
void write_case(const std::filesystem::path& folder, const char* op, float y) {
  std::filesystem::create_directories(folder / "test_data_set_0");
  const auto node = ProtobufWriter().bytes(1, "x").bytes(2, "y").bytes(4, op);
  const auto graph = ProtobufWriter()
                         .message(1, node)
                         .message(11, ProtobufWriter().bytes(1, "x"))
                         .message(12, ProtobufWriter().bytes(1, "y"));
  write(folder / "model.onnx",
        ProtobufWriter().message(8, ProtobufWriter().varint(2, 13)).message(7, graph));
  write(folder / "test_data_set_0" / "input_0.pb", two_floats(1, 1));
  write(folder / "test_data_set_0" / "output_0.pb", two_floats(y, 0.5F));
}

std::string folder_of(const char* name) { return (test::scratch() / name).string(); }

TEST(CheckProgram, NamesWhatFailedAndWhatWasSkipped) {
  const std::filesystem::path dir = folder_of("mixed");
  write_case(dir / "test_good", "Softmax", 0.5F);
  write_case(dir / "test_other", "Conv", 0.5F);
  write_case(dir / "test_wrong", "Softmax", 0.25F);
  const Answer answer = heed({"check", "onnx", dir.string()});
  EXPECT_EQ(answer.status, 1);
  EXPECT_EQ(answer.out,
            "skipped  test_other: operator Conv\n"
            "failed   test_wrong: y[0] is 0.5, expected 0.25\n"
            "1 passed, 1 failed, 1 skipped\n");
  EXPECT_EQ(answer.error, "");
}

TEST(CheckProgram, JsonListsEveryCase) {
  const std::filesystem::path dir = folder_of("json");
  write_case(dir / "test_good", "Softmax", 0.5F);
  write_case(dir / "test_other", "Conv", 0.5F);
  const Answer answer = heed({"check", "onnx", dir.string(), "--json"});
  EXPECT_EQ(answer.status, 0);
  const auto json = nlohmann::json::parse(answer.out);
  EXPECT_EQ(json["passed"], 1);
  EXPECT_EQ(json["failed"], 0);
  EXPECT_EQ(json["skipped"], 1);
  EXPECT_EQ(json["cases"][0], (nlohmann::json{{"name", "test_good"},
                                              {"status", "passed"},
                                              {"operator", "Softmax"},
                                              {"opset", 13},
                                              {"error", 0},
                                              {"worst", {{"y", 0}}}}));
  EXPECT_EQ(json["cases"][1]["why"], "operator Conv");
}

TEST(CheckProgram, JsonTellsTheWorstErrorOfEveryOutput) {
  const std::filesystem::path dir = folder_of("worst");
  write_case(dir / "test_near", "Softmax", 0.50025F);
  write_case(dir / "test_wrong", "Softmax", 0.25F);
  const auto cases =
      nlohmann::json::parse(heed({"check", "onnx", dir.string(), "--json"}).out)["cases"];
  EXPECT_NEAR(cases[0]["worst"]["y"], 0.5, 0.01);
  EXPECT_NEAR(cases[1]["worst"]["y"], 1000, 1);
}

TEST(CheckProgram, AFolderOfWhichNothingRunsIsNoSuccess) {
  const std::filesystem::path dir = folder_of("nothing");
  write_case(dir / "test_other", "Conv", 0.5F);
  const Answer answer = heed({"check", "onnx", dir.string()});
  EXPECT_EQ(answer.status, 1);
  EXPECT_EQ(answer.error,
            "heed check: " + dir.string() + ": no case was run, expected ONNX's node tests\n");
}

TEST(CheckProgram, BadInputIsOneLineAndStatusTwo) {
  std::ofstream(folder_of("a-model.gguf")) << "GGUF";
  test::expect_refused({"check", "model", folder_of("a-model.gguf")},
                       folder_of("a-model.gguf") +
                           ": is a file, which has no published numbers beside it, expected a "
                           "model folder with golden.safetensors");
  test::expect_refused({"check", "torch", "."}, "WHAT is \"torch\", expected model or onnx");
  const std::string expected =
      ", expected a node test's folder, with model.onnx in it, or a folder of such";
  test::expect_refused({"check", "onnx", folder_of("none")},
                       folder_of("none") + ": no such folder" + expected);
  std::ofstream(folder_of("a-file")) << "x";
  test::expect_refused({"check", "onnx", folder_of("a-file")},
                       folder_of("a-file") + ": is a file" + expected);
  const std::filesystem::path dir = folder_of("broken");
  write_case(dir, "Softmax", 0.5F);
  std::ofstream(dir / "model.onnx") << "no protobuf";
  test::expect_refused({"check", "onnx", dir.string()},
                       (dir / "model.onnx").string() + ": byte 0: 6 is not a wire type");
}

}  // namespace
}  // namespace heed
