/* SPDX-License-Identifier: BSD-3-Clause */
/* Makes the table of object classes from the rows of classes.h. */
#include "object_table.h"

#include "classes.h"

#define ADDRESS(name) &name##_class,

static const struct object_class *const classes[] = {OBJECT_CLASSES(ADDRESS)};

void
object_table_init(void)
{
	object_classes_set(classes, OBJECT_N_CLASSES);
}
