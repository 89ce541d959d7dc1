// Models that read two texts, over HTTP: pairs of an encoder, sources and targets of an
// encoder-decoder.

#include "serve/served.h"
#include "support/tiny_configs.h"

namespace heed {
namespace {

using nlohmann::json;
using test::expect_error;

const LoadedModel& reader() {
  static const LoadedModel model = test::with_bytes(test::tiny_encoder_config());
  return model;
}

const LoadedModel& translator() {
  static const LoadedModel model = test::with_bytes(test::tiny_translator_config());
  return model;
}

class Sides {
 public:
  Sides(const LoadedModel& model, const json& input, std::int64_t layers)
      : served_(test::served_options(), model), client_(served_.client()) {
    const auto posted = client_.Post("/api/v1/sessions", input.dump(), "application/json");
    session = json::parse(posted->body);
    path = "/api/v1/sessions/" + session.value("session", "none");
    session = test::Served::wait_for(client_, session, layers);
  }

  httplib::Result ask(const std::string& rest) { return client_.Get(path + rest); }
  json get(const std::string& rest) { return json::parse(ask(rest)->body); }

  json session;
  std::string path;

 private:
  const test::Served served_;
  httplib::Client client_;
};

TEST(ServedPair, IsOneSequenceWhoseSecondTextIsNamed) {
  Sides pair(reader(), {{"text", "the cat"}, {"pair", "on the mat"}}, 2);
  EXPECT_EQ(pair.session["pair"], "on the mat");
  const std::int64_t split = pair.session["split"];
  std::string first, second;
  for (const json& token : pair.session["tokens"])
    (token["index"] < split ? first : second) += token["text"].get<std::string>();
  EXPECT_EQ(first, "the cat");
  EXPECT_EQ(second, "on the mat");
  EXPECT_FALSE(pair.session["attentions"][0]["rectangular"]);
}

TEST(ServedPair, SharesAreThoseOfTheRows) {
  Sides pair(reader(), {{"text", "the cat"}, {"pair", "on the mat"}}, 2);
  const std::size_t split = pair.session["split"], length = pair.session["tokens"].size();
  const json shares = pair.get("/self/heads")["layers"][1]["heads"][2]["shares"];
  double to_b = 0, to_first = 0;
  for (std::size_t query = 0; query < length; ++query) {
    const json row = pair.get("/self/1/2/row/" + std::to_string(query))["weights"];
    to_first += row[0].get<double>();
    for (std::size_t key = split; query < split && key < length; ++key)
      to_b += row[key].get<double>();
  }
  EXPECT_NEAR(shares["to_first"], to_first / static_cast<double>(length), 1e-5);
  EXPECT_NEAR(shares["a_to_b"], to_b / static_cast<double>(split), 1e-5);
  EXPECT_NEAR(shares["a_to_a"].get<double>() + shares["a_to_b"].get<double>(), 1, 1e-5);
  EXPECT_NEAR(shares["b_to_a"].get<double>() + shares["b_to_b"].get<double>(), 1, 1e-5);
}

TEST(ServedPair, ATextAloneHasNoSharesAndAnotherName) {
  Sides pair(reader(), {{"text", "the cat"}, {"pair", "a mat"}}, 2);
  Sides alone(reader(), {{"text", "the cat"}}, 2);
  EXPECT_NE(pair.session["session"], alone.session["session"]);
  EXPECT_FALSE(alone.session.contains("split"));
  EXPECT_FALSE(alone.get("/self/heads")["layers"][0]["heads"][0].contains("shares"));
}

TEST(ServedTarget, HasThreeStacksWithTheTokensOfTheirSides) {
  Sides both(translator(), {{"text", "the cat sat"}, {"target", "a mat"}}, 4);
  const json& session = both.session;
  EXPECT_EQ(session["target"], "a mat");
  const std::size_t written = session["tokens"].size(), read = session["key_tokens"].size();
  const json expected = {{"encoder", read, read, "key_tokens", "key_tokens", false, false},
                         {"decoder", written, written, "tokens", "tokens", false, true},
                         {"cross", written, read, "tokens", "key_tokens", true, false}};
  for (std::size_t at = 0; at < 3; ++at) {
    const json& stack = session["attentions"][at];
    EXPECT_EQ(json({stack["stack"], stack["queries"], stack["keys"], stack["query_tokens"],
                    stack["key_tokens"], stack["rectangular"], stack["causal"]}),
              expected[at]);
  }
  EXPECT_EQ(session["tokens"][0]["id"], 3);  // what the decoder starts with
}

TEST(ServedTarget, QuestionsAboutACrossAttentionCountItsSides) {
  Sides both(translator(), {{"text", "the cat sat"}, {"target", "a mat"}}, 4);
  const std::size_t read = both.session["key_tokens"].size();
  const std::size_t written = both.session["tokens"].size();
  const json row = both.get("/cross/0/1/row/0");
  EXPECT_EQ(row["stack"], "cross");
  EXPECT_EQ(row["weights"].size(), read);
  EXPECT_EQ(both.get("/cross/0/1/column/0")["weights"].size(), written);
  EXPECT_EQ(both.get("/cross/0/1/marginals")["received"].size(), read);
  EXPECT_EQ(both.ask("/cross/0/1/tile/0/0/0?as=f32")->body.size(), 4 * written * read);
  EXPECT_EQ(both.ask("/cross/0/1/rows?begin=0&end=2")->body.size(), 8 * read);
  const auto beyond = both.ask("/cross/0/1/row/" + std::to_string(written));
  expect_error(beyond, 404, "not_found");
  EXPECT_EQ(json::parse(beyond->body)["error"]["argument"], "query");
  expect_error(both.ask("/self/0/1/row/0"), 404, "not_found");
  expect_error(both.ask("/encoder/next"), 404, "not_found");
  EXPECT_EQ(both.get("/cross/next")["stack"], "cross");
}

TEST(ServedTarget, TheOrderOfAHeadIsThatOfItsRows) {
  Sides both(translator(), {{"text", "the cat sat"}, {"target", "a mat"}}, 4);
  const json order = both.get("/cross/heads")["layers"][0]["heads"][1]["order"];
  const std::size_t written = both.session["tokens"].size();
  const std::size_t paired = std::min(written, both.session["key_tokens"].size());
  double in_order = 0, peak = 0;
  for (std::size_t query = 0; query < written; ++query) {
    const json row = both.get("/cross/0/1/row/" + std::to_string(query));
    if (query < paired) in_order += row["weights"][query].get<double>();
    peak += row["largest"].get<double>();
  }
  EXPECT_NEAR(order["in_order"], in_order / static_cast<double>(paired), 1e-5);
  EXPECT_NEAR(order["peak"], peak / static_cast<double>(written), 1e-5);
  EXPECT_FALSE(both.get("/decoder/heads")["layers"][0]["heads"][1].contains("order"));
}

TEST(ServedTarget, TheCoverageOfAHeadIsWhatItsSourceReceives) {
  Sides both(translator(), {{"text", "the cat sat"}, {"target", "a mat"}}, 4);
  const json tokens = both.session["key_tokens"];
  std::vector<double> received(tokens.size());
  for (std::size_t query = 0; query < both.session["tokens"].size(); ++query) {
    const json row = both.get("/cross/0/1/row/" + std::to_string(query));
    for (std::size_t key = 0; key < tokens.size(); ++key)
      received[key] += row["weights"][key].get<double>();
  }
  double sum = 0, count = 0;
  for (std::size_t key = 0; key < tokens.size(); ++key) {
    if (tokens[key].contains("special")) continue;
    sum += std::min(received[key], 1.0);
    ++count;
  }
  const json head = both.get("/cross/heads")["layers"][0]["heads"][1];
  EXPECT_NEAR(head["coverage"], sum / count, 1e-5);
  const json evidence = both.get("/cross/0/1/evidence/coverage");
  EXPECT_TRUE(evidence["of_keys"]);
  EXPECT_EQ(evidence["rows"].size(), tokens.size());
  EXPECT_EQ(evidence["counted"], count);
  EXPECT_FALSE(both.get("/decoder/heads")["layers"][0]["heads"][1].contains("coverage"));
}

TEST(ServedTarget, EventsChooseAHeadOfTheStackInView) {
  Sides both(translator(), {{"text", "the cat sat"}, {"target", "a mat"}}, 4);
  const std::string events = both.ask("/events?stack=cross&layer=0&tokens=0")->body;
  const std::size_t chosen = events.find("event: chosen\ndata: ");
  ASSERT_NE(chosen, std::string::npos) << events;
  EXPECT_NE(events.find("\"stack\":\"cross\"", chosen), std::string::npos);
  expect_error(both.ask("/events?stack=north"), 404, "not_found");
  expect_error(both.ask("/events?stack=cross&layer=1"), 404, "not_found");
}

TEST(ServedTarget, WithoutOneTheModelWritesIt) {
  Sides both(translator(), {{"source", "the cat sat"}}, 4);
  EXPECT_FALSE(both.session.contains("target"));
  EXPECT_EQ(both.session["text"], "the cat sat");
  EXPECT_GE(both.session["tokens"].size(), 1U);
}

TEST(ServedTarget, ASourceOrTargetThatIsTooLongIsRefused) {
  const test::Served served(test::served_options(), translator());
  httplib::Client client = served.client();
  const auto post = [&](const json& body) {
    return client.Post("/api/v1/sessions", body.dump(), "application/json");
  };
  expect_error(post({{"text", std::string(50, 'z')}}), 413, "too_large");
  expect_error(post({{"text", "the cat"}, {"target", std::string(50, 'z')}}), 413, "too_large");
  const auto pair = post({{"text", "the cat"}, {"pair", "a mat"}});
  expect_error(pair, 400, "bad_request");
  EXPECT_EQ(json::parse(pair->body)["error"]["argument"], "pair");
  const auto cut = post({{"text", std::string(50, 'z')}, {"target", "a"}, {"keep", "last"}});
  EXPECT_EQ(json::parse(cut->body)["key_tokens"].size(), 40U) << cut->body;
}

TEST(ServedModels, SayWhichTextsTheyTake) {
  for (const auto& [model, pair, target] : {std::tuple(&reader(), true, false),
                                            {&translator(), false, true},
                                            {&test::shared_model(), false, false}}) {
    ServerOptions options = test::served_options();
    options.text = "the cat";
    options.pair = "a mat";
    options.stack = "cross";
    const test::Served served(options, *model);
    const json models = json::parse(served.client().Get("/api/v1/models")->body);
    EXPECT_EQ(models["models"][0]["takes_pair"], pair);
    EXPECT_EQ(models["models"][0]["takes_target"], target);
    EXPECT_EQ(models["pair"], "a mat");
    EXPECT_EQ(models["stack"], "cross");
    EXPECT_FALSE(models.contains("target"));
  }
}

}  // namespace
}  // namespace heed
