// SPDX-License-Identifier: Apache-2.0
// The table of known GPUs, from data sheets, and how their names are recognised. Called by roofs.c. A wrong roof is worse
// than none: a name counts only where it identifies the model.
#include "analyze/kernels/systems.h"

#include <ctype.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

// Sources, all by the makers, boost clocks, no sparsity:
// - Table VII of the XSP paper (IPDPS 2020), "as reported by NVIDIA": single precision and bandwidth of its five GPUs.
// - NVIDIA Quadro RTX 6000 data sheet: half, tensor.
// - NVIDIA V100 data sheets (2018; 2020 with the V100S), Tesla P100 data sheets (PCIe, SXM2), Tesla P4 data sheet.
// - NVIDIA A100 data sheet (40 GB: 1,555 GB/s; 80 GB: 1,935 PCIe, 2,039 SXM) and its architecture paper (half: 78).
// - NVIDIA H100, H200 data sheets (tensor figures there are with sparsity: halved here), architecture paper (half).
// - AMD Instinct MI250, MI250X data sheets: the card has two dies, each of which the driver shows as a device; a kernel
//   runs on one. Hence half of the card's figures. Vector single and double are the same there.
// - AMD Instinct MI300X, MI300A, MI325X data sheets.
//
// Names as drivers give them, without makers' words, in capitals, one space between words. Names without form and memory
// are what the XSP paper calls its systems; drivers do not report them.
static const struct {
  const char *names; // separated by '|'
  struct system_peaks peaks;
} known[] = {
    {"QUADRO RTX 6000|QUADRO RTX", {32.6, 16.3, 0, 130.5, 624, "XSP Table VII, NVIDIA data sheet"}},
    {"V100|V100 SXM2 16GB|V100 SXM2 32GB|V100 SXM3 32GB|V100 DGXS 16GB|V100 DGXS 32GB",
     {31.4, 15.7, 7.8, 125, 900, "NVIDIA V100 data sheet"}},
    {"V100 PCIE 16GB|V100 PCIE 32GB", {28, 14, 7, 112, 900, "NVIDIA V100 data sheet"}},
    {"V100S PCIE 32GB", {32.8, 16.4, 8.2, 130, 1134, "NVIDIA V100 data sheet"}},
    {"P100|P100 PCIE 16GB", {18.7, 9.3, 4.7, 0, 732, "NVIDIA Tesla P100 data sheet"}},
    {"P100 PCIE 12GB", {18.7, 9.3, 4.7, 0, 549, "NVIDIA Tesla P100 data sheet"}},
    {"P100 SXM2 16GB", {21.2, 10.6, 5.3, 0, 732, "NVIDIA Tesla P100 data sheet"}},
    {"P4", {0, 5.5, 0, 0, 192, "NVIDIA Tesla P4 data sheet"}},
    {"M60", {0, 4.8, 0, 0, 160, "XSP Table VII"}}, // one of the card's two
    {"A100 SXM4 40GB|A100 SXM 40GB|A100 PCIE 40GB|A100 PG509 200",
     {78, 19.5, 9.7, 312, 1555, "NVIDIA A100 data sheet"}}, // PG509 200: a board of 40 GB and 108 multiprocessors
    {"A100 80GB PCIE|A100 PCIE 80GB", {78, 19.5, 9.7, 312, 1935, "NVIDIA A100 data sheet"}},
    {"A100 SXM4 80GB|A100 SXM 80GB", {78, 19.5, 9.7, 312, 2039, "NVIDIA A100 data sheet"}},
    {"H100 80GB HBM3|H100 SXM5 80GB", {133.8, 67, 34, 989.5, 3350, "NVIDIA H100 data sheet"}},
    {"H100 PCIE", {0, 51, 26, 756.5, 2000, "NVIDIA H100 data sheet"}},
    {"H100 NVL", {0, 60, 30, 835.5, 3900, "NVIDIA H100 data sheet"}},
    {"H200", {133.8, 67, 34, 989.5, 4800, "NVIDIA H200 data sheet"}},
    {"H200 NVL", {0, 60, 30, 835.5, 4800, "NVIDIA H200 data sheet"}},
    {"MI250", {0, 22.65, 22.65, 181.05, 1638.4, "AMD Instinct MI250 data sheet, per die"}},
    {"MI250X", {0, 23.95, 23.95, 191.5, 1638.4, "AMD Instinct MI250X data sheet, per die"}},
    {"MI300A", {0, 122.6, 61.3, 980.6, 5300, "AMD Instinct MI300A data sheet"}},
    {"MI300X", {0, 163.4, 81.7, 1307.4, 5300, "AMD Instinct MI300X data sheet"}},
    {"MI325X", {0, 163.4, 81.7, 1307.4, 6000, "AMD Instinct MI325X data sheet"}},
};

static bool has_name(const char *names, const char *name)
{
  size_t length = strlen(name);
  while (strncmp(names, name, length) != 0 || (names[length] != '|' && names[length] != 0)) {
    names = strchr(names, '|');
    if (names == NULL)
      return false;
    names++;
  }
  return true;
}

static bool is_makers_word(const char *word, size_t length)
{
  static const char *const words[] = {"NVIDIA", "TESLA", "AMD", "INSTINCT", "CORPORATION", "TM"};
  for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
    if (strlen(words[i]) == length && memcmp(words[i], word, length) == 0)
      return true;
  return false;
}

// Into `text`, as the table has names. False: too long to be one.
static bool normalize(const char *name, char *text, size_t size)
{
  size_t used = 0;
  while (*name != 0) {
    while (*name != 0 && !isalnum((unsigned char)*name))
      name++;
    size_t start = used + (used > 0);
    size_t at = start;
    for (; isalnum((unsigned char)*name); name++) {
      if (at + 1 >= size)
        return false;
      text[at++] = (char)toupper((unsigned char)*name);
    }
    if (at == start || is_makers_word(text + start, at - start))
      continue;
    if (used > 0)
      text[used] = ' ';
    used = at;
  }
  text[used] = 0;
  return used > 0;
}

const struct system_peaks *analyze_systems_find(const char *gpu_name)
{
  char text[64];
  if (gpu_name == NULL || !normalize(gpu_name, text, sizeof text))
    return NULL;
  for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
    if (has_name(known[i].names, text))
      return &known[i].peaks;
  return NULL;
}
