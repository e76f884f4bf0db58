// SPDX-License-Identifier: Apache-2.0
// Communicators: by their ranks, which all processes agree on, unlike handles. Called by tracer.c at each communication.
#include "frameworks/mpi/tracer.h"

#include "base/hash.h"

#include <stdio.h>
#include <string.h>

#define UNNAMED 64u // at a time; of others it is found anew that they have no name
#define CHUNK 256
#define LISTED_MOST 8
#define MPICH_WORLD UINT32_C(0x44000000)
#define MPICH_NO_COMMUNICATOR UINT32_C(0x04000000)

// Sends and receives have groups of their own, with the plain name: ranks need not use a communicator alike, but for collectives.
static struct table {
  struct mpi_group groups[MPI_GROUPS];
  uint32_t used; // atomic
} collectives, exchanges;
static mpi_word
    unnamed[UNNAMED]; // atomic; 0: free. Handles that take() found no place for, or that have no ranks to name

mpi_word mpi_handle(mpi_word argument)
{
  return mpi->open_mpi_world != NULL ? argument : (uint32_t)argument;
}

mpi_word mpi_handle_at(const void *handles, uint32_t place)
{
  mpi_word word;
  uint32_t number;
  if (mpi->open_mpi_world != NULL)
    memcpy(&word, (const char *)handles + sizeof word * place, sizeof word);
  else {
    memcpy(&number, (const char *)handles + sizeof number * place, sizeof number);
    word = number;
  }
  return word;
}

struct members { // of a communicator, as ranks of MPI_COMM_WORLD
  int count, least, most;
  int first[LISTED_MOST]; // sorted; those of few
  uint64_t hash;
};

static void add_member(struct members *members, int rank)
{
  int at = members->count++;
  members->least = at == 0 || rank < members->least ? rank : members->least;
  members->most = at == 0 || rank > members->most ? rank : members->most;
  members->hash += hash_text((const char *)&rank, sizeof rank, 0); // in any order
  if (at >= LISTED_MOST)
    return;
  for (; at > 0 && members->first[at - 1] > rank; at--)
    members->first[at] = members->first[at - 1];
  members->first[at] = rank;
}

// False: they are not all of MPI_COMM_WORLD, as those of processes that were spawned.
static bool find_members(mpi_word communicator, struct members *ret_members)
{
  mpi_word group = 0, world = 0;
  const mpi_word world_communicator = mpi->open_mpi_world != NULL ? (mpi_word)mpi->open_mpi_world : MPICH_WORLD;
  int ranks[CHUNK], of_world[CHUNK], size = 0, is_inter = 0;
  if (mpi->Comm_test_inter(communicator, &is_inter) != 0 || is_inter || mpi->Comm_size(communicator, &size) != 0 ||
      mpi->Comm_group(communicator, &group) != 0)
    return false;
  bool is_whole = mpi->Comm_group(world_communicator, &world) == 0;
  *ret_members = (struct members){0};
  for (int from = 0; is_whole && from < size; from += CHUNK) {
    int count = size - from < CHUNK ? size - from : CHUNK;
    for (int i = 0; i < count; i++)
      ranks[i] = from + i;
    is_whole = mpi->Group_translate_ranks(group, count, ranks, world, of_world) == 0;
    for (int i = 0; is_whole && i < count; i++) {
      is_whole = of_world[i] >= 0; // else MPI_UNDEFINED
      add_member(ret_members, of_world[i]);
    }
  }
  if (world != 0)
    (void)mpi->Group_free(&world);
  (void)mpi->Group_free(&group);
  return is_whole;
}

static void put_name(struct mpi_group *group, const struct members *members, unsigned times)
{
  size_t length = 0, size = sizeof group->name;
  if (members->count > 1 && members->most - members->least + 1 == members->count)
    length = (size_t)snprintf(group->name, size, "%d-%d", members->least, members->most);
  else if (members->count <= LISTED_MOST)
    for (int i = 0; i < members->count; i++)
      length += (size_t)snprintf(group->name + length, size - length, "%s%d", i > 0 ? "," : "", members->first[i]);
  else
    length = (size_t)snprintf(group->name, size, "%d-%d (%d ranks, %04x)", members->least, members->most,
                              members->count, (unsigned)(members->hash & 0xffff));
  if (times > 0 && length < size)
    snprintf(group->name + length, size - length, " #%u", times + 1);
}

static uint32_t used_of(const struct table *table)
{
  uint32_t used = __atomic_load_n(&table->used, __ATOMIC_ACQUIRE);
  return used < MPI_GROUPS ? used : MPI_GROUPS;
}

// One that the program freed, of the same ranks, or a new one. All processes of the communicator choose alike, as its first collective
// comes in the same order on all of them. Two threads may take one each for their first sends: these have the same name.
static struct mpi_group *take(struct table *table, mpi_word handle, const struct members *members)
{
  const uint64_t ranks = (members->hash ^ (uint64_t)members->count << 32) | 1;
  unsigned times = 0;
  for (uint32_t i = 0; i < used_of(table); i++) {
    struct mpi_group *group = &table->groups[i];
    mpi_word none = 0;
    if (__atomic_load_n(&group->ranks, __ATOMIC_ACQUIRE) != ranks)
      continue;
    if (__atomic_compare_exchange_n(&group->handle, &none, handle, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
      return group;
    times++;
  }
  uint32_t place = __atomic_fetch_add(&table->used, 1, __ATOMIC_RELAXED);
  if (place >= MPI_GROUPS) {
    __atomic_store_n(&table->used, MPI_GROUPS, __ATOMIC_RELAXED);
    return NULL;
  }
  struct mpi_group *group = &table->groups[place];
  group->number = place + 1;
  group->size = (uint32_t)members->count;
  put_name(group, members, table == &collectives ? times : 0);
  __atomic_store_n(&group->handle, handle, __ATOMIC_RELEASE);
  __atomic_store_n(&group->ranks, ranks, __ATOMIC_RELEASE);
  return group;
}

static bool is_unnamed(mpi_word handle)
{
  bool is = false;
  for (uint32_t i = 0; i < UNNAMED && !is; i++)
    is = __atomic_load_n(&unnamed[i], __ATOMIC_RELAXED) == handle;
  return is;
}

static void keep_unnamed(mpi_word handle)
{
  bool is_kept = false;
  for (uint32_t i = 0; i < UNNAMED && !is_kept; i++) {
    mpi_word none = 0;
    is_kept = __atomic_compare_exchange_n(&unnamed[i], &none, handle, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
  }
}

static struct mpi_group *find(struct table *table, mpi_word handle)
{
  for (uint32_t i = 0; i < used_of(table); i++)
    if (__atomic_load_n(&table->groups[i].ranks, __ATOMIC_ACQUIRE) != 0 &&
        __atomic_load_n(&table->groups[i].handle, __ATOMIC_RELAXED) == handle)
      return &table->groups[i];
  return NULL;
}

struct mpi_group *mpi_group_of(mpi_word communicator, bool is_between_two)
{
  static __thread struct mpi_group *lasts[2] __attribute__((tls_model("initial-exec")));
  struct mpi_group **last = &lasts[is_between_two];
  struct table *table = is_between_two ? &exchanges : &collectives;
  const mpi_word handle = mpi_handle(communicator);
  if (*last != NULL && __atomic_load_n(&(*last)->handle, __ATOMIC_RELAXED) == handle)
    return *last;
  // MPI's functions would call the program's handler of errors.
  if (handle == 0 ||
      handle == (mpi->open_mpi_world != NULL ? (mpi_word)mpi->open_mpi_no_communicator : MPICH_NO_COMMUNICATOR))
    return NULL;
  struct mpi_group *group = find(table, handle);
  struct members members;
  if (group == NULL && is_unnamed(handle))
    return NULL;
  if (group == NULL && find_members(communicator, &members))
    group = take(table, handle, &members);
  if (group == NULL)
    keep_unnamed(handle);
  return *last = group;
}

void mpi_group_freed(const void *communicator)
{
  mpi_word handle = communicator != NULL ? mpi_handle_at(communicator, 0) : 0;
  if (handle == 0)
    return;
  for (uint32_t i = 0; i < 2 * MPI_GROUPS + UNNAMED; i++) {
    mpi_word *place = i < MPI_GROUPS       ? &collectives.groups[i].handle
                      : i < 2 * MPI_GROUPS ? &exchanges.groups[i - MPI_GROUPS].handle
                                           : &unnamed[i - 2 * MPI_GROUPS];
    (void)__atomic_compare_exchange_n(place, &(mpi_word){handle}, 0, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
  }
}
