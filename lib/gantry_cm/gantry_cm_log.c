/* SPDX-License-Identifier: BSD-3-Clause */
/* Registers the library's log type with EAL, and prints addresses. */
#include "gantry_cm_log.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>

RTE_LOG_REGISTER(gantry_cm_logtype, lib.gantry_cm, INFO);

struct gantry_cm_text
gantry_cm_text_of(const struct sockaddr *a)
{
	const struct sockaddr_in *in = (const struct sockaddr_in *)a;
	const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)a;
	char host[INET6_ADDRSTRLEN] = "?";
	struct gantry_cm_text t;

	if (a->sa_family == AF_INET6) {
		inet_ntop(AF_INET6, &in6->sin6_addr, host, sizeof(host));
		snprintf(t.text, sizeof(t.text), "[%s]:%u", host, ntohs(in6->sin6_port));
	} else {
		inet_ntop(AF_INET, &in->sin_addr, host, sizeof(host));
		snprintf(t.text, sizeof(t.text), "%s:%u", host, ntohs(in->sin_port));
	}
	return t;
}
