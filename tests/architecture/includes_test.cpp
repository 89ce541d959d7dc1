// A floor may include only the floors to its left; kernels use element types and masks, but not
// Tensor.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "architecture/source_tree.h"
#include "support/places.h"

namespace heed {
namespace {

using test::SourceFile;

std::map<std::string, std::set<std::string>> allowed_floors() {
  const std::vector<std::string> chain = {"base",    "tensor", "simd",   "attention", "ops",
                                          "ranks",   "nn",     "models", "generate",  "train",
                                          "inspect", "serve",  "bench",  "cli"};
  std::map<std::string, std::set<std::string>> allowed;
  std::set<std::string> left;
  for (const std::string& floor : chain) {
    left.insert(floor);
    if (floor == "models") left.insert({"io", "text"});  // the first floor that sees them
    allowed[floor] = left;
  }
  allowed["io"] = {"base", "tensor", "io"};
  allowed["text"] = {"base", "tensor", "text"};
  allowed["onnx"] = allowed["ops"];
  allowed["onnx"].insert({"io", "onnx"});
  allowed["cli"].insert("onnx");
  allowed["mpi"] = allowed["ranks"];  // a module beside the program
  allowed["mpi"].insert("mpi");
  allowed["c"] = allowed["ops"];
  allowed["c"].insert("c");
  return allowed;
}

/// Kernels work on pointers: of the tensor floor they may use only element types.
bool is_kernel(const SourceFile& file) {
  return file.path.starts_with("src/simd/") || file.path.starts_with("src/attention/sweep/") ||
         file.path.starts_with("src/attention/reference/") ||
         file.path.starts_with("src/ops/kernels/");
}

/// The header for C programs must not include C++ headers.
bool is_for_c(const SourceFile& file) { return file.path == "include/heed/c.h"; }

/// Empty, or the reason why `file` may not include `header`.
std::string complaint(const SourceFile& file, const std::string& header) {
  static const auto kAllowed = allowed_floors();
  const std::string floor = test::floor_of(header);
  if (is_for_c(file) && floor != "c") return "may not see " + header;
  if (file.floor.empty()) return "";  // an umbrella includes what it likes
  if (!kAllowed.contains(file.floor)) return "stands on an unknown floor '" + file.floor + "'";
  if (header == "heed/heed.h") return "includes the umbrella: name the header that it needs";
  if (header.find('/') == std::string::npos) return "includes \"" + header + "\" without its floor";
  if (!kAllowed.contains(floor)) return "";  // a header of another library
  if (!kAllowed.at(file.floor).contains(floor)) return "may not see " + header;
  const bool is_element_type = header == "heed/dtype.h" || header == "tensor/block_type.h";
  if (is_kernel(file) && floor == "tensor" && !is_element_type) return "may not see " + header;
  return "";
}

std::vector<std::string> complaints(const std::vector<SourceFile>& files) {
  std::vector<std::string> found;
  for (const SourceFile& file : files) {
    for (std::size_t line = 0; line < file.lines.size(); ++line) {
      const std::string header = test::included_name(file.lines[line]);
      if (header.empty()) continue;
      const std::string what = complaint(file, header);
      if (!what.empty()) found.push_back(file.path + ":" + std::to_string(line + 1) + " " + what);
    }
  }
  return found;
}

TEST(Includes, GoOnlyToTheFloorsOnTheLeft) {
  const std::vector<SourceFile> files = test::source_tree(HEED_SOURCE_DIR);
  EXPECT_GT(files.size(), 20U);
  EXPECT_THAT(complaints(files), testing::IsEmpty());
}

TEST(Includes, AForbiddenEdgeIsNamedWithItsLine) {
  const std::vector<SourceFile> planted = {
      {.path = "src/ops/a.cpp", .floor = "ops", .lines = {"// a", "#include \"heed/nn/tap.h\""}},
      {.path = "src/io/b.cpp", .floor = "io", .lines = {"#include <heed/text/byte_bpe.h>"}},
      {.path = "src/nn/c.cpp", .floor = "nn", .lines = {"#include \"heed/heed.h\""}},
      {.path = "src/nn/d.cpp", .floor = "nn", .lines = {"#include \"d.h\""}},
      {.path = "src/utils/e.cpp", .floor = "utils", .lines = {"#include \"heed/error.h\""}},
      {.path = "src/models/f.cpp", .floor = "models", .lines = {"#include \"heed/io/npy.h\""}},
      {.path = "include/heed/c.h", .floor = "c", .lines = {"#include \"heed/attention.h\""}}};
  EXPECT_THAT(
      complaints(planted),
      testing::ElementsAre("src/ops/a.cpp:2 may not see heed/nn/tap.h",
                           "src/io/b.cpp:1 may not see heed/text/byte_bpe.h",
                           "src/nn/c.cpp:1 includes the umbrella: name the header that it needs",
                           "src/nn/d.cpp:1 includes \"d.h\" without its floor",
                           "src/utils/e.cpp:1 stands on an unknown floor 'utils'",
                           "include/heed/c.h:1 may not see heed/attention.h"));
}

TEST(Includes, TheUmbrellaHoldsEveryPublicHeader) {
  const std::string umbrella = "include/heed/heed.h";
  std::vector<std::string> wanted;
  std::vector<std::string> found;
  for (const SourceFile& file : test::source_tree(HEED_SOURCE_DIR)) {
    if (file.path == umbrella) {
      for (const std::string& line : file.lines)
        if (line.starts_with("#include")) found.push_back(line);
    } else if (file.path.starts_with("include/") && !is_for_c(file)) {
      wanted.push_back("#include \"" + file.path.substr(std::string("include/").size()) + "\"");
    }
  }
  EXPECT_THAT(found, testing::UnorderedElementsAreArray(wanted));
}

TEST(Includes, KernelsSeeElementTypesButNoTensor) {
  const std::vector<SourceFile> planted = {
      {.path = "src/ops/kernels/a.cpp",
       .floor = "ops",
       .lines = {"#include \"heed/dtype.h\"", "#include \"heed/tensor.h\""}}};
  EXPECT_THAT(complaints(planted),
              testing::ElementsAre("src/ops/kernels/a.cpp:2 may not see heed/tensor.h"));
}

}  // namespace
}  // namespace heed
