/* SPDX-License-Identifier: BSD-3-Clause */
/* Prints the answers of probes. */
#include "probe_report.h"

#include <stdio.h>

void
probe_report_begin(const struct probe_device *device, bool json)
{
	if (json)
		printf("{\"device\": {\"part\": %u, \"fw\": \"%s\"},\n  \"answers\": [",
			device->part, device->fw);
	else
		printf("%s, part %u, firmware %s\n", device->name, device->part, device->fw);
}

void
probe_report_end(bool json)
{
	if (json)
		printf("\n  ]}\n");
}

void
probe_report_group(const char *title, bool json)
{
	if (!json)
		printf("%s\n", title);
}

static const char *
result_text(enum probe_result result)
{
	static const char *const texts[] = {[PROBE_CANNOT] = "cannot be asked here",
		[PROBE_AS_ASSUMED] = "as assumed",
		[PROBE_OTHERWISE] = "otherwise"};

	return texts[result];
}

static void
print_text(const struct probe *probe, const struct probe_answer *answer)
{
	const char *text = result_text(answer->result);

	switch (answer->result) {
	case PROBE_CANNOT:
		printf("  %s: %s, because: %s\n", probe->id, text, answer->seen);
		break;
	case PROBE_OTHERWISE:
		printf("  %s: %s: %s\n    assumed: %s\n    what depends on it: %s\n", probe->id,
			text, answer->seen, probe->assumed, probe->matters);
		break;
	default:
		printf("  %s: %s\n", probe->id, text);
	}
	fflush(stdout);
}

static void
print_escaped(const char *text)
{
	for (const char *s = text; *s != '\0'; s++) {
		if (*s == '"' || *s == '\\')
			putchar('\\');
		putchar((unsigned char)*s < ' ' ? ' ' : *s);
	}
}

static void
print_json(const struct probe *probe, const struct probe_answer *answer, bool first)
{
	printf("%s\n    {\"id\": \"%s\", \"answer\": \"%s\", \"seen\": \"", first ? "" : ",",
		probe->id, result_text(answer->result));
	print_escaped(answer->seen);
	printf("\", \"assumed\": \"");
	print_escaped(probe->assumed);
	printf("\", \"matters\": \"");
	print_escaped(probe->matters);
	printf("\"}");
}

void
probe_report(const struct probe *probe, const struct probe_answer *answer, bool json, bool first)
{
	if (json)
		print_json(probe, answer, first);
	else
		print_text(probe, answer);
}
