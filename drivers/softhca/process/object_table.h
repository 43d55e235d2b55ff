/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of object classes. */
#ifndef SOFTHCA_OBJECT_TABLE_H
#define SOFTHCA_OBJECT_TABLE_H

/* Passes the rows of classes.h to object.c. Call this once, before the first call on a context. */
void object_table_init(void);

#endif
