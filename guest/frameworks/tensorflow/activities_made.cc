// SPDX-License-Identifier: Apache-2.0
// For activities_test.c: the recorder's result as C++ lays it out, made of the same standard containers that TensorFlow makes
// it of. The types are those of tsl/profiler/backends/cpu/traceme_recorder.h.
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

namespace
{
struct event {
  std::string name;
  int64_t start_ns, end_ns;
};
struct thread_events {
  int64_t id;
  std::string name;
  std::deque<event> events;
};
std::vector<thread_events> made;
} // namespace

extern "C" {
const void *tensorflow_made_start(void)
{
  made.clear();
  return &made;
}
void tensorflow_made_thread(const char *name)
{
  made.push_back({static_cast<int64_t>(made.size()) - 9, name, {}});
}
void tensorflow_made_event(const char *name, int64_t start_ns, int64_t end_ns)
{
  made.back().events.push_back({name, start_ns, end_ns});
}
// As a queue that was read from: its beginning lies somewhere in a node.
void tensorflow_made_drop_first(void)
{
  made.back().events.pop_front();
}
}
