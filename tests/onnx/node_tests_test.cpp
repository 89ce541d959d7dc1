#include "onnx/node_tests.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <string>
#include <vector>

#include "io/atomic_file.h"
#include "onnx/files.h"
#include "support/expect_error.h"
#include "support/protobuf_writer.h"
#include "support/scratch.h"
#include "support/shared_data.h"

namespace heed::onnx {
namespace {

using test::ProtobufWriter;

constexpr int kFloat = 1;
constexpr int kInt64 = 7;

std::string tensor(std::vector<std::int64_t> dims, const std::vector<float>& values) {
  ProtobufWriter message;
  for (const std::int64_t dim : dims) message.varint(1, static_cast<std::uint64_t>(dim));
  std::string raw(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float));
  return message.varint(2, kFloat).bytes(9, raw).text();
}

struct NodeText {
  std::string op_type = "Softmax";
  std::uint64_t opset = 13;
  std::string domain = {};
  ProtobufWriter attributes = {};  // of the node
  std::vector<std::string> inputs = {"x"};
};

std::string model(const NodeText& text, int nodes = 1) {
  ProtobufWriter node = text.attributes;
  for (const std::string& input : text.inputs) node.bytes(1, input);
  node.bytes(2, "y").bytes(4, text.op_type).bytes(7, text.domain);
  ProtobufWriter graph;
  for (int n = 0; n < nodes; ++n) graph.message(1, node);
  for (const std::string& input : text.inputs)
    if (!input.empty()) graph.message(11, ProtobufWriter().bytes(1, input));
  graph.message(12, ProtobufWriter().bytes(1, "y"));
  return ProtobufWriter()
      .varint(1, 7)
      .message(8, ProtobufWriter().bytes(1, "").varint(2, text.opset))
      .message(7, graph)
      .text();
}

// A folder with one softmax test that passes, which tests then break.
using Worst = std::vector<std::pair<std::string, double>>;

class NodeTestRun : public testing::Test {
 protected:
  NodeTestRun() {
    std::filesystem::create_directories(data_);
    write_file(folder_ / "model.onnx", model({}));
    write_file(data_ / "input_0.pb", tensor({1, 2}, {0, 0}));
    write_file(data_ / "output_0.pb", tensor({1, 2}, {0.5, 0.5}));
  }
  void expect_skipped(const std::string& reason) {
    const NodeTestResult result = run_node_test(folder_);
    EXPECT_EQ(result.outcome, Outcome::kSkipped);
    EXPECT_EQ(result.reason, reason);
  }
  void expect_failed(const std::string& reason) {
    const NodeTestResult result = run_node_test(folder_);
    EXPECT_EQ(result.outcome, Outcome::kFailed);
    EXPECT_EQ(result.reason, reason);
  }

  test::Scratch scratch_;
  std::filesystem::path folder_ = scratch_ / "test_softmax";
  std::filesystem::path data_ = folder_ / "test_data_set_0";
};

TEST_F(NodeTestRun, PassesWhereTheNumbersAgree) {
  const NodeTestResult result = run_node_test(folder_);
  EXPECT_EQ(result.outcome, Outcome::kPassed);
  EXPECT_EQ(result.name, "test_softmax");
  EXPECT_EQ(result.op, "Softmax");
  EXPECT_EQ(result.opset, 13);
  EXPECT_EQ(result.largest_error(), 0);
}

TEST_F(NodeTestRun, FailsWhereOneElementDiffers) {
  write_file(data_ / "output_0.pb", tensor({1, 2}, {0.5, 0.501}));
  expect_failed("y[0, 1] is 0.5, expected 0.501");
  write_file(data_ / "output_0.pb", tensor({1, 2}, {NAN, 0.5}));
  expect_failed("y[0, 0] is 0.5, expected nan");
}

TEST_F(NodeTestRun, ADifferenceWithinTheToleranceIsReportedAsAShareOfIt) {
  write_file(data_ / "output_0.pb", tensor({1, 2}, {0.5, 0.50025}));
  const NodeTestResult result = run_node_test(folder_);
  EXPECT_EQ(result.outcome, Outcome::kPassed);
  EXPECT_NEAR(result.largest_error(), 0.5, 0.01);
}

TEST_F(NodeTestRun, FailsWhereShapeOrTypeDiffer) {
  write_file(data_ / "output_0.pb", tensor({2}, {0.5, 0.5}));
  expect_failed("y is f32 [1, 2], expected f32 [2]");
  EXPECT_EQ(run_node_test(folder_).worst, (Worst{{"y", INFINITY}}));
}

TEST_F(NodeTestRun, EveryDataSetIsRun) {
  std::filesystem::create_directories(folder_ / "test_data_set_1");
  write_file(folder_ / "test_data_set_1" / "input_0.pb", tensor({1, 2}, {0, 0}));
  write_file(folder_ / "test_data_set_1" / "output_0.pb", tensor({1, 2}, {0.4F, 0.6F}));
  expect_failed("y[0, 0] is 0.5, expected 0.4");
}

TEST_F(NodeTestRun, WhatIsNotKnownIsSkippedWithItsReason) {
  write_file(folder_ / "model.onnx", model({.op_type = "Conv"}));
  expect_skipped("operator Conv");
  write_file(folder_ / "model.onnx", model({.domain = "com.example"}));
  expect_skipped("operator Softmax of the domain com.example");
  write_file(folder_ / "model.onnx", model({.opset = 11}));
  expect_skipped("Softmax of opset 11, 13 to 27 are served");
  write_file(folder_ / "model.onnx", model({.opset = 28}));
  expect_skipped("Softmax of opset 28, 13 to 27 are served");
  write_file(folder_ / "model.onnx", model({}, 2));
  expect_skipped("2 nodes, one is served");
  const auto attribute = ProtobufWriter().bytes(1, "beta").varint(3, 1);
  write_file(folder_ / "model.onnx", model({.attributes = ProtobufWriter().message(5, attribute)}));
  expect_skipped("attribute beta of Softmax");
  std::filesystem::remove(folder_ / "model.onnx");
  expect_skipped("no model.onnx");
}

TEST_F(NodeTestRun, AnUnknownElementTypeIsSkipped) {
  const std::string path = (data_ / "input_0.pb").string();
  write_file(path, ProtobufWriter().varint(1, 1).varint(2, 12).bytes(9, "abcd").text());
  expect_skipped(path + ": data_type is uint32, expected a type that heed has");
}

TEST_F(NodeTestRun, AnAttributeIsTaken) {
  const auto axis = ProtobufWriter().bytes(1, "axis").varint(3, 0);
  write_file(folder_ / "model.onnx", model({.attributes = ProtobufWriter().message(5, axis)}));
  write_file(data_ / "output_0.pb", tensor({1, 2}, {1, 1}));
  EXPECT_EQ(run_node_test(folder_).outcome, Outcome::kPassed);
}

TEST_F(NodeTestRun, AnIllegalValueFailsTheTest) {
  const auto axis = ProtobufWriter().bytes(1, "axis").varint(3, 2);
  write_file(folder_ / "model.onnx", model({.attributes = ProtobufWriter().message(5, axis)}));
  expect_failed("Softmax: axis is 2, expected one of rank 2");
}

TEST_F(NodeTestRun, ABrokenFileIsAnErrorThatNamesIt) {
  const std::string model_path = (folder_ / "model.onnx").string();
  write_file(model_path, model({}).substr(0, 20));
  EXPECT_HEED_ERROR(run_node_test(folder_), ErrorCode::kCorrupt,
                    model_path + ": byte 10: 29 bytes are expected, the message has 10 left");
  write_file(model_path, std::string());
  EXPECT_HEED_ERROR(run_node_test(folder_), ErrorCode::kCorrupt,
                    model_path + ": no graph in this file, expected an ONNX model");
  write_file(model_path, model({}));
  const std::string input = (data_ / "input_0.pb").string();
  write_file(input, tensor({1, 3}, {0, 0}));
  EXPECT_HEED_ERROR(run_node_test(folder_), ErrorCode::kCorrupt,
                    input + ": raw_data is 8 bytes, expected those of f32 [1, 3]");
}

TEST_F(NodeTestRun, EveryTruncationIsACleanError) {
  for (const char* name : {"model.onnx", "test_data_set_0/input_0.pb"}) {
    const std::string whole =
        name == std::string("model.onnx") ? model({}) : tensor({1, 2}, {0, 0});
    for (std::size_t length = 0; length < whole.size(); ++length) {
      write_file(folder_ / name, whole.substr(0, length));
      try {
        EXPECT_NE(run_node_test(folder_).outcome, Outcome::kPassed) << name << " " << length;
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), ErrorCode::kCorrupt) << name << " " << length;
      }
    }
    write_file(folder_ / name, whole);
  }
}

TEST_F(NodeTestRun, FoldersComeByName) {
  std::filesystem::create_directories(scratch_ / "a_test");
  EXPECT_THAT(node_test_folders(scratch_.folder()),
              testing::ElementsAre(scratch_ / "a_test", folder_));
  EXPECT_THAT(node_test_folders(folder_), testing::ElementsAre(folder_));
  EXPECT_HEED_ERROR(node_test_folders(scratch_ / "none"), ErrorCode::kNotFound,
                    (scratch_ / "none").string() +
                        ": no such folder, expected a node test's folder, with model.onnx in it, "
                        "or a folder of such");
}

TEST(TensorFile, ReadsTheTypedListsToo) {
  const test::Scratch scratch;
  const auto read = [&](const ProtobufWriter& message) {
    write_file(scratch / "t.pb", message.text());
    return read_tensor(scratch / "t.pb");
  };
  const auto integers = ProtobufWriter().raw_varint(3).raw_varint(static_cast<std::uint64_t>(-4));
  const Tensor i64 = read(ProtobufWriter().varint(1, 2).varint(2, kInt64).message(7, integers));
  EXPECT_EQ(i64.data<std::int64_t>()[1], -4);
  const Tensor f32 = read(ProtobufWriter().number(4, 1.5F).varint(2, kFloat));
  EXPECT_EQ(f32.shape(), Shape(std::span<const std::int64_t>()));
  EXPECT_EQ(f32.data<float>()[0], 1.5F);
  const Tensor f16 = read(ProtobufWriter().varint(1, 1).varint(2, 10).varint(5, 0x3C00));
  EXPECT_EQ(static_cast<float>(f16.data<heed::f16>()[0]), 1);
  const Tensor flags =
      read(ProtobufWriter().varint(1, 2).varint(2, 9).bytes(9, std::string("\1\0", 2)));
  EXPECT_TRUE(flags.data<bool>()[0]);
  EXPECT_FALSE(flags.data<bool>()[1]);
}

TEST(TensorFile, ExtentsThatDoNotFitAreAnError) {
  const test::Scratch scratch;
  const std::string path = (scratch / "t.pb").string();
  write_file(
      path,
      ProtobufWriter().varint(1, std::uint64_t{1} << 62).varint(1, 4).varint(2, kFloat).text());
  EXPECT_HEED_ERROR(read_tensor(path), ErrorCode::kCorrupt,
                    path + ": raw_data is 0 bytes, expected those of f32 [4611686018427387904, 4]");
  write_file(path, ProtobufWriter().varint(1, static_cast<std::uint64_t>(-1)).varint(2, 1).text());
  EXPECT_HEED_ERROR(read_tensor(path), ErrorCode::kCorrupt,
                    path + ": dims is -1, expected 0 or more");
}

// The published tests that lie beside the checkout: each passes, and says so by name.
TEST(PublishedNodeTests, NoneFails) {
  HEED_NEEDS_SHARED("onnx");
  int passed = 0;
  for (const auto& folder : node_test_folders(test::shared_data() / "onnx")) {
    const NodeTestResult result = run_node_test(folder);
    EXPECT_NE(result.outcome, Outcome::kFailed) << result.name << ": " << result.reason;
    if (result.outcome == Outcome::kPassed) ++passed;
  }
  EXPECT_GE(passed, 124);
}

}  // namespace
}  // namespace heed::onnx
