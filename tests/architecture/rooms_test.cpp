// Rooms are the folders inside a floor. The rooms of `inspect` are ordered, each using only the
// rooms to its left; elsewhere two rooms must not need each other. No header includes itself, even
// indirectly.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "architecture/source_tree.h"
#include "support/places.h"

namespace heed {
namespace {

using test::SourceFile;

using Graph = std::map<std::string, std::set<std::string>>;  // what each node leads to
using Edge = std::pair<std::string, std::string>;

const std::vector<std::string> kRoomsOfInspect = {"golden",   "session", "map",     "rows",
                                                  "evidence", "heads",   "answers", "saved"};

/// As an include names it: "heed/mask.h", "base/file.h", "bench/repeat.h".
std::string included_as(const SourceFile& file) {
  for (const std::string top : {"include/", "src/"})
    if (file.path.starts_with(top)) return file.path.substr(top.size());
  return file.path;
}

/// "rows" for "inspect/rows/look.h"; empty for a file directly on the floor.
std::string room_of(std::string name) {
  if (name.starts_with("heed/")) name.erase(0, 5);
  const std::size_t first = name.find('/');
  const std::size_t second = name.find('/', first + 1);
  if (first == std::string::npos || second == std::string::npos) return "";
  return name.substr(first + 1, second - first - 1);
}

std::vector<std::string> ours_included_by(const SourceFile& file) {
  std::vector<std::string> names;
  for (const std::string& line : file.lines) {
    if (const std::string name = test::included_name(line); !name.empty()) names.push_back(name);
  }
  return names;
}

/// Rooms of `floor`, and which rooms of the same floor each includes.
Graph rooms_of(const std::vector<SourceFile>& files, const std::string& floor) {
  Graph rooms;
  for (const SourceFile& file : files) {
    const std::string from = room_of(included_as(file));
    if (file.floor != floor || from.empty()) continue;
    for (const std::string& name : ours_included_by(file)) {
      const std::string to = room_of(name);
      if (test::floor_of(name) == floor && !to.empty() && to != from) rooms[from].insert(to);
    }
  }
  return rooms;
}

Graph headers(const std::vector<SourceFile>& files) {
  Graph graph;
  for (const SourceFile& file : files)
    for (const std::string& name : ours_included_by(file)) graph[included_as(file)].insert(name);
  return graph;
}

/// Depth-first search; `path` leads to the node. Returns the first cycle as "a -> b -> a".
std::string cycle_from(const std::string& node, const Graph& graph, std::set<std::string>& clean,
                       std::vector<std::string>& path) {
  const auto seen = std::find(path.begin(), path.end(), node);
  if (seen != path.end()) {
    std::string text;
    for (auto at = seen; at != path.end(); ++at) text += *at + " -> ";
    return text + node;
  }
  const auto leads_to = graph.find(node);
  if (leads_to == graph.end() || clean.contains(node)) return "";
  path.push_back(node);
  for (const std::string& next : leads_to->second)
    if (std::string found = cycle_from(next, graph, clean, path); !found.empty()) return found;
  path.pop_back();
  clean.insert(node);
  return "";
}

/// Empty, or one cycle of the graph.
std::string cycle_in(const Graph& graph) {
  std::set<std::string> clean;
  for (const auto& [node, leads_to] : graph) {
    std::vector<std::string> path;
    if (std::string found = cycle_from(node, graph, clean, path); !found.empty()) return found;
  }
  return "";
}

/// Edges of `rooms` that lead to the right, or to a room missing in the order.
std::set<Edge> edges_to_the_right(const Graph& rooms) {
  const auto place = [](const std::string& room) {
    return std::find(kRoomsOfInspect.begin(), kRoomsOfInspect.end(), room);
  };
  std::set<Edge> found;
  for (const auto& [from, leads_to] : rooms)
    for (const std::string& to : leads_to)
      if (place(from) == kRoomsOfInspect.end() || place(to) >= place(from))
        found.insert({from, to});
  return found;
}

TEST(Rooms, ThoseOfInspectSeeOnlyThoseOnTheLeft) {
  const Graph rooms = rooms_of(test::source_tree(HEED_SOURCE_DIR), "inspect");
  EXPECT_GT(rooms.size(), 3U);
  EXPECT_THAT(edges_to_the_right(rooms), testing::IsEmpty());
}

TEST(Rooms, OfOneFloorDoNotNeedEachOther) {
  const std::vector<SourceFile> files = test::source_tree(HEED_SOURCE_DIR);
  std::set<std::string> floors;
  for (const SourceFile& file : files) floors.insert(file.floor);
  floors.erase("inspect");
  for (const std::string& floor : floors)
    EXPECT_EQ(cycle_in(rooms_of(files, floor)), "") << "on " << floor;
}

TEST(Rooms, NoHeaderIncludesItself) {
  const Graph graph = headers(test::source_tree(HEED_SOURCE_DIR));
  EXPECT_GT(graph.size(), 100U);
  EXPECT_EQ(cycle_in(graph), "");
}

TEST(Rooms, AnEdgeToTheRightIsFound) {
  const std::vector<SourceFile> planted = {
      {.path = "src/inspect/map/a.h",
       .floor = "inspect",
       .lines = {"#include \"inspect/session/s.h\"", "#include \"inspect/saved/page.h\""}},
      {.path = "src/inspect/heads/b.cpp",
       .floor = "inspect",
       .lines = {"#include \"inspect/attic/x.h\"", "#include \"heed/look.h\""}}};
  EXPECT_THAT(edges_to_the_right(rooms_of(planted, "inspect")),
              testing::ElementsAre(Edge{"heads", "attic"}, Edge{"map", "saved"}));
}

TEST(Rooms, ACycleIsNamedInFull) {
  const std::vector<SourceFile> planted = {
      {.path = "include/heed/a.h", .floor = "io", .lines = {"#include \"io/b.h\""}},
      {.path = "src/io/b.h", .floor = "io", .lines = {"#include <heed/c.h>"}},
      {.path = "include/heed/c.h", .floor = "io", .lines = {"#include \"heed/a.h\""}}};
  EXPECT_EQ(cycle_in(headers(planted)), "heed/a.h -> io/b.h -> heed/c.h -> heed/a.h");
}

TEST(Rooms, TwoThatNeedEachOtherAreNamed) {
  const std::vector<SourceFile> planted = {
      {.path = "src/cli/look/a.h", .floor = "cli", .lines = {"#include \"cli/bench/b.h\""}},
      {.path = "src/cli/bench/b.cpp", .floor = "cli", .lines = {"#include \"cli/look/c.h\""}}};
  EXPECT_EQ(cycle_in(rooms_of(planted, "cli")), "bench -> look -> bench");
}

}  // namespace
}  // namespace heed
