// SPDX-License-Identifier: Apache-2.0
// Cost of reading eight fields of each trace event with simdjson On-Demand, with the file already in memory: simdjson
// FILE REPEATS prints "EVENTS NANOSECONDS_PER_EVENT PEAK_KIB VERSION KERNELS", the median of the repeats. The peer of
// bench/import.c; compiled for this machine's processor, as On-Demand needs for its best speed.
#include <simdjson.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <sys/resource.h>
#include <time.h>
#include <vector>

#define TEXT_OF(name) #name
#define TEXT(name) TEXT_OF(name)
// builtin_implementation() names those that the library was built with.
#define KERNELS TEXT(SIMDJSON_BUILTIN_IMPLEMENTATION)

static double now_ns()
{
  struct timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

struct totals {
  size_t events = 0;
  double sum = 0;
};

static void read_arguments(simdjson::ondemand::object arguments, totals &all)
{
  for (auto argument : arguments)
    if (argument.unescaped_key().value() == "correlation")
      all.sum += static_cast<double>(argument.value().get_int64().value());
}

static void read_event(simdjson::ondemand::object event, totals &all)
{
  for (auto field : event) {
    std::string_view key = field.unescaped_key();
    if (key == "ts" || key == "dur")
      all.sum += field.value().get_double().value();
    else if (key == "name" || key == "cat" || key == "ph")
      all.sum += static_cast<double>(std::string_view(field.value().get_string()).size());
    else if (key == "tid" || key == "pid")
      all.sum += static_cast<double>(field.value().get_int64().value());
    else if (key == "args")
      read_arguments(field.value().get_object(), all);
  }
  all.events++;
}

int main(int count, char **arguments)
{
  if (count != 3)
    return 2;
  std::vector<double> times;
  totals all;
  for (int repeat = 0; repeat < std::atoi(arguments[2]); repeat++) {
    auto text = simdjson::padded_string::load(arguments[1]).take_value();
    all = totals();
    double start = now_ns();
    simdjson::ondemand::parser parser;
    auto document = parser.iterate(text).take_value();
    for (auto event : document["traceEvents"].get_array())
      read_event(event.get_object(), all);
    times.push_back(now_ns() - start);
  }
  if (all.events == 0 || all.sum == 0)
    return 1;
  std::sort(times.begin(), times.end());
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  std::printf("%zu %.2f %ld %d.%d.%d %s\n", all.events, times[times.size() / 2] / static_cast<double>(all.events),
              usage.ru_maxrss, simdjson::SIMDJSON_VERSION_MAJOR, simdjson::SIMDJSON_VERSION_MINOR,
              simdjson::SIMDJSON_VERSION_REVISION, KERNELS);
}
