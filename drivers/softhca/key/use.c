/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory for the keys of one WQE while it runs. */
#include "use.h"

#include <stdlib.h>

#include "psv.h"

struct spill {
	struct spill *next;
	_Alignas(16) char bytes[];
};

void *
key_use_alloc(struct key_use *use, size_t len)
{
	struct spill *spill = malloc(sizeof(*spill) + len);

	if (spill == NULL)
		return NULL;
	spill->next = use->spill;
	use->spill = spill;
	return spill->bytes;
}

void
key_use_free(struct key_use *use)
{
	psv_store(use);
	use->after = use->before = NULL; /* their memory was freed */
	use->converts = false;
	while (use->spill != NULL) {
		struct spill *next = use->spill->next;

		free(use->spill);
		use->spill = next;
	}
}
