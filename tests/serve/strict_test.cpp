// A client's mistakes are rejected by name, and a client that leaves ends its work.
#include <fmt/format.h>
#include <httplib.h>

#include <nlohmann/json.hpp>

#include "serve/served.h"

namespace heed {
namespace {

using nlohmann::json;
using test::expect_error;

std::string message_of(const httplib::Result& answer) {
  return answer ? json::parse(answer->body)["error"].value("message", "none") : "no answer";
}

TEST(StrictApi, AFieldThatIsUnknownOrGivenTwiceIsRefusedByItsName) {
  const test::Served served;
  httplib::Client client = served.client();
  const auto post = [&](const char* body) {
    return client.Post("/api/v1/sessions", body, "application/json");
  };
  const auto unknown = post(R"({"text": "the cat", "layr": 1})");
  expect_error(unknown, 400, "bad_request");
  EXPECT_EQ(message_of(unknown),
            "body: layr is unknown, expected one of text, source, messages, ids, pair, target, "
            "model, stack, layer, keep, replaces, edits");
  const auto twice = post(R"({"text": "the cat", "text": "the mat"})");
  expect_error(twice, 400, "bad_request");
  EXPECT_EQ(message_of(twice), "body: line 1, column 29: text is given twice, expected once");
  EXPECT_EQ(json::parse(twice->body)["error"]["argument"], "text");
}

TEST(StrictApi, AParameterThatIsGivenTwiceIsRefused) {
  test::Opened opened("the cat");
  const auto twice = opened.ask("/self/next?top=1&top=2");
  expect_error(twice, 400, "bad_request");
  EXPECT_EQ(message_of(twice), "top is given twice, expected once");
  const auto cut = opened.ask("?" + std::string(39, 'a') + "%C3%A9%C3%A9=1");
  EXPECT_EQ(message_of(cut),
            std::string(39, 'a') + "... is \"1\", expected none: this path takes no parameters");
}

TEST(StrictApi, AnExportNamesTheViewThatIsMissingOrWrong) {
  test::Opened opened("the cat", /*statistics=*/true);
  const auto exported = [&](const std::string& query) {
    return message_of(opened.ask("/export" + query));
  };
  EXPECT_EQ(exported(""), "view is missing, expected an address, as look/L2.H4");
  for (const char* query : {"?view=", "?view=look/x", "?view=look/L0.H0/units=x"})
    EXPECT_EQ(exported(query).substr(0, 9), "view is \"") << exported(query);
}

TEST(StrictApi, AnAlignmentNamesTheSessionThatIsMissing) {
  test::Opened opened("the cat");
  for (const char* path : {"/alignment", "/self/changes"}) {
    const auto found = opened.ask(path);
    expect_error(found, 400, "bad_request");
    EXPECT_EQ(message_of(found), "from is missing, expected the id of another session");
  }
}

// Generates for a while.
LoadedModel slow_translator() {
  LoadedModel model{.name = "slow", .folder = {}, .model = {}, .tokenizer = {}};
  model.tokenizer = train_byte_bpe(test::kServedText, {.vocabulary_size = 280});
  const json config = {{"model_type", "marian"},
                       {"vocab_size", model.tokenizer->vocabulary_size()},
                       {"d_model", 256},
                       {"encoder_layers", 1},
                       {"decoder_layers", 8},
                       {"encoder_attention_heads", 8},
                       {"decoder_attention_heads", 8},
                       {"encoder_ffn_dim", 256},
                       {"decoder_ffn_dim", 1024},
                       {"max_position_embeddings", 300},
                       {"decoder_start_token_id", 3},
                       {"eos_token_id", 0}};
  model.model = make_model(config.dump(), 1);
  return model;
}

TEST(ClientThatLeaves, EndsTheWritingOfItsTarget) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "writing takes minutes under ThreadSanitizer";
#endif
  const LoadedModel model = slow_translator();
  ServerOptions options = test::served_options();
  options.limits.workers = 1;  // the next one waits for it
  const test::Served served(options, model);
  const double begin = test::cpu_seconds();
  ASSERT_TRUE(
      served.client().Post("/api/v1/sessions", R"({"text":"the cat"})", "application/json"));
  const double whole = test::cpu_seconds() - begin;
  {
    const std::string body = R"({"text":"the mat"})";
    test::RawClient(served.server.port())
        .send(fmt::format("POST /api/v1/sessions HTTP/1.1\r\nHost: localhost:{}\r\n"
                          "Authorization: Bearer {}\r\nContent-Length: {}\r\n\r\n{}",
                          served.server.port(), test::kToken, body.size(), body));
  }
  const double left = test::cpu_seconds();
  EXPECT_TRUE(served.client().Get("/api/v1/models", {{"Connection", "close"}}));
  EXPECT_LT(test::cpu_seconds() - left, whole / 2);
}

}  // namespace
}  // namespace heed
