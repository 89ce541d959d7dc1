// The processes that train one model: each has the whole model and sees a part of every batch.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "heed/model.h"
#include "heed/ranks.h"

namespace heed {

/// A process that trains alone is the first of one; all methods then do nothing.
class Peers {
 public:
  Peers() = default;
  /// Null: alone. They must outlive it.
  explicit Peers(Ranks* ranks) : ranks_(ranks != nullptr && ranks->count() > 1 ? ranks : nullptr) {}

  int rank() const { return ranks_ == nullptr ? 0 : ranks_->rank(); }
  int count() const { return ranks_ == nullptr ? 1 : ranks_->count(); }
  /// The process that writes files and calls the listener.
  bool is_first() const { return rank() == 0; }

  /// This process's part of consecutive items.
  struct Part {
    std::int64_t begin = 0;
    std::int64_t end = 0;
    std::int64_t count() const { return end - begin; }
  };
  Part part_of(std::int64_t count) const { return part_of(count, rank()); }

  /// Like `run_together`.
  void together(const std::function<void()>& work) const;
  /// Whether it is true on any process.
  bool any(bool here) const;
  /// The value of each process, in order.
  template <typename T>
  std::vector<T> gathered(const T& own) const;
  /// Each process has computed its part (`part_of`) of `all`; afterwards each has all of it.
  template <typename T>
  void exchange(std::span<T> all) const;
  /// The first process's text, on all.
  std::string text_of_first(std::string text) const;
  /// The first process's bytes, on all.
  void take_from_first(std::span<std::byte> bytes) const;

  /// Replaces each gradient by its sum over the processes, in order: the same bits on all.
  void add_up(std::span<Parameter* const> parameters, Gradients& gradients);

 private:
  Part part_of(std::int64_t count, int rank) const;

  Ranks* ranks_ = nullptr;
  std::vector<float> bucket_;  // gradients packed together, so that small ones share a message
};

template <typename T>
std::vector<T> Peers::gathered(const T& own) const {
  static_assert(std::is_trivially_copyable_v<T>);
  std::vector<T> all(static_cast<std::size_t>(count()), own);
  if (ranks_ != nullptr)
    gather(*ranks_, std::as_bytes(std::span(&own, 1)), std::as_writable_bytes(std::span(all)));
  return all;
}

template <typename T>
void Peers::exchange(std::span<T> all) const {
  static_assert(std::is_trivially_copyable_v<T>);
  if (ranks_ == nullptr) return;
  const auto most = static_cast<std::int64_t>(all.size()) / count() + 1;
  std::vector<T> own(static_cast<std::size_t>(most));
  std::vector<T> each(own.size() * static_cast<std::size_t>(count()));
  const Part part = part_of(std::ssize(all));
  std::copy_n(all.begin() + part.begin, part.count(), own.begin());
  gather(*ranks_, std::as_bytes(std::span(own)), std::as_writable_bytes(std::span(each)));
  for (int rank = 0; rank < count(); ++rank) {
    const Part theirs = part_of(std::ssize(all), rank);
    std::copy_n(each.begin() + rank * most, theirs.count(), all.begin() + theirs.begin);
  }
}

}  // namespace heed
