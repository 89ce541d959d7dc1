// What `heed bench` can time: one file a kind.
#pragma once

#include <string>
#include <vector>

namespace heed::cli {

struct BenchOptions {
  std::vector<std::string> cases;
  std::string kernel;
  std::string model;
  std::string config;
  bool json = false;
};

int bench_attention(const BenchOptions& options);
int bench_model(const BenchOptions& options);
int bench_inspect(const BenchOptions& options);

}  // namespace heed::cli
