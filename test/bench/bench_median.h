/* SPDX-License-Identifier: BSD-3-Clause */
/* The median of several measurements. */
#ifndef BENCH_MEDIAN_H
#define BENCH_MEDIAN_H

#include <stdlib.h>

static inline int
bench_by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* The median of n values. Sorts them in ascending order. */
static inline double
bench_median(double *v, unsigned int n)
{
	qsort(v, n, sizeof(*v), bench_by_value);
	return v[n / 2];
}

#endif
