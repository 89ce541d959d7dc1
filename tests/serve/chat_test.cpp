// Texts that the chat template of the model makes a chat of.
#include <gtest/gtest.h>

#include <fstream>

#include "serve/served.h"

namespace heed {
namespace {

using nlohmann::json;
using test::expect_error;
using test::post;
using test::Served;

// A chat is "<role>" and the trimmed message for each, then "<bot>".
class ServedChat : public testing::Test {
 protected:
  ServedChat() {
    std::ofstream(scratch_ / "chat_template.jinja")
        << "{% for m in messages %}<{{ m.role }}>{{ m.content | trim }}{% endfor %}"
           "{% if add_generation_prompt %}<bot>{% endif %}";
    model_.folder = scratch_.folder();
  }
  ServerOptions chatting(std::vector<ChatMessage> before) const {
    ServerOptions options = test::served_options();
    options.chat = std::move(before);
    return options;
  }
  // The tokens that come from the text, by their places in it.
  static std::string placed(const json& session) {
    const std::string text = session["text"];
    std::string all;
    for (const json& token : session["tokens"])
      all += text.substr(token["begin"],
                         token["end"].get<std::size_t>() - token["begin"].get<std::size_t>());
    return all;
  }
  static std::string written(const json& session) {
    std::string all;
    for (const json& token : session["tokens"]) all += token["text"];
    return all;
  }

  test::Scratch scratch_;
  LoadedModel model_ = test::served_model(2, 60);
};

TEST_F(ServedChat, OfATextIsWhatTheTemplateMakesOfIt) {
  const Served served(chatting({{"system", "be the cat"}}), model_);
  httplib::Client client = served.client();
  EXPECT_EQ(json::parse(client.Get("/api/v1/models")->body)["chats"], true);
  const json session = served.open(" the mat ");
  EXPECT_EQ(session["text"], " the mat ");
  EXPECT_EQ(session["chat"], "<system>be the cat<user>the mat<bot>");
  EXPECT_EQ(written(session), session["chat"].get<std::string>());
  EXPECT_EQ(placed(session), "the mat");
}

TEST_F(ServedChat, OfMessagesNeedsNoOption) {
  const Served served(test::served_options(), model_);
  httplib::Client client = served.client();
  EXPECT_FALSE(json::parse(client.Get("/api/v1/models")->body).contains("chats"));
  const json messages = {{{"role", "user"}, {"content", "the cat"}},
                         {{"role", "bot"}, {"content", "sat"}},
                         {{"role", "user"}, {"content", "the cat"}}};
  const json session = json::parse(post(client, json({{"messages", messages}}).dump())->body);
  EXPECT_EQ(session["chat"], "<user>the cat<bot>sat<user>the cat<bot>");
  EXPECT_EQ(session["text"], "the cat");
  EXPECT_EQ(placed(session), "the cat");
  EXPECT_NE(session["session"], served.open("the cat")["session"]);
}

TEST_F(ServedChat, ThatIsTooLongKeepsAPartOfItsLastMessage) {
  const Served served(chatting({}), model_);
  httplib::Client client = served.client();
  json body = {{"text", std::string(90, 'z')}};
  expect_error(post(client, body.dump()), 413, "too_large");
  body["keep"] = "last";
  const json session = json::parse(post(client, body.dump())->body);
  EXPECT_EQ(session["tokens"].size(), 60U);
  EXPECT_EQ(session["chat"], "<user>" + session["text"].get<std::string>() + "<bot>");
}

TEST_F(ServedChat, OfAModelWithoutATemplateIsNotFound) {
  const Served served(chatting({}));
  httplib::Client client = served.client();
  expect_error(post(client, json({{"text", "the cat"}}).dump()), 404, "not_found");
}

TEST_F(ServedChat, OfWrongMessagesIsRefusedByName) {
  const Served served(test::served_options(), model_);
  httplib::Client client = served.client();
  const auto refused = [&](const json& messages, const std::string& found) {
    const auto answer = post(client, json({{"messages", messages}}).dump());
    expect_error(answer, 400, "bad_request");
    const json error = json::parse(answer->body)["error"];
    EXPECT_EQ(error["argument"], "messages");
    EXPECT_EQ(error["found"], found);
  };
  refused(json::array(), "[]");
  refused({{{"role", "user"}}}, R"({"role":"user"})");
  refused({{{"role", "user"}, {"content", 5}}}, "\"content\": 5");
  refused({{{"role", "user"}, {"content", "a"}, {"tools", "b"}}}, "\"tools\": \"b\"");
  const json chat = {{{"role", "user"}, {"content", "a"}}};
  expect_error(post(client, json({{"messages", chat}, {"text", "a"}}).dump()), 400, "bad_request");
  expect_error(post(client, json({{"messages", chat}, {"pair", "a"}}).dump()), 400, "bad_request");
}

}  // namespace
}  // namespace heed
