// SPDX-License-Identifier: Apache-2.0
// The front door of data/: data sets in one file.
#ifndef XSP_DATA_DATA_H
#define XSP_DATA_DATA_H

#include "data/data_file.h"   // read
#include "data/data_writer.h" // write
#include "data/synthetic.h"   // made-up pictures

#endif
