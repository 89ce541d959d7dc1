// A set of words with one word of another kind.
#include "train/generated/generator.h"

namespace heed {
namespace {

constexpr std::int64_t kWordKinds = 8;
constexpr std::int64_t kEach = 8;
constexpr std::string_view kWordsOfKind[kWordKinds][kEach] = {
    {"red", "blue", "green", "yellow", "white", "black", "grey", "brown"},
    {"dog", "cat", "horse", "cow", "sheep", "goat", "hen", "pig"},
    {"apple", "pear", "plum", "cherry", "grape", "lemon", "fig", "peach"},
    {"one", "two", "three", "four", "five", "six", "seven", "eight"},
    {"iron", "gold", "silver", "copper", "tin", "lead", "zinc", "brass"},
    {"hand", "foot", "head", "arm", "leg", "ear", "eye", "nose"},
    {"chair", "table", "bed", "bench", "desk", "shelf", "stool", "chest"},
    {"rain", "snow", "wind", "fog", "hail", "storm", "frost", "dew"}};

class Anomaly : public Generator {
 public:
  explicit Anomaly(std::int64_t length) : length_(length) {}

  AnswerForm form() const override { return AnswerForm::kLabels; }
  std::vector<std::string> words() const override {
    std::vector<std::string> words;
    for (const auto& kind : kWordsOfKind)
      for (const std::string_view word : kind) words.emplace_back(word);
    return words;
  }
  std::vector<std::string> labels() const override { return {"same", "odd"}; }
  std::int64_t longest() const override { return length_; }

  void make(Random& random, bool /*held_out*/, Puzzle& puzzle) const override {
    const std::int32_t usual = number_below(random, kWordKinds);
    const std::int32_t other =
        static_cast<std::int32_t>((usual + 1 + number_below(random, kWordKinds - 1)) % kWordKinds);
    const std::int32_t odd = number_below(random, length_);
    for (std::int64_t i = 0; i < length_; ++i) {
      const std::int32_t kind = i == odd ? other : usual;
      puzzle.source.push_back(static_cast<std::int32_t>(kEach * kind) +
                              number_below(random, kEach));
      puzzle.answer.push_back(static_cast<std::int32_t>(i == odd));
    }
  }

 private:
  std::int64_t length_;
};

}  // namespace

std::unique_ptr<Generator> anomaly_generator(std::int64_t length) {
  return std::make_unique<Anomaly>(length);
}

}  // namespace heed
