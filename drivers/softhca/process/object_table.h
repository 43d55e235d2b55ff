/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of the classes of objects. */
#ifndef SOFTHCA_OBJECT_TABLE_H
#define SOFTHCA_OBJECT_TABLE_H

/* Gives the rows of classes.h to object.c. Once, before the first call on a context. */
void object_table_init(void);

#endif
