// A floor may include only the floors to its left. A public header may include only the public
// headers before it. Where one public header serves several floors, the lower ones may not name
// what it has for the higher ones: kernels use element types and masks, but no Tensor.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <regex>
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

bool is_public(const SourceFile& file) { return file.path.starts_with("include/"); }

/// The place of "heed/mask.h" in the order of public headers; the end for any other name.
std::size_t place_of(const std::string& header) {
  const auto& order = test::public_headers();
  const auto found = std::ranges::find_if(
      order, [&](const auto& known) { return "heed/" + known.first == header; });
  return static_cast<std::size_t>(found - order.begin());
}

/// A public header needs nothing of `src`, and no public header after it.
std::string complaint_of_public(const SourceFile& file, const std::string& header) {
  const std::size_t own = place_of(file.path.substr(std::string("include/").size()));
  if (own == test::public_headers().size()) return "is not in the list of public headers";
  return place_of(header) < own ? "" : "may not see " + header;
}

/// Empty, or the name in this line that its floor may not use.
std::string forbidden_name(const SourceFile& file, const std::string& line) {
  static const std::regex kArrays(R"(\b(Tensor|View|ConstView)\b)");
  static const std::regex kModels(R"(\b(Model|LoadedModel|Tokenizer|Batch|generate)\b)");
  const std::string code = line.substr(0, line.find("//"));
  std::smatch match;
  if (is_kernel(file) && std::regex_search(code, match, kArrays)) return match.str();
  if (file.floor == "nn" && !is_public(file) && !code.starts_with("#include") &&
      std::regex_search(code, match, kModels))
    return match.str();
  return "";
}

/// Empty, or the reason why `file` may not include `header`.
std::string complaint(const SourceFile& file, const std::string& header) {
  static const auto kAllowed = allowed_floors();
  const std::string floor = test::floor_of(header);
  if (is_for_c(file) && floor != "c") return "may not see " + header;
  if (file.path == "include/heed/heed.h") return "";  // the umbrella includes what it likes
  if (is_public(file)) return complaint_of_public(file, header);
  if (!kAllowed.contains(file.floor)) return "stands on an unknown floor '" + file.floor + "'";
  if (header == "heed/heed.h") return "includes the umbrella: name the header that it needs";
  if (header.find('/') == std::string::npos) return "includes \"" + header + "\" without its floor";
  if (!kAllowed.contains(floor)) return "";  // a header of another library
  if (!kAllowed.at(file.floor).contains(floor)) return "may not see " + header;
  const bool is_element_type = header == "heed/tensor.h" || header == "tensor/block_type.h";
  if (is_kernel(file) && floor == "tensor" && !is_element_type) return "may not see " + header;
  return "";
}

std::vector<std::string> complaints(const std::vector<SourceFile>& files) {
  std::vector<std::string> found;
  for (const SourceFile& file : files) {
    for (std::size_t line = 0; line < file.lines.size(); ++line) {
      const std::string header = test::included_name(file.lines[line]);
      const std::string name = forbidden_name(file, file.lines[line]);
      std::string what = header.empty() ? "" : complaint(file, header);
      if (what.empty() && !name.empty()) what = "may not use " + name;
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
      {.path = "src/ops/a.cpp", .floor = "ops", .lines = {"// a", "#include \"heed/model.h\""}},
      {.path = "src/io/b.cpp", .floor = "io", .lines = {"#include <heed/tokenizer.h>"}},
      {.path = "src/nn/c.cpp", .floor = "nn", .lines = {"#include \"heed/heed.h\""}},
      {.path = "src/nn/d.cpp", .floor = "nn", .lines = {"#include \"d.h\""}},
      {.path = "src/utils/e.cpp", .floor = "utils", .lines = {"#include \"heed/error.h\""}},
      {.path = "src/models/f.cpp", .floor = "models", .lines = {"#include \"io/npy_header.h\""}},
      {.path = "include/heed/c.h", .floor = "c", .lines = {"#include \"heed/attention.h\""}}};
  EXPECT_THAT(
      complaints(planted),
      testing::ElementsAre("src/ops/a.cpp:2 may not see heed/model.h",
                           "src/io/b.cpp:1 may not see heed/tokenizer.h",
                           "src/nn/c.cpp:1 includes the umbrella: name the header that it needs",
                           "src/nn/d.cpp:1 includes \"d.h\" without its floor",
                           "src/utils/e.cpp:1 stands on an unknown floor 'utils'",
                           "include/heed/c.h:1 may not see heed/attention.h"));
}

TEST(Includes, APublicHeaderSeesOnlyThePublicHeadersBeforeIt) {
  const std::vector<SourceFile> planted = {
      {.path = "include/heed/mask.h",
       .floor = "attention",
       .lines = {"#include \"heed/tensor.h\"", "#include \"heed/operators.h\""}},
      {.path = "include/heed/tensor.h",
       .floor = "tensor",
       .lines = {"#include \"tensor/views.h\""}},
      {.path = "include/heed/extra.h", .floor = "", .lines = {"#include \"heed/error.h\""}}};
  EXPECT_THAT(complaints(planted),
              testing::ElementsAre("include/heed/mask.h:2 may not see heed/operators.h",
                                   "include/heed/tensor.h:1 may not see tensor/views.h",
                                   "include/heed/extra.h:1 is not in the list of public headers"));
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

TEST(Includes, ThereAreAtMostSixteenPublicHeaders) {
  std::vector<std::string> found;
  for (const SourceFile& file : test::source_tree(HEED_SOURCE_DIR))
    if (is_public(file)) found.push_back(file.path);
  EXPECT_LE(found.size(), 16U);
  std::vector<std::string> known = {"include/heed/heed.h"};
  for (const auto& [name, floor] : test::public_headers()) known.push_back("include/heed/" + name);
  EXPECT_THAT(found, testing::UnorderedElementsAreArray(known));
}

TEST(Includes, KernelsSeeElementTypesButNoTensor) {
  const std::vector<SourceFile> planted = {
      {.path = "src/ops/kernels/a.cpp",
       .floor = "ops",
       .lines = {"#include \"heed/tensor.h\"", "#include \"tensor/views.h\"",
                 "DType type(const Tensor& x);  // of a Tensor", "DType type(const float* x);"}}};
  EXPECT_THAT(complaints(planted),
              testing::ElementsAre("src/ops/kernels/a.cpp:2 may not see tensor/views.h",
                                   "src/ops/kernels/a.cpp:3 may not use Tensor"));
}

TEST(Includes, LayersKnowNothingOfModels) {
  const std::vector<SourceFile> planted = {
      {.path = "src/nn/a.cpp",
       .floor = "nn",
       .lines = {"#include \"heed/model.h\"", "void apply(Run& run);",
                 "Tensor of(Model& model);"}}};
  EXPECT_THAT(complaints(planted), testing::ElementsAre("src/nn/a.cpp:3 may not use Model"));
}

}  // namespace
}  // namespace heed
