#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "attention/api/checked.h"
#include "heed/attention.h"
#include "heed/error.h"
#include "heed/ranks.h"
#include "ranks/ring.h"
#include "tensor/computable.h"
#include "tensor/views.h"

namespace heed {
namespace {

constexpr std::string_view kOp = "ring_attention";

// out + out_low in f32, for 16-bit types.
Tensor widened(const Attended& part) {
  Tensor wide = Tensor::converted(part.out, DType::kF32);
  const Tensor low = Tensor::converted(part.out_low, DType::kF32);
  for (std::int64_t i = 0; i < wide.element_count(); ++i)
    wide.data<float>()[i] += low.data<float>()[i];
  return wide;
}

// The rounding error of `wide` rounded to 16 bits.
Tensor lost_by(const ConstView& wide, const ConstView& rounded) {
  Tensor low = Tensor::converted(rounded, DType::kF32);
  for (std::int64_t i = 0; i < low.element_count(); ++i) {
    float& value = low.data<float>()[i];
    value = std::isfinite(value) ? wide.data<float>()[i] - value : 0.0F;
  }
  return Tensor::converted(low, rounded.dtype());
}

void fill_nothing(Tensor& lse) {
  in_computing_type(lse.dtype(), [&]<typename T>(T /*zero*/) {
    std::fill_n(lse.data<T>(), lse.element_count(), -std::numeric_limits<T>::infinity());
  });
}

// Attention of some rows to no keys: neutral in a merge.
Attended nothing(const AttentionArgs& rows, std::int64_t value_width) {
  const ConstView& q = rows.q;
  const DType type = sum_type(q);
  Attended none;
  none.out = Tensor::zeros({q.dim(0), q.dim(1), q.dim(2), value_width}, type);
  if (!has_lse(rows)) return none;
  none.lse = Tensor::empty({q.dim(0), q.dim(1), q.dim(2)}, type);
  fill_nothing(none.lse);
  none.lse_low = Tensor::zeros(none.lse.shape(), type);
  return none;
}

// The rows of one held part and their result so far.
class RowsSoFar {
 public:
  RowsSoFar(const AttentionArgs& rows, std::int64_t value_width, const ConstView& sink)
      : seen_(merge(nothing(rows, value_width), nothing(rows, value_width), sink)) {}

  void add(Attended part) {
    if (part.out_low.given()) part.out = widened(part);
    part.out_low = {};
    seen_ = merge(seen_, part);
  }

  void write(const HeldPart& rows, Attended& into) const {
    const auto place = [&](Tensor& of) {
      return of.view().slice(2, rows.at, rows.at + rows.size());
    };
    const Tensor out = Tensor::converted(seen_.out, into.out.dtype());
    copy_elements(out, place(into.out));
    if (into.out_low.given()) copy_elements(lost_by(seen_.out, out), place(into.out_low));
    if (!into.lse.given()) return;
    copy_elements(seen_.lse, place(into.lse));
    copy_elements(seen_.lse_low, place(into.lse_low));
  }

 private:
  Attended seen_;
};

Attended empty_attended(const AttentionArgs& local) {
  Attended made;
  made.out = Tensor::empty(out_shape(local), local.q.dtype());
  if (has_out_low(local)) made.out_low = Tensor::empty(out_shape(local), local.q.dtype());
  if (!has_lse(local)) return made;
  const DType type = sum_type(local.q);
  const Shape rows = {local.q.dim(0), local.q.dim(1), local.q.dim(2)};
  made.lse = Tensor::empty(rows, type);
  made.lse_low = Tensor::empty(rows, type);
  return made;
}

}  // namespace

Attended ring_attention(Ranks& ranks, const RingAttentionArgs& args) {
  const Ring ring(ranks, args, kOp);
  TravellingKeys keys(ranks, ring, args.local.keys);
  std::vector<RowsSoFar> rows;
  for (const HeldPart& part : ring.own())
    rows.emplace_back(ring.between(part, part, args.local.keys), args.local.keys.v.dim(3),
                      args.local.scores.sink);
  for (int step = 0; step < ring.count(); ++step) {
    const bool last = step + 1 == ring.count();
    if (!last) keys.depart(step);
    const Keys here = keys.here();
    for (std::size_t i = 0; i < rows.size(); ++i)
      for (const HeldPart& part : ring.parts(ring.holder(step)))
        if (ring.meet(ring.own()[i], part))
          rows[i].add(attention(ring.between(ring.own()[i], part, here)));
    if (!last) keys.arrive();
  }
  Attended attended = empty_attended(args.local);
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i].write(ring.own()[i], attended);
  return attended;
}

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

// The forward pass left each row's log-sum-exp over the whole text: with it a part's gradients are
// those of the whole (Liu, Zaharia & Abbeel 2023, appendix A), and no part's out is needed again.
AttentionGrads ring_attention_backward(Ranks& ranks, const RingAttentionArgs& args,
                                       const Attended& attended, const ConstView& dout,
                                       const AttentionGradRequest& request) {
  refuse_what_is_not_served(request);
  return RingBackward(ranks, args, attended, dout, request).run();
}

}  // namespace heed
