// Mistaken or excessive input to a server: each request is answered, and the next one too.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "heed/session.h"
#include "inspect/answers/live_session.h"
#include "serve/served.h"
#include "support/random_tensor.h"
#include "support/scratch.h"
#include "support/tiny_configs.h"

namespace heed {
namespace {

using nlohmann::json;
using test::expect_error;
using test::path_of;
using test::Served;

httplib::Result post(httplib::Client& client, const std::string& path, const json& body) {
  return client.Post(path, body.dump(), "application/json");
}

void expect_it_goes_on(httplib::Client& client) {
  const auto answer = post(client, "/api/v1/sessions", {{"text", "the cat"}});
  ASSERT_TRUE(answer);
  EXPECT_LE(answer->status, 201) << answer->body;
}

// Its cap is 1 MiB: below it the model's positions say no, above it the size.
TEST(BadInput, AMegabyteOfTextIsRefusedInWordsOrCutWhereAsked) {
  const Served served;
  httplib::Client client = served.client();
  std::string text;
  while (text.size() < 1'000'000) text += "the cat sat on the mat. ";
  const auto refused = post(client, "/api/v1/sessions", {{"text", text}});
  expect_error(refused, 413, "too_large");
  EXPECT_NE(refused->body.find("at most 600"), std::string::npos) << refused->body;
  const auto cut = post(client, "/api/v1/sessions", {{"text", text}, {"keep", "last"}});
  ASSERT_TRUE(cut);
  ASSERT_EQ(cut->status, 201) << cut->body.substr(0, 200);
  EXPECT_EQ(json::parse(cut->body)["tokens"].size(), 600U);
  text.resize((1 << 20) + 1, 'a');
  expect_error(post(client, "/api/v1/sessions", {{"text", text}}), 413, "too_large");
  httplib::Client other = served.client();
  expect_it_goes_on(other);
}

// Opens it and asks every stack's heads for what a page asks: nothing may fail in the server.
void expect_whole(const Served& served, const json& input) {
  httplib::Client client = served.client();
  const auto opened = post(client, "/api/v1/sessions", input);
  ASSERT_TRUE(opened);
  ASSERT_EQ(opened->status, 201) << opened->body;
  const json session = json::parse(opened->body);
  const std::string path = path_of(session);
  EXPECT_NE(client.Get(path + "/events")->body.find("event: done"), std::string::npos);
  for (const json& attention : session["attentions"]) {
    const std::string stack = path + "/" + attention["stack"].get<std::string>();
    for (const char* rest :
         {"/0/0/tile/0/0/0", "/0/0/row/0", "/0/0/column/0", "/0/0/marginals", "/0/edges?heads=0",
          "/0/0/cell/0/0", "/0/0/why/0/0", "/0/0/anatomy", "/0/0/dimensions/0", "/0/0/geometry/0",
          "/heads", "/atlas?heads=0", "/0/0/row/0?q=carried"})
      EXPECT_EQ(client.Get(stack + rest)->status, 200) << input << stack << rest;
  }
}

TEST(BadInput, APairMayHaveAnEmptySide) {
  const LoadedModel model = test::with_bytes(test::tiny_encoder_config());
  const Served served(test::served_options(), model);
  expect_whole(served, {{"text", "the cat"}, {"pair", ""}});
  httplib::Client client = served.client();
  // Byte tokens put nothing around the texts, so empty texts give no token.
  expect_error(post(client, "/api/v1/sessions", {{"text", ""}, {"pair", ""}}), 400, "bad_request");
  expect_whole(served, {{"text", ""}, {"pair", "the mat"}});
}

TEST(BadInput, AnEmptyTargetIsOneThatHasJustBegun) {
  const LoadedModel model = test::with_bytes(test::tiny_translator_config());
  const Served served(test::served_options(), model);
  expect_whole(served, {{"source", "the cat"}, {"target", ""}});
  httplib::Client client = served.client();
  expect_error(post(client, "/api/v1/sessions", {{"source", std::string(4000, 'z')}}), 413,
               "too_large");
  expect_it_goes_on(client);
}

TEST(BadInput, AnEditThatRemovesAllTokensIsRefused) {
  test::Opened opened("the cat sat");
  json hide = json::array();
  for (std::size_t at = 0; at < opened.session["tokens"].size(); ++at)
    hide.push_back({{"position", at}});
  const auto refused = post(opened.client, opened.path + "/derive", {{"hide", hide}});
  expect_error(refused, 400, "bad_request");
  EXPECT_NE(refused->body.find("at least one that is seen"), std::string::npos) << refused->body;
}

TEST(BadInput, AnAblationOfEverythingIsASessionLikeOthers) {
  test::Opened opened("the cat sat", /*statistics=*/true);
  httplib::Client& client = opened.client;
  json ablate = json::array();
  for (int layer = 0; layer < 2; ++layer)
    for (int head = 0; head < 4; ++head) ablate.push_back({{"layer", layer}, {"head", head}});
  const auto derived = post(client, opened.path + "/derive", {{"ablate", ablate}});
  ASSERT_TRUE(derived);
  ASSERT_EQ(derived->status, 201) << derived->body;
  const std::string path = path_of(json::parse(derived->body));
  EXPECT_NE(client.Get(path + "/events")->body.find("event: done"), std::string::npos);
  const json next = json::parse(client.Get(path + "/self/next")->body);
  EXPECT_GT(next["words"].size(), 0U);
  // Heads that give nothing add nothing to any word.
  const json late = json::parse(client.Get(path + "/self/0/1/late/run")->body);
  EXPECT_NEAR(late["direct"].get<double>(), 0, 1e-6);
  EXPECT_NEAR(late["without"].get<double>(), 0, 1e-6);
}

// A session of one layer of arrays.
struct ArraysServed {
  ArraysServed(std::int64_t heads, std::int64_t tokens)
      : session(random(heads, tokens)), server(options()) {}
  static SessionPointer random(std::int64_t heads, std::int64_t tokens) {
    const Tensor q = test::random_tensor({1, heads, tokens, 2}, 1);
    const Tensor k = test::random_tensor({1, heads, tokens, 2}, 2);
    SessionArrays arrays;
    arrays.stacks = {{Stack::kSelf, {{.args = {.q = q, .keys = {.k = k, .v = k}}}}}};
    return std::make_shared<LiveSession>("arrays", SessionInput(), open_session(arrays));
  }
  ServerOptions options() const {
    ServerOptions options = test::served_options();
    options.session = session;
    return options;
  }
  httplib::Client client() const { return test::client_of(server.port()); }
  const std::string path = "/api/v1/sessions/arrays";
  SessionPointer session;
  Server server;
};

TEST(BadInput, TenThousandHeadsAreAnswered) {
  constexpr std::int64_t kHeads = 10'000;
  const ArraysServed served(kHeads, 12);
  httplib::Client client = served.client();
  EXPECT_NE(client.Get(served.path + "/events")->body.find("event: done"), std::string::npos);
  const json heads = json::parse(client.Get(served.path + "/self/heads")->body);
  EXPECT_EQ(heads["layers"][0]["heads"].size(), kHeads);
  EXPECT_EQ(client.Get(served.path + "/self/0/9999/tile/0/0/0")->status, 200);
  EXPECT_EQ(client.Get(served.path + "/self/atlas?heads=0,5000,9999")->status, 200);
  expect_error(client.Get(served.path + "/self/0/10000/tile/0/0/0"), 404, "not_found");
}

TEST(BadInput, WhatHasNoWordsSaysSoWhereWordsAreAsked) {
  const ArraysServed served(2, 12);
  httplib::Client client = served.client();
  const std::string path = served.path + "/self";
  EXPECT_TRUE(json::parse(client.Get(path + "/next")->body)["words"].empty());
  for (const char* rest : {"/words", "/lens", "/logits", "/branch?position=0&token=1"}) {
    const json error = json::parse(client.Get(path + rest)->body)["error"];
    EXPECT_FALSE(error["message"].get<std::string>().empty()) << rest;
  }
  const json late = json::parse(client.Get(path + "/0/1/late/run")->body);
  EXPECT_FALSE(late.contains("without"));
  EXPECT_FALSE(late.contains("direct"));
}

// As `heed serve` loads it: nothing of the folder is read later, whatever becomes of it.
TEST(BadInput, AModelWhoseFileIsWrittenOverGoesOnAsItWas) {
  const test::Scratch scratch;
  const LoadedModel made = test::served_model(2, 600);
  save_model(scratch / "m", *made.model, made.tokenizer.get(), DType::kF32);
  const LoadedModel loaded =
      load_model(scratch / "m", {.packed = true, .dtype = DType::kF32, .in_memory = true});
  const Served served(test::served_options(), loaded);
  const auto next_of = [&](const std::string& text) {
    httplib::Client client = served.client();
    const std::string id = served.open(text)["session"];
    return json::parse(client.Get("/api/v1/sessions/" + id + "/self/next")->body)["words"];
  };
  const json before = next_of("the cat sat");
  std::filesystem::resize_file(scratch / "m" / "model.safetensors", 100);
  std::ofstream(scratch / "m" / "config.json") << "{";
  httplib::Client client = served.client();
  client.Delete(path_of(served.open("the cat sat")));
  EXPECT_EQ(next_of("the cat sat"), before);
  EXPECT_EQ(next_of("on the mat").size(), before.size());
}

TEST(BadInput, AFilterThatDoesNotParseInALinkIsNamed) {
  const auto answer =
      test::Opened("the cat").ask("/export?format=html&view=grid/L0.H0/filter%3Dsink%3E");
  expect_error(answer, 400, "bad_request");
  EXPECT_NE(answer->body.find("filter=sink"), std::string::npos) << answer->body;
}

}  // namespace
}  // namespace heed
