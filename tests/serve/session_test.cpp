// Sessions: posts, answers, errors, and dropped sessions.
#include <gmock/gmock.h>

#include <filesystem>

#include "serve/served.h"
#include "support/counting_model.h"

namespace heed {
namespace {

using nlohmann::json;
using test::expect_error;
using test::kServedText;
using test::Opened;
using test::path_of;
using test::post;
using test::post_text;
using test::Served;

TEST(ServerSession, TokensComeWithTheAnswerAndSpellTheText) {
  const Served served;
  httplib::Client client = served.client();
  const auto answer = post_text(client, kServedText);
  ASSERT_EQ(answer->status, 201);
  const json session = json::parse(answer->body);
  std::string text;
  for (const json& token : session["tokens"]) text += token["text"].get<std::string>();
  EXPECT_EQ(text, kServedText);
  EXPECT_EQ(session["attentions"][0]["queries"], session["tokens"].size());
  EXPECT_EQ(session["attentions"][0]["zooms"], 1);
}

TEST(ServerSession, ATextThatIsTooLongIsCutToItsFirstOrLastTokens) {
  const Served served;
  httplib::Client client = served.client();
  std::string text;
  for (int i = 0; i < 400; ++i) text += "\u00e9" + std::to_string(i);  // characters of two tokens
  for (const char* keep : {"first", "last"}) {
    const auto answer = post(client, json({{"text", text}, {"keep", keep}}).dump());
    ASSERT_EQ(answer->status, 201) << answer->body;
    const json session = json::parse(answer->body);
    const auto kept = session["text"].get<std::string>();
    EXPECT_TRUE(std::string_view(keep) == "first" ? text.starts_with(kept) : text.ends_with(kept));
    EXPECT_LE(session["tokens"].size(), 600);
    EXPECT_GE(session["tokens"].size(), 599);  // a character that does not fit whole is left out
  }
}

TEST(ServerSession, WhatIsKeptOfAShortTextIsAllOfIt) {
  const Served served;
  httplib::Client client = served.client();
  const auto answer = post(client, R"({"text": "the cat", "keep": "last"})");
  EXPECT_EQ(json::parse(answer->body)["text"], "the cat");
  expect_error(post(client, R"({"text": "the cat", "keep": "middle"})"), 400, "bad_request");
}

TEST(ServerSession, MarkupControlsAndBidiMarksAreTextLikeAnyOther) {
  const Served served;
  httplib::Client client = served.client();
  const std::string text = std::string("<script>alert(1)</script>\x01\x1b[31m") + '\0' +
                           "\u202e\u2066abc\u2069 \U0001F600";
  const json session = json::parse(post_text(client, text)->body);
  EXPECT_EQ(session["text"].get<std::string>(), text);
  std::string bytes;
  for (const json& token : session["tokens"]) {
    const std::string hex = token.value("bytes", "");
    if (hex.empty()) bytes += token["text"].get<std::string>();
    for (std::size_t i = 0; i < hex.size(); i += 2)
      bytes += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
  }
  EXPECT_EQ(bytes, text);
}

TEST(ServerSession, HalfAnEmojiAndBrokenUtf8AreRefused) {
  const Served served;
  httplib::Client client = served.client();
  expect_error(post(client, R"({"text":"half \ud83d"})"), 400, "bad_request");
  expect_error(post(client, "{\"text\":\"\xf0\x9f\"}"), 400, "bad_request");
}

TEST(ServerSession, MalformedBodiesAreRefused) {
  const Served served;
  httplib::Client client = served.client();
  for (const char* body : {"", "{", "[]", "null", "7", R"({"text":7})", R"({"txt":"a"})",
                           R"({"text":"a","layer":"x"})", R"({"text":"a"} x)"})
    expect_error(post(client, body), 400, "bad_request");
  expect_error(post(client, R"({"text":"a","layer":9})"), 404, "not_found");
  expect_error(post(client, std::string(100000, '[')), 400, "bad_request");
}

TEST(ServerSession, ATextOrBodyOverItsCapIsRefusedAndTheServerGoesOn) {
  const Served served(test::served_options({.body_bytes = 20000, .text_bytes = 5000}));
  httplib::Client client = served.client();
  expect_error(post_text(client, std::string(5001, 'a')), 413, "too_large");
  expect_error(post_text(client, std::string(3000, 'z')), 413, "too_large");  // tokens
  httplib::Client other = served.client();
  expect_error(post_text(other, std::string(30000, 'a')), 413, "too_large");
  httplib::Client third = served.client();
  EXPECT_EQ(post_text(third, "the cat")->status, 201);
}

TEST(ServerSession, ABodyIsJsonWhateverItsContentType) {
  const Served served;
  const std::string body =
      R"({"text":"the cat sat on the mat",)" + std::string(9000, ' ') + R"("layer":0})";
  for (const char* type : {"application/json", "text/plain", "application/x-www-form-urlencoded",
                           "multipart/form-data; boundary=x"}) {
    const auto answer = served.client().Post("/api/v1/sessions", body, type);
    ASSERT_TRUE(answer);
    EXPECT_LE(answer->status, 201) << type << ": " << answer->body;
  }
}

TEST(ServerSession, AnEmptyTextIsRefused) {
  const Served served;
  httplib::Client client = served.client();
  const auto answer = post_text(client, "");
  expect_error(answer, 400, "bad_request");
  EXPECT_THAT(answer->body, testing::HasSubstr("text is empty, expected at least one word"));
}

TEST(ServerSession, TheOneNotUsedForLongestIsDroppedWhenThereAreTooMany) {
  const Served served(test::served_options({.sessions = 2}));
  httplib::Client client = served.client();
  const std::string first = served.open("a cat")["session"];
  const std::string second = served.open("a mat")["session"];
  EXPECT_EQ(client.Get("/api/v1/sessions/" + first)->status, 200);
  served.open("the sat");
  EXPECT_EQ(client.Get("/api/v1/sessions/" + first)->status, 200);
  expect_error(client.Get("/api/v1/sessions/" + second), 404, "unknown_session");
}

TEST(ServerSession, TheBytesOfAllSessionsAreBounded) {
  // 2 layers x 4 heads: (4 + 2 x 4) x 4 numbers and 20 statistics a token, 4 bytes each; and 5
  // levels of a stream of 16.
  constexpr std::int64_t kTokenBytes = 2 * (12 * 4 + 20) * 4 + 5 * 16 * 4;
  const Served served(test::served_options({.session_bytes = 30 * kTokenBytes}));
  httplib::Client client = served.client();
  const std::string first = served.open(std::string(20, 'z'))["session"];
  served.open(std::string(20, 'y'));
  expect_error(client.Get("/api/v1/sessions/" + first), 404, "unknown_session");
  expect_error(post_text(client, std::string(31, 'x')), 413, "too_large");
}

TEST(ServerSession, ATextThatDoesNotFitIntoMemoryIsRefusedWithWhatFits) {
  ServerOptions options = test::served_options();
  options.memory = 60'000;
  const Served served(options);
  httplib::Client client = served.client();
  served.open("the cat");
  const auto refused = post_text(client, std::string(100, 'z'));
  expect_error(refused, 413, "too_large");
  const json error = json::parse(refused->body)["error"];
  EXPECT_EQ(error["argument"], "memory");
  const std::string hint = error["hint"];
  EXPECT_TRUE(hint.starts_with("what would fit: ")) << error;
  const std::int64_t fits = std::stoll(hint.substr(hint.rfind("a text of ") + 10));
  served.open(std::string(static_cast<std::size_t>(fits), 'z'));
}

TEST(ServerSession, AnswersBeginWithTheirStack) {
  Opened opened(kServedText, /*statistics=*/true);
  const json attention = opened.get("")["attentions"][0];
  EXPECT_EQ(attention["stack"], "self");
  EXPECT_EQ(attention["queries"], opened.session["tokens"].size());
  EXPECT_EQ(attention["keys"], opened.session["tokens"].size());
  const json models = test::got(opened.client, "/api/v1/models")["models"];
  EXPECT_EQ(models[0]["stacks"][0]["layers"], 2);
  for (const char* rest : {"/self/1/2/row/3", "/self/1/2/column/3", "/self/1/2/cell/3/1",
                           "/self/1/2/marginals", "/self/1/edges?heads=2", "/self/next"})
    EXPECT_EQ(opened.get(rest)["stack"], "self") << rest;
  EXPECT_EQ(opened.get("/self/heads?layer=1")["layers"][0]["layer"], 1);
  expect_error(opened.ask("/cross/1/2/row/3"), 404, "not_found");
}

TEST(ServerSession, ATextThatAnotherReplacesStopsItsPass) {
  test::Counted counted(test::served_model(2, 512));
  const Served served(test::served_options(), counted.model);
  httplib::Client client = served.client();
  json replacing;
  {
    const auto held = counted.hold();
    const json old = json::parse(post_text(client, test::text_of(400))->body);
    const auto answer =
        post(client, json({{"text", "the cat"}, {"replaces", old["session"]}}).dump());
    ASSERT_EQ(answer->status, 201);
    expect_error(client.Get(path_of(old)), 404, "unknown_session");
    replacing = json::parse(answer->body);
  }
  const json fresh = served.open("the cat");
  EXPECT_EQ(fresh["session"], replacing["session"]);
  // A session whose pass has ended stays: dropping it would save nothing.
  post(client, json({{"text", "the mat"}, {"replaces", fresh["session"]}}).dump());
  EXPECT_EQ(client.Get(path_of(fresh))->status, 200);
}

TEST(ServerSession, InputsThatTheModelDoesNotReadAreRefusedByName) {
  const Served served;
  httplib::Client client = served.client();
  for (const char* name : {"pair", "target"}) {
    const auto answer = post(client, json({{"text", "the cat"}, {name, "x"}}).dump());
    expect_error(answer, 400, "bad_request");
    const json error = json::parse(answer->body)["error"];
    EXPECT_EQ(error["argument"], name);
    EXPECT_EQ(error["found"], "given");
    EXPECT_TRUE(error["expected"].get<std::string>().starts_with("none: ")) << error;
  }
}

TEST(ServerSession, OneInputIsOpened) {
  const Served served;
  httplib::Client client = served.client();
  for (const char* body : {R"({"layer": 0})", R"({"text": "a", "source": "b"})",
                           R"({"text": "a", "ids": [1]})", R"({"ids": [1], "pair": "b"})",
                           R"({"ids": [1], "target": "b"})", R"({"text": "a", "pair": 7})"})
    expect_error(post(client, body), 400, "bad_request");
}

TEST(ServerSession, AnErrorIsDataBesideItsMessage) {
  Opened opened("the cat");
  const json error = opened.get("/self/9/0/marginals", 404)["error"];
  EXPECT_EQ(error["argument"], "layer");
  EXPECT_EQ(error["found"], "9");
  EXPECT_EQ(error["expected"], "0 to 1 (tiny has 2 layers)");
  EXPECT_EQ(error["message"], "session: layer is 9, expected 0 to 1 (tiny has 2 layers)");
}

TEST(ServerSession, NextWordsOfEveryPositionAddUpToOne) {
  Opened opened(kServedText);
  const std::string path = "/self/next";
  for (const char* query : {"", "?position=0", "?position=3&top=1", "?top=64"}) {
    const json next = opened.get(path + query);
    double sum = next["rest"]["probability"];
    for (const json& word : next["words"]) sum += word["probability"].get<double>();
    EXPECT_NEAR(sum, 1, 1e-5) << query;
  }
  expect_error(opened.ask(path + "?position=9999"), 404, "not_found");
  expect_error(opened.ask(path + "?top=65"), 400, "bad_request");
}

TEST(ServerEvents, TellEverythingInOrderAndEnd) {
  const auto answer = Opened(kServedText).ask("/events?layer=1");
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->get_header_value("Content-Type"), "text/event-stream");
  std::string names;
  std::istringstream lines(answer->body);
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with("event: ")) names += line.substr(7) + " ";
  EXPECT_EQ(names, "tokens next heads heads chosen done ");
}

TEST(Server, GoesOnWhenTheModelsFolderVanishes) {
  const test::Scratch scratch;
  const LoadedModel made = test::served_model(2, 600);
  save_model(scratch / "m", *made.model, made.tokenizer.get(), DType::kF32);
  const LoadedModel loaded = load_model(scratch / "m");
  Server server(loaded, test::served_options());
  std::filesystem::remove_all(scratch / "m");
  httplib::Client client = test::client_of(server.port());
  const auto answer = post_text(client, "the cat");
  ASSERT_EQ(answer->status, 201);
  const std::string path =
      "/api/v1/sessions/" + json::parse(answer->body)["session"].get<std::string>();
  EXPECT_NE(client.Get(path + "/events")->body.find("event: done"), std::string::npos);
}

TEST(ServerSession, WhatIsUnknownIsUnknownOnEveryPath) {
  const Served served;
  httplib::Client client = served.client();
  for (const char* rest :
       {"", "/events", "/self/heads", "/self/next", "/self/0/edges?heads=0", "/self/0/0/tile/0/0/0",
        "/self/0/0/row/0", "/self/0/0/column/0", "/self/0/0/marginals", "/self/0/0/cell/0/0"})
    expect_error(client.Get(std::string("/api/v1/sessions/5e1c0a9b77d2f0e4") + rest), 404,
                 "unknown_session");
  expect_error(client.Delete("/api/v1/sessions/<script>"), 404, "unknown_session");
}

TEST(ServerSession, ARefusedBodyIsNotTakenForTheNextRequest) {
  const Served served;
  httplib::Client client = served.client(false);  // one connection for all
  const std::string body = "GET /api/v1/models HTTP/1.1\r\n\r\n";
  for (int i = 0; i < 3; ++i) {
    expect_error(post(client, body), 401, "unauthorized");
    expect_error(client.Put("/api/nothing", body, "text/plain"), 401, "unauthorized");
    expect_error(client.Get("/api/v1/models"), 401, "unauthorized");  // not 400
  }
}

}  // namespace
}  // namespace heed
