// SPDX-License-Identifier: Apache-2.0
// A library for symbols_test.c: each function records the address of the call in it. #line gives the lines that the test compares.
#include <cstdint>

extern "C" {
__attribute__((visibility("default"))) uintptr_t example_plain_address, example_member_address, example_inlined_address;
}

__attribute__((noinline)) static void note(uintptr_t *place)
{
  *place = reinterpret_cast<uintptr_t>(__builtin_return_address(0)) - 1;
}

static volatile int kept;

__attribute__((always_inline)) inline void innermost(int value)
{
#line 100
  note(&example_inlined_address);
  kept = value;
}

__attribute__((always_inline)) inline void between(int value)
{
  innermost(value + 1);
  kept = value;
}

namespace shapes
{
template <typename Type> struct Box {
  volatile Type size;
  __attribute__((noinline)) void measure(Type value)
  {
#line 200
    note(&example_member_address);
    size = value;
  }
};
} // namespace shapes

extern "C" {
__asm__(".symver example_with_inlined, example_with_inlined@@@EXAMPLE_1");
__attribute__((visibility("default"), noinline)) void example_with_inlined(int value)
{
  between(value);
  kept = value;
}

__attribute__((visibility("default"))) void example_run()
{
#line 300
  note(&example_plain_address);
  shapes::Box<double>{2}.measure(1);
  example_with_inlined(2);
  kept = 0;
}
}
