// Which posts open the same session, and the names of sessions.
#include <future>

#include "serve/served.h"
#include "support/counting_model.h"

namespace heed {
namespace {

using nlohmann::json;
using test::expect_error;
using test::post;
using test::post_text;
using test::Served;

TEST(SessionName, TheSameTextIsTheSameSession) {
  const Served served;
  httplib::Client client = served.client();
  const json first = json::parse(post_text(client, "the cat")->body);
  const auto second = post_text(client, "the cat");
  EXPECT_EQ(second->status, 200);
  EXPECT_EQ(json::parse(second->body)["session"], first["session"]);
}

TEST(SessionName, IdsAreASessionOfTheirOwn) {
  const Served served;
  httplib::Client client = served.client();
  const auto answer = post(client, R"({"ids": [3, 1, 2]})");
  ASSERT_EQ(answer->status, 201) << answer->body;
  const json session = json::parse(answer->body);
  ASSERT_EQ(session["tokens"].size(), 3);
  EXPECT_EQ(session["tokens"][0]["id"], 3);
  EXPECT_EQ(json::parse(post(client, R"({"ids": [3, 1, 2]})")->body)["session"],
            session["session"]);
  EXPECT_NE(json::parse(post(client, R"({"ids": [3, 1]})")->body)["session"], session["session"]);
  for (const char* body : {R"({"ids": []})", R"({"ids": [99999]})", R"({"ids": [0.5]})"})
    expect_error(post(client, body), 400, "bad_request");
}

TEST(SessionName, DeletedIsGone) {
  test::Opened opened("the cat");
  EXPECT_EQ(opened.client.Delete(opened.path)->status, 204);
  expect_error(opened.ask(""), 404, "unknown_session");
  expect_error(opened.ask("/self/0/0/tile/0/0/0"), 404, "unknown_session");
}

// The name in a separate server with the folder's model, which opens the text.
std::string name_in_a_new_server(const std::filesystem::path& folder, const std::string& text) {
  const LoadedModel model = load_model(folder);
  const Served served(test::served_options(), model);
  return served.open(text)["session"];
}

TEST(SessionName, SurvivesARestartAndNamesTheWeights) {
  const test::Scratch scratch;
  const LoadedModel made = test::served_model(2, 600);
  save_model(scratch / "m", *made.model, made.tokenizer.get(), DType::kF32);
  const std::string first = name_in_a_new_server(scratch / "m", "the cat");
  EXPECT_EQ(name_in_a_new_server(scratch / "m", "the cat"), first);
  EXPECT_NE(name_in_a_new_server(scratch / "m", "the mat"), first);
  save_model(scratch / "m", *made.model, made.tokenizer.get(), DType::kF16);
  EXPECT_NE(name_in_a_new_server(scratch / "m", "the cat"), first);
}

TEST(SessionName, IsTheSameAfterTheSessionWasDropped) {
  const Served served;
  httplib::Client client = served.client();
  const std::string name = served.open("the cat")["session"];
  EXPECT_EQ(client.Delete("/api/v1/sessions/" + name)->status, 204);
  const auto again = post_text(client, "the cat");
  EXPECT_EQ(again->status, 201);
  EXPECT_EQ(json::parse(again->body)["session"], name);
  EXPECT_EQ(served.open("the cat")["state"], "ready");
}

TEST(SessionName, IsOneForTwoWhoOpenTheTextAtOnce) {
  const test::Counted counted(test::served_model(2, 4096));
  const Served served(test::served_options(), counted.model);
  const std::string text = test::text_of(3000);
  const auto open = [&] {
    httplib::Client client = served.client();
    const auto answer = post_text(client, text);
    return std::pair(answer->status, json::parse(answer->body)["session"].get<std::string>());
  };
  auto other = std::async(std::launch::async, open);
  const auto [status, name] = open();
  const auto [other_status, other_name] = other.get();
  EXPECT_EQ(name, other_name);
  EXPECT_EQ(status + other_status, 201 + 200);
  served.open(text);
  EXPECT_EQ(counted.passes(), 1);
}

TEST(SessionName, OfAModelWithoutAFolderIsOfItsServer) {
  const Served one;
  const Served other;
  EXPECT_NE(one.open("the cat")["session"], other.open("the cat")["session"]);
}

}  // namespace
}  // namespace heed
