// A pass over a golden file's inputs, with every activation under its name in such files.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "heed/error.h"
#include "heed/model.h"
#include "io/tensor_files.h"

namespace heed {

/// A value of the pass. Along `rows_axis`, entries past the row's text are not compared.
struct GoldenValue {
  Tensor value;
  int rows_axis = 1;
  bool of_source = false;  // use the source's lengths, not the text's
};

/// A tensor of ids, each from 0 to `end` - 1.
struct GoldenIds {
  const char* name;
  std::int64_t end;
  bool may_be_ignored = false;  // may contain -100, which means no label
};
/// Converts a tensor's i64 ids to i32, as models require. kCorrupt for other tensors.
Tensor golden_ids(const Safetensors& golden, const GoldenIds& wanted);
/// Throws kCorrupt, with the file's path and the tensor's name.
[[noreturn]] void refuse_golden(const Safetensors& golden, const std::string& name, Phrase found,
                                Phrase expected);

/// Keeps the activations that a golden file contains, under their names there.
class GoldenTap : public Tap {
 public:
  explicit GoldenTap(const Safetensors& golden) : golden_(golden) {}

  void at(const TapName& name, View value) override;
  void attended(const TapName& name, const AttentionArgs& args,
                const AttendedConstView& attended) override;

  std::map<std::string, GoldenValue> values;

 private:
  void keep(const std::string& name, const ConstView& value, int rows_axis, bool of_source);

  const Safetensors& golden_;
};

/// The inputs of one file and the results.
struct GoldenPass {
  Tensor ids;
  Tensor types;                              // not given if the file has none
  Tensor source;                             // for an encoder-decoder
  std::vector<std::int64_t> lengths;         // tokens in each row
  std::vector<std::int64_t> source_lengths;  // for an encoder-decoder
  std::map<std::string, GoldenValue> values;
};
GoldenPass golden_pass(const Safetensors& golden, const Model& model);

}  // namespace heed
