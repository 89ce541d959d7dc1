#include "bench/serve_bench.h"

#include <fmt/format.h>
#include <httplib.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <ctime>
#include <fstream>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "base/philox.h"
#include "heed/base/error.h"
#include "inspect/map/tiles.h"
#include "serve/server.h"

namespace heed {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kTiles = 1000;
constexpr int kLines = 200;
constexpr int kSwitches = 16;
constexpr double kRoom = 64;  // MB beside Q, K, V and lse: caches, buffers, threads
const std::string kToken(32, 'b');

double milliseconds_since(Clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

double processor_milliseconds() { return 1e3 * static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

double resident_megabytes() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;)
    if (double kilobytes = 0; word == "VmRSS:" && status >> kilobytes) return kilobytes / 1024;
  return 0;
}

[[noreturn]] void fail_of_server(std::string what) {
  fail({.code = ErrorCode::kFailed, .op = "bench", .found = std::move(what)});
}

// Words of a small list in random order, cut where `tokens` tokens end.
std::string random_text(const Tokenizer& tokenizer, std::int64_t tokens) {
  constexpr const char* kWords[] = {"the", "cat",  "was", "tired", "and", "sat",    "on",  "a",
                                    "mat", "when", "it",  "saw",   "her", "little", "dog", "run"};
  Random random(7);
  std::string text;
  for (std::int64_t word = 0; word < tokens; ++word)
    text += std::string(word > 0 ? " " : "") + kWords[random.below(std::size(kWords))];
  const Encoding encoding = tokenizer.encode(text, /*add_special=*/true);
  const auto count = static_cast<std::size_t>(tokens);
  if (encoding.ids.size() > count)
    text.resize(static_cast<std::size_t>(encoding.spans[count - 1].end));
  return text;
}

// Q, K, V and both halves of the log-sum-exp, as sessions keep them.
double kept_megabytes(const ModelInfo& info, std::int64_t length) {
  const std::int64_t numbers = (info.heads + 2 * info.kv_heads) * info.head_dim + 2 * info.heads;
  return static_cast<double>(4 * info.layers * length * numbers) / (1 << 20);
}

double quantile(std::vector<double> times, double share) {
  std::ranges::sort(times);
  const auto at = share * static_cast<double>(times.size() - 1);
  return times[static_cast<std::size_t>(std::lround(at))];
}

class Bench {
 public:
  Bench(const LoadedModel& model, std::int64_t tokens,
        const std::function<void(const ServerFigure&)>& done)
      : model_(model),
        text_(random_text(*model.tokenizer, tokens)),
        done_(done),
        before_(resident_megabytes()),
        server_(model, {.token = kToken}),
        client_("127.0.0.1", server_.port()) {
    client_.set_bearer_token_auth(kToken);
    client_.set_keep_alive(true);
    client_.set_tcp_nodelay(true);
    client_.set_read_timeout(std::chrono::seconds(600));
  }

  void run() {
    open();
    wait_for("next", "next words");
    const double kept = kept_megabytes(model_.model->info(), length_);
    done_({"memory of the session", resident_megabytes() - before_, "MB", kept + kRoom});
    switch_heads("new head");
    lines();
    wait_for("done", "statistics of all heads");
    done_({"memory after the statistics", resident_megabytes() - before_, "MB", kept + kRoom});
    switch_heads("swept head");
    tiles("tile, finest zoom", zooms_ - 1, 1);
    tiles("tile, any zoom", 0, zooms_);
    done_({"memory after the tiles", resident_megabytes() - before_, "MB", kept + kRoom});
  }

 private:
  std::string get(const std::string& path) {
    const auto answer = client_.Get(path_ + path);
    if (!answer || answer->status != 200) fail_of_server(path + " was not answered");
    return answer->body;
  }

  void open() {
    opened_ = Clock::now();
    const auto answer = client_.Post("/api/v1/sessions", nlohmann::json({{"text", text_}}).dump(),
                                     "application/json");
    if (!answer || answer->status != 201) fail_of_server("the session was refused");
    const auto session = nlohmann::json::parse(answer->body);
    done_({"tokens", milliseconds_since(opened_), "ms"});
    path_ = "/api/v1/sessions/" + session["session"].get<std::string>();
    length_ = session["attentions"][0]["queries"];
    zooms_ = session["attentions"][0]["zooms"];
  }

  // Until the event of this name comes.
  void wait_for(const std::string& event, const char* name) {
    std::string heard;
    client_.Get(path_ + "/events", [&](const char* data, std::size_t size) {
      heard.append(data, size);
      return heard.find("event: " + event + "\n") == std::string::npos;
    });
    if (heard.find("event: failed\n") != std::string::npos) fail_of_server("the session failed");
    done_({name, milliseconds_since(opened_) / 1000, "s"});
  }

  template <typename Ask>
  void time(const std::string& name, int count, double limit, Ask ask) {
    std::vector<double> times, processor;
    for (int i = 0; i < count; ++i) {
      const auto begin = Clock::now();
      const double worked = processor_milliseconds();
      ask();
      times.push_back(milliseconds_since(begin));
      processor.push_back(processor_milliseconds() - worked);
    }
    for (const int share : {50, 95})
      done_({.name = fmt::format("{}, p{}", name, share),
             .value = quantile(times, share / 100.0),
             .unit = "ms",
             .limit = share == 95 ? limit : 0,
             .processor = quantile(processor, share / 100.0)});
  }

  std::int64_t below(std::int64_t end) {
    return static_cast<std::int64_t>(random_.below(static_cast<std::uint64_t>(end)));
  }

  std::string head() {
    const ModelInfo& info = model_.model->info();
    return fmt::format("{}/{}", below(info.layers), below(info.heads));
  }

  // What the page asks for before it can draw another head.
  void switch_heads(const std::string& name) {
    time(name + ": tile, row, margins", kSwitches, 50, [&] {
      const std::string other = head();
      get(fmt::format("/self/{}/tile/0/0/0", other));
      get(fmt::format("/self/{}/row/{}", other, length_ - 1));
      get(fmt::format("/self/{}/marginals", other));
    });
  }

  void lines() {
    time("hover, one cell", kLines, 10, [&] {
      const std::int64_t query = below(length_);
      get(fmt::format("/self/{}/cell/{}/{}", head(), query, below(query + 1)));
    });
    time("hover, one row", kLines, 10,
         [&] { get(fmt::format("/self/{}/row/{}", head(), below(length_))); });
  }

  void tiles(const std::string& name, std::int64_t first_zoom, std::int64_t zooms) {
    time(name, kTiles, 3, [&] {
      const auto z = first_zoom + below(zooms);
      const std::int64_t extent = kTile << (zooms_ - 1 - z);
      const std::int64_t y = below((length_ + extent - 1) / extent);
      get(fmt::format("/self/{}/tile/{}/{}/{}", head(), z, y, below(y + 1)));
    });
  }

  const LoadedModel& model_;
  std::string text_;
  const std::function<void(const ServerFigure&)>& done_;
  double before_;
  Server server_;
  httplib::Client client_;
  Random random_{11};
  Clock::time_point opened_;
  std::string path_;
  std::int64_t length_ = 0;
  std::int64_t zooms_ = 0;
};

}  // namespace

void time_server(const LoadedModel& model, std::int64_t tokens,
                 const std::function<void(const ServerFigure&)>& done) {
  if (!model.tokenizer)
    fail(
        {.op = "bench", .found = model.name + " has no tokenizer", .expected = "a model with one"});
  Bench(model, tokens, done).run();
}

}  // namespace heed
