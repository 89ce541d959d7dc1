// Ranks over MPI. MPI errors end all ranks with MPI's message, its default.
#include <mpi.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "ranks/mpi_module.h"

namespace heed {
namespace {

constexpr std::size_t kMostAtOnce = std::size_t{1} << 30;  // MPI counts in int

class MpiTransfer : public Transfer {
 public:
  MpiTransfer() = default;
  ~MpiTransfer() override { wait(); }  // until then MPI writes to the caller's memory
  MpiTransfer& operator=(MpiTransfer&&) = delete;

  void wait() override {
    if (!requests_.empty())
      MPI_Waitall(static_cast<int>(requests_.size()), requests_.data(), MPI_STATUSES_IGNORE);
    requests_.clear();
  }

  template <typename Begin>
  void add(std::size_t bytes, const Begin& begin) {
    for (std::size_t at = 0; at < bytes; at += kMostAtOnce) {
      MPI_Request request = MPI_REQUEST_NULL;
      begin(at, static_cast<int>(std::min(kMostAtOnce, bytes - at)), &request);
      requests_.push_back(request);
    }
  }

 private:
  std::vector<MPI_Request> requests_;
};

class MpiRanks : public StartedRanks {
 public:
  MpiRanks() {
    int given = 0;
    MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &given);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &count_);
  }
  ~MpiRanks() override { MPI_Finalize(); }
  MpiRanks& operator=(MpiRanks&&) = delete;

  int rank() const override { return rank_; }
  int count() const override { return count_; }

  std::unique_ptr<Transfer> start(std::span<const Outgoing> out, std::span<const Incoming> in,
                                  int channel) override {
    auto transfer = std::make_unique<MpiTransfer>();
    for (const Incoming& one : in)
      transfer->add(one.bytes.size(), [&](std::size_t at, int bytes, MPI_Request* request) {
        MPI_Irecv(one.bytes.data() + at, bytes, MPI_BYTE, one.from, channel, MPI_COMM_WORLD,
                  request);
      });
    for (const Outgoing& one : out)
      transfer->add(one.bytes.size(), [&](std::size_t at, int bytes, MPI_Request* request) {
        MPI_Isend(one.bytes.data() + at, bytes, MPI_BYTE, one.to, channel, MPI_COMM_WORLD, request);
      });
    return transfer;
  }

  void end_all(int status) override { MPI_Abort(MPI_COMM_WORLD, status); }

 private:
  int rank_ = 0;
  int count_ = 1;
};

}  // namespace
}  // namespace heed

extern "C" __attribute__((visibility("default"))) heed::StartedRanks* heed_open_mpi_ranks() {
  return new heed::MpiRanks;
}
