// SPDX-License-Identifier: Apache-2.0
// Intervals of differences between two sets of latencies, in closed form: Student's t over pairs, runs or observations
// (docs/analyses.md, "Intervals"). Pure: plain arrays in, figures out; any thread. Values are of one unit, and so are figures.
#ifndef XSP_ANALYZE_INTERVALS_H
#define XSP_ANALYZE_INTERVALS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// An estimated mean. The square of its standard error is NaN where there are fewer than two values.
struct estimate {
  double mean, squared_error, degrees; // degrees of freedom of the error
};
struct estimate estimate_mean(const double *values, size_t count);
// From 8 values on: the mean without ⌊0.2·count⌋ values at each end, its error by Yuen's winsorised variance (Biometrika 61,
// 1974). With fewer values: estimate_mean.
struct estimate estimate_trimmed(const double *values, size_t count);
// a - b of independent samples, with Welch's degrees of freedom (Biometrika 34, 1947).
struct estimate estimate_difference(struct estimate a, struct estimate b);
// Half the width of the interval around the mean. NaN without an error. confidence: as of interval_student_quantile.
double estimate_reach(struct estimate estimate, double confidence);
// The t that |T| exceeds with probability 1 - confidence, for T of Student's distribution. confidence: 0.95 to 1 (exclusive);
// degrees: 1 or more, need not be whole.
double interval_student_quantile(double confidence, double degrees);

enum sample_figure { SAMPLE_TRIMMED, SAMPLE_CUT, SAMPLE_QUANTILE };
// Latencies of one set. Arrays are the caller's.
struct sample {
  double latency;            // the set's figure, by the question's statistic
  enum sample_figure figure; // what it is, for its error. TRIMMED: the default, trimmed:0.2
  size_t cut;                // CUT: the mean without so many values at each end, where there are at least 8 values
  double quantile;           // QUANTILE: 0.5 for the median
  const double *values;      // of observations, in order of start
  size_t count;
  const double *run_latencies; // the same statistic over each run, in order of start
  const int64_t *run_starts;   // NULL: not on one clock, so that runs are never paired
  size_t run_count;
  // Of a part, such as a layer, whose figure is the mean over the observations that the model's own latency keeps: its values in
  // these. NULL: the figure is the statistic of `values` themselves.
  const double *kept;
  size_t kept_count;
};
enum interval_from { INTERVAL_NONE, INTERVAL_PAIRED_RUNS, INTERVAL_RUNS, INTERVAL_OBSERVATIONS };
struct interval {
  double low, high; // 95 %; NaN: fewer than two values on a side, or a quantile that the values do not bound
  enum interval_from from;
};
// The error that a side has in an interval of runs, where it has enough of them, else of observations; the mean is sample->latency.
// For differences of samples that are not at hand at once.
struct estimate estimate_of_sample(const struct sample *sample);
// Of a.latency - b.latency, around that difference.
struct interval interval_of_difference(const struct sample *a, const struct sample *b);
// How many runs (where the interval is from runs) or observations each side needs in all, for an interval that reaches at most
// `reach` from the difference, with the spread of these. NaN: unknown, without an interval, or where it is narrow enough.
double interval_needs(const struct sample *a, const struct sample *b, double reach);

enum verdict { VERDICT_NOT_DECIDED, VERDICT_SLOWER, VERDICT_FASTER, VERDICT_SAME, VERDICT_NOT_COMPARABLE };
struct verdict_limits {
  double least;               // the smallest difference that counts: slower above it, faster below its negative
  double same_low, same_high; // else the same, where the interval is within these
};
// Of the first side of a difference against the second. Never VERDICT_NOT_COMPARABLE.
enum verdict verdict_of(const struct interval *interval, const struct verdict_limits *limits);
const char *verdict_name(enum verdict verdict); // "not decided", "slower", …
// Of a[i] / b[i], which were measured at one moment, so that a disturbance of both cancels: e to the mean of ln a[i] - ln b[i] (as
// estimate_trimmed has it), and its 95 % interval. Pairs with a value that is not above 0 are left out. NaN: no pair; low and
// high: fewer than two.
struct paired_ratio {
  double ratio, low, high;
};
struct paired_ratio interval_ratio_of_pairs(const double *a, const double *b, size_t count);
const char *interval_from_name(enum interval_from from); // "paired runs", "runs", "observations"; NULL: none
// Whether the means of the first and last third of at least 9 observations differ, with 99 % confidence, and by more than
// `threshold`. The means are filled in where there are as many observations, else NaN.
bool analyze_sample_has_drift(const struct sample *sample, double threshold, double *ret_first, double *ret_last);

#endif
