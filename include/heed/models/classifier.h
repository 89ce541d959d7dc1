// Models that put labels on texts or on their tokens.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "heed/models/model.h"
#include "heed/text/tokenizer.h"

namespace heed {

/// A folder whose `architectures` is one of `...ForSequenceClassification` and
/// `...ForTokenClassification`, loaded. (`load_model` reads the same folder without its head.)
struct LoadedClassifier {
  std::unique_ptr<Model>
      model;  // forward: logits [B, 1, labels] of texts, [B, T, labels] of tokens
  std::unique_ptr<Tokenizer> tokenizer;  // null when the folder has none
  std::vector<std::string> labels;
  bool by_text = false;
};

/// kUnsupported for a folder of another kind; else errors as those of `load_model`.
LoadedClassifier load_classifier(const std::filesystem::path& folder);

}  // namespace heed
