// SPDX-License-Identifier: Apache-2.0
// A library whose functions throw, and a guest that catches: exceptions pass traced calls, with cleanups on the way.
#include <cstdio>
#include <stdexcept>
#include <string>

#ifdef ZOO_LIBRARY
#define EXPORT extern "C" __attribute__((visibility("default"), noinline))
EXPORT int zoo_throw(int depth, double value, int (*back)(int))
{
  std::string text = "at depth " + std::to_string(depth);
  if (depth == 0)
    throw std::runtime_error(text + std::to_string(value));
  return back(depth - 1) + static_cast<int>(text.size());
}
#else
extern "C" int zoo_throw(int depth, double value, int (*back)(int));

static int cleaned, rethrown;

struct cleanup {
  ~cleanup()
  {
    cleaned++;
  }
};

static int again(int depth)
{
  cleanup on_the_way;
  try {
    return zoo_throw(depth, 1.5, again);
  } catch (const std::logic_error &) {
    return 1; // not this one
  } catch (...) {
    if (depth % 3 != 0)
      throw;
    rethrown++;
    throw std::runtime_error("again");
  }
}

int main()
{
  int caught = 0;
  for (int i = 0; i < 100; i++)
    try {
      again(i % 10);
    } catch (const std::runtime_error &error) {
      caught += static_cast<int>(std::string(error.what()).size());
    }
  std::printf("caught %d, cleaned %d, rethrown %d\n", caught, cleaned, rethrown);
  return 0;
}
#endif
