// Memory between two inaccessible pages: a single read or write outside ends the test program.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <stdexcept>

#include "heed/tensor.h"

namespace heed::test {

enum class Edge : std::uint8_t { kBegin, kEnd };  // the page next to which the tensor is placed

class Guarded {
 public:
  /// A copy of `values`, row-major.
  Guarded(const ConstView& values, Edge edge) {
    const Tensor copy = Tensor::copy_of(values);
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    const std::size_t bytes =
        static_cast<std::size_t>(copy.element_count()) * size_bytes(copy.dtype());
    const std::size_t room = (bytes + page - 1) / page * page;
    bytes_ = room + 2 * page;
    memory_ = mmap(nullptr, bytes_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory_ == MAP_FAILED) throw std::runtime_error("mmap failed");
    char* inside = static_cast<char*>(memory_) + page;
    if (room > 0) mprotect(inside, room, PROT_READ | PROT_WRITE);
    char* first = edge == Edge::kBegin ? inside : inside + room - bytes;
    std::copy_n(static_cast<const char*>(copy.view().raw()), bytes, first);
    view_ = View(first, copy.dtype(), copy.shape());
  }
  ~Guarded() { munmap(memory_, bytes_); }
  Guarded(const Guarded&) = delete;
  Guarded& operator=(const Guarded&) = delete;

  View view() const { return view_; }

 private:
  void* memory_ = nullptr;
  std::size_t bytes_ = 0;
  View view_;
};

}  // namespace heed::test
