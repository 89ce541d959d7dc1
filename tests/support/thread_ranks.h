// Ranks that are threads of one process.
#pragma once

#include <condition_variable>
#include <cstring>
#include <deque>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "heed/error.h"
#include "heed/ranks.h"

namespace heed::test {

/// Messages between them, in order.
class Post {
 public:
  using Line = std::tuple<int, int, int>;  // from, to, channel

  void send(const Line& line, std::span<const std::byte> bytes) {
    const std::lock_guard lock(mutex_);
    letters_[line].emplace_back(bytes.begin(), bytes.end());
    arrived_.notify_all();
  }
  void receive(const Line& line, std::span<std::byte> into) {
    std::unique_lock lock(mutex_);
    arrived_.wait(lock, [&] { return closed_ || !letters_[line].empty(); });
    if (letters_[line].empty()) throw std::runtime_error("another rank has failed");
    const std::vector<std::byte> letter = std::move(letters_[line].front());
    letters_[line].pop_front();
    if (letter.size() != into.size()) throw std::runtime_error("a message of another size");
    if (!letter.empty()) std::memcpy(into.data(), letter.data(), letter.size());
  }
  /// A rank has failed: no rank waits for it any longer.
  void close() {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    arrived_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable arrived_;
  std::map<Line, std::deque<std::vector<std::byte>>> letters_;
  bool closed_ = false;
};

class ThreadRank : public Ranks {
 public:
  ThreadRank(Post& post, int rank, int count) : post_(post), rank_(rank), count_(count) {}
  int rank() const override { return rank_; }
  int count() const override { return count_; }
  std::unique_ptr<Transfer> start(std::span<const Outgoing> out, std::span<const Incoming> in,
                                  int channel) override {
    struct Letters : Transfer {
      void wait() override {
        for (const Incoming& one : in) post->receive({one.from, to, channel}, one.bytes);
      }
      Post* post = nullptr;
      int to = 0, channel = 0;
      std::vector<Incoming> in;
    };
    for (const Outgoing& one : out) post_.send({rank_, one.to, channel}, one.bytes);
    auto transfer = std::make_unique<Letters>();
    transfer->post = &post_;
    transfer->to = rank_;
    transfer->channel = channel;
    transfer->in.assign(in.begin(), in.end());
    return transfer;
  }

 private:
  Post& post_;
  int rank_;
  int count_;
};

/// Whether this is a rank's own exception, not a consequence of another rank's failure.
inline bool is_to_blame(const std::exception_ptr& thrown) {
  try {
    if (thrown) std::rethrow_exception(thrown);
  } catch (const Error&) {
    return true;
  } catch (...) {
  }
  return false;
}

/// Runs `work(ranks)` on this many threads; rethrows the own exception of the lowest failed rank.
inline void on_ranks(int count, const std::function<void(Ranks&)>& work) {
  Post post;
  std::vector<std::exception_ptr> thrown(static_cast<std::size_t>(count));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < count; ++rank)
    threads.emplace_back([&, rank] {
      ThreadRank here(post, rank, count);
      try {
        work(here);
      } catch (const AnotherRankFailed&) {  // which may still wait for this rank's result
        thrown[static_cast<std::size_t>(rank)] = std::current_exception();
      } catch (...) {
        thrown[static_cast<std::size_t>(rank)] = std::current_exception();
        post.close();
      }
    });
  for (std::thread& thread : threads) thread.join();
  for (const std::exception_ptr& one : thrown)
    if (is_to_blame(one)) std::rethrow_exception(one);
  for (const std::exception_ptr& one : thrown)
    if (one) std::rethrow_exception(one);
}

}  // namespace heed::test
