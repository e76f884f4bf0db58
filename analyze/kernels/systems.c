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
//   runs on one. Half of the card's figures therefore. Vector single and double are the same there.
// - AMD Instinct MI300X, MI300A, MI325X data sheets.
static const struct system_peaks quadro_rtx_6000 = {32.6, 16.3, 0, 130.5, 624, "XSP Table VII, NVIDIA data sheet"};
static const struct system_peaks v100_sxm = {31.4, 15.7, 7.8, 125, 900, "NVIDIA V100 data sheet"};
static const struct system_peaks v100_pcie = {28, 14, 7, 112, 900, "NVIDIA V100 data sheet"};
static const struct system_peaks v100s_pcie = {32.8, 16.4, 8.2, 130, 1134, "NVIDIA V100 data sheet"};
static const struct system_peaks p100_pcie_16 = {18.7, 9.3, 4.7, 0, 732, "NVIDIA Tesla P100 data sheet"};
static const struct system_peaks p100_pcie_12 = {18.7, 9.3, 4.7, 0, 549, "NVIDIA Tesla P100 data sheet"};
static const struct system_peaks p100_sxm = {21.2, 10.6, 5.3, 0, 732, "NVIDIA Tesla P100 data sheet"};
static const struct system_peaks p4 = {0, 5.5, 0, 0, 192, "NVIDIA Tesla P4 data sheet"};
static const struct system_peaks m60 = {0, 4.8, 0, 0, 160, "XSP Table VII"}; // one of the card's two
static const struct system_peaks a100_40 = {78, 19.5, 9.7, 312, 1555, "NVIDIA A100 data sheet"};
static const struct system_peaks a100_pcie_80 = {78, 19.5, 9.7, 312, 1935, "NVIDIA A100 data sheet"};
static const struct system_peaks a100_sxm_80 = {78, 19.5, 9.7, 312, 2039, "NVIDIA A100 data sheet"};
static const struct system_peaks h100_sxm = {133.8, 67, 34, 989.5, 3350, "NVIDIA H100 data sheet"};
static const struct system_peaks h100_pcie = {0, 51, 26, 756.5, 2000, "NVIDIA H100 data sheet"};
static const struct system_peaks h100_nvl = {0, 60, 30, 835.5, 3900, "NVIDIA H100 data sheet"};
static const struct system_peaks h200_sxm = {133.8, 67, 34, 989.5, 4800, "NVIDIA H200 data sheet"};
static const struct system_peaks h200_nvl = {0, 60, 30, 835.5, 4800, "NVIDIA H200 data sheet"};
static const struct system_peaks mi250 = {0, 22.65, 22.65, 181.05, 1638.4, "AMD Instinct MI250 data sheet, per die"};
static const struct system_peaks mi250x = {0, 23.95, 23.95, 191.5, 1638.4, "AMD Instinct MI250X data sheet, per die"};
static const struct system_peaks mi300a = {0, 122.6, 61.3, 980.6, 5300, "AMD Instinct MI300A data sheet"};
static const struct system_peaks mi300x = {0, 163.4, 81.7, 1307.4, 5300, "AMD Instinct MI300X data sheet"};
static const struct system_peaks mi325x = {0, 163.4, 81.7, 1307.4, 6000, "AMD Instinct MI325X data sheet"};

// Names as drivers give them, without makers' words, in capitals, one space between words. Names without form and memory
// are what the XSP paper calls its systems; drivers do not report them.
static const struct {
  const char *name;
  const struct system_peaks *peaks;
} known[] = {
    {"QUADRO RTX 6000", &quadro_rtx_6000},
    {"QUADRO RTX", &quadro_rtx_6000},
    {"V100", &v100_sxm},
    {"V100 SXM2 16GB", &v100_sxm},
    {"V100 SXM2 32GB", &v100_sxm},
    {"V100 SXM3 32GB", &v100_sxm},
    {"V100 DGXS 16GB", &v100_sxm},
    {"V100 DGXS 32GB", &v100_sxm},
    {"V100 PCIE 16GB", &v100_pcie},
    {"V100 PCIE 32GB", &v100_pcie},
    {"V100S PCIE 32GB", &v100s_pcie},
    {"P100", &p100_pcie_16},
    {"P100 PCIE 16GB", &p100_pcie_16},
    {"P100 PCIE 12GB", &p100_pcie_12},
    {"P100 SXM2 16GB", &p100_sxm},
    {"P4", &p4},
    {"M60", &m60},
    {"A100 SXM4 40GB", &a100_40},
    {"A100 SXM 40GB", &a100_40},
    {"A100 PCIE 40GB", &a100_40},
    {"A100 PG509 200", &a100_40}, // a board of 40 GB and 108 multiprocessors
    {"A100 SXM4 80GB", &a100_sxm_80},
    {"A100 SXM 80GB", &a100_sxm_80},
    {"A100 80GB PCIE", &a100_pcie_80},
    {"A100 PCIE 80GB", &a100_pcie_80},
    {"H100 80GB HBM3", &h100_sxm},
    {"H100 SXM5 80GB", &h100_sxm},
    {"H100 PCIE", &h100_pcie},
    {"H100 NVL", &h100_nvl},
    {"H200", &h200_sxm},
    {"H200 NVL", &h200_nvl},
    {"MI250", &mi250},
    {"MI250X", &mi250x},
    {"MI300A", &mi300a},
    {"MI300X", &mi300x},
    {"MI325X", &mi325x},
};

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

const struct system_peaks *systems_find(const char *gpu_name)
{
  char text[64];
  if (gpu_name == NULL || !normalize(gpu_name, text, sizeof text))
    return NULL;
  for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
    if (strcmp(known[i].name, text) == 0)
      return known[i].peaks;
  return NULL;
}
