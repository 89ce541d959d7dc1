#include "bench/serve_bench.h"

#include <fmt/format.h>
#include <httplib.h>
#include <malloc.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <ctime>
#include <fstream>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "base/formats/json.h"
#include "base/philox.h"
#include "heed/error.h"
#include "inspect/answers/live_session.h"
#include "inspect/map/tiles.h"
#include "inspect/session/session_memory.h"
#include "serve/server.h"

namespace heed {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kTiles = 1000;
constexpr int kLines = 200;
constexpr int kSwitches = 16;
constexpr double kRoom = 64;  // MB besides Q, K, V and lse: caches, buffers, threads
const std::string kToken(32, 'b');

double milliseconds_since(Clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

double processor_milliseconds() { return 1e3 * static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

double resident_megabytes() {  // without the pages of the program's file
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;)
    if (double kilobytes = 0; word == "RssAnon:" && status >> kilobytes) return kilobytes / 1024;
  return 0;
}

[[noreturn]] void fail_of_server(std::string what) {
  fail({.code = ErrorCode::kFailed, .op = "bench", .found = std::move(what)});
}

// Before there is a server. Memory that loading a model has kept is not counted, because an idle
// server returns it.
double resident_megabytes_before() {
  return_memory();
  return resident_megabytes();
}

// Q, K, V, both halves of the log-sum-exp, the lengths of writes and the residual stream, as kept
// by sessions.
double kept_megabytes(const ModelInfo& info, std::int64_t length) {
  const std::int64_t numbers = (info.heads + 2 * info.kv_heads) * info.head_dim + 3 * info.heads;
  const std::int64_t stream = info.has_logits ? (info.layers + 1) * info.width : 0;
  return static_cast<double>(4 * length * (info.layers * numbers + stream)) / (1 << 20);
}

double quantile(std::vector<double> times, double share) {
  std::ranges::sort(times);
  const auto at = share * static_cast<double>(times.size() - 1);
  return times[static_cast<std::size_t>(std::lround(at))];
}

// A page's requests to a server, each timed.
class Bench {
 public:
  Bench(const Server& server, std::int64_t layers, std::int64_t heads, double before,
        const std::function<void(const ServerFigure&)>& done)
      : layers_(layers),
        heads_(heads),
        done_(done),
        before_(before),
        client_("127.0.0.1", server.port()) {
    client_.set_bearer_token_auth(kToken);
    client_.set_keep_alive(true);
    client_.set_tcp_nodelay(true);
    client_.set_read_timeout(std::chrono::seconds(600));
  }

  void open(const std::string& text) {
    opened_ = Clock::now();
    const auto answer =
        client_.Post("/api/v1/sessions", Json({{"text", text}}).dump(), "application/json");
    if (!answer || answer->status / 100 != 2) fail_of_server("the session was refused");
    const JsonText session = JsonText::parse(answer->body, {.file = "the new session"});
    path_ = "/api/v1/sessions/" + *session.root()["session"].as_text();
    const Json& attention = session.root()["attentions"].items()[0];
    const std::optional<std::int64_t> queries = attention["queries"].as_integer();
    const std::optional<std::int64_t> zooms = attention["zooms"].as_integer();
    if (!queries || !zooms) fail_of_server("the session does not say how long its text is");
    length_ = *queries;
    zooms_ = *zooms;
  }

  std::int64_t length() const { return length_; }

  void report(const std::string& name, Clock::time_point since) const {
    done_({name, milliseconds_since(since) / 1000, "s"});
  }

  // The server's memory, without what this client has read and freed in the same process.
  void report_memory(const std::string& name, double kept) const {
    std::this_thread::sleep_for(std::chrono::milliseconds(500));  // an idle server
#ifdef __GLIBC__
    malloc_trim(0);
#endif
    done_({"memory " + name, resident_megabytes() - before_, "MB", kept + kRoom});
  }

  // Waits until the event with this name arrives.
  void wait_for(const std::string& event, const char* name) {
    std::string heard;
    client_.Get(path_ + "/events", [&](const char* data, std::size_t size) {
      heard.append(data, size);
      return heard.find("event: " + event + "\n") == std::string::npos;
    });
    if (heard.find("event: failed\n") != std::string::npos) fail_of_server("the session failed");
    if (name != nullptr) report(name, opened_);
  }

  // The page's initial text.
  std::string shown_text() {
    return *JsonText::parse(get("/api/v1/models"), {.file = "the models"}).root()["text"].as_text();
  }

  // The page's requests before it can draw another head, for the first `heads` heads.
  void switch_heads(const std::string& name, std::int64_t heads) {
    time(name + ": tile, row, margins", kSwitches, 50, [&] {
      const std::string other = fmt::format("{}/{}", below(layers_), below(heads));
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

  void finest_tiles() { tiles("tile, finest zoom", zooms_ - 1, 1); }
  void all_tiles() { tiles("tile, any zoom", 0, zooms_); }

  // The first tile of each kind that a page draws, for a head without cached data.
  void first_tiles() {
    first_tile("first tile, finest zoom", zooms_ - 1, heads_ - 1);
    first_tile("first tile, whole matrix", 0, 0);
    first_tile("the same of another head", 0, 1);
  }

  // In the page's order: the first screen of 40, then the others.
  void grid() {
    constexpr std::int64_t kInSight = 40, kAtOnce = 8;
    const auto begin = Clock::now();
    for (std::int64_t head = 0; head < layers_ * heads_; head += kAtOnce) {
      std::string heads;
      for (std::int64_t one = head; one < std::min(head + kAtOnce, layers_ * heads_); ++one)
        heads += fmt::format("{}{}", heads.empty() ? "" : ",", one);
      get("/self/atlas?heads=" + heads);
      if (head + kAtOnce == kInSight)
        done_({"grid, 40 heads in sight", milliseconds_since(begin) / 1000, "s", 3});
    }
    report(fmt::format("grid, {} heads", layers_ * heads_), begin);
  }

 private:
  std::string get(const std::string& path) {
    const auto answer = client_.Get(path_ + path);
    if (!answer || answer->status != 200) fail_of_server(path + " was not answered");
    return answer->body;
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

  std::string head() { return fmt::format("{}/{}", below(layers_), below(heads_)); }

  void first_tile(const std::string& name, std::int64_t zoom, std::int64_t head) {
    const auto begin = Clock::now();
    get(fmt::format("/self/0/{}/tile/{}/0/0", head, zoom));
    report(name, begin);
  }

  void tiles(const std::string& name, std::int64_t first_zoom, std::int64_t zooms) {
    time(name, kTiles, 3, [&] {
      const auto z = first_zoom + below(zooms);
      const std::int64_t extent = kTile << (zooms_ - 1 - z);
      const std::int64_t y = below((length_ + extent - 1) / extent);
      get(fmt::format("/self/{}/tile/{}/{}/{}", head(), z, y, below(y + 1)));
    });
  }

  std::int64_t layers_, heads_;
  const std::function<void(const ServerFigure&)>& done_;
  double before_;
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
  const ModelInfo& info = model.model->info();
  const std::string text = random_text(*model.tokenizer, tokens);
  const double before = resident_megabytes_before();
  const Server server(model, {.token = kToken});
  Bench bench(server, info.layers, info.heads, before, done);
  bench.open(text);
  bench.wait_for("tokens", "tokens");
  bench.wait_for("next", "next words");
  const double kept = kept_megabytes(info, bench.length());
  bench.report_memory("of the session", kept);
  bench.switch_heads("new head", info.heads);
  bench.lines();
  bench.wait_for("done", "statistics of all heads");
  bench.report_memory("after the statistics", kept);
  bench.switch_heads("swept head", info.heads);
  bench.finest_tiles();
  bench.all_tiles();
  bench.report_memory("after the tiles", kept);
  bench.open(text.substr(0, text.rfind(' ')));  // none of whose thumbnails is cached
  bench.wait_for("next", nullptr);
  bench.grid();
}

void time_arrays(std::int64_t heads, std::int64_t tokens,
                 const std::function<void(const ServerFigure&)>& done) {
  const double before = resident_megabytes_before();
  std::optional<RandomArrays> arrays(std::in_place, heads, tokens);
  const auto begin = Clock::now();
  const SessionPointer session = arrays->opened();
  arrays.reset();
  const ServerOptions options{.token = kToken, .session = session};
  const Server server(options);
  Bench bench(server, 1, heads, before, done);
  bench.open(bench.shown_text());
  bench.report("opening, with the attention", begin);
  const double kept = kept_megabytes(session->session().info, tokens);
  bench.report_memory("of the session", kept);
  bench.first_tiles();
  bench.finest_tiles();
  bench.lines();
  bench.switch_heads("swept head", 2);
  bench.report_memory("after the tiles", kept);
}

}  // namespace heed
