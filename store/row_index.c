// SPDX-License-Identifier: Apache-2.0
#include "store/row_index.h"
#include <stdlib.h>
void row_index_free(struct row_index *index)
{
  free(index);
}
