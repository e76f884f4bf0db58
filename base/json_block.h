// SPDX-License-Identifier: Apache-2.0
// Sixteen bytes of JSON text at once, as bit masks: bit i is about byte i. SSE2 where there is (every x86-64), else plain
// C on two 64-bit words, so that both paths have one shape. Inside the JSON scanners only.
#ifndef XSP_BASE_JSON_BLOCK_H
#define XSP_BASE_JSON_BLOCK_H

#include <stdint.h>
#include <string.h>

#define BLOCK_BYTES 16
#define BLOCK_ALL 0xffffu

#if defined(__SSE2__) && !defined(XSP_PORTABLE_SCAN)
#include <emmintrin.h>

static inline __m128i block_load(const char *at)
{
  return _mm_loadu_si128((const __m128i *)(const void *)at);
}

// Where a string may end or not be plain: quotes, backslashes, bytes beyond ASCII.
static inline uint32_t block_string_stops(const char *at)
{
  __m128i bytes = block_load(at);
  __m128i quotes = _mm_cmpeq_epi8(bytes, _mm_set1_epi8('"'));
  __m128i backslashes = _mm_cmpeq_epi8(bytes, _mm_set1_epi8('\\'));
  return (uint32_t)_mm_movemask_epi8(_mm_or_si128(_mm_or_si128(quotes, backslashes), bytes));
}

static inline uint32_t block_quotes_and_backslashes(const char *at)
{
  __m128i bytes = block_load(at);
  __m128i quotes = _mm_cmpeq_epi8(bytes, _mm_set1_epi8('"'));
  __m128i backslashes = _mm_cmpeq_epi8(bytes, _mm_set1_epi8('\\'));
  return (uint32_t)_mm_movemask_epi8(_mm_or_si128(quotes, backslashes));
}

static inline uint32_t block_digits(const char *at)
{
  __m128i above_zero = _mm_sub_epi8(block_load(at), _mm_set1_epi8('0'));
  return (uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(_mm_min_epu8(above_zero, _mm_set1_epi8(9)), above_zero));
}

static inline uint32_t block_equal(const char *at, const char *other)
{
  return (uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(block_load(at), block_load(other)));
}

#else

static inline uint64_t block_word(const char *at)
{
  uint64_t word;
  memcpy(&word, at, sizeof word);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
  word = __builtin_bswap64(word);
#endif
  return word;
}

#define BLOCK_EACH(byte) (UINT64_C(0x0101010101010101) * (byte))

// The top bit of each byte, gathered in eight bits.
static inline uint32_t block_gather(uint64_t tops)
{
  return (uint32_t)(((tops & BLOCK_EACH(0x80)) * UINT64_C(0x0002040810204081)) >> 56);
}

// The top bit set in each byte that is 0, exactly.
static inline uint64_t block_zero_bytes(uint64_t word)
{
  return ~(((word & BLOCK_EACH(0x7f)) + BLOCK_EACH(0x7f)) | word | BLOCK_EACH(0x7f));
}

static inline uint64_t block_stops_of(uint64_t word)
{
  return block_zero_bytes(word ^ BLOCK_EACH('"')) | block_zero_bytes(word ^ BLOCK_EACH('\\'));
}

static inline uint64_t block_digits_of(uint64_t word)
{
  uint64_t above_zero = word ^ BLOCK_EACH('0');
  return ~(((above_zero & BLOCK_EACH(0x7f)) + BLOCK_EACH(0x76)) | above_zero);
}

static inline uint32_t block_string_stops(const char *at)
{
  uint64_t low = block_word(at);
  uint64_t high = block_word(at + 8);
  return block_gather(block_stops_of(low) | low) | block_gather(block_stops_of(high) | high) << 8;
}

static inline uint32_t block_quotes_and_backslashes(const char *at)
{
  return block_gather(block_stops_of(block_word(at))) | block_gather(block_stops_of(block_word(at + 8))) << 8;
}

static inline uint32_t block_digits(const char *at)
{
  return block_gather(block_digits_of(block_word(at))) | block_gather(block_digits_of(block_word(at + 8))) << 8;
}

static inline uint32_t block_equal(const char *at, const char *other)
{
  return block_gather(block_zero_bytes(block_word(at) ^ block_word(other))) |
         block_gather(block_zero_bytes(block_word(at + 8) ^ block_word(other + 8))) << 8;
}

#endif

// The first bit that is set; `mask` is not 0.
static inline unsigned block_first(uint32_t mask)
{
  return (unsigned)__builtin_ctz(mask);
}

#endif
