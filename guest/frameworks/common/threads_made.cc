// SPDX-License-Identifier: Apache-2.0
// For threads_test.c: a thread of C++ that lives until it is ended, its number and its hash.
#include <functional>
#include <semaphore.h>
#include <thread>
#include <unistd.h>

namespace
{
std::thread made;
sem_t runs, may_end;
pid_t number;
} // namespace

extern "C" {
size_t framework_made_own_hash(void)
{
  return std::hash<std::thread::id>{}(std::this_thread::get_id());
}
size_t framework_made_thread_start(pid_t *ret_number)
{
  sem_init(&runs, 0, 0);
  sem_init(&may_end, 0, 0);
  made = std::thread([] {
    number = gettid();
    sem_post(&runs);
    sem_wait(&may_end);
  });
  sem_wait(&runs);
  *ret_number = number;
  return std::hash<std::thread::id>{}(made.get_id());
}
void framework_made_thread_end(void)
{
  sem_post(&may_end);
  made.join();
}
}
