// `--observe entropy,topk=8,...`: the observers available on the command line.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "heed/observe.h"

namespace heed::cli {

/// The observers of a list like {"entropy", "topk=8"}, and their answers after the sweep.
class Observations {
 public:
  using Answers = std::vector<std::pair<std::string, ConstView>>;  // file stem and array

  explicit Observations(const std::vector<std::string>& list);
  std::span<Observer* const> observers() const { return pointers_; }
  Answers answers() const;

 private:
  void add(std::string_view item);

  std::vector<std::unique_ptr<Observer>> owned_;
  std::vector<Observer*> pointers_;
  std::vector<std::function<Answers()>> answers_;
};

/// The help of `--observe`.
std::string observers_help();

}  // namespace heed::cli
