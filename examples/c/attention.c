// Attention from C: who attends to whom, the gradients, and what an error says.
#include <heed/c.h>
#include <stdio.h>

#define B 1
#define H 2
#define T 4
#define D 8

static int failed(const char* what) {
  fprintf(stderr, "%s: %s\n", what, heed_last_error()->message);
  return 1;
}

static heed_view tensor(float* data) {  // [B, H, T, D]
  const int64_t shape[] = {B, H, T, D};
  return heed_view_of(data, HEED_F32, 4, shape);
}

int main(void) {
  static float x[B * H * T * D], out[B * H * T * D], dq[B * H * T * D], dout[B * H * T * D];
  static float lse[B * H * T], lse_low[B * H * T], weights[B * H * T * T], entropy[B * H * T];
  const int64_t rows[] = {B, H, T}, pairs[] = {B, H, T, T};
  heed_attention_args args = heed_attention_args_default();
  heed_attended attended = heed_attended_default();
  heed_gradients gradients = heed_gradients_default();
  heed_observation every_weight, spread;
  const heed_observation* asked[2];
  heed_mask* causal = NULL;
  heed_view dout_view = tensor(dout);
  int i, j, status = 0;

  for (i = 0; i < B * H * T * D; ++i) {
    x[i] = (float)((i * 37) % 16) / 16.0F;
    dout[i] = i % D == 0 ? 1.0F : 0.0F;
  }

  // Forward: out and the log-sum-exp of every row, from which any weight follows.
  if (heed_mask_causal(&causal) != HEED_OK) return failed("mask");
  args.q = args.k = args.v = tensor(x);
  args.mask = causal;
  attended.out = tensor(out);
  attended.lse = heed_view_of(lse, HEED_F32, 3, rows);
  attended.lse_low = heed_view_of(lse_low, HEED_F32, 3, rows);
  if (heed_attention(&args, &attended) != HEED_OK) return failed("attention");

  // Two questions, one sweep.
  every_weight =
      heed_observation_of(HEED_OBSERVE_WEIGHTS, heed_view_of(weights, HEED_F32, 4, pairs));
  spread = heed_observation_of(HEED_OBSERVE_ENTROPY, heed_view_of(entropy, HEED_F32, 3, rows));
  asked[0] = &every_weight;
  asked[1] = &spread;
  if (heed_observe(&args, &attended, asked, 2) != HEED_OK) return failed("observe");
  for (i = 0; i < T; ++i) {
    for (j = 0; j < T; ++j) printf("%.3f ", weights[i * T + j]);
    printf(" entropy %.3f\n", entropy[i]);
  }

  // Backward: the gradients that have memory are computed.
  gradients.dq = tensor(dq);
  if (heed_attention_backward(&args, &attended, &dout_view, NULL, &gradients) != HEED_OK)
    return failed("backward");
  printf("dq[0, 0, 1, 0] %.5f\n", dq[D]);

  // An error: a code, a line, and its parts.
  args.k.shape[3] = D / 2;
  if (heed_attention(&args, &attended) == HEED_INVALID_ARGUMENT)
    printf("a wrong shape is refused: %s\n", heed_last_error()->message);
  else
    status = 1;
  heed_mask_free(causal);
  return status;
}
