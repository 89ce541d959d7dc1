// Small runs of each task.
#pragma once

#include <fmt/format.h>

#include <functional>
#include <string>

#include "heed/threads.h"
#include "io/atomic_file.h"
#include "train/small_run.h"

namespace heed::test {

class TaskRun : public SmallRun {
 protected:
  void lines(const std::string& name, const std::function<std::string(int)>& line, int count = 60) {
    std::string text;
    for (int i = 0; i < count; ++i) text += line(i) + "\n";
    write_file(scratch_ / name, text);
  }
  std::string at(const std::string& name) const { return (scratch_ / name).string(); }

  void translate() {
    config_.task = "seq2seq";
    lines("a.txt", [](int i) { return fmt::format("number {}", i); });
    lines("b.txt", [](int i) { return fmt::format("{} is it", i); });
    config_.data = {at("a.txt")};
    config_.targets = {at("b.txt")};
    config_.attention_dropout = 0.1;
    config_.label_smoothing = 0.1;
  }
  void mask() {
    config_.task = "mlm";
    config_.whole_words = true;
    config_.pairs = 0.5;
    config_.dropout = 0.1;
  }
  void label_texts() {
    config_.task = "classify";
    config_.label = "text";
    lines("texts.txt", [](int i) {
      return fmt::format("{}\t{} and {}", i % 2 == 0 ? "even" : "odd", i, i * 7 % 60);
    });
    config_.data = {at("texts.txt")};
  }
  void label_tokens() {
    config_.task = "classify";
    lines("tokens.txt", [](int i) { return fmt::format("the\tword\n{}\tnumber\n", i); });
    config_.data = {at("tokens.txt")};
    config_.model = R"({"model_type": "gpt2"})";
  }

  // With the configuration of each task of files in turn, made from the one that stands before.
  void for_each_task(const std::function<void(const std::string& task)>& use) {
    const TrainConfig usual = config_;
    const auto with = [&](const std::string& task, void (TaskRun::*set)()) {
      (this->*set)();
      use(task);
      config_ = usual;
    };
    with("mlm", &TaskRun::mask);
    with("seq2seq", &TaskRun::translate);
    with("texts", &TaskRun::label_texts);
    with("tokens", &TaskRun::label_tokens);
  }

  // A run stopped after a step and resumed has the same rows as an uninterrupted one.
  void expect_the_same_resumed() {
    run("whole");
    run_until(13, "parts");
    std::filesystem::remove(checkpoint("parts", 13));  // as if killed: goes on from step 10
    run("parts", /*resume=*/true);
    EXPECT_EQ(loss_rows(scratch_ / "parts"), loss_rows(scratch_ / "whole"));
    EXPECT_EQ(loss_rows(scratch_ / "parts").size(), 21U);
  }
  void expect_threads_agree() {
    set_thread_count(1);
    const TrainResult one = run("one");
    set_thread_count(3);
    const TrainResult three = run("three");
    set_thread_count(0);
    EXPECT_NEAR(three.loss, one.loss, 1e-4 * one.loss);
    EXPECT_NEAR(three.validation_loss.value_or(0), one.validation_loss.value_or(1),
                1e-4 * one.loss);
  }
};

}  // namespace heed::test
