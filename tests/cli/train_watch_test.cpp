// heed train --watch: the page's server beside a run.
#include <gtest/gtest.h>
#include <httplib.h>

#include <csignal>
#include <utility>

#include "cli/train_program.h"
#include "serve/model_shelf.h"

namespace heed {
namespace {

class TrainWatch : public test::TrainProgram {
 protected:
  std::vector<std::string> watched(const std::string& folder) const {
    auto words = arguments(folder);
    words.insert(words.end(), {"--watch", "after 3 comes 4.", "--watch-every", "10"});
    return words;
  }
  ~TrainWatch() override {
    if (child_ > 0) end(SIGKILL);
  }

  void begin(const std::vector<std::string>& words) {
    write_file(scratch_ / "stderr", "");
    child_ = start(words);
  }
  int end(int signal) {
    ::kill(child_, signal);
    return wait_for(std::exchange(child_, -1));
  }
  std::string said() const { return read_file(scratch_ / "stderr"); }
  void wait_until_said(const std::string& what) const {
    wait_until(child_, [&] { return said().find(what) != std::string::npos; });
    ASSERT_NE(said().find(what), std::string::npos) << said();
  }
  // GET, with the token of the printed address.
  std::string answer(const std::string& path) const {
    const std::string text = said();
    const auto begin = text.find("http://");
    const std::string address = text.substr(begin, text.find('\n', begin) - begin);
    const auto split = address.find("/?token=");
    httplib::Client client(address.substr(0, split));
    client.set_read_timeout(300);
    const auto found = client.Get(path, {{"Authorization", "Bearer " + address.substr(split + 8)}});
    return found ? found->body : "no answer";
  }

 private:
  pid_t child_ = -1;
};

TEST_F(TrainWatch, ServesTheStepsOfARunAndStaysUntilCtrlC) {
  begin(watched("run"));
  wait_until_said("the page stays");
  EXPECT_EQ(watched_steps(scratch_ / "run/watch"), (std::vector<std::int64_t>{1, 10, 20, 30, 40}));
  EXPECT_NE(answer("/api/v1/models").find("\"steps\":[1,10,20,30,40]"), std::string::npos);
  EXPECT_NE(answer("/api/v1/models?model=step-30").find("\"name\":\"step-30\""), std::string::npos);
  EXPECT_NE(answer("/api/v1/models?model=step-31").find("\"not_found\""), std::string::npos);
  EXPECT_EQ(end(SIGINT), 0) << said();
  EXPECT_TRUE(std::filesystem::exists(scratch_ / "run/model/card.md"));
}

// The first step, and every second of 60: at most fifty and the first.
TEST_F(TrainWatch, KeepsAtMostFiftyModelsWhereNobodySaysHowMany) {
  auto words = arguments("run");
  words.insert(words.end(), {"--steps", "60", "--watch", "after 3 comes 4."});
  begin(words);
  wait_until_said("the page stays");
  std::vector<std::int64_t> wanted = {1};
  for (std::int64_t step = 2; step <= 60; step += 2) wanted.push_back(step);
  EXPECT_EQ(watched_steps(scratch_ / "run/watch"), wanted);
  EXPECT_EQ(end(SIGINT), 0) << said();
}

TEST_F(TrainWatch, LossesAreThoseOfARunThatNobodyWatches) {
  ASSERT_EQ(run(arguments("alone")), 0);
  begin(watched("run"));
  wait_until_said("the page stays");
  EXPECT_EQ(end(SIGINT), 0);
  EXPECT_EQ(test::loss_rows(scratch_ / "run"), test::loss_rows(scratch_ / "alone"));
}

TEST_F(TrainWatch, AFinishedRunIsOpenedAgain) {
  begin(watched("run"));
  wait_until_said("the page stays");
  EXPECT_EQ(end(SIGINT), 0);
  begin({"train", "-o", scratch_ / "run", "--resume", "--watch", "after 9"});
  wait_until_said("the page stays");
  EXPECT_NE(answer("/api/v1/models").find("\"steps\":[1,10,20,30,40]"), std::string::npos);
  EXPECT_EQ(end(SIGINT), 0);
}

TEST_F(TrainWatch, ItsOptionsNeedIt) {
  auto words = arguments("run");
  words.insert(words.end(), {"--watch-every", "10"});
  EXPECT_EQ(run(words), 2);
  EXPECT_EQ(last_line(), "heed train: --watch-every needs --watch");
}

}  // namespace
}  // namespace heed
