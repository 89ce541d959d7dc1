// Tiles at every zoom, computed in every way, compared with the plain softmax.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <string_view>
#include <tuple>
#include <vector>

#include "inspect/plain_weights.h"
#include "serve/served.h"

namespace heed {
namespace {

using nlohmann::json;
using test::floats;
using test::Matrix;
using test::Served;
using test::text_of;

struct Case {
  std::int64_t tokens;
  const char* q;
  const char* pool;

  bool scores() const { return std::string_view(q) == "score"; }
  bool max() const { return std::string_view(pool) == "max"; }
};

// The place of a tile: its cells have `block` x `block` entries.
struct TilePlace {
  int z;
  std::int64_t y;
  std::int64_t x;
  std::int64_t block;
};

std::vector<TilePlace> every_tile(std::int64_t length, int zooms) {
  std::vector<TilePlace> places;
  for (int z = 0; z < zooms; ++z) {
    const std::int64_t block = std::int64_t{1} << (zooms - 1 - z);
    const std::int64_t tiles = (length + 256 * block - 1) / (256 * block);
    for (std::int64_t at = 0; at < tiles * tiles; ++at)
      places.push_back({z, at / tiles, at % tiles, block});
  }
  return places;
}

// Calls `use(index in the tile, the plain cell)` for all of its cells.
template <typename Use>
void visit_cells(const Matrix& matrix, const TilePlace& place, const Case& wanted, Use use) {
  const auto cells = (std::ssize(matrix) + place.block - 1) / place.block;
  const std::int64_t height = std::min<std::int64_t>(256, cells - 256 * place.y);
  const std::int64_t width = std::min<std::int64_t>(256, cells - 256 * place.x);
  for (std::int64_t at = 0; at < height * width; ++at)
    use(static_cast<std::size_t>(at),
        test::plain_cell(matrix, 256 * place.y + at / width, 256 * place.x + at % width,
                         place.block, wanted.max(), wanted.scores()));
}

double worst_difference(const std::vector<float>& values, const Matrix& matrix,
                        const TilePlace& place, const Case& wanted) {
  double worst = 0;
  std::size_t count = 0;
  visit_cells(matrix, place, wanted, [&](std::size_t at, double cell) {
    ++count;
    if (at >= values.size() || std::isnan(values[at]) != std::isnan(cell))
      worst = std::numeric_limits<double>::infinity();
    else if (!std::isnan(cell))
      worst = std::max(worst, std::abs(static_cast<double>(values[at]) - cell));
  });
  return count == values.size() ? worst : std::numeric_limits<double>::infinity();
}

std::string path_of(const json& session, const TilePlace& place, const Case& wanted,
                    const char* as) {
  return fmt::format("/api/v1/sessions/{}/self/1/2/tile/{}/{}/{}?q={}&pool={}&as={}",
                     session["session"].get<std::string>(), place.z, place.y, place.x, wanted.q,
                     wanted.pool, as);
}

Matrix plain_matrix(const LoadedModel& model, const Case& wanted) {
  const Session session = open_session(model, text_of(wanted.tokens));
  Matrix scores = test::plain_scores(session.at({.layer = 1}), 2);
  return wanted.scores() ? scores : test::plain_softmax(scores);
}

const LoadedModel& model_for(const Case& wanted) {
  return wanted.tokens > 600 ? test::long_model() : test::shared_model();
}

class ServerTiles : public testing::TestWithParam<Case> {};

TEST_P(ServerTiles, EqualThePlainSoftmaxAtEveryZoom) {
  const Case wanted = GetParam();
  const Served served(test::served_options(), model_for(wanted));
  httplib::Client client = served.client();
  const json session = served.open(text_of(wanted.tokens));
  const Matrix matrix = plain_matrix(model_for(wanted), wanted);
  for (const TilePlace& place :
       every_tile(session["attentions"][0]["queries"], session["attentions"][0]["zooms"])) {
    const auto answer = client.Get(path_of(session, place, wanted, "f32"));
    ASSERT_TRUE(answer && answer->status == 200);
    EXPECT_LT(worst_difference(floats(answer->body), matrix, place, wanted), 1e-5)
        << "zoom " << place.z << " tile " << place.y << " " << place.x;
  }
}

// From 1,025 tokens on there are coarse levels, which are made in one sweep and cut into tiles.
INSTANTIATE_TEST_SUITE_P(Sizes, ServerTiles,
                         testing::Values(Case{1, "weight", "max"}, Case{1, "score", "mean"},
                                         Case{70, "weight", "max"}, Case{256, "weight", "mean"},
                                         Case{257, "weight", "max"}, Case{531, "weight", "mean"},
                                         Case{531, "weight", "max"}, Case{531, "score", "max"},
                                         Case{300, "score", "mean"}, Case{1301, "weight", "max"},
                                         Case{1301, "weight", "mean"}, Case{1301, "score", "max"},
                                         Case{2051, "weight", "max"}));

// Exact to half a step; the ends of the code, 2^-24 and 1, are exact.
double wrong_steps(std::uint8_t byte, double cell) {
  if (std::isnan(cell)) return byte;
  if (byte == 1) return std::max(0.0, std::log2(cell) + 24);
  return std::abs(byte - 2 - 253 * (1 + std::log2(cell) / 24));
}

class ServerBytes : public testing::TestWithParam<bool> {};  // whether the statistics are there

TEST_P(ServerBytes, AreRightToHalfAStepAtEveryZoom) {
  const Served served(test::served_options(), test::long_model());
  httplib::Client client = served.client();
  for (const Case& wanted : {Case{1301, "weight", "max"}, Case{1301, "weight", "mean"}}) {
    const json session = served.open(text_of(wanted.tokens), /*statistics=*/GetParam());
    const Matrix matrix = plain_matrix(test::long_model(), wanted);
    for (const TilePlace& place :
         every_tile(session["attentions"][0]["queries"], session["attentions"][0]["zooms"])) {
      const std::string bytes = client.Get(path_of(session, place, wanted, "u8"))->body;
      double worst = 0;
      visit_cells(matrix, place, wanted, [&](std::size_t at, double cell) {
        worst = std::max(worst, wrong_steps(static_cast<std::uint8_t>(bytes.at(at)), cell));
      });
      EXPECT_LT(worst, 0.5 + 1e-3) << "zoom " << place.z << " tile " << place.y << " " << place.x;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Statistics, ServerBytes, testing::Bool());

// Blocks of 1 and 3 entries, and blocks of whole coarse cells.
class ServerAtlas : public testing::TestWithParam<std::tuple<std::int64_t, std::uint32_t>> {};

TEST_P(ServerAtlas, HoldsTheLargestOfEachBlockOfEveryHeadThatIsAskedFor) {
  const auto [tokens, block] = GetParam();
  const Case wanted{tokens, "weight", "max"};
  const LoadedModel& model = model_for(wanted);
  const Served served(test::served_options(), model);
  const json session = served.open(text_of(tokens));
  const auto answer =
      served.client().Get(fmt::format("/api/v1/sessions/{}/self/atlas?heads=7,6,0&cells=67",
                                      session["session"].get<std::string>()));
  ASSERT_TRUE(answer && answer->status == 200);
  std::array<std::uint32_t, 3> head = {};
  std::memcpy(head.data(), answer->body.data(), sizeof(head));
  EXPECT_EQ(head[0], block);
  ASSERT_EQ(head[1], head[2]);
  ASSERT_EQ(answer->body.size(), 12 + 3 * head[1] * head[2]);
  const Matrix matrix = plain_matrix(model, wanted);  // of layer 1, head 2
  for (std::size_t at = 0; at < std::size_t{head[1]} * head[2]; ++at) {
    const double cell =
        test::plain_cell(matrix, static_cast<std::int64_t>(at / head[1]),
                         static_cast<std::int64_t>(at % head[1]), block, true, false);
    const auto byte = static_cast<std::uint8_t>(answer->body[12 + head[1] * head[2] + at]);
    ASSERT_LT(wrong_steps(byte, cell), 0.5 + 1e-3) << at;
  }
}

INSTANTIATE_TEST_SUITE_P(Sizes, ServerAtlas,
                         testing::Values(std::tuple{1, 1U}, std::tuple{50, 1U}, std::tuple{201, 3U},
                                         std::tuple{300, 6U}, std::tuple{1301, 24U},
                                         std::tuple{2051, 32U}));

TEST(ServerAtlasRequests, NameWhatIsWrong) {
  test::Opened opened("the cat");
  for (const char* wrong :
       {"", "?heads=", "?heads=a", "?heads=0,", "?heads=0&cells=7", "?heads=0&cells=257",
        "?heads=0&cells=x", "?heads=0&other=1", "?heads=0&heads=1"})
    test::expect_error(opened.ask(std::string("/self/atlas") + wrong), 400, "bad_request");
  for (const char* none : {"/self/atlas?heads=8", "/self/atlas?heads=-1", "/cross/atlas?heads=0",
                           "/self/atlas?heads=0,1,99999999999"})
    test::expect_error(opened.ask(none), 404, "not_found");
  std::string many = "?heads=0";
  for (int head = 0; head < 256; ++head) many += ",0";
  test::expect_error(opened.ask("/self/atlas" + many), 400, "bad_request");
}

TEST(ServerRows, SumToOneAtEveryLength) {
  const Served served(test::served_options(), test::long_model());
  httplib::Client client = served.client();
  for (const std::int64_t length : {1, 2, 63, 64, 65, 1301}) {
    const std::string path = test::path_of(served.open(text_of(length)));
    for (const std::int64_t query : {std::int64_t{0}, length / 2, length - 1}) {
      const json row = json::parse(client.Get(path + fmt::format("/self/3/1/row/{}", query))->body);
      EXPECT_NEAR(row["sum"].get<double>(), 1, 1e-5) << length << " " << query;
    }
  }
}

}  // namespace
}  // namespace heed
