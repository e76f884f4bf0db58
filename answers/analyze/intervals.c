// SPDX-License-Identifier: Apache-2.0
// Closed-form statistics of differences: Welch, Yuen, paired differences, and Student's t. Called by L0, A1, `xsp compare`
// and the comparison of `xsp profile`'s variants. No tables, no random numbers.
#include "analyze/intervals.h"

#include "base/memory.h"
#include "base/sorted.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define CONFIDENCE 0.95
#define DRIFT_CONFIDENCE 0.99
#define DRIFT_LEAST 9   // observations
#define TRIMMED_LEAST 8 // observations
#define PAIRED_LEAST 3  // runs
#define NEEDS_MOST 1e9  // values
#define PI 3.14159265358979323846
#define LEAST_QUANTILE 1.95996 // below interval_student_quantile(CONFIDENCE, …) of any degrees
#define LEAST_T sqrt(3.)       // below it the continued fraction converges slowly

// ---- Student's t ----------------------------------------------------------------------------------------------------
// ln Γ(x + 1/2) - ln Γ(x). The difference of two lgamma loses digits where both are large.
static double log_gamma_step(double x)
{
  if (x < 100)
    return lgamma(x + 0.5) - lgamma(x);
  return 0.5 * log(x) - 1 / (8 * x) + 1 / (192 * x * x * x); // Stirling; the next term is 1/(640 x^5)
}

// P(|T| > t) for t >= LEAST_T: the incomplete beta function I_x(a, 1/2) by its continued fraction (DLMF 8.17.22), evaluated
// from the front (Lentz).
static double student_tail(double t, double degrees)
{
  double a = degrees / 2, b = 0.5, x = degrees / (degrees + t * t);
  double c = 1, d = 1 / (1 - (a + b) * x / (a + 1)), fraction = d;
  for (double m = 1;; m++) {
    double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
    d = 1 / (1 + even * d);
    c = 1 + even / c;
    fraction *= c * d;
    double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
    d = 1 / (1 + odd * d);
    c = 1 + odd / c;
    fraction *= c * d;
    if (!(fabs(c * d - 1) > 1e-15)) // NaN too
      break;
  }
  double log_beta = lgamma(b) - log_gamma_step(a), square = t * t;
  return exp(-a * log1p(square / degrees) + b * log(square / (degrees + square)) - log_beta) * fraction / a;
}

// The density of |T| at t.
static double student_density(double t, double degrees)
{
  double log_scale = log_gamma_step(degrees / 2) - 0.5 * log(degrees * PI);
  return 2 * exp(log_scale - (degrees + 1) / 2 * log1p(t * t / degrees));
}

// By Newton's method from below: the tail is convex. A step that small is followed by one below a double's precision.
double interval_student_quantile(double confidence, double degrees)
{
  double t = LEAST_T, step;
  do {
    step = (student_tail(t, degrees) - (1 - confidence)) / student_density(t, degrees);
    t += step;
  } while (step > t * 1e-9);
  return t;
}

// ---- means and their errors -----------------------------------------------------------------------------------------
static double mean_of(const double *values, size_t count)
{
  double sum = 0;
  for (size_t i = 0; i < count; i++)
    sum += values[i];
  return sum / (double)count;
}

static double squares_about_mean(const double *values, size_t count)
{
  double mean = mean_of(values, count), sum = 0;
  for (size_t i = 0; i < count; i++)
    sum += (values[i] - mean) * (values[i] - mean);
  return sum;
}

struct estimate estimate_mean(const double *values, size_t count)
{
  double n = (double)count;
  if (count < 2)
    return (struct estimate){count == 1 ? values[0] : NAN, NAN, NAN};
  return (struct estimate){mean_of(values, count), squares_about_mean(values, count) / (n * (n - 1)), n - 1};
}

static double *sorted_copy(const double *values, size_t count)
{
  double *sorted = memory_new(count + 1, sizeof *sorted);
  if (count > 0)
    memcpy(sorted, values, count * sizeof *sorted);
  qsort(sorted, count, sizeof *sorted, sorted_compare_double);
  return sorted;
}

// Without `cut` values at each end.
static struct estimate estimate_cut(const double *values, size_t count, size_t cut)
{
  size_t kept = count - 2 * cut;
  double *sorted SCOPED(scoped_free) = sorted_copy(values, count);
  double mean = mean_of(sorted + cut, kept);
  for (size_t i = 0; i < cut; i++) { // winsorised
    sorted[i] = sorted[cut];
    sorted[count - 1 - i] = sorted[count - 1 - cut];
  }
  double h = (double)kept;
  struct estimate estimate = {mean, squares_about_mean(sorted, count) / (h * (h - 1)), h - 1};
  return estimate;
}

struct estimate estimate_trimmed(const double *values, size_t count)
{
  return count < TRIMMED_LEAST ? estimate_mean(values, count) : estimate_cut(values, count, count / 5);
}

// A quantile of 0 to 1, not its value: its error, by the values at the ranks that bound it with 95 % (binomial distribution, normal
// approximation; David and Nagaraja, Order Statistics, 2003, 7.1). NaN where there are no such ranks, as for 0 and 1.
static struct estimate estimate_quantile(const double *values, size_t count, double quantile)
{
  double n = (double)count, reach = LEAST_QUANTILE * sqrt(n * quantile * (1 - quantile));
  double low = floor(quantile * (n - 1) - reach), high = ceil(quantile * (n - 1) + reach);
  if (!(reach > 0 && low >= 0 && high <= n - 1))
    return (struct estimate){NAN, NAN, NAN};
  double *sorted = sorted_copy(values, count);
  double error = (sorted[(size_t)high] - sorted[(size_t)low]) / (2 * LEAST_QUANTILE);
  free(sorted);
  return (struct estimate){NAN, error * error, n - 1};
}

struct estimate estimate_difference(struct estimate a, struct estimate b)
{
  double sum = a.squared_error + b.squared_error;
  double degrees =
      sum * sum / (a.squared_error * a.squared_error / a.degrees + b.squared_error * b.squared_error / b.degrees);
  return (struct estimate){a.mean - b.mean, sum, degrees};
}

double estimate_reach(struct estimate estimate, double confidence)
{
  if (!(estimate.squared_error > 0))
    return estimate.squared_error; // 0: all values are equal; NaN
  return interval_student_quantile(confidence, estimate.degrees) * sqrt(estimate.squared_error);
}

// ---- differences of samples -----------------------------------------------------------------------------------------
// The k-th runs of both sides are of one moment: both have started before the next pair starts.
static bool are_paired(const struct sample *a, const struct sample *b)
{
  if (a->run_count != b->run_count || a->run_starts == NULL || b->run_starts == NULL)
    return false;
  for (size_t i = 1; i < a->run_count; i++) {
    int64_t before[] = {a->run_starts[i - 1], b->run_starts[i - 1]}, next[] = {a->run_starts[i], b->run_starts[i]};
    for (int k = 0; k < 4; k++)
      if (before[k / 2] >= next[k % 2])
        return false;
  }
  return true;
}

static struct estimate estimate_pairs(const struct sample *a, const struct sample *b)
{
  double *differences SCOPED(scoped_free) = memory_new(a->run_count, sizeof *differences);
  for (size_t i = 0; i < a->run_count; i++)
    differences[i] = a->run_latencies[i] - b->run_latencies[i];
  struct estimate estimate = estimate_mean(differences, a->run_count);
  return estimate;
}

// Of a part Yuen's variance would leave out its own slow observations, which the figure has unless the model was slow in them too.
static struct estimate estimate_observations(const struct sample *sample, bool is_trimmed)
{
  if (sample->figure == SAMPLE_QUANTILE)
    return estimate_quantile(sample->values, sample->count, sample->quantile);
  if (!is_trimmed)
    return estimate_mean(sample->values, sample->count);
  if (sample->kept != NULL)
    return estimate_mean(sample->kept, sample->kept_count);
  return sample->figure == SAMPLE_CUT ? estimate_cut(sample->values, sample->count, sample->cut)
                                      : estimate_trimmed(sample->values, sample->count);
}

struct estimate estimate_of_sample(const struct sample *sample)
{
  struct estimate estimate = sample->run_count >= PAIRED_LEAST
                                 ? estimate_mean(sample->run_latencies, sample->run_count)
                                 : estimate_observations(sample, sample->count >= TRIMMED_LEAST);
  estimate.mean = sample->latency;
  return estimate;
}

// Of the difference; *ret_from: what its values are.
static struct estimate estimate_of_difference(const struct sample *a, const struct sample *b,
                                              enum interval_from *ret_from)
{
  if (a->run_count >= PAIRED_LEAST && b->run_count >= PAIRED_LEAST) {
    *ret_from = are_paired(a, b) ? INTERVAL_PAIRED_RUNS : INTERVAL_RUNS;
    return *ret_from == INTERVAL_PAIRED_RUNS ? estimate_pairs(a, b)
                                             : estimate_difference(estimate_mean(a->run_latencies, a->run_count),
                                                                   estimate_mean(b->run_latencies, b->run_count));
  }
  bool is_trimmed = a->count >= TRIMMED_LEAST && b->count >= TRIMMED_LEAST;
  *ret_from = INTERVAL_OBSERVATIONS;
  return estimate_difference(estimate_observations(a, is_trimmed), estimate_observations(b, is_trimmed));
}

struct interval interval_of_difference(const struct sample *a, const struct sample *b)
{
  enum interval_from from;
  struct estimate error = estimate_of_difference(a, b, &from);
  double difference = a->latency - b->latency, reach = estimate_reach(error, CONFIDENCE);
  return (struct interval){difference - reach, difference + reach, isnan(reach) ? INTERVAL_NONE : from};
}

// The error of `times` as many values of the same spread.
static double reach_of_more(struct estimate error, double times)
{
  error.squared_error /= times;
  error.degrees *= times;
  return estimate_reach(error, CONFIDENCE);
}

double interval_needs(const struct sample *a, const struct sample *b, double reach)
{
  enum interval_from from;
  struct estimate error = estimate_of_difference(a, b, &from);
  bool is_of_runs = from != INTERVAL_OBSERVATIONS;
  size_t a_count = is_of_runs ? a->run_count : a->count, b_count = is_of_runs ? b->run_count : b->count;
  double count = (double)(a_count > b_count ? a_count : b_count);
  if (!(reach > 0) || !(estimate_reach(error, CONFIDENCE) > reach))
    return NAN;
  double least = LEAST_QUANTILE / reach * LEAST_QUANTILE / reach * error.squared_error; // times the values
  double low = fmax(count, floor(least * count)), step = 1; // too few; hardly more are enough
  while (low + step < NEEDS_MOST && reach_of_more(error, (low + step) / count) > reach) {
    low += step;
    step *= 2;
  }
  double high = low + step;
  while (high - low > 1) {
    double middle = floor((low + high) / 2);
    *(reach_of_more(error, middle / count) > reach ? &low : &high) = middle;
  }
  return high < NEEDS_MOST ? high : NAN;
}

// ---- verdicts -------------------------------------------------------------------------------------------------------
enum verdict verdict_of(const struct interval *interval, const struct verdict_limits *limits)
{
  return interval->low > limits->least                                            ? VERDICT_SLOWER
         : interval->high < -limits->least                                        ? VERDICT_FASTER
         : interval->low > limits->same_low && interval->high < limits->same_high ? VERDICT_SAME
                                                                                  : VERDICT_NOT_DECIDED;
}

const char *verdict_name(enum verdict verdict)
{
  static const char *const names[] = {"not decided", "slower", "faster", "same", "not comparable"};
  return names[verdict];
}

struct paired_ratio interval_ratio_of_pairs(const double *a, const double *b, size_t count)
{
  double *logs = memory_new(count, sizeof *logs);
  size_t used = 0;
  for (size_t i = 0; i < count; i++)
    if (a[i] > 0 && b[i] > 0)
      logs[used++] = log(a[i] / b[i]);
  struct estimate estimate = estimate_trimmed(logs, used);
  double reach = estimate_reach(estimate, CONFIDENCE);
  free(logs);
  return (struct paired_ratio){exp(estimate.mean), exp(estimate.mean - reach), exp(estimate.mean + reach)};
}

const char *interval_from_name(enum interval_from from)
{
  static const char *const names[] = {NULL, "paired runs", "runs", "observations"};
  return names[from];
}

bool analyze_sample_has_drift(const struct sample *sample, double threshold, double *ret_first, double *ret_last)
{
  size_t third = sample->count / 3;
  *ret_first = *ret_last = NAN;
  if (sample->count < DRIFT_LEAST)
    return false;
  struct estimate first = estimate_mean(sample->values, third);
  struct estimate last = estimate_mean(sample->values + sample->count - third, third);
  struct estimate drift = estimate_difference(last, first);
  *ret_first = first.mean;
  *ret_last = last.mean;
  return fabs(drift.mean) > threshold && fabs(drift.mean) > estimate_reach(drift, DRIFT_CONFIDENCE);
}
