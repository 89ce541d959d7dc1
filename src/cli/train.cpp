// heed train: a configuration, options that override it, progress on stderr.
#include "heed/train.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <stop_token>
#include <thread>
#include <utility>
#include <vector>

#include "base/file.h"
#include "base/wording.h"
#include "cli/command.h"
#include "cli/terminal/output.h"
#include "cli/terminal/progress.h"
#include "cli/together.h"
#include "cli/train_watch.h"
#include "heed/error.h"
#include "heed/ranks.h"
#include "heed/threads.h"
#include "train/checkpoint.h"

namespace heed::cli {
namespace {

struct Arguments {
  std::string config;
  std::string output;
  bool resume = false;
  TrainConfig flags;
  WatchOptions watch;
};

std::string grouped(double number) {
  std::string digits = fmt::format("{:.0f}", number);
  for (auto at = static_cast<std::ptrdiff_t>(digits.size()) - 3; at > 0; at -= 3)
    digits.insert(static_cast<std::size_t>(at), 1, ',');
  return digits;
}

std::string right_answers(const std::optional<double>& accuracy) {
  return accuracy ? fmt::format(", {:.2f} % right", 100 * *accuracy) : "";
}

// On a terminal, one line that is overwritten; elsewhere a line every `interval` steps.
class Progress : public TrainListener {
 public:
  explicit Progress(std::int64_t interval)
      : interval_(interval), terminal_(::isatty(STDERR_FILENO) != 0) {}

  void stepped(const TrainProgress& progress) override {
    if (progress.validation_loss)
      validation_ = fmt::format("  validation {:.4f}{}", *progress.validation_loss,
                                right_answers(progress.accuracy));
    const bool last = progress.step == progress.steps;
    if (terminal_ ? !due() && !last : progress.step % interval_ != 0 && !last) return;
    const std::string line =
        fmt::format("step {}/{}  loss {:.4f}{}  {} tokens/s  {} left", progress.step,
                    progress.steps, progress.loss, validation_, grouped(progress.tokens_per_second),
                    duration(progress.seconds_left));
    if (terminal_) {
      tell("\r{}\x1b[K{}", line, last ? "\n" : "");
    } else {
      tell("{}\n", line);
    }
    open_line_ = terminal_ && !last;
  }

  void note(std::string_view text) override {
    end_line();
    tell("{}\n", text);
  }

  bool stop() override { return interrupted(); }

  void end_line() {
    if (std::exchange(open_line_, false)) tell("\n");
  }

 private:
  bool due() {
    const auto now = std::chrono::steady_clock::now();
    if (now < next_) return false;
    next_ = now + std::chrono::milliseconds(100);
    return true;
  }

  std::int64_t interval_;
  bool terminal_;
  bool open_line_ = false;
  std::string validation_;
  std::chrono::steady_clock::time_point next_;
};

// "--learning-rate" for learning_rate.
std::string option_of(const TrainKey& key) {
  std::string name = fmt::format("--{}", key.name);
  std::ranges::replace(name, '_', '-');
  return name;
}

// The configuration from the file, else from the resumed run, else the defaults; options override
// it. A run that was killed before it wrote anything restarts if the arguments suffice.
TrainConfig effective_config(const Given& given, const Arguments& arguments) {
  TrainConfig config;
  const bool nothing_named = arguments.flags.data.empty() && arguments.flags.generate.empty();
  const bool started =
      std::filesystem::exists(std::filesystem::path(arguments.output) / "run.json");
  if (!arguments.config.empty()) {
    config = parse_train_config(read_file(arguments.config), arguments.config);
  } else if (arguments.resume && (started || nothing_named)) {
    config = stored_train_config(arguments.output);
  }
  for (const TrainKey& key : train_keys())
    if (given.has(option_of(key)))
      std::visit([&](auto member) { config.*member = arguments.flags.*member; }, key.member);
  return config;
}

// If another rank has died, mpirun ends this one by SIGTERM, and a second later by SIGKILL, while
// it waits for the dead rank: the first rank reports what remains.
class LastWords {
 public:
  LastWords(const Ranks& ranks, std::filesystem::path folder) {
    if (ranks.rank() == 0)
      thread_ = std::jthread([folder = std::move(folder)](const std::stop_token& ended) {
        constexpr auto kLook = std::chrono::milliseconds(50);
        constexpr int kLooks = 8;  // polls, for a run that can still end
        for (int looks = 0; looks < kLooks && !ended.stop_requested();
             looks += interrupted() ? 1 : 0)
          std::this_thread::sleep_for(kLook);
        if (!ended.stop_requested()) say(folder);
      });
  }

 private:
  static void say(const std::filesystem::path& folder) {
    std::error_code ignored;
    const auto checkpoints = std::filesystem::is_directory(folder, ignored)
                                 ? list_checkpoints(folder)
                                 : std::vector<std::filesystem::path>();
    tell("heed train: another rank does not answer; last checkpoint: {}\n",
         checkpoints.empty() ? "none" : checkpoints[0].string() + " (--resume goes on)");
    std::fflush(stderr);
  }

  std::jthread thread_;
};

std::string said_of(const TrainResult& result) {
  std::string loss = fmt::format("loss {:.4f}", result.loss);
  if (result.best_loss && result.validation_loss)
    loss =
        fmt::format("validation loss {:.4f} (best {:.4f} after step {}{})", *result.validation_loss,
                    *result.best_loss, result.best_step, right_answers(result.accuracy));
  const std::string rate = result.tokens_per_second > 0
                               ? fmt::format(", {} tokens/s", grouped(result.tokens_per_second))
                               : "";
  return fmt::format("{}  {}  {}, {}{}\n", result.model.string(), loss,
                     number_of(result.steps, "step"), duration(result.seconds), rate);
}

TrainConfig checked_config(const Given& given, const Arguments& arguments) {
  TrainConfig config = effective_config(given, arguments);
  given.require_beside({"--vocabulary"},
                       learns_pieces(config.tokenizer) || learns_pieces(config.target_tokenizer),
                       "--tokenizer byte-bpe or word-piece");
  for (const char* option : {"--layers", "--heads", "--width", "--initial-positions"})
    if (given.has(option) && !config.start_from.empty())
      fail({.found = fmt::format("{} and --start-from both say what the run begins with", option),
            .expected = "one of them"});
  given.require_beside({"--sample-prompt"}, config.sample_every > 0, "--sample-every");
  given.require_beside({"--evaluate-sequences"}, config.validation > 0, "--validation above 0");
  given.require_beside({"--watch-every", "--watch-port"}, given.has("--watch"), "--watch");
  return config;
}

// `ranks`: the processes started together; null: this process alone.
int train_and_say(const TrainConfig& config, const Arguments& arguments, Ranks* ranks) {
  Progress progress(config.evaluate_every);
  const InterruptScope scope;
  const bool is_first = ranks == nullptr || ranks->rank() == 0;
  std::optional<Watch> watch;
  try {
    if (is_first && !arguments.watch.text.empty())
      watch.emplace(arguments.watch, arguments.output, progress);
    const TrainResult result = train({.config = config,
                                      .folder = arguments.output,
                                      .resume = arguments.resume,
                                      .stopped = &interrupt_flag(),
                                      .ranks = ranks},
                                     watch ? static_cast<TrainListener&>(*watch) : progress);
    if (is_first) print(said_of(result));
    if (watch) watch->stay();
  } catch (...) {
    progress.end_line();
    throw;
  }
  return 0;
}

int run(const Given& given, const Arguments& arguments) {
  const std::unique_ptr<StartedRanks> ranks = open_ranks();
  if (ranks == nullptr) return train_and_say(checked_config(given, arguments), arguments, nullptr);
  return together(*ranks, given, "train", [&] {
    if (!given.has("--threads")) set_thread_count(fair_thread_count(*ranks));
    TrainConfig config;
    run_together(*ranks, [&] { config = checked_config(given, arguments); });
    const LastWords last_words(*ranks, arguments.output);
    return train_and_say(config, arguments, ranks.get());
  });
}

void add_watch(OptionList& list, WatchOptions& watch) {
  add(list, {{"--watch", &watch.text, "TEXT",
              "serve the page on this text, with a slider over the run's steps, until "
              "Ctrl-C; - reads it from stdin"},
             {.name = "--watch-every",
              .to = &watch.every,
              .type = "N",
              .help = "steps between the models on the slider (default: a fiftieth of the run)",
              .least = 1},
             {.name = "--watch-port",
              .to = &watch.port,
              .type = "N",
              .help = "where to listen (default: a port that is free)",
              .least = 0,
              .most = 65535}});
}

Run declare_train(OptionList& list) {
  const auto arguments = std::make_shared<Arguments>();
  add(list, {{"CONFIG", &arguments->config, "FILE",
              "a JSON file with the keys that the options below name (docs/training.md)"},
             {.name = "-o,--output",
              .to = &arguments->output,
              .type = "DIR",
              .help = "the run's folder",
              .required = true},
             {.name = "--resume",
              .to = &arguments->resume,
              .help = "continue from the folder's last checkpoint; CONFIG may be left out"}});
  add_watch(list, arguments->watch);
  for (const TrainKey& key : train_keys())
    std::visit(
        [&](auto member) {
          add(list, {{.name = option_of(key),
                      .to = &(arguments->flags.*member),
                      .help = std::string(key.summary),
                      .list = List::kInARow,
                      .elsewhere = names_elsewhere(key),
                      .shows_default = true}});
        },
        key.member);
  add(list, {threads_option(), kernel_option()});
  return [arguments](const Given& given) { return run(given, *arguments); };
}

}  // namespace

Command train_command() {
  return {
      "train", "trains a model on texts; stop it at any moment and continue with --resume",
      "  heed train examples/shakespeare-char.json --data input.txt -o runs/shakespeare\n"
      "  heed train -o runs/shakespeare --resume\n"
      "  heed train --task lm --data novels/ --tokenizer byte-bpe --rejoin-lines -o runs/novels\n"
      "  heed train examples/tasks/reverse.json -o runs/reverse\n"
      "  heed train examples/tasks/induction.json -o runs/induction --watch \"w3 w1 w4 w3 w1\"\n"
      "  mpirun -n 4 heed train examples/shakespeare-char.json --data input.txt -o runs/four",
      declare_train};
}

}  // namespace heed::cli
