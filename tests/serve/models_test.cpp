// Other models than the served one: which there are, and sessions of them.
#include <gtest/gtest.h>

#include <cstdlib>

#include "serve/served.h"
#include "support/places.h"

namespace heed {
namespace {

using nlohmann::json;

// $HEED_MODELS for a scope: the checkout's own models.
class OwnModels {
 public:
  OwnModels() {
    if (const char* set = std::getenv("HEED_MODELS")) before_ = set;
    setenv("HEED_MODELS", HEED_SOURCE_DIR "/models", 1);
  }
  ~OwnModels() {
    if (before_.empty())
      unsetenv("HEED_MODELS");
    else
      setenv("HEED_MODELS", before_.c_str(), 1);
  }
  OwnModels(const OwnModels&) = delete;
  OwnModels& operator=(const OwnModels&) = delete;

 private:
  std::string before_;
};

TEST(Models, TheServedOneIsTheFirstOfThoseThatAreFound) {
  const OwnModels models;
  const test::Served served;
  const auto answer = served.client().Get("/api/v1/models/found");
  ASSERT_TRUE(answer);
  const json found = json::parse(answer->body)["models"];
  EXPECT_EQ(found[0]["name"], "tiny");
  bool has_tales = false;
  for (const json& model : found) has_tales |= model["name"] == "tales" && model["layers"] == 6;
  EXPECT_TRUE(has_tales) << answer->body;
}

TEST(Models, ASessionIsPostedToAnotherModelByItsName) {
  const OwnModels models;
  const test::Served served;
  httplib::Client client = served.client();
  const auto about = client.Get("/api/v1/models?model=tales");
  ASSERT_TRUE(about);
  EXPECT_EQ(json::parse(about->body)["models"][0]["name"], "tales");
  const auto post = [&](const char* body) {
    return json::parse(client.Post("/api/v1/sessions", body, "application/json")->body);
  };
  const json own = post(R"({"text": "the cat"})");
  const json other = post(R"({"text": "the cat", "model": "tales"})");
  EXPECT_EQ(own["model"], "tiny");
  EXPECT_EQ(other["model"], "tales");
  EXPECT_NE(own["session"], other["session"]);
  EXPECT_EQ(post(R"({"text": "the cat", "model": "tiny"})")["session"], own["session"]);
  EXPECT_EQ(post(R"({"text": "the cat", "model": "tales"})")["session"], other["session"]);
}

TEST(Models, AModelThatThisMachineDoesNotHaveIsSaid) {
  const OwnModels models;
  const test::Served served;
  for (const char* name : {"gpt9", "../models/tales", "/etc"}) {
    const auto answer = served.client().Post(
        "/api/v1/sessions", json({{"text", "x"}, {"model", name}}).dump(), "application/json");
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->status, 404) << name;
    const json error = json::parse(answer->body)["error"];
    EXPECT_EQ(error["argument"], "model");
    EXPECT_NE(error["message"].get<std::string>().find("which this machine does not have"),
              std::string::npos)
        << error;
  }
}

}  // namespace
}  // namespace heed
