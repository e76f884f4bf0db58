// SPDX-License-Identifier: Apache-2.0
// Finds symbols in a library that the loader has just mapped, as the loader itself will. Called with the loader's lock
// held, or in an unwinder: takes no lock, allocates nothing, calls no libc. Trusts the library as the loader does.
#include "tracers/functions/symbols.h"

#include "tracers/functions/list.h"

#include <stddef.h>

bool functions_symbols_open(const struct link_map *map, struct symbols *ret_symbols)
{
  *ret_symbols = (struct symbols){.base = map->l_addr};
  ElfW(Addr) soname = 0; // 0: none
  for (ElfW(Dyn) *dyn = map->l_ld; dyn != NULL && dyn->d_tag != DT_NULL; dyn++) {
    // The loader has made addresses of offsets, but for sections that cannot be written (the kernel's own library).
    ElfW(Addr) at = dyn->d_un.d_ptr < map->l_addr ? dyn->d_un.d_ptr + map->l_addr : dyn->d_un.d_ptr;
    switch (dyn->d_tag) {
    case DT_SYMTAB:
      ret_symbols->table_entry = dyn;
      ret_symbols->table = (const ElfW(Sym) *)at;
      break;
    case DT_STRTAB:
      ret_symbols->strings = (const char *)at;
      break;
    case DT_HASH:
      ret_symbols->sysv_hash = (const uint32_t *)at;
      break;
    case DT_GNU_HASH:
      ret_symbols->gnu_hash = (const uint32_t *)at;
      break;
    case DT_SONAME:
      soname = dyn->d_un.d_val;
      break;
    default:
      break;
    }
  }
  if (ret_symbols->table == NULL || ret_symbols->strings == NULL)
    return false;
  if (soname != 0)
    ret_symbols->soname = ret_symbols->strings + soname;
  return ret_symbols->gnu_hash != NULL || ret_symbols->sysv_hash != NULL;
}

struct gnu_hash { // the section, taken apart
  uint32_t buckets, first, bloom_words, bloom_shift;
  const ElfW(Addr) * bloom;
  const uint32_t *bucket, *chain; // chain[symbol - first]
};

static struct gnu_hash gnu_hash_open(const uint32_t *section)
{
  struct gnu_hash hash = {section[0], section[1], section[2], section[3], (const ElfW(Addr) *)(section + 4),
                          NULL,       NULL};
  hash.bucket = (const uint32_t *)(hash.bloom + hash.bloom_words);
  hash.chain = hash.bucket + hash.buckets;
  return hash;
}

uint32_t functions_symbols_count(const struct symbols *symbols)
{
  if (symbols->gnu_hash == NULL)
    return symbols->sysv_hash[1];
  struct gnu_hash hash = gnu_hash_open(symbols->gnu_hash);
  uint32_t last = 0;
  for (uint32_t i = 0; i < hash.buckets; i++)
    last = hash.bucket[i] > last ? hash.bucket[i] : last;
  if (last < hash.first || last == 0)
    return 0;
  while ((hash.chain[last - hash.first] & 1) == 0) // the lowest bit ends a chain
    last++;
  return last + 1;
}

static uint32_t gnu_hash_of(const char *name)
{
  uint32_t hash = 5381;
  for (; *name != '\0'; name++)
    hash = hash * 33 + (unsigned char)*name;
  return hash;
}

static bool is_named(const struct symbols *symbols, uint32_t index, const char *name)
{
  const ElfW(Sym) *symbol = &symbols->table[index];
  return symbol->st_shndx != SHN_UNDEF && symbol->st_value != 0 &&
         functions_same(symbols->strings + symbol->st_name, name);
}

uint32_t functions_symbols_next(const struct symbols *symbols, const char *name, uint32_t after)
{
  if (symbols->gnu_hash == NULL) { // rare: the whole table, in its order
    for (uint32_t i = after + 1; i < symbols->sysv_hash[1]; i++)
      if (is_named(symbols, i, name))
        return i;
    return 0;
  }
  struct gnu_hash hash = gnu_hash_open(symbols->gnu_hash);
  const uint32_t wanted = gnu_hash_of(name), bits = 8 * sizeof(ElfW(Addr));
  if (hash.buckets == 0 || hash.bloom_words == 0)
    return 0;
  ElfW(Addr) bloom = hash.bloom[wanted / bits % hash.bloom_words];
  if ((bloom >> (wanted % bits) & bloom >> ((wanted >> hash.bloom_shift) % bits) & 1) == 0)
    return 0;
  uint32_t i = hash.bucket[wanted % hash.buckets];
  if (i < hash.first || i == 0)
    return 0;
  for (;; i++) {
    uint32_t entry = hash.chain[i - hash.first];
    if (i > after && (entry | 1) == (wanted | 1) && is_named(symbols, i, name))
      return i;
    if (entry & 1)
      return 0;
  }
}

bool functions_symbols_is_function(const ElfW(Sym) * symbol)
{
  unsigned binding = ELF64_ST_BIND(symbol->st_info);
  unsigned type = ELF64_ST_TYPE(symbol->st_info);
  return (type == STT_FUNC || type == STT_GNU_IFUNC) && symbol->st_shndx != SHN_UNDEF && symbol->st_value != 0 &&
         (binding == STB_GLOBAL || binding == STB_WEAK || binding == STB_GNU_UNIQUE);
}
