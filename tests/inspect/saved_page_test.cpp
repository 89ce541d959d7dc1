// The page as one file: what it holds, and that a text cannot break out of it.
#include "inspect/saved/saved_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>

#include "heed/mask.h"
#include "inspect/saved/held.h"
#include "serve/page_sources.h"
#include "serve/served.h"
#include "support/expect_error.h"
#include "text/pipeline/base64.h"

namespace heed {
namespace {

using nlohmann::json;
using test::shared_model;

std::unique_ptr<LiveSession> scored(const std::string& text) {
  auto session = std::make_unique<LiveSession>(
      "saved", SessionInput{.text = text}, tokenize_session(shared_model(), text), shared_model());
  Overviews none_kept(0);
  while (session->work([] { return false; }, none_kept)) {
  }
  return session;
}

std::string file_of(const std::string& text, const char* view, std::int64_t bytes = kSavedBytes) {
  return saved_page(serve::page_sources(), *scored(text), parse_view(view), bytes);
}

// What stands between the tags that begin with `begin` and end with `end`.
std::string between(const std::string& page, const std::string& begin, const std::string& end) {
  const std::size_t from = page.find(begin) + begin.size();
  return page.substr(from, page.find(end, from) - from);
}

json data_of(const std::string& page) {
  return json::parse(
      between(page, "<script type=\"application/json\" id=\"heed-snapshot\">", "</script>"));
}

std::size_t count(const std::string& page, std::string_view what) {
  std::size_t found = 0;
  for (std::size_t at = page.find(what); at != std::string::npos; at = page.find(what, at + 1))
    ++found;
  return found;
}

class SavedPage : public testing::Test {
 protected:
  void SetUp() override {
    if (serve::page_files().empty()) GTEST_SKIP() << "built without the page (HEED_PAGE=OFF)";
  }
};

TEST(Base64, IsThatOfTheRfc) {
  EXPECT_EQ(encode_base64(""), "");
  EXPECT_EQ(encode_base64("f"), "Zg==");
  EXPECT_EQ(encode_base64("fo"), "Zm8=");
  EXPECT_EQ(encode_base64("foo"), "Zm9v");
  EXPECT_EQ(encode_base64("foob\xff"), "Zm9vYv8=");
}

TEST_F(SavedPage, AsksNobodyForAnything) {
  const std::string page = file_of("the cat sat", "look/L0.H0");
  EXPECT_EQ(page.find("src="), page.find("src=", page.find("<script type=\"module\">")));
  EXPECT_EQ(page.find("<link"), std::string::npos);
  EXPECT_NE(page.find("default-src 'none'"), std::string::npos);
}

TEST_F(SavedPage, MarkupInATextDoesNotEndTheScript) {
  const std::string text = "</script><script>alert(1)</script><!-- <script>";
  const std::string page = file_of(text, "look/L0.H0");
  EXPECT_EQ(count(page, "</script"), 2);  // of the data, of the page's own script
  EXPECT_EQ(data_of(page)["session"]["text"], text);
}

TEST_F(SavedPage, HoldsEveryHeadWhereTheyFit) {
  const json data = data_of(file_of("the cat sat", "look/L1.H2/i=1"));
  EXPECT_EQ(data["view"], "look/L1.H2/i=1");
  EXPECT_EQ(data["about"]["models"][0]["held"].dump(),
            R"([{"layers":[[0,1,2,3],[0,1,2,3]],"stack":"self"}])");
  EXPECT_EQ(data["held"].size(), 2);
  EXPECT_EQ(data["scores"].size(), 2);
  EXPECT_EQ(data["next"].size(), data["session"]["tokens"].size());
}

TEST_F(SavedPage, HoldsTheHeadsInViewWhereNoMoreFits) {
  const json data = data_of(file_of("the cat sat", "look/L1.H2+H0", 1));
  EXPECT_EQ(data["about"]["models"][0]["held"].dump(), R"([{"layers":[[],[0,2]],"stack":"self"}])");
  EXPECT_EQ(data["held"].size(), 1);
  EXPECT_EQ(data["held"][0]["heads"].size(), 2);
}

TEST(HeldHeads, TheLayerIsHeldWhereItFitsAlone) {
  const Session session = tokenize_session(shared_model(), std::string(100, 'z'));
  const ModelInfo& info = session.info;
  const ViewAddress view = parse_view("look/L1.H2");
  const std::int64_t layer = 100 * (4 * (4 * info.head_dim + 16) + 4 * 4 * info.head_dim);
  const std::vector<int> all = {0, 1, 2, 3};
  const auto held = [&](std::int64_t bytes) {
    return choose_held(session, view, bytes).at(0).layers;
  };
  EXPECT_EQ(held(layer), (std::vector<std::vector<int>>{{}, all}));
  EXPECT_EQ(held(2 * layer), (std::vector<std::vector<int>>{all, all}));
  EXPECT_EQ(held(layer - 1), (std::vector<std::vector<int>>{{}, {2}}));
}

LayerAttention masked(const Mask& mask, std::int64_t length) {
  LayerAttention layer;
  layer.q = Tensor::zeros({1, 1, length, 4}, DType::kF32);
  layer.k = Tensor::zeros({1, 1, length, 4}, DType::kF32);
  layer.mask = mask;
  return layer;
}

TEST(HeldHeads, ABandIsARunOfKeysForEachQuery) {
  const VisibleKeys keys =
      visible_keys(masked(Mask::band({.left = 2, .right = 1}), 130), 0).value_or(VisibleKeys{});
  for (int query = 0; query < 130; ++query) {
    EXPECT_EQ(keys.begins[static_cast<std::size_t>(query)], std::max(0, query - 2));
    EXPECT_EQ(keys.ends[static_cast<std::size_t>(query)], std::min(130, query + 2));
  }
}

TEST(HeldHeads, WithoutAMaskEveryKeyIsSeen) {
  const VisibleKeys keys = visible_keys(masked({}, 3), 0).value_or(VisibleKeys{});
  EXPECT_EQ(keys.begins, (std::vector<std::int32_t>{0, 0, 0}));
  EXPECT_EQ(keys.ends, (std::vector<std::int32_t>{3, 3, 3}));
}

// A causal mask with a gap, or a bias: weights that q and k do not give over a run of keys.
LayerAttention scored_layer(std::int64_t length, bool has_gap) {
  LayerAttention layer = masked({}, length);
  layer.v = Tensor::zeros({1, 1, length, 4}, DType::kF32);
  layer.bias = Tensor::zeros({length, length}, DType::kF32);
  for (std::int64_t at = 0; at < length * length; ++at)
    layer.bias.data<float>()[at] = static_cast<float>(at % 7);
  layer.scores.bias = layer.bias;
  if (has_gap)
    layer.mask = Mask::custom({.visible = [](const MaskPlace&, std::int64_t i, std::int64_t j) {
      return (i + j) % 2 == 0;
    }});
  Attended attended = attention(layer.args());
  layer.lse = std::move(attended.lse);
  layer.lse_low = std::move(attended.lse_low);
  return layer;
}

template <typename Value>
std::vector<Value> unpacked(const std::string& text) {
  const std::string bytes = decode_base64(text).value_or("");
  std::vector<Value> values(bytes.size() / sizeof(Value));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

TEST(HeldWeights, ListTheLargestOfARowAndTheSumOfTheOthers) {
  const HeldWeightsAnswer held = held_weights(scored_layer(9, false), 0, 2);
  EXPECT_EQ(held.largest, 2);
  EXPECT_EQ(unpacked<std::uint16_t>(held.counts), std::vector<std::uint16_t>(9, 2));
  EXPECT_EQ(unpacked<std::uint16_t>(held.ends), std::vector<std::uint16_t>(9, 9));
  const auto keys = unpacked<std::uint16_t>(held.keys);
  EXPECT_EQ(keys[0], 5);  // of biases 0 to 6, 0, 1
  EXPECT_EQ(keys[1], 6);
  double sum = unpacked<float>(held.rests)[0];
  for (const std::uint16_t code :
       {unpacked<std::uint16_t>(held.codes)[0], unpacked<std::uint16_t>(held.codes)[1]})
    sum += std::exp2(24 * (code / 65535.0 - 1));
  EXPECT_NEAR(sum, 1, 2e-4);
}

TEST(HeldWeights, ListAllOfARowWithGaps) {
  const HeldWeightsAnswer held = held_weights(scored_layer(9, true), 0, 2);
  EXPECT_EQ(held.largest, std::nullopt);
  const auto keys = unpacked<std::uint16_t>(held.keys);
  EXPECT_EQ((std::vector<std::uint16_t>(keys.begin(), keys.begin() + 5)),
            (std::vector<std::uint16_t>{0, 2, 4, 6, 8}));
  EXPECT_EQ(unpacked<std::uint16_t>(held.ends), std::vector<std::uint16_t>(9, 0));
}

TEST(HeldHeads, AMaskWithGapsHasNoRuns) {
  EXPECT_EQ(visible_keys(scored_layer(9, true), 0), std::nullopt);
}

TEST_F(SavedPage, RefusesAnotherSideThatItCannotHold) {
  const auto live = scored("Once upon a time");
  for (const char* versus : {"ablate:self.L0.H1", "text:other", "model:other"}) {
    const ViewAddress view = parse_view(std::string("look/L0.H0/vs=") + versus);
    EXPECT_HEED_ERROR(saved_page(serve::page_sources(), *live, view), ErrorCode::kUnsupported,
                      std::string("html: vs is ") + versus +
                          ", expected a head, or edits of a session that has a model: a file can "
                          "show no other");
  }
}

TEST_F(SavedPage, HoldsTheOtherSideOfAComparisonWithEdits) {
  const ViewAddress view = parse_view("look/L0.H0/vs=ablate:self.L0.H1");
  const auto live = scored("Once upon a time");
  const auto edited = edited_side(*live, shared_model(), view, [] { return false; });
  ASSERT_NE(edited, nullptr);
  EXPECT_EQ(edited_side(*live, shared_model(), parse_view("look/L0.H0"), [] { return false; }),
            nullptr);
  const json data =
      data_of(saved_page(serve::page_sources(), *live, view, kSavedBytes, edited.get()));
  EXPECT_EQ(data["edited"]["session"]["edits"], "ablate=self.L0.H1");
  EXPECT_EQ(data["edited"]["held"].size(), data["held"].size());
  EXPECT_NE(data["edited"]["held"].back()["heads"][0]["lse"],
            data["held"].back()["heads"][0]["lse"]);
  EXPECT_FALSE(data_of(file_of("Once upon a time", "look/L0.H0")).contains("edited"));
}

TEST_F(SavedPage, OfHeadsItHoldsTheEvidenceOfTheChosenOne) {
  const json data = data_of(file_of("Once upon a time", "heads/L1.H0/sort=duplicate"));
  std::vector<std::string> questions;
  for (const json& each : data["answers"]) questions.push_back(each["question"]);
  EXPECT_THAT(questions,
              testing::UnorderedElementsAre("self/1/0/evidence/duplicate?form=raw",
                                            "self/1/0/evidence/duplicate?form=adjusted",
                                            "self/1/0/evidence/probe_duplicate?form=raw",
                                            "self/1/0/evidence/probe_duplicate?form=adjusted",
                                            "self/similar?layer=1&head=0"));
}

TEST_F(SavedPage, OfLookItHoldsTheLensAndWhyOfThePinnedEdge) {
  const auto held = [](const char* view) {
    const json data = data_of(file_of("Once upon a time", view));
    std::vector<std::string> questions;
    for (const json& each : data["answers"]) questions.push_back(each["question"]);
    return questions;
  };
  EXPECT_THAT(held("look/L1.H0/i=3/j=1"),
              testing::UnorderedElementsAre("self/lens", "self/1/0/why/3/1",
                                            "self/1/0/why/3/1/test?edit=remove&top=1"));
  EXPECT_THAT(held("look/L1.H0/i=3"), testing::ElementsAre("self/lens"));
}

TEST_F(SavedPage, OfWhyItHoldsTheRowByDimensionAndItsPlane) {
  const json data = data_of(file_of("Once upon a time", "why/L1.H0/i=3/j=1"));
  std::vector<std::string> questions;
  for (const json& each : data["answers"]) questions.push_back(each["question"]);
  EXPECT_THAT(questions, testing::IsSupersetOf({"self/1/0/dimensions/3?key=1",
                                                "self/1/0/geometry/3?rotation=after"}));
  EXPECT_THAT(questions, testing::Not(testing::Contains("self/1/0/geometry/3?rotation=before")))
      << "no position turns this model's queries";
}

TEST_F(SavedPage, TheServerGivesTheSameFile) {
  const test::Served served;
  const json session = served.open("the cat sat", true);
  httplib::Client client = served.client();
  const std::string path = "/api/v1/sessions/" + session.value("session", "") + "/export";
  const auto answer = client.Get(path + "?format=html&view=look/L1.H2/i%3D1");
  ASSERT_TRUE(answer);
  json data = data_of(answer->body);
  data["session"]["session"] = "saved";
  const json own = data_of(file_of("the cat sat", "look/L1.H2/i=1"));
  EXPECT_EQ(data["held"], own["held"]);
  EXPECT_EQ(data["session"]["tokens"], own["session"]["tokens"]);
  EXPECT_EQ(data["view"], own["view"]);
}

TEST(Export, RefusesAViewThatDoesNotFit) {
  const test::Served served;
  const std::string path =
      "/api/v1/sessions/" + served.open("the cat").value("session", "") + "/export";
  httplib::Client client = served.client();
  test::expect_error(client.Get(path + "?format=html&view=look/L7.H0"), 404, "not_found");
  test::expect_error(client.Get(path + "?format=html&view=map/L0.H0"), 400, "bad_request");
  test::expect_error(client.Get(path + "?format=pdf&view=look/L0.H0"), 400, "bad_request");
  test::expect_error(client.Get(path + "?format=html&view=look/L0.H0/vs%3Dtext:other"), 400,
                     "bad_request");
}

TEST(Export, APictureIsTakenOnceWhereItWasOrdered) {
  std::string taken;
  ServerOptions options = test::served_options();
  options.picture = PictureOrder{.format = "svg", .take = [&](PictureEnd end, std::string content) {
                                   taken =
                                       (end == PictureEnd::kDrawn ? "" : "not drawn ") + content;
                                 }};
  const test::Served served(options);
  httplib::Client client = served.client();
  EXPECT_EQ(client.Post("/api/v1/picture", "<svg/>", "application/octet-stream")->status, 204);
  EXPECT_EQ(taken, "<svg/>");
  test::expect_error(client.Post("/api/v1/picture", "<svg/>", "application/octet-stream"), 404,
                     "not_found");
}

TEST(Export, APanelThatIsNotThereIsNoFailureOfThePage) {
  for (const auto& [query, expected] : {std::pair("?failed=1", PictureEnd::kFailed),
                                        std::pair("?refused=1", PictureEnd::kRefused)}) {
    PictureEnd end = PictureEnd::kDrawn;
    ServerOptions options = test::served_options();
    options.picture = PictureOrder{
        .format = "svg", .take = [&](PictureEnd ended, const std::string&) { end = ended; }};
    const test::Served served(options);
    httplib::Client client = served.client();
    const std::string path = std::string("/api/v1/picture") + query;
    EXPECT_EQ(client.Post(path, "why", "application/octet-stream")->status, 204);
    EXPECT_EQ(end, expected) << query;
  }
}

TEST(Export, NobodyElseTakesAPicture) {
  const test::Served served;
  httplib::Client client = served.client();
  test::expect_error(client.Post("/api/v1/picture", "x", "application/octet-stream"), 404,
                     "not_found");
  httplib::Client stranger = served.client(false);
  test::expect_error(stranger.Post("/api/v1/picture", "x", "application/octet-stream"), 401,
                     "unauthorized");
}

}  // namespace
}  // namespace heed
