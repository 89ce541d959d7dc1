// A pass over a golden file's inputs, with every activation under the name that such files have.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "heed/error.h"
#include "heed/io/files.h"
#include "heed/models/model.h"
#include "heed/nn/run.h"

namespace heed {

/// A value of the pass. Along `rows_axis` those past the row's text are not compared.
struct GoldenValue {
  Tensor value;
  int rows_axis = 1;
  bool of_source = false;  // the source's lengths count, not the text's
};

/// A tensor of ids, each from 0 to `end` - 1.
struct GoldenIds {
  const char* name;
  std::int64_t end;
  bool may_be_ignored = false;  // -100, which is no label, may stand among them
};
/// The i64 ids of a tensor as the i32 that models take. Others are kCorrupt.
Tensor golden_ids(const Safetensors& golden, const GoldenIds& wanted);
/// Fails: kCorrupt, with the file's path and the tensor's name.
[[noreturn]] void refuse_golden(const Safetensors& golden, const std::string& name, Phrase found,
                                Phrase expected);

/// Keeps the activations that a golden file asks for, by their names there.
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

/// The inputs of one file and what came of them.
struct GoldenPass {
  Tensor ids;
  Tensor types;                              // not given where the file has none
  Tensor source;                             // of an encoder-decoder
  std::vector<std::int64_t> lengths;         // tokens of each row
  std::vector<std::int64_t> source_lengths;  // of an encoder-decoder
  std::map<std::string, GoldenValue> values;
};
GoldenPass golden_pass(const Safetensors& golden, const Model& model);

}  // namespace heed
