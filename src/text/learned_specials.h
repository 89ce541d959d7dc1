// Special tokens of a vocabulary that is made here, not read from a file.
#pragma once

#include <string>
#include <vector>

#include "base/formats/json.h"
#include "text/added_token.h"

namespace heed {

struct LearnedSpecials {
  std::vector<std::string> tokens = {};  // they have the first ids
  std::string begin = {};                // put before each text; one of them, or empty for none
  std::string end = {};                  // put behind it

  std::vector<AddedToken> added() const;
  /// Null where nothing is put around a text.
  Json post_processor() const;
};

}  // namespace heed
