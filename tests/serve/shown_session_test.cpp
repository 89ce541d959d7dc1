// A session given to the server: from arrays, or from a model that has already run.
#include "heed/session.h"
#include "inspect/answers/live_session.h"
#include "serve/served.h"
#include "support/counting_model.h"
#include "support/random_tensor.h"

namespace heed {
namespace {

using nlohmann::json;
using test::expect_error;

constexpr std::int64_t kQueries = 300, kKeys = 40;

SessionPointer cross_attention() {
  const Tensor q = test::random_tensor({1, 4, kQueries, 8}, 1);
  const Tensor k = test::random_tensor({1, 4, kKeys, 8}, 2);
  SessionArrays arrays{.name = "mine"};
  arrays.stacks = {{Stack::kCross, {{.args = {.q = q, .keys = {.k = k, .v = k}}}}}};
  for (int i = 0; i < kKeys; ++i) arrays.key_tokens.push_back(" k" + std::to_string(i));
  return std::make_shared<LiveSession>("arrays", SessionInput(), open_session(arrays));
}

class ShownArrays : public testing::Test {
 protected:
  static ServerOptions options() {
    ServerOptions options = test::served_options();
    options.session = cross_attention();
    return options;
  }
  ShownArrays() : client_(test::client_of(server_.port())) {}
  json get(const std::string& path) {
    const auto answer = client_.Get(path);
    EXPECT_TRUE(answer && answer->status == 200) << path;
    return answer ? json::parse(answer->body) : json();
  }

  Server server_{options()};
  httplib::Client client_;
};

TEST_F(ShownArrays, AreOpenedByTheTextThatTheServerBeginsWith) {
  const json models = get("/api/v1/models");
  EXPECT_EQ(models["models"][0]["name"], "mine");
  EXPECT_EQ(models["models"][0]["stacks"][0]["stack"], "cross");
  const auto answer =
      client_.Post("/api/v1/sessions", json({{"text", models["text"]}}).dump(), "application/json");
  ASSERT_EQ(answer->status, 200);
  const json session = json::parse(answer->body);
  EXPECT_EQ(session["session"], "arrays");
  EXPECT_EQ(session["state"], "ready");
  EXPECT_EQ(session["tokens"].size(), kQueries);
  EXPECT_EQ(session["key_tokens"][3]["text"], " k3");
  EXPECT_EQ(session["attentions"][0]["queries"], kQueries);
  EXPECT_EQ(session["attentions"][0]["keys"], kKeys);
  EXPECT_EQ(session["attentions"][0]["zooms"], 2);
}

TEST_F(ShownArrays, AnswerInARectangle) {
  const std::string path = "/api/v1/sessions/arrays/cross/0/2/";
  const json row = get(path + "row/299");
  EXPECT_EQ(row["stack"], "cross");
  EXPECT_EQ(row["weights"].size(), kKeys);
  EXPECT_NEAR(row["sum"].get<double>(), 1, 1e-5);
  const json column = get(path + "column/39");
  EXPECT_EQ(column["weights"].size(), kQueries);
  EXPECT_EQ(column["weights"][299], row["weights"][39]);
  EXPECT_EQ(get(path + "cell/299/39")["of"], kKeys);
  const json margins = get(path + "marginals");
  EXPECT_EQ(margins["received"].size(), kKeys);
  EXPECT_EQ(margins["keys_in_use"].size(), kQueries);
  EXPECT_EQ(client_.Get(path + "tile/0/0/0?as=f32")->body.size(), 4 * 150 * 20);
  EXPECT_EQ(client_.Get(path + "tile/1/1/0?as=f32")->body.size(), 4 * 44 * kKeys);
  expect_error(client_.Get(path + "tile/1/0/1"), 404, "not_found");
  expect_error(client_.Get(path + "row/300"), 404, "not_found");
  expect_error(client_.Get("/api/v1/sessions/arrays/self/0/2/row/0"), 404, "not_found");
}

TEST_F(ShownArrays, AreScoredAndHaveNoNextWord) {
  const std::string events = client_.Get("/api/v1/sessions/arrays/events")->body;
  EXPECT_NE(events.find("event: chosen"), std::string::npos);
  EXPECT_NE(events.find("event: done"), std::string::npos);
  EXPECT_TRUE(get("/api/v1/sessions/arrays/cross/next")["words"].empty());
  const json heads = get("/api/v1/sessions/arrays/cross/heads");
  EXPECT_EQ(heads["done"], 1);
  EXPECT_TRUE(heads["layers"][0]["heads"][3].contains("next"));  // nothing is causal here
}

TEST_F(ShownArrays, LeaveNoModelToReadAnotherText) {
  expect_error(client_.Post("/api/v1/sessions", R"({"text": "another"})", "application/json"), 400,
               "bad_request");
}

TEST(ShownSession, ThatHasRunIsNotRunAgain) {
  const test::Counted counted(test::served_model(2, 600));
  const std::string text = "the cat sat";
  auto live = std::make_shared<LiveSession>("shown", SessionInput{.text = text},
                                            tokenize_session(counted.model, text), counted.model);
  Overviews none_kept(0);
  while (live->work([] { return false; }, none_kept)) {
  }
  ServerOptions options = test::served_options();
  options.session = live;
  const test::Served served(options, counted.model);
  EXPECT_EQ(served.open(text, /*statistics=*/true)["session"], "shown");
  EXPECT_EQ(counted.passes(), 1);
  served.open("the mat", /*statistics=*/true);
  EXPECT_EQ(counted.passes(), 2);
}

}  // namespace
}  // namespace heed
