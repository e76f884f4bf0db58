// SPDX-License-Identifier: Apache-2.0
// F26 to F28, F34, F58, F60, F63, F68 and F69 over programs with known answers: operators that could be fewer or others. Each names its fault
// with its line, and is silent about the same program without.
#include "analyze/findings/test_operators.h"

#include <string.h>
#include <sys/utsname.h>

// ---- F26 -------------------------------------------------------------------------------------------------------------
// `fill_us`: of the backward pass, that clears the gradient.
static void embedding(const char *name, const char *backward, int64_t backward_us, int64_t fill_us)
{
  fixture_run(&fixture, "M/L", 1);
  uint32_t main = python(0, "main", FILE_OF, 24), forward = python(main, "forward", FILE_OF, 13),
           update = python(0, "main", FILE_OF, 27), adam = python(update, "Adam.step", TORCH "optim/adam.py", 100);
  int64_t at = step(MS);
  operator_at(forward, name, at, 10 * US);
  backward_at(forward, backward, at + 100 * US, backward_us * US);
  operator_at(fixture.context_id, "aten::fill_", at + 101 * US, fill_us * US);
  operator_at(adam, "aten::mul_", at + 500 * US, 400 * US);
}

static void test_f26(void **unused)
{
  (void)unused;
  embedding("aten::embedding", "EmbeddingBackward0", 60, 50);
  assert_int_equal(ask_rule("F26"), 1);
  ASSERT_NEAR(found_number(0, "line"), 27); // most is in the optimizer
  ASSERT_NEAR(found_number(0, "saving_ms"), 0.44);
}

static void test_f26_of_bags(void **unused)
{
  (void)unused;
  embedding("aten::embedding_bag", "EmbeddingBagBackward0", 60, 50);
  assert_int_equal(ask_rule("F26"), 1);
  ASSERT_NEAR(found_number(0, "saving_ms"), 0.44);
}

static void test_f26_is_silent_at_its_ratio(void **unused)
{
  (void)unused;
  embedding("aten::embedding", "EmbeddingBackward0", 50, 40);
  assert_int_equal(ask_rule("F26"), 0);
}

static void test_f26_is_silent_about_a_small_table(void **unused)
{
  (void)unused;
  embedding("aten::embedding", "EmbeddingBackward0", 60, 1); // many rows are added up
  assert_int_equal(ask_rule("F26"), 0);
}

// ---- F27 -------------------------------------------------------------------------------------------------------------
static void chain(const char *file, bool trains)
{
  static const char *const names[] = {"aten::mul", "aten::tanh", "aten::add", "aten::pow"};
  fixture_run(&fixture, "M/L", 1);
  uint32_t gelu = python(python(0, "main", FILE_OF, 40), "gelu", file, 9);
  int64_t at = step(MS);
  for (int i = 0; i < 4; i++)
    operator_at(gelu, names[i], at + i * 100 * US, 100 * US);
  if (trains)
    backward_at(gelu, "TanhBackward0", at + 500 * US, 100 * US);
}

static void test_f27(void **unused)
{
  (void)unused;
  chain(FILE_OF, true);
  assert_int_equal(ask_rule("F27"), 1);
  assert_string_equal(found_text(0, "context"), "gelu");
  ASSERT_NEAR(found_number(0, "line"), 9);
  ASSERT_NEAR(found_number(0, "saving_ms"), 0.375); // three quarters of 500 us
}

static void test_f27_is_silent_about_a_simulation(void **unused)
{
  (void)unused;
  chain(FILE_OF, false);
  python(python(0, "<module>", FILE_OF, 1), "<module>", TORCH "nn/modules/module.py", 1); // an import
  assert_int_equal(ask_rule("F27"), 0);
}

static void copies_in_chain(const char *name, const char *third)
{
  const char *const names[] = {"aten::mul", "aten::mul", third};
  fixture_run(&fixture, "M/L", 1);
  uint32_t update = python(python(0, "main", FILE_OF, 40), "update", FILE_OF, 9);
  int64_t at = step(MS);
  for (int i = 0; i < 3; i++)
    operator_at(update, names[i], at + i * 100 * US, 100 * US);
  operator_at(update, name, at + 300 * US, 100 * US);
  backward_at(python(0, "main", FILE_OF, 41), "MeanBackward0", at + 400 * US, 100 * US);
}

static void test_f27_of_copies(void **unused)
{
  (void)unused;
  copies_in_chain("aten::clone", "aten::add");
  assert_int_equal(ask_rule("F27"), 1);
  ASSERT_NEAR(found_number(0, "saving_ms"), 0.3);
}

static void test_f27_is_silent_about_mere_copies(void **unused)
{
  (void)unused;
  fixture.request.thresholds = (const char *[]){"elementwise-operators=3"};
  fixture.request.threshold_count = 1;
  copies_in_chain("aten::view", "aten::clone");
  assert_int_equal(ask_rule("F27"), 0);
}

static void test_f27_is_silent_about_views(void **unused)
{
  (void)unused;
  copies_in_chain("aten::view", "aten::add");
  assert_int_equal(ask_rule("F27"), 0);
}

static void test_f27_is_silent_about_installed_code(void **unused)
{
  (void)unused;
  chain(TORCH "nn/functional.py", true);
  assert_int_equal(ask_rule("F27"), 0);
}

// A block of a model, called at two lines: an elementwise operator at each of its lines, and a product at all or at one of them.
static void block(bool between)
{
  fixture_run(&fixture, "M/L", 1);
  int64_t at = step(4 * MS);
  for (int i = 0; i < 2; i++) {
    uint32_t unet = python(0, "UNet.forward", FILE_OF, 40 + i);
    for (int line = 12; line < 17; line++) {
      uint32_t forward = python(unet, "Residual.forward", FILE_OF, line);
      uint32_t module = python(forward, "Module._call_impl", TORCH "nn/modules/module.py", 1700);
      operator_at(forward, "aten::mul", at, 200 * US);
      operator_at(module, between || line == 12 ? "aten::conv2d" : "aten::max_pool2d", at + 200 * US, 100 * US);
      at += 300 * US;
    }
  }
}

static void test_f27_is_silent_about_operators_between_products(void **unused)
{
  (void)unused;
  block(true);
  assert_int_equal(ask_rule("F27"), 0);
}

static void test_f27_counts_a_call_at_each_place(void **unused)
{
  (void)unused;
  block(false);
  assert_int_equal(ask_rule("F27"), 1);
  assert_non_null(strstr(found_text(0, "title"), " 4 elementwise"));
  ASSERT_NEAR(found_number(0, "saving_ms"), 1.2); // three quarters of 8 times 200 us
}

static void test_f27_leaves_lines_of_products_out(void **unused)
{
  (void)unused;
  fixture.request.thresholds = (const char *[]){"elementwise-operators=0"};
  fixture.request.threshold_count = 1;
  block(false);
  assert_int_equal(ask_rule("F27"), 1);
  ASSERT_NEAR(found_number(0, "saving_ms"), 1.2);
}

// ---- F28 -------------------------------------------------------------------------------------------------------------
static void indexing(int64_t backward_us)
{
  fixture_run(&fixture, "M/L", 1);
  uint32_t sample = python(0, "sample", FILE_OF, 9);
  int64_t at = step(MS);
  operator_at(sample, "aten::index", at, 100 * US);
  backward_at(sample, "IndexBackward0", at + 500 * US, backward_us * US);
}

static void test_f28(void **unused)
{
  (void)unused;
  indexing(50);
  assert_int_equal(ask_rule("F28"), 1);
  ASSERT_NEAR(found_number(0, "line"), 9);
  ASSERT_NEAR(found_number(0, "saving_ms"), 0.15);
}

static void test_f28_is_silent_below_its_share(void **unused)
{
  (void)unused;
  indexing(49);
  assert_int_equal(ask_rule("F28"), 0);
}

// Two functions call it.
static void test_f28_of_a_line_that_several_call(void **unused)
{
  (void)unused;
  fixture_run(&fixture, "M/L", 1);
  int64_t at = step(MS);
  for (int i = 0; i < 2; i++) {
    uint32_t sample = python(python(0, i == 0 ? "train" : "test", FILE_OF, 30 + i), "sample", FILE_OF, 9);
    operator_at(sample, "aten::index", at + i * 200 * US, 100 * US);
    backward_at(sample, "IndexBackward0", at + 500 * US + i * 100 * US, 30 * US);
  }
  assert_int_equal(ask_rule("F28"), 1);
  ASSERT_NEAR(found_number(0, "line"), 9);
  ASSERT_NEAR(found_number(0, "saving_ms"), 0.26);
}

// Other lines, which index nothing, could gain nothing.
static void test_f28_of_all_shares(void **unused)
{
  (void)unused;
  indexing(49);
  fixture.request.thresholds = (const char *[]){"index_gradient-share=0"};
  fixture.request.threshold_count = 1;
  fixture.request.least_gain_pct = 0;
  assert_int_equal(ask_rule("F28"), 1);
  ASSERT_NEAR(found_number(0, "line"), 9);
}

// ---- F58 -------------------------------------------------------------------------------------------------------------
static void positions(int count, const char *each)
{
  fixture_run(&fixture, "M/L", 1);
  uint32_t forward = python(0, "forward", FILE_OF, 24);
  uint32_t cell = python(forward, "LSTMCell.forward", TORCH "nn/modules/rnn.py", 1500);
  int64_t at = step(4 * MS);
  for (int i = 0; i < count; i++) {
    operator_at(cell, "aten::lstm_cell", at + i * 20 * US, 10 * US);
    operator_at(forward, each, at + i * 20 * US + 10 * US, 10 * US);
  }
  backward_at(cell, "AddmmBackward0", at + 2 * MS, 160 * US);
}

static void test_f58(void **unused)
{
  (void)unused;
  positions(32, "aten::select");
  assert_int_equal(ask_rule("F58"), 1);
  ASSERT_NEAR(found_number(0, "line"), 24);
  ASSERT_NEAR(found_number(0, "time_ms"), 0.48); // of cells alone
  ASSERT_NEAR(found_number(0, "saving_ms"), 0.4);
  assert_string_equal(found_text(0, "confidence"), "medium");
}

// Forwards and backwards.
static void test_f58_of_a_line_that_several_call(void **unused)
{
  (void)unused;
  fixture_run(&fixture, "M/L", 1);
  int64_t at = step(4 * MS);
  for (int i = 0; i < 32; i++) {
    uint32_t scan = python(python(0, i % 2 == 0 ? "forward" : "reverse", FILE_OF, 40 + i % 2), "scan", FILE_OF, 24);
    operator_at(python(scan, "LSTMCell.forward", TORCH "nn/modules/rnn.py", 1500), "aten::lstm_cell", at + i * 20 * US,
                10 * US);
  }
  assert_int_equal(ask_rule("F58"), 1);
  ASSERT_NEAR(found_number(0, "line"), 24);
  ASSERT_NEAR(found_number(0, "time_ms"), 0.32);
}

// Also cells that are layers, called once each.
static void test_f58_is_silent_about_few_positions(void **unused)
{
  (void)unused;
  positions(31, "aten::select");
  assert_int_equal(ask_rule("F58"), 0);
}

static void test_f58_is_silent_about_a_decoder(void **unused)
{
  (void)unused;
  positions(40, "aten::multinomial");
  assert_int_equal(ask_rule("F58"), 0);
}

// nn.GRU for one position at a time; `each`: an operator beside it.
static size_t pieces(const char *each)
{
  fixture_run(&fixture, "M/L", 1);
  uint32_t forward = python(0, "forward", FILE_OF, 24);
  uint32_t layer = python(forward, "GRU.forward", TORCH "nn/modules/rnn.py", 1300);
  int64_t at = step(4 * MS);
  for (int i = 0; i < 32; i++) {
    operator_at(layer, "aten::gru", at + i * 20 * US, 10 * US);
    operator_at(forward, each, at + i * 20 * US + 10 * US, 10 * US);
  }
  backward_at(layer, "AddmmBackward0", at + 2 * MS, 160 * US);
  return ask_rule("F58");
}

static void test_f58_of_layers_for_one_position(void **unused)
{
  (void)unused;
  assert_int_equal(pieces("aten::select"), 1);
  ASSERT_NEAR(found_number(0, "line"), 24);
  ASSERT_NEAR(found_number(0, "time_ms"), 0.48);
  assert_non_null(strstr(found_text(0, "title"), "a piece of the sequence"));
}

static void test_f58_is_silent_about_attention(void **unused)
{
  (void)unused;
  assert_int_equal(pieces("aten::softmax"), 0);
}

static void test_f58_is_silent_about_models_of_worlds(void **unused)
{
  (void)unused;
  assert_int_equal(pieces("aten::normal_"), 0);
}

// ---- F60 -------------------------------------------------------------------------------------------------------------
static void product_at(uint32_t caller, const char *name, int64_t at)
{
  operator_at(caller, "aten::matmul", at, 100 * US);
  operator_at(fixture.context_id, name, at + 10 * US, 80 * US);
}

static void attention(const char *file, const char *product, int64_t between_us)
{
  fixture_run(&fixture, "M/L", 1);
  uint32_t main = python(0, "main", FILE_OF, 40);
  int64_t at = step(MS);
  operator_at(python(main, "Attention.forward", file, 20), "aten::mul", at, 50 * US); // before the products
  product_at(python(main, "Attention.forward", file, 21), product, at + 50 * US);
  operator_at(python(main, "Attention.forward", file, 22), "aten::_softmax", at + 150 * US, between_us * US);
  backward_at(python(main, "Attention.forward", file, 22), "SoftmaxBackward0", at + 350 * US, 40 * US);
  product_at(python(main, "Attention.forward", file, 23), "aten::bmm", at + 400 * US);
  backward_at(python(main, "Attention.forward", file, 23), "BmmBackward0", at + 500 * US, 200 * US);
  operator_at(python(main, "Attention.forward", file, 24), "aten::mul", at + 700 * US, 50 * US);
  product_at(python(main, "Attention.forward", file, 25), "aten::mm", at + 750 * US);
}

static void test_f60(void **unused)
{
  (void)unused;
  attention(FILE_OF, "aten::bmm", 160);
  assert_int_equal(ask_rule("F60"), 1);
  assert_string_equal(found_text(0, "context"), "Attention.forward");
  ASSERT_NEAR(found_number(0, "line"), 22);
  ASSERT_NEAR(found_number(0, "saving_ms"), 0.2); // without products, and what is around both
}

static void test_f60_is_silent_below_its_share(void **unused)
{
  (void)unused;
  attention(FILE_OF, "aten::bmm", 159);
  assert_int_equal(ask_rule("F60"), 0);
}

static void test_f60_is_silent_about_installed_code(void **unused)
{
  (void)unused;
  attention(TORCH "nn/functional.py", "aten::bmm", 160);
  assert_int_equal(ask_rule("F60"), 0);
}

// h = x @ w1, softmax(h @ w2, 1), gate @ experts.
static void test_f60_is_silent_about_a_gate_of_experts(void **unused)
{
  (void)unused;
  attention(FILE_OF, "aten::mm", 160);
  assert_int_equal(ask_rule("F60"), 0);
}

// A classifier: x @ w, softmax, x.T @ gradient; nothing is a batch of products.
static void test_f60_is_silent_about_a_gradient_by_hand(void **unused)
{
  (void)unused;
  fixture_run(&fixture, "M/L", 1);
  int64_t at = step(MS);
  product_at(python(0, "step", FILE_OF, 21), "aten::mm", at);
  operator_at(python(0, "step", FILE_OF, 22), "aten::softmax", at + 100 * US, 400 * US);
  product_at(python(0, "step", FILE_OF, 23), "aten::mm", at + 500 * US);
  assert_int_equal(ask_rule("F60"), 0);
}

// With dropout on a CPU, PyTorch's operator runs products and softmax itself.
static void test_f60_is_silent_about_pytorchs_attention(void **unused)
{
  (void)unused;
  fixture_run(&fixture, "M/L", 1);
  int64_t at = step(2 * MS);
  product_at(python(0, "forward", FILE_OF, 21), "aten::bmm", at);
  operator_at(python(0, "forward", FILE_OF, 22), "aten::mul", at + 900 * US, 900 * US);
  operator_at(python(0, "forward", FILE_OF, 22), "aten::scaled_dot_product_attention", at + 100 * US, 600 * US);
  operator_at(fixture.context_id, "aten::_scaled_dot_product_attention_math", at + 100 * US, 600 * US);
  operator_at(fixture.context_id, "aten::softmax", at + 200 * US, 400 * US);
  product_at(python(0, "forward", FILE_OF, 23), "aten::bmm", at + 700 * US);
  assert_int_equal(ask_rule("F60"), 0);
}

// y, _ = self.attention(x, x, x) at line 17, in a step of 1 ms.
static void weights(const char *mean, const char *backward, int64_t softmax_us)
{
  fixture_run(&fixture, "M/L", 1);
  uint32_t line = python(0, "Layer.forward", FILE_OF, 17);
  uint32_t within = python(python(line, "MultiheadAttention.forward", TORCH "nn/modules/activation.py", 1495),
                           "multi_head_attention_forward", TORCH "nn/functional.py", 7112);
  int64_t at = step(MS);
  product_at(within, "aten::bmm", at);
  operator_at(python(within, "softmax", TORCH "nn/functional.py", 2213), "aten::_softmax", at + 100 * US,
              softmax_us * US);
  product_at(within, "aten::bmm", at + 300 * US);
  operator_at(within, mean, at + 400 * US, 20 * US);
  backward_at(within, "SoftmaxBackward0", at + 500 * US, 80 * US);
  backward_at(within, "BmmBackward0", at + 600 * US, 200 * US);
  if (backward != NULL)
    backward_at(within, backward, at + 800 * US, 10 * US);
}

static void test_f60_of_weights_that_nothing_learns_from(void **unused)
{
  (void)unused;
  weights("aten::mean", NULL, 100);
  assert_int_equal(ask_rule("F60"), 1);
  assert_string_equal(found_text(0, "context"), "Layer.forward");
  ASSERT_NEAR(found_number(0, "line"), 17);
  ASSERT_NEAR(found_number(0, "saving_ms"), 0.2);
}

static void test_f60_is_silent_about_few_weights(void **unused)
{
  (void)unused;
  weights("aten::mean", NULL, 99);
  assert_int_equal(ask_rule("F60"), 0);
}

static void test_f60_is_silent_about_weights_in_a_loss(void **unused)
{
  (void)unused;
  weights("aten::mean", "MeanBackward1", 100);
  assert_int_equal(ask_rule("F60"), 0);
}

// average_attn_weights=False: a loss on them has no backward pass there but that of softmax.
static void test_f60_is_silent_about_weights_of_each_head(void **unused)
{
  (void)unused;
  weights("aten::view", NULL, 100);
  assert_int_equal(ask_rule("F60"), 0);
}

static void test_f60_names_other_uses_of_weights(void **unused)
{
  (void)unused;
  weights("aten::mean", NULL, 100);
  assert_int_equal(ask_rule("F60"), 1);
  assert_non_null(strstr(found_text(0, "advice"), "unless"));
}

// ---- F63 -------------------------------------------------------------------------------------------------------------
// x = one_hot(ids, classes).float() @ table, in a step of 1 ms. The product is the line's own, of nn.Linear, or of another module. A later
// line has a small one-hot tensor.
static void one_hot(int64_t tensor_us, const char *module)
{
  fixture_run(&fixture, "M/L", 1);
  uint32_t main = python(0, "main", FILE_OF, 40), line = python(main, "Tagger.forward", FILE_OF, 17);
  uint32_t caller = module != NULL ? python(line, module, TORCH "nn/modules/linear.py", 134) : line;
  int64_t at = step(MS);
  operator_at(line, "aten::one_hot", at, tensor_us * US);
  operator_at(line, "aten::to", at + 100 * US, 10 * US);
  product_at(caller, "aten::mm", at + 200 * US);
  backward_at(caller, "MmBackward0", at + 300 * US, 200 * US);
  operator_at(line, "aten::relu", at + 600 * US, 50 * US);
  product_at(python(main, "Tagger.forward", FILE_OF, 18), "aten::mm", at + 700 * US);
  operator_at(python(main, "Tagger.forward", FILE_OF, 19), "aten::one_hot", at + 800 * US, US);
}

static void test_f63(void **unused)
{
  (void)unused;
  one_hot(40, NULL);
  assert_int_equal(ask_rule("F63"), 1);
  assert_string_equal(found_text(0, "context"), "Tagger.forward");
  ASSERT_NEAR(found_number(0, "line"), 17);
  ASSERT_NEAR(found_number(0, "saving_ms"), 0.35);
}

static void test_f63_of_a_linear_layer(void **unused)
{
  (void)unused;
  one_hot(40, "Linear.forward");
  assert_int_equal(ask_rule("F63"), 1);
  ASSERT_NEAR(found_number(0, "saving_ms"), 0.35);
}

// A mask, a condition, or counts.
static void test_f63_is_silent_where_nothing_multiplies(void **unused)
{
  (void)unused;
  one_hot(40, "GRU.forward");
  assert_int_equal(ask_rule("F63"), 0);
}

// Of a few classes, as targets or conditions have.
static void test_f63_is_silent_about_a_small_tensor(void **unused)
{
  (void)unused;
  one_hot(39, NULL);
  assert_int_equal(ask_rule("F63"), 0);
}

// A source that rules may read, of this machine.
static const char *start_with(const char *source)
{
  struct utsname host;
  uname(&host);
  const struct store_system_value system[] = {{.key = "host", .text = host.nodename}};
  const char *path = source_of(source);
  fixture_experiment_on(&fixture, "train", system, 1);
  fixture_run(&fixture, "M/L", 1);
  return path;
}

// one_hot(ids, classes) at line 1; a conversion at 2; what computes at 3, by `module`, or by the line itself. `at_4` then.
static size_t one_hot_of(const char *source, const char *module, const char *product, const char *at_4)
{
  const char *path = start_with(source);
  uint32_t main = python(0, "main", path, 40), line = python(main, "Tagger.forward", path, 3);
  uint32_t caller = module != NULL ? python(line, module, TORCH "nn/modules/linear.py", 134) : line;
  int64_t at = step(MS);
  operator_at(python(main, "Tagger.forward", path, 1), "aten::one_hot", at, 40 * US);
  operator_at(python(main, "Tagger.forward", path, 2), "aten::to", at + 100 * US, 20 * US);
  operator_at(caller, product, at + 200 * US, 100 * US);
  backward_at(caller, strcmp(product, "aten::mul") == 0 ? "MulBackward0" : "MmBackward0", at + 300 * US, 100 * US);
  uint32_t after = python(main, "Tagger.forward", path, 4);
  operator_at(after, at_4, at + 600 * US, 50 * US);
  return ask_rule("F63");
}

static size_t one_hot_lines(const char *module, const char *product, const char *at_4)
{
  return one_hot_of("hot = F.one_hot(ids, n)\nhot = hot.float()\nx = hot @ table\n", module, product, at_4);
}

static void test_f63_of_a_product_in_another_line(void **unused)
{
  (void)unused;
  assert_int_equal(one_hot_lines(NULL, "aten::matmul", "aten::relu"), 1);
  ASSERT_NEAR(found_number(0, "line"), 1);
  ASSERT_NEAR(found_number(0, "saving_ms"), 0.26);
}

// A target, which the next line does not multiply.
static void test_f63_is_silent_about_a_product_of_others(void **unused)
{
  static const char *const sources[] = {"t = F.one_hot(y, n).float()\n\np = x @ s.t\nreturn ((p - t) ** 2).mean()\n",
                                        "self.t = F.one_hot(y, n).float()\n\np = x @ self.t\n",
                                        "f(F.one_hot(y, n))\n\np = x @ f\n", ""};
  for (size_t i = 0; i < sizeof sources / sizeof sources[0]; i++) {
    findings_test_done(unused);
    findings_test_start(unused);
    assert_int_equal(one_hot_of(sources[i], NULL, "aten::matmul", "aten::sub"), 0);
  }
}

// It may multiply the batch.
static void test_f63_is_silent_about_a_layer_in_another_line(void **unused)
{
  (void)unused;
  assert_int_equal(one_hot_lines("Linear.forward", "aten::linear", "aten::relu"), 0);
}

static void test_f63_is_silent_about_a_product_after_other_work(void **unused)
{
  (void)unused;
  assert_int_equal(one_hot_lines(NULL, "aten::mul", "aten::matmul"), 0);
}

static void test_f63_is_silent_about_a_target(void **unused)
{
  (void)unused;
  assert_int_equal(one_hot_lines(NULL, "aten::matmul", "aten::cross_entropy_loss"), 0);
}

// ---- F68 -------------------------------------------------------------------------------------------------------------
// Two steps of 1 ms: scores, a sort at line 2, and two operators at line 3, of which the second may be of what calls the function.
static size_t sorting_of(const char *source, const char *installed, int64_t us, const char *taken, const char *then,
                         bool in_caller)
{
  const char *path = start_with(source), *file = installed != NULL ? installed : path;
  uint32_t main = python(0, "main", path, 40);
  for (int i = 0; i < 2; i++) {
    int64_t at = step(MS);
    operator_at(python(main, "search", file, 1), "aten::slice", at, US);
    operator_at(python(main, "search", file, 1), "aten::matmul", at + 10 * US, 100 * US);
    uint32_t line = python(main, "search", file, 2);
    operator_at(line, "aten::argsort", at + 200 * US, us * US);
    operator_at(fixture.context_id, "aten::sort", at + 201 * US, (us - 1) * US);
    operator_at(python(main, "search", file, 3), taken, at + 400 * US, US);
    operator_at(in_caller ? python(0, "main", path, 41) : python(main, "search", file, 3), then, at + 500 * US,
                10 * US);
  }
  return ask_rule("F68");
}

static size_t sorting(const char *installed, int64_t us, const char *taken, const char *then, bool in_caller)
{
  return sorting_of("\norder = torch.argsort(score)\nreturn x[order[:k]]\n", installed, us, taken, then, in_caller);
}

static void test_f68(void **unused)
{
  (void)unused;
  assert_int_equal(sorting(NULL, 100, "aten::slice", "aten::index", false), 1);
  ASSERT_NEAR(found_number(0, "line"), 2);
  ASSERT_NEAR(found_number(0, "saving_ms"), 0.1);
}

// Each of two callers has half of the share.
static void test_f68_of_a_line_that_several_call(void **unused)
{
  (void)unused;
  const char *path = start_with("\norder = torch.argsort(score)\nreturn x[order[:k]]\n");
  int64_t at = step(MS);
  for (int i = 0; i < 2; i++) {
    uint32_t main = python(0, i == 0 ? "queries" : "keys", path, 40 + i);
    operator_at(python(main, "search", path, 2), "aten::argsort", at + i * 200 * US, 60 * US);
    operator_at(fixture.context_id, "aten::sort", at + (1 + i * 200) * US, 59 * US);
    operator_at(python(main, "search", path, 3), "aten::slice", at + (100 + i * 200) * US, US);
    operator_at(python(main, "search", path, 3), "aten::index", at + (110 + i * 200) * US, 10 * US);
  }
  assert_int_equal(ask_rule("F68"), 1);
  ASSERT_NEAR(found_number(0, "line"), 2);
  ASSERT_NEAR(found_number(0, "saving_ms"), 0.12);
}

// The k-th largest as a limit.
static void test_f68_of_a_limit(void **unused)
{
  (void)unused;
  assert_int_equal(sorting(NULL, 100, "aten::select", "aten::lt", false), 1);
}

static void test_f68_of_what_a_caller_uses(void **unused)
{
  (void)unused;
  assert_int_equal(sorting(NULL, 100, "aten::select", "aten::add", true), 1);
}

static void test_f68_is_silent_where_the_source_uses_all(void **unused)
{
  static const char *const sources[] = {"\norder = torch.argsort(s)\nrecall = r[order[:10]]\nranked = r[order]\n", ""};
  for (size_t i = 0; i < sizeof sources / sizeof sources[0]; i++) {
    findings_test_done(unused);
    findings_test_start(unused);
    assert_int_equal(sorting_of(sources[i], NULL, 100, "aten::slice", "aten::index", false), 0);
  }
}

static void test_f68_is_silent_below_its_share(void **unused)
{
  (void)unused;
  assert_int_equal(sorting(NULL, 99, "aten::slice", "aten::index", false), 0);
}

static void test_f68_is_silent_about_installed_code(void **unused)
{
  (void)unused;
  assert_int_equal(sorting(TORCH "functional.py", 100, "aten::slice", "aten::index", false), 0);
}

// Sampling by cumulated probabilities.
static void test_f68_is_silent_where_all_are_used(void **unused)
{
  (void)unused;
  assert_int_equal(sorting(NULL, 100, "aten::softmax", "aten::slice", false), 0);
}

// Differences of neighbours.
static void test_f68_is_silent_where_the_order_counts(void **unused)
{
  (void)unused;
  assert_int_equal(sorting(NULL, 100, "aten::slice", "aten::sub", false), 0);
}

// ---- F69 -------------------------------------------------------------------------------------------------------------
// Operators named so at line 2 of the source, the last one at line `last`.
static size_t pairs(const char *source, const char *const *names, size_t count, int64_t last)
{
  const char *path = start_with(source);
  uint32_t main = python(0, "main", path, 40), line = python(main, "nearest", path, 2);
  int64_t at = step(MS);
  operator_at(python(main, "nearest", path, 1), "aten::mul", at, US);
  for (size_t i = 0; i < count; i++) {
    uint32_t caller = i + 1 < count ? line : python(main, "nearest", path, last);
    if (strcmp(names[i], "aten::pow") == 0)
      caller = python(caller, "wrapped", TORCH "_tensor.py", 36);
    operator_at(caller, names[i], at + ((int64_t)i + 1) * 100 * US, 50 * US);
  }
  return ask_rule("F69");
}

static const char *const squares[] = {"aten::unsqueeze", "aten::unsqueeze", "aten::sub", "aten::pow", "aten::sum"};

static void test_f69_of_a_line_that_several_call(void **unused)
{
  (void)unused;
  const char *path = start_with("\nd = ((a[:, None] - b[None]) ** 2).sum(-1)\n");
  int64_t at = step(MS);
  for (int i = 0; i < 2; i++) {
    uint32_t line = python(python(0, i == 0 ? "assign" : "update", path, 40 + i), "nearest", path, 2);
    for (int k = 0; k < 5; k++)
      operator_at(line, squares[k], at + (i * 5 + k) * 50 * US, 24 * US);
  }
  assert_int_equal(ask_rule("F69"), 1);
  ASSERT_NEAR(found_number(0, "line"), 2);
  ASSERT_NEAR(found_number(0, "saving_ms"), 0.24);
}

static void test_f69(void **unused)
{
  static const char *const sources[] = {"\nd = ((a[:, None] - self.b[None]) ** 2).sum(-1)\n",
                                        "\nreturn torch.pow(a.unsqueeze(1) - b.unsqueeze(0), 2).sum(2)",
                                        "\n  d = (a[:, None, :] - b[i][None, :, :]).pow(2).sum(-1)  # all\n",
                                        "\nl = torch.mean(torch.sum((a[:, :, None, :] - b[:, None]) ** 2, dim=-1))\n",
                                        "\nd = (a[:, None, :] - b[None, :, :]).abs().mean(-1)\n",
                                        "\nd = torch.norm(a[:, None] - b[None], p=2, dim=2).mean()\n"};
  for (size_t i = 0; i < sizeof sources / sizeof sources[0]; i++) {
    findings_test_done(unused);
    findings_test_start(unused);
    assert_int_equal(pairs(sources[i], squares, 5, 2), 1);
    ASSERT_NEAR(found_number(0, "line"), 2);
    ASSERT_NEAR(found_number(0, "saving_ms"), 0.25);
  }
}

static void test_f69_of_norms(void **unused)
{
  (void)unused;
  static const char *const names[] = {"aten::unsqueeze", "aten::unsqueeze", "aten::expand", "aten::sub",
                                      "aten::linalg_vector_norm"};
  assert_int_equal(pairs("\n(a[:, None] - b[None]).norm(dim=-1)\n", names, 5, 2), 1);
}

static void test_f69_of_cosines(void **unused)
{
  (void)unused;
  static const char *const names[] = {"aten::unsqueeze", "aten::unsqueeze", "aten::slice", "aten::cosine_similarity"};
  assert_int_equal(pairs("\ns = F.cosine_similarity(a[:, None], b[None], dim=-1)\n", names, 4, 2), 1);
}

// The mean of each channel.
static void test_f69_is_silent_about_one_broadcast(void **unused)
{
  static const char *const sources[] = {"\nv = ((x - mean[:, :, None, None]) ** 2).sum(-1)\n", "\n", "",
                                        "\ns = F.cosine_similarity(a[:, None], b, dim=None)\n"};
  for (size_t i = 0; i < sizeof sources / sizeof sources[0]; i++) {
    findings_test_done(unused);
    findings_test_start(unused);
    assert_int_equal(pairs(sources[i], squares, 5, 2), 0);
  }
}

// Distances of numbers, as of the members of an ensemble: pairs are added up, not components.
static void test_f69_is_silent_where_pairs_are_added_up(void **unused)
{
  static const char *const sources[] = {"\nspread = (ens[:, :, None] - ens[:, None, :]).abs().mean((1, 2))\n",
                                        "\nd = (x[:, None] - x[None, :]).pow(2).mean()\n",
                                        "\nd = ((x[..., None] - y[:, None, :]) ** 2).sum(-1)\n",
                                        "\nd = ((x.unsqueeze(-1) - y.unsqueeze(0)) ** 2).sum(-1)\n",
                                        "\nd = torch.sum((a[:, None] - b[None]) ** 2, dim=axis)\n",
                                        "\nd = ((a[:, None] - b[None]) ** 2).sum(1)\n",
                                        "\nspread = (x[:, None] - x[None, :]).abs().mean(-1)\n",
                                        "\nd = ((a[:, :, None] - b[:, None]) ** 2).sum(2)\n",
                                        "\nd = ((a[:, None] - b[None]) ** 2).sum(\n",
                                        "\ns = F.cosine_similarity(a[:, None], b[None])\n"};
  for (size_t i = 0; i < sizeof sources / sizeof sources[0]; i++) {
    findings_test_done(unused);
    findings_test_start(unused);
    assert_int_equal(pairs(sources[i], squares, 5, 2), 0);
  }
}

// Divided by a variance.
static void test_f69_is_silent_about_other_functions(void **unused)
{
  (void)unused;
  static const char *const names[] = {"aten::unsqueeze", "aten::unsqueeze", "aten::sub",
                                      "aten::pow",       "aten::div",       "aten::sum"};
  assert_int_equal(pairs("\n((a[:, None] - b[None]) ** 2 / v).sum(-1)\n", names, 6, 2), 0);
}

// The differences may be needed.
static void test_f69_is_silent_where_another_line_adds_up(void **unused)
{
  (void)unused;
  assert_int_equal(pairs("\ns = (a[:, None] - b[None]) ** 2\n", squares, 5, 3), 0);
}

static void test_f69_is_silent_below_its_share(void **unused)
{
  (void)unused;
  static const char *const names[] = {"aten::unsqueeze", "aten::unsqueeze", "aten::cosine_similarity"};
  assert_int_equal(pairs("\ns = F.cosine_similarity(a[:, None], b[None], dim=-1)\n", names, 3, 2), 0);
}

// ---- F34, by the source ------------------------------------------------------------------------------------------------
static void padding_in(const char *source, double line)
{
  const char *path = start_with(source);
  fixture.context_id = 0;
  int64_t id = fixture_span(&fixture, XSP_LEVEL_MODEL, "predict", 0, MS);
  fixture_int(&fixture, id, "positions", 100);
  fixture_int(&fixture, id, "padded", 80);
  fixture_int(&fixture, id, "spare", 70);
  operator_at(python(0, "train", path, 25), "aten::addmm", 0, 800 * US);
  assert_int_equal(ask_rule("F34"), 1);
  ASSERT_NEAR(found_number(0, "line"), line);
}

static void test_f34_names_the_line_that_pads(void **unused)
{
  static const char *const sources[] = {
      "\ne = tok(texts,\n  padding=\"max_length\")  # all\n",
      "n = c['max_length']\n\ne = tok(t, padding='max_length', max_length=n)\n",
      "a = tok(t, padding='max_length')\nb = tok(v, padding='max_length')\n",
      "a = tok(t, padding=True, max_length=c['max_length'])\n",
      "'''padding=\"max_length\"'''\n\nb = tok(t, # padding='max_length'\n  padding = 'max_length',\n  n=1)\n"};
  static const double lines[] = {3, 3, 25, 25, 4}; // of several it may be each
  for (size_t i = 0; i < sizeof sources / sizeof sources[0]; i++) {
    findings_test_done(unused);
    findings_test_start(unused);
    padding_in(sources[i], lines[i]);
  }
}

// ---- lines that ask for it ---------------------------------------------------------------------------------------------
// A trainer that evaluates in each step, called at line 3 of the source.
static void evaluates_in(const char *source, double line)
{
  const char *path = start_with(source);
  uint32_t main = python(0, "main", path, 3);
  uint32_t evaluate = python(main, "Trainer.evaluate", "/venv/lib/python3.11/site-packages/transformers/trainer.py", 9);
  for (int i = 0; i < 4; i++) {
    int64_t at = step(10 * MS);
    backward_at(main, "AddmmBackward0", at, MS);
    operator_at(evaluate, "aten::addmm", at + MS, 8 * MS);
  }
  assert_int_equal(ask_rule("F64"), 1);
  ASSERT_NEAR(found_number(0, "line"), line);
  assert_true((strstr(found_text(0, "title"), "called at line 3") != NULL) == (line != 3));
}

static void test_the_arguments_of_a_trainer(void **unused)
{
  static const char *const sources[] = {"a = A(\n    eval_steps=1)\nt.train()\n",
                                        "a = A(eval_steps=1)\n\nloop()\n",
                                        "a = A(eval_steps=1)\nb = A(eval_steps=9)\nt.train()\n",
                                        "a = A(max_eval_steps=1)\n\nt.train()\n",
                                        "a = A(eval_steps_all=1)\n\nt.train()\n",
                                        "print('eval_steps=1') # eval_steps=1\n\nt.train()\n",
                                        "a = A(b, # eval_steps=1\n  eval_steps=None)\nt.train()\n",
                                        "a.eval_steps = 1\nb = a.eval_steps == 1\nt.train()\n"};
  static const double lines[] = {2, 3, 3, 3, 3, 3, 3, 1};
  for (size_t i = 0; i < sizeof sources / sizeof sources[0]; i++) {
    findings_test_done(unused);
    findings_test_start(unused);
    evaluates_in(sources[i], lines[i]);
  }
}

// ---- which findings remain ---------------------------------------------------------------------------------------------
static void test_least_gain(void **unused)
{
  (void)unused;
  indexing(50);
  fixture.request.least_gain_pct = 15.1;
  assert_int_equal(ask_rule("F28"), 0);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      TEST(test_f26),
      TEST(test_f26_of_bags),
      TEST(test_f26_is_silent_at_its_ratio),
      TEST(test_f26_is_silent_about_a_small_table),
      TEST(test_f27),
      TEST(test_f27_is_silent_about_a_simulation),
      TEST(test_f27_of_copies),
      TEST(test_f27_is_silent_about_mere_copies),
      TEST(test_f27_is_silent_about_views),
      TEST(test_f27_is_silent_about_installed_code),
      TEST(test_f27_is_silent_about_operators_between_products),
      TEST(test_f27_counts_a_call_at_each_place),
      TEST(test_f27_leaves_lines_of_products_out),
      TEST(test_f28),
      TEST(test_f28_is_silent_below_its_share),
      TEST(test_f28_of_a_line_that_several_call),
      TEST(test_f28_of_all_shares),
      TEST(test_f58),
      TEST(test_f58_of_a_line_that_several_call),
      TEST(test_f58_is_silent_about_few_positions),
      TEST(test_f58_is_silent_about_a_decoder),
      TEST(test_f58_of_layers_for_one_position),
      TEST(test_f58_is_silent_about_attention),
      TEST(test_f58_is_silent_about_models_of_worlds),
      TEST(test_f60),
      TEST(test_f60_is_silent_below_its_share),
      TEST(test_f60_is_silent_about_installed_code),
      TEST(test_f60_is_silent_about_a_gate_of_experts),
      TEST(test_f60_is_silent_about_a_gradient_by_hand),
      TEST(test_f60_is_silent_about_pytorchs_attention),
      TEST(test_f60_of_weights_that_nothing_learns_from),
      TEST(test_f60_is_silent_about_few_weights),
      TEST(test_f60_is_silent_about_weights_in_a_loss),
      TEST(test_f60_is_silent_about_weights_of_each_head),
      TEST(test_f60_names_other_uses_of_weights),
      TEST(test_f63),
      TEST(test_f63_of_a_linear_layer),
      TEST(test_f63_is_silent_where_nothing_multiplies),
      TEST(test_f63_is_silent_about_a_small_tensor),
      TEST(test_f63_of_a_product_in_another_line),
      TEST(test_f63_is_silent_about_a_product_of_others),
      TEST(test_f63_is_silent_about_a_layer_in_another_line),
      TEST(test_f63_is_silent_about_a_product_after_other_work),
      TEST(test_f63_is_silent_about_a_target),
      TEST(test_f68),
      TEST(test_f68_of_a_line_that_several_call),
      TEST(test_f68_of_a_limit),
      TEST(test_f68_of_what_a_caller_uses),
      TEST(test_f68_is_silent_where_the_source_uses_all),
      TEST(test_f68_is_silent_below_its_share),
      TEST(test_f68_is_silent_about_installed_code),
      TEST(test_f68_is_silent_where_all_are_used),
      TEST(test_f68_is_silent_where_the_order_counts),
      TEST(test_f34_names_the_line_that_pads),
      TEST(test_the_arguments_of_a_trainer),
      TEST(test_f69),
      TEST(test_f69_of_a_line_that_several_call),
      TEST(test_f69_of_norms),
      TEST(test_f69_of_cosines),
      TEST(test_f69_is_silent_about_one_broadcast),
      TEST(test_f69_is_silent_where_pairs_are_added_up),
      TEST(test_f69_is_silent_about_other_functions),
      TEST(test_f69_is_silent_where_another_line_adds_up),
      TEST(test_f69_is_silent_below_its_share),
      TEST(test_least_gain),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
