// The forward pass left each row's log-sum-exp over the whole text: with it a part's gradients are
// those of the whole (Liu, Zaharia & Abbeel 2023, appendix A), and no part's out is needed again.
#include <fmt/format.h>

#include <utility>
#include <vector>

#include "heed/error.h"
#include "heed/ranks.h"
#include "ranks/ring.h"
#include "ranks/travelling.h"
#include "tensor/views.h"

namespace heed {
namespace {

constexpr std::string_view kBackwardOp = "ring_attention_backward";

View tokens_of(const View& of, const HeldPart& part) {
  return of.slice(2, part.at, part.at + part.size());
}

ConstView tokens_of(const ConstView& of, const HeldPart& part) {
  return of.given() ? of.slice(2, part.at, part.at + part.size()) : of;
}

// The forward pass's results for one held part's rows, contiguous, as attention_backward requires.
struct GivenRows {
  GivenRows(const Attended& attended, const HeldPart& rows)
      : lse(numbers(attended.lse, rows)), lse_low(numbers(attended.lse_low, rows)) {
    const auto view = [](const Tensor& of) { return of.given() ? of.view() : ConstView(); };
    rows_here = {.out = tokens_of(attended.out.view(), rows),
                 .lse = view(lse),
                 .lse_low = view(lse_low),
                 .out_low = tokens_of(view(attended.out_low), rows)};
  }
  static Tensor numbers(const Tensor& of, const HeldPart& rows) {
    return of.given() ? Tensor::copy_of(tokens_of(of.view(), rows)) : Tensor();
  }

  Tensor lse;
  Tensor lse_low;
  AttendedConstView rows_here;
};

void refuse_what_is_not_served(const AttentionGradRequest& request) {
  const std::pair<const char*, bool> refused[] = {{"dbias", request.dbias},
                                                  {"dslope", request.dslope},
                                                  {"dscale", request.dscale},
                                                  {"dlse", request.dlse.given()}};
  for (const auto& [name, asked] : refused)
    if (asked)
      fail(kBackwardOp, fmt::format("request.{}", name), "asked for", "dq, dk, dv or dsink",
           ErrorCode::kUnsupported);
}

// One rank's gradients while keys pass through.
class RingBackward {
 public:
  RingBackward(Ranks& ranks, const RingAttentionArgs& args, const Attended& attended,
               const ConstView& dout, const AttentionGradRequest& request)
      : ranks_(ranks),
        args_(args),
        dout_(dout),
        request_(request),
        ring_(ranks, args, kBackwardOp),
        keys_(ranks, ring_, args.local.keys),
        gradients_(ranks, ring_, args.local.keys),
        dq_(Tensor::zeros(args.local.q.shape(), sum_type(args.local.q))) {
    for (const HeldPart& rows : ring_.own()) given_.emplace_back(attended, rows);
  }

  AttentionGrads run() {
    for (int step = 0; step < ring_.count(); ++step) {
      const bool last = step + 1 == ring_.count();
      if (!last) keys_.depart(step);
      add_step(step);
      gradients_.depart(step);
      if (!last) keys_.arrive();
    }
    AttentionGrads found;
    const AttentionArgs& local = args_.local;
    auto& [dk, dv] = gradients_.here();
    if (request_.dq) found.dq = given(std::move(dq_), local.q, request_.dq_into);
    if (request_.dk) found.dk = given(std::move(dk), local.keys.k, request_.dk_into);
    if (request_.dv) found.dv = given(std::move(dv), local.keys.v, request_.dv_into);
    if (request_.dsink) found.dsink = sink_gradient();
    return found;
  }

 private:
  void add_step(int step) {
    const Keys here = keys_.here();
    for (std::size_t i = 0; i < given_.size(); ++i) {
      const HeldPart& rows = ring_.own()[i];
      for (const HeldPart& part : ring_.parts(ring_.holder(step))) {
        if (!ring_.meet(rows, part)) continue;
        const AttentionGrads of =
            attention_backward(ring_.between(rows, part, here), given_[i].rows_here,
                               tokens_of(dout_, rows), AttentionGradRequest{});
        add_part(tokens_of(dq_.view(), rows), of.dq);
        auto& [dk, dv] = gradients_.here();  // after the first part, so they have probably arrived
        add_part(tokens_of(dk.view(), part), of.dk);
        add_part(tokens_of(dv.view(), part), of.dv);
      }
    }
  }

  // Converted to the type of its operand; copied into the caller's memory if given, then empty.
  static Tensor given(Tensor sum, const ConstView& of, const View& into) {
    Tensor rounded =
        sum.dtype() == of.dtype() ? std::move(sum) : Tensor::converted(sum, of.dtype());
    if (!into.given()) return rounded;
    copy_elements(rounded, into);
    return {};
  }

  // A sink has no key: its gradient only needs these rows' out and lse.
  Tensor sink_gradient() {
    const ConstView& sink = args_.local.scores.sink;
    Tensor sums = Tensor::zeros(sink.shape());
    for (std::size_t i = 0; i < given_.size(); ++i) {
      const HeldPart& rows = ring_.own()[i];
      if (rows.size() == 0) continue;
      AttentionArgs args = ring_.between(rows, rows, args_.local.keys);
      args.scores.sink = sink;
      const AttentionGrads of =
          attention_backward(args, given_[i].rows_here, tokens_of(dout_, rows),
                             {.dq = false, .dk = false, .dv = false, .dsink = true});
      add_part(sums.view().reshape({1, 1, 1, sums.dim(0)}),
               of.dsink.view().reshape({1, 1, 1, sums.dim(0)}));
    }
    sum(ranks_, {sums.data<float>(), static_cast<std::size_t>(sums.element_count())});
    return Tensor::converted(sums, sink.dtype());
  }

  Ranks& ranks_;
  const RingAttentionArgs& args_;
  ConstView dout_;
  const AttentionGradRequest& request_;
  Ring ring_;
  TravellingKeys keys_;
  TravellingGradients gradients_;
  Tensor dq_;
  std::vector<GivenRows> given_;
};

}  // namespace

AttentionGrads ring_attention_backward(Ranks& ranks, const RingAttentionArgs& args,
                                       const Attended& attended, const ConstView& dout,
                                       const AttentionGradRequest& request) {
  refuse_what_is_not_served(request);
  return RingBackward(ranks, args, attended, dout, request).run();
}

}  // namespace heed
