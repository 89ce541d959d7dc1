#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string_view>
#include <utility>

#include "base/philox.h"
#include "base/wording.h"
#include "heed/error.h"
#include "heed/look.h"
#include "heed/observe.h"
#include "inspect/rows/lines.h"
#include "ops/loss.h"
#include "train/generated/stories.h"

namespace heed {
namespace {

constexpr std::int64_t kUsualPeriod = 64;

// The weights of a row that the probe measures, in a head's sums over rows.
void add_weight(ProbedHead& sum, std::int64_t row, std::int64_t key, std::int64_t period,
                double weight) {
  if (key == row - 1) sum.previous += weight;
  if (key == row + 1) sum.next += weight;
  if (key == 0) sum.sink += weight;
  if (key == row - period) sum.duplicate += weight;
  if (key == row - period + 1) sum.induction += weight;
}

constexpr double ProbedHead::* kMeasured[] = {&ProbedHead::previous, &ProbedHead::next,
                                              &ProbedHead::sink, &ProbedHead::duplicate,
                                              &ProbedHead::induction};

void add_share(ProbedHead& sum, const ProbedHead& one, double share) {
  for (const auto number : kMeasured) sum.*number += share * (one.*number);
}

class ProbeObserver final : public Observer {
 public:
  explicit ProbeObserver(std::int64_t period) : period_(period) {}
  std::string_view name() const override { return "probe"; }
  void begin(const ObservedShape& shape) override {
    sums.assign(static_cast<std::size_t>(shape.heads), {});
    rows_counted = shape.query_length - period_;
  }
  std::unique_ptr<State> rows(const ObservedRows&) const override {
    return std::make_unique<Block>();
  }
  void tile(State& state, const ObservedRows& rows, const ObservedTile& tile) const override {
    ProbedHead& sum = static_cast<Block&>(state).sum;
    for (std::int64_t key = tile.key_begin; key < tile.key_end; ++key) {
      const float* weights = tile.weights + (key - tile.key_begin) * kMaskRows;
      const std::uint64_t visible = tile.visible[key - tile.key_begin];
      for (std::int64_t row = std::max(rows.row_begin, period_); row < rows.row_end; ++row) {
        const std::int64_t lane = row - rows.row_begin;
        if ((visible >> lane & 1U) != 0) add_weight(sum, row, key, period_, weights[lane]);
      }
    }
  }
  void merge(State& state, const ObservedRows& rows) override {
    add_share(sums[static_cast<std::size_t>(rows.head)], static_cast<Block&>(state).sum, 1);
  }

  std::vector<ProbedHead> sums;  // [H]
  std::int64_t rows_counted = 0;

 private:
  struct Block final : State {
    ProbedHead sum;
  };
  std::int64_t period_;
};

std::int64_t period_for(const LoadedModel& model, const ProbeOptions& options) {
  const std::int64_t most = model.model->info().positions / 2;
  if (most < 2)
    fail({.op = "probe",
          .found =
              fmt::format("the model has {}", number_of(model.model->info().positions, "position")),
          .expected = "at least 4"});
  if (options.sequences < 1) fail("probe", "sequences", options.sequences, "at least 1");
  if (options.period == 0) return std::min(kUsualPeriod, most);
  if (options.period < 2 || options.period > most)
    fail("probe", "period", options.period,
         fmt::format("2 to {} (half of the model's positions)", most));
  return options.period;
}

std::vector<TokenId> plain_tokens(const LoadedModel& model) {
  std::vector<TokenId> tokens;
  const ModelInfo& info = model.model->info();
  std::int64_t vocabulary = info.reads_source() ? info.source_vocabulary : info.vocabulary;
  if (model.tokenizer && info.reads_source())  // whose table may also hold the target's tokens
    vocabulary = std::min(vocabulary, model.tokenizer->vocabulary_size());
  for (TokenId id = 0; id < vocabulary; ++id) {
    const bool plain =
        !model.tokenizer || (model.tokenizer->has(id) && !model.tokenizer->is_special(id));
    if (plain && id != info.first_token && !info.ends_with(id)) tokens.push_back(id);
  }
  if (tokens.empty())
    fail({.op = "probe",
          .found = fmt::format("the vocabulary has {}, all of them special",
                               number_of(info.vocabulary, "token"))});
  return tokens;
}

std::vector<TokenId> repeated_sequence(const std::vector<TokenId>& tokens, std::int64_t period,
                                       Random& random) {
  std::vector<TokenId> ids;
  for (std::int64_t i = 0; i < period; ++i) ids.push_back(tokens[random.below(tokens.size())]);
  for (std::int64_t i = 0; i < period; ++i) ids.push_back(ids[static_cast<std::size_t>(i)]);
  return ids;
}

// For the tokens [begin, end) of the sequence, each predicted from those before it.
double loss_of(const Session& session, std::int64_t begin, std::int64_t end) {
  std::vector<std::int32_t> targets(session.tokens.size(), kIgnoredTarget);
  for (std::int64_t i = begin; i < end; ++i)
    targets[static_cast<std::size_t>(i - 1)] = session.tokens[static_cast<std::size_t>(i)].id;
  return cross_entropy({.logits = session.logits,
                        .targets = ConstView(targets.data(), DType::kI32,
                                             {static_cast<std::int64_t>(targets.size())})})
      .mean;
}

// For an encoder-decoder the sequence is the source, and nothing is generated.
Session probed(const LoadedModel& model, const std::vector<TokenId>& ids) {
  const ModelInfo& info = model.model->info();
  std::optional<std::span<const TokenId>> nothing;
  if (info.reads_source()) nothing.emplace();
  Session session = tokenize_session(model, ids, nothing);
  run_session(session, model,
              {.all_logits = info.causal && info.has_logits, .write_lengths = false});
  return session;
}

// Adds one sequence's contribution to the means.
void add_sequence(Probe& probe, const Session& session) {
  const double share = 1.0 / probe.sequences;
  std::size_t at = 0;
  const std::vector<LayerAttention>& layers = session.stacks.at(0).layers;
  for (std::size_t layer = 0; layer < layers.size(); ++layer) {
    if (!layers[layer].is_kept()) continue;  // it has no attention
    for (const ProbedHead& head :
         probe_layer(layers[layer], static_cast<int>(layer), probe.period)) {
      if (at == probe.heads.size()) probe.heads.push_back({.layer = head.layer, .head = head.head});
      add_share(probe.heads[at++], head, share);
    }
  }
  if (!session.info.causal || !session.info.has_logits) return;
  // Nothing predicts the first repeated token: earlier, the sequence ended there.
  probe.loss_first += share * loss_of(session, 1, probe.period + 1);
  probe.loss_repeated += share * loss_of(session, probe.period + 1, 2 * probe.period);
}

}  // namespace

std::vector<ProbedHead> probe_layer(const LayerAttention& layer, int index, std::int64_t period) {
  ProbeObserver observer(period);
  Observer* const observers[] = {&observer};
  observe(layer.args(), layer.attended(), observers);
  const auto rows = static_cast<double>(observer.rows_counted);
  std::vector<ProbedHead> heads = std::move(observer.sums);
  for (ProbedHead& head : heads) {
    head.layer = index;
    head.head = static_cast<int>(&head - heads.data());
    for (const auto number : kMeasured)
      head.*number /= number == &ProbedHead::next ? rows - 1 : rows;
  }
  return heads;
}

void visit_probe(const LoadedModel& model, const ProbeOptions& options,
                 const std::function<void(const Session& session, std::int64_t period)>& use) {
  const std::int64_t period = period_for(model, options);
  const std::vector<TokenId> tokens = plain_tokens(model);
  Random random(options.seed);
  for (int sequence = 0; sequence < options.sequences; ++sequence)
    use(probed(model, repeated_sequence(tokens, period, random)), period);
}

Probe probe_heads(const LoadedModel& model, const ProbeOptions& options) {
  Probe probe;
  probe.sequences = options.sequences;
  visit_probe(model, options, [&](const Session& session, std::int64_t period) {
    probe.period = period;
    add_sequence(probe, session);
  });
  return probe;
}

namespace {

// Tokens [begin, end) that contain a byte of a phrase.
struct PhraseTokens {
  std::size_t begin = 0;
  std::size_t end = 0;

  double weight(std::span<const float> row) const {
    double sum = 0;
    for (std::size_t i = begin; i < end; ++i) sum += row[i];
    return sum;
  }
};

PhraseTokens tokens_of(const NounPhrase& phrase, std::span<const SessionToken> tokens) {
  PhraseTokens found;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const bool overlaps =
        std::cmp_less(tokens[i].begin, phrase.end) && std::cmp_greater(tokens[i].end, phrase.begin);
    if (!overlaps) continue;
    if (found.end == 0) found.begin = i;
    found.end = i + 1;
  }
  return found;
}

void add_sentence(const PronounSentence& sentence, const Session& session,
                  std::vector<PronounHead>& heads) {
  const SessionStack& stack = session.stacks.front();
  const auto tokens = session.keys(stack.shape.stack);
  const PhraseTokens noun = tokens_of(sentence.noun, tokens);
  const PhraseTokens other = tokens_of(sentence.other, tokens);
  const PhraseTokens pronoun = tokens_of({sentence.pronoun, sentence.text.size()}, tokens);
  const auto row = static_cast<std::int64_t>(pronoun.end - 1);
  for (PronounHead& head : heads)
    visit_lines(stack.layers[static_cast<std::size_t>(head.place.layer)],
                {.head = head.place.head, .rows = {row}, .hidden = 0}, [&](const RowView& line) {
                  const double right = noun.weight(line.weights);
                  const double wrong = other.weight(line.weights);
                  head.right += right > wrong ? 1 : 0;
                  head.noun += right;
                  head.other += wrong;
                });
}

}  // namespace

std::vector<PronounHead> probe_pronouns(const LoadedModel& model, const PronounOptions& options) {
  if (options.sentences < 1) fail("probe", "sentences", options.sentences, "at least 1");
  std::vector<PronounHead> heads;
  for (const PronounSentence& sentence : pronoun_sentences(options.seed, options.sentences)) {
    const Session session = open_session(model, sentence.text, {.write_lengths = false});
    const StackShape& shape = session.stacks.front().shape;
    if (heads.empty())
      for (int layer = 0; layer < shape.layers; ++layer)
        for (int head = 0; head < shape.heads && shape.has(layer); ++head)
          heads.push_back({.place = {shape.stack, layer, head}});
    add_sentence(sentence, session, heads);
  }
  const auto count = static_cast<double>(options.sentences);
  for (PronounHead& head : heads) {
    head.right /= count;
    head.noun /= count;
    head.other /= count;
  }
  return heads;
}

}  // namespace heed
