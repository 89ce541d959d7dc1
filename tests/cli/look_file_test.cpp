// `heed look --view` and --format svg|png|html: what is refused, and what works without a browser.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string_view>

#include "cli/program.h"
#include "heed/model.h"
#include "serve/page_sources.h"
#include "support/places.h"
#include "text/byte_bpe.h"

namespace heed::cli {
namespace {

using nlohmann::json;
using test::Answer;
using testing::HasSubstr;

constexpr const char* kSentence = "the cat sat on the mat";

const std::string& sentence_model() {
  static const std::string folder = [] {
    const auto tokenizer = train_byte_bpe(kSentence, {.vocabulary_size = 270});
    const json config = {{"model_type", "gpt2"}, {"n_positions", 64},
                         {"n_embd", 16},         {"n_layer", 2},
                         {"n_head", 4},          {"vocab_size", tokenizer->vocabulary_size()}};
    const std::filesystem::path path = test::scratch() / "look-file" / "tiny";
    save_model(path, *make_model(config.dump(), 1), tokenizer.get(), DType::kF32);
    return path.string();
  }();
  return folder;
}

Answer look_at(std::vector<std::string> arguments, const std::string& shell = "") {
  arguments.insert(arguments.begin(), {"look", kSentence});
  arguments.insert(arguments.end(), {"--model", sentence_model()});
  return test::heed(arguments, shell);
}

void refuses(const std::vector<std::string>& arguments, const std::string& message) {
  const Answer answer = look_at(arguments);
  EXPECT_EQ(answer.status, 2);
  EXPECT_EQ(answer.out, "");
  EXPECT_EQ(answer.error, "heed look: " + message + "\n");
}

TEST(LookView, ChoosesHeadAndRowOfAText) {
  const Answer answer = look_at({"--view", "look/L1.H2/i=3", "--format", "json"});
  ASSERT_EQ(answer.status, 0) << answer.error;
  const json found = json::parse(answer.out);
  EXPECT_EQ(found["layer"], 1);
  EXPECT_EQ(found["head"], 2);
  ASSERT_EQ(found["rows"].size(), 1);
  EXPECT_EQ(found["rows"][0]["query"], 3);
}

TEST(LookView, AnEdgeIsACell) {
  const Answer answer = look_at({"--view", "look/L1.H2/i=3/j=1", "--format", "json"});
  const json found = json::parse(answer.out);
  ASSERT_EQ(found["cells"].size(), 1);
  EXPECT_EQ(found["cells"][0]["key"], 1);
}

TEST(LookView, IsReadOutOfThePagesAddress) {
  const std::string view = "look/L1.H2/i=3/j=1";
  for (const char* before : {"#", "http://127.0.0.1:8321/#", "https://host/heed/?token=a#"})
    EXPECT_EQ(look_at({"--view", before + view}).out, look_at({"--view", view}).out) << before;
}

TEST(LookView, ASpanIsItsRows) {
  const json found =
      json::parse(look_at({"--view", "look/L1.H2/range=1-3", "--format", "json"}).out);
  EXPECT_EQ(found["rows"].size(), 3);
}

TEST(LookView, RefusesWhatDoesNotExist) {
  for (const char* wrong : {"map/L0.H0", "foo", "http://127.0.0.1:8321/"})
    refuses({"--view", wrong},
            fmt::format("--view is \"{}\", expected an address of the page, as in "
                        "look/L2.H4/i=17/j=3",
                        wrong));
  refuses({"--view", "look/"},
          "--view is \"look/\", expected a head as in L2.H4, L2.H4+H1 or cross.L2.H4 behind "
          "look/");
  refuses({"--view", "look/L0.H0/i=x"}, "--view has \"i=x\", expected a number from 0");
  refuses({"--view", "look/L2.H0"}, "--view: layer is 2, expected 0 to 1 (tiny has 2 layers)");
  refuses({"--view", "look/L0.H4"}, "--view: head is 4, expected 0 to 3 (tiny has 4 heads)");
  const Answer answer = look_at({"--view", "look/L0.H0/i=63", "--format", "html"});
  EXPECT_EQ(answer.status, 2);
  EXPECT_THAT(answer.error, HasSubstr("--view: i is 63, expected 0 to "));
}

TEST(LookView, WithoutAHeadShowsTheOneThatHeedChooses) {
  const json free = json::parse(look_at({"--format", "json"}).out);
  for (const char* view : {"look", "#look", "look/units=token"}) {
    const Answer answer = look_at({"--view", view, "--format", "json"});
    ASSERT_EQ(answer.status, 0) << answer.error;
    EXPECT_EQ(json::parse(answer.out)["chosen"], free["chosen"]) << view;
  }
  const json row = json::parse(look_at({"--view", "look/i=3", "--format", "json"}).out);
  const json who = json::parse(look_at({"--who", "3", "--format", "json"}).out);
  EXPECT_EQ(row["chosen"], who["chosen"]);
  EXPECT_EQ(row["rows"], who["rows"]);
  for (const char* view : {"grid", "heads", "matrix/scale=sqrt", "words", "flow", "anatomy"}) {
    const Answer answer = look_at({"--view", view, "--format", "html"});
    EXPECT_EQ(answer.status, 0) << view << answer.error;
    EXPECT_THAT(answer.out,
                HasSubstr(fmt::format("{}/L{}.H{}",
                                      std::string(view).substr(0, std::string(view).find('/')),
                                      free["layer"].get<int>(), free["head"].get<int>())))
        << view;
  }
  refuses({"--view", "grid/L9.H0", "--format", "html"},
          "--view: layer is 9, expected 0 to 1 (tiny has 2 layers)");
}

TEST(LookView, SaysItAllAlone) {
  refuses({"--view", "look/L0.H0", "--head", "1"},
          "--layer, --head, --who and --to cannot be used with --view");
  refuses({"--view", "look/L0.H0", "--rows", "3"}, "--rows cannot be used with --view");
}

TEST(LookView, WhoAttendsToATokenIsForPictures) {
  for (const char* format : {"text", "json", "tsv"})
    refuses({"--view", "look/L0.H0/i=3/to=1", "--format", format},
            std::string("--format is ") + format +
                ", expected svg, png or html, which show the \"to=1\" of --view");
  EXPECT_EQ(look_at({"--view", "look/L0.H0/i=3/to=0/scale=sqrt"}).status, 0);
}

TEST(LookView, WhatOtherFormsShowAloneIsRefused) {
  const std::pair<const char*, const char*> parts[] = {{"of=carried", "svg or png"},
                                                       {"vs=ablate:self.L1.H1", "svg, png or html"},
                                                       {"vs=L1.H1", "svg, png or html"},
                                                       {"vs=text:A%20dog.", "svg or png"},
                                                       {"show=A", "svg, png or html"},
                                                       {"pair=A-B", "svg, png or html"},
                                                       {"units=word", "text, svg, png or html"},
                                                       {"j=1/units=word", "svg, png or html"}};
  for (const auto& [part, forms] : parts) {
    const std::string shown = std::string(part).substr(std::string_view(part).find('/') + 1);
    refuses(
        {"--view", std::string("look/L0.H0/i=3/") + part, "--format", "tsv"},
        fmt::format("--format is tsv, expected {}, which show the \"{}\" of --view", forms, shown));
  }
  for (const char* format : {"text", "json"})
    refuses({"--view", "look/L0.H0/vs=L1.H1", "--format", format},
            fmt::format("--format is {}, expected svg, png or html, which show the "
                        "\"vs=L1.H1\" of --view",
                        format));
}

TEST(LookView, HowAViewIsDrawnChangesNothingInText) {
  const std::string plain = look_at({"--view", "look/L0.H0/i=3"}).out;
  for (const char* part : {"scale=sqrt", "scores=sink+entropy", "zoom=0-3,0-3"})
    EXPECT_EQ(look_at({"--view", std::string("look/L0.H0/i=3/") + part}).out, plain) << part;
  // The page's addresses keep what other views were asked for.
  for (const char* part : {"t=0.5", "k=4", "p=0.9", "line=rank", "by=effect", "sort=previous",
                           "filter=sink>0.5", "across=sink", "up=sink", "form=adjusted", "on=text"})
    EXPECT_EQ(look_at({"--view", std::string("look/L0.H0/i=3/") + part}).out, plain) << part;
  EXPECT_EQ(look_at({"--view", "look/L0.H0/i=3/units=word"}).status, 0);
}

TEST(LookFile, RefusesAnUnknownFormat) {
  const Answer answer = look_at({"--format", "gif"});
  EXPECT_EQ(answer.status, 2);
  EXPECT_EQ(answer.error,
            "heed look: --format is \"gif\", expected one of text, json, tsv, npy, svg, png, html, "
            "graphml, dot\n");
}

TEST(LookFile, RefusesIds) {
  const Answer answer =
      test::heed({"look", "--ids", "1,2", "--format", "svg", "--model", sentence_model()});
  EXPECT_EQ(answer.status, 2);
  EXPECT_EQ(answer.error,
            "heed look: --format svg shows a text, expected TEXT or --file, not --ids\n");
}

TEST(LookFile, SaysThatTheFolderIsMissing) {
  const Answer answer = look_at({"--format", "html", "-o", "/nowhere/at/all.html"});
  EXPECT_EQ(answer.status, 2);
  EXPECT_EQ(answer.error,
            "heed look: -o is /nowhere/at/all.html, expected a file in an existing folder; folder "
            "/nowhere/at does not exist\n");
}

TEST(LookFile, AnEndingChoosesInCapitalsToo) {
  const std::string file = (test::scratch() / "CAPITALS.JSON").string();
  ASSERT_EQ(look_at({"-o", file}).status, 0);
  EXPECT_EQ(json::parse(test::content(file))["tokens"].size(), 15);
}

TEST(LookFile, SaysWhichOfSeveralWordsIsShown) {
  if (serve::page_files().empty()) GTEST_SKIP() << "built without the page (HEED_PAGE=OFF)";
  const Answer answer = look_at({"--format", "html", "--who", "the"});
  EXPECT_EQ(answer.status, 0);
  EXPECT_THAT(answer.error, testing::MatchesRegex(
                                "heed look: --who the is 2 tokens; shown is the last, [0-9]+\n"));
}

TEST(LookFile, SaysAtOnceWhatAPictureNeedsWhereThereIsNoPage) {
  if (!serve::page_files().empty()) GTEST_SKIP() << "built with the page (HEED_PAGE=ON)";
  for (const std::string format : {"svg", "png", "html"}) {
    const Answer answer = look_at({"--format", format, "-o", (test::scratch() / "none").string()});
    EXPECT_EQ(answer.status, 2);
    EXPECT_EQ(answer.error, "heed look: " + format +
                                ": heed was built without its page, which draws it; build heed "
                                "with -DHEED_PAGE=ON, which needs Node, or ask for text, json, tsv "
                                "or npy\n");
  }
}

TEST(LookFile, SaysWhatToInstallWhereThereIsNoBrowser) {
  const std::string file = (test::scratch() / "none.svg").string();
  const std::string command = "PATH=/nowhere HEED_BROWSER= " HEED_BINARY_DIR
                              "/heed look 'the cat' "
                              "--model '" +
                              sentence_model() + "' --format svg -o " + file + " 2>" +
                              (test::scratch() / "error").string();
  EXPECT_EQ(WEXITSTATUS(std::system(command.c_str())), 2);
  EXPECT_EQ(test::content(test::scratch() / "error"),
            "heed look: --format svg is drawn by a browser and none was found; install chromium "
            "(apt-get install chromium) or name a Chromium in HEED_BROWSER; --format html works "
            "without\n");
  EXPECT_FALSE(std::filesystem::exists(file));
}

TEST(LookFile, SaysThatTheBrowserEnded) {
  if (serve::page_files().empty()) GTEST_SKIP() << "built without the page (HEED_PAGE=OFF)";
  const std::string file = (test::scratch() / "ended.svg").string();
  const std::string command = "HEED_BROWSER=/bin/false " HEED_BINARY_DIR
                              "/heed look 'the cat' "
                              "--model '" +
                              sentence_model() + "' --format svg -o " + file + " 2>" +
                              (test::scratch() / "error").string();
  EXPECT_EQ(WEXITSTATUS(std::system(command.c_str())), 1);
  EXPECT_EQ(test::content(test::scratch() / "error"),
            "heed look: the browser /bin/false ended before it had drawn the view: it printed "
            "nothing\n");
  EXPECT_FALSE(std::filesystem::exists(file));
}

// Every user of the machine can read a command line.
TEST(LookFile, TheBrowserIsGivenItsTokenInAFileOfTheUsersAlone) {
  if (serve::page_files().empty()) GTEST_SKIP() << "built without the page (HEED_PAGE=OFF)";
  const std::filesystem::path folder = test::scratch() / "fake-browser";
  std::filesystem::create_directories(folder);
  const std::string to = folder.string();
  std::ofstream(folder / "browser")
      << "#!/bin/sh\nfor last; do :; done\necho \"$@\" > " << to
      << "/arguments\nstat -c %a \"${last#file://}\" > " << to << "/mode\ncp \"${last#file://}\" "
      << to << "/page\necho $TMPDIR > " << to << "/temporary\nexit 1\n";
  std::filesystem::permissions(folder / "browser", std::filesystem::perms::owner_all);
  const std::string command =
      "HEED_BROWSER=" + to + "/browser " HEED_BINARY_DIR "/heed look 'the cat' --model '" +
      sentence_model() + "' --format svg -o " + to + "/out.svg 2>" + to + "/error";
  EXPECT_EQ(WEXITSTATUS(std::system(command.c_str())), 1);
  EXPECT_THAT(test::content(folder / "arguments"), HasSubstr("--headless"));
  EXPECT_THAT(test::content(folder / "arguments"), testing::Not(HasSubstr("token")));
  EXPECT_EQ(test::content(folder / "mode"), "600\n");
  // The browser's leftovers are removed with its folder.
  EXPECT_THAT(test::content(folder / "temporary"), HasSubstr("/heed-browser-"));
  EXPECT_THAT(test::content(folder / "page"),
              testing::ContainsRegex("url=http://127.0.0.1:[0-9]+/\\?token=[0-9a-f]+#look/"));
}

TEST(LookFile, HtmlHoldsTheViewThatLookChooses) {
  if (serve::page_files().empty()) GTEST_SKIP() << "built without the page (HEED_PAGE=OFF)";
  const json chosen = json::parse(look_at({"--format", "json"}).out);
  const Answer answer = look_at({"--format", "html"});
  ASSERT_EQ(answer.status, 0) << answer.error;
  const json& edge = chosen["chosen"];
  EXPECT_THAT(answer.out, HasSubstr("\"view\":\"look/L" + chosen["layer"].dump() + ".H" +
                                    chosen["head"].dump() + "/i=" + edge["query"].dump() +
                                    "/j=" + edge["key"].dump() + "\""));
  EXPECT_THAT(answer.out, HasSubstr(chosen["chosen"]["reason"].get<std::string>()));
}

// Returns the choice that the page compares with its view.
std::string chosen_in(const std::string& page) {
  const std::string_view key = "\"chosen\":";
  const std::size_t begin = page.find(key) + key.size();
  return page.substr(begin, page.find('}', begin) + 1 - begin);
}

TEST(LookFile, HtmlSaysWhyItShowsTheHeadForWordsThatAreNamed) {
  if (serve::page_files().empty()) GTEST_SKIP() << "built without the page (HEED_PAGE=OFF)";
  for (const std::vector<std::string>& words : {std::vector<std::string>{"--who", "sat"},
                                                {"--who", "sat", "--to", "cat"},
                                                {"--to", "cat"},
                                                {"--who", "sat", "--layer", "1"}}) {
    const auto with = [&](const char* format) {
      std::vector<std::string> arguments = {"--format", format};
      arguments.insert(arguments.end(), words.begin(), words.end());
      return look_at(arguments).out;
    };
    const json terminal = json::parse(with("json"));
    const json page = json::parse(chosen_in(with("html")));
    EXPECT_EQ(page["reason"], terminal["chosen"]["reason"]);
    EXPECT_EQ(page["layer"], terminal["layer"]);
    EXPECT_EQ(page["head"], terminal["head"]);
    EXPECT_EQ(page.contains("key"), words.size() == 4 && words[2] == "--to");
  }
}

TEST(LookFile, HtmlPinsTheStrongestEdgeOfAHeadThatIsNamed) {
  if (serve::page_files().empty()) GTEST_SKIP() << "built without the page (HEED_PAGE=OFF)";
  const Answer answer = look_at({"--format", "html", "--layer", "1", "--head", "3"});
  ASSERT_EQ(answer.status, 0) << answer.error;
  EXPECT_THAT(answer.out, testing::ContainsRegex("\"view\":\"look/L1.H3/i=[0-9]+/j=[0-9]+\""));
}

TEST(LookFile, HtmlPinsTheWordsThatAreNamed) {
  if (serve::page_files().empty()) GTEST_SKIP() << "built without the page (HEED_PAGE=OFF)";
  const Answer answer =
      look_at({"--format", "html", "--layer", "1", "--head", "3", "--who", "sat", "--to", "cat"});
  ASSERT_EQ(answer.status, 0) << answer.error;
  EXPECT_THAT(answer.out, testing::ContainsRegex("\"view\":\"look/L1.H3/i=[0-9]+/j=[0-9]+\""));
}

// The head is the one that the terminal shows.
TEST(LookFile, HtmlOfAWordThatIsLookedAtShowsTheHeadThatLooksAtItMost) {
  if (serve::page_files().empty()) GTEST_SKIP() << "built without the page (HEED_PAGE=OFF)";
  const json chosen = json::parse(look_at({"--to", "cat", "--format", "json"}).out);
  const Answer answer = look_at({"--to", "cat", "--format", "html"});
  ASSERT_EQ(answer.status, 0) << answer.error;
  EXPECT_THAT(answer.out, HasSubstr("\"view\":\"look/L" + chosen["layer"].dump() + ".H" +
                                    chosen["head"].dump() + "/"));
}

}  // namespace
}  // namespace heed::cli
