/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The private data of rdma_cm's messages: bytes as the table in gantry_cm_data.h has them, and
 * messages of other programs, which are refused.
 */
#include "check.h"

#include "gantry_cm_data.h"

static uint64_t seed = 1;

static uint8_t
any_byte(void)
{
	return 1 + check_random(&seed) % 255;
}

/* An address without zeros, except for n zeros at `at`. */
static struct gantry_addr
address(size_t at, size_t n)
{
	struct gantry_addr a;

	for (size_t i = 0; i < sizeof(a.bytes); i++)
		a.bytes[i] = i >= at && i < at + n ? 0 : any_byte();
	return a;
}

static void
a_request_has_the_bytes_of_the_table(void)
{
	struct gantry_cm_says says = {.addr = address(30, 20), .len = 3, .data = {7, 8, 9}}, got;
	uint8_t bytes[56], want[56] = {'g', 1, 3, 30};

	memcpy(want + 4, says.addr.bytes, 30);
	memcpy(want + 34, says.addr.bytes + 50, 14);
	memcpy(want + 48, says.data, 3);
	memset(bytes, 0xee, sizeof(bytes));
	CHECK_EQ(gantry_cm_request_pack(&says, bytes), 0);
	CHECK(memcmp(bytes, want, sizeof(want)) == 0);
	CHECK_EQ(gantry_cm_request_unpack(want, sizeof(want), &got), 0);
	CHECK(memcmp(&got, &says, sizeof(got)) == 0);
}

static void
a_request_keeps_an_address_wherever_its_zeros_are(void)
{
	struct gantry_cm_says says = {.len = GANTRY_CM_REQUEST_LEN}, got;
	uint8_t bytes[56];

	for (size_t n = 20; n <= 64; n++)
		for (size_t at = 0; at + n <= 64; at++) {
			says.addr = address(at, n);
			for (size_t i = 0; i < says.len; i++)
				says.data[i] = any_byte();
			CHECK_EQ(gantry_cm_request_pack(&says, bytes), 0);
			CHECK_EQ(gantry_cm_request_unpack(bytes, sizeof(bytes), &got), 0);
			CHECK(memcmp(&got, &says, sizeof(got)) == 0, "%zu zeros at %zu", n, at);
		}
}

static void
an_address_with_too_few_zeros_does_not_fit(void)
{
	struct gantry_cm_says says = {.addr = address(10, 19)};
	uint8_t bytes[56];

	CHECK_EQ(gantry_cm_request_pack(&says, bytes), -EMSGSIZE);
	/* Two short runs are no long one. */
	says.addr = address(10, 15);
	memset(says.addr.bytes + 40, 0, 15);
	CHECK_EQ(gantry_cm_request_pack(&says, bytes), -EMSGSIZE);
}

static void
an_answer_has_the_bytes_of_the_table(void)
{
	struct gantry_cm_says says = {.addr = address(0, 0), .len = GANTRY_CM_ANSWER_LEN}, got;
	uint8_t bytes[196], want[196] = {'g', 1, 128, 0};

	for (size_t i = 0; i < says.len; i++)
		says.data[i] = any_byte();
	memcpy(want + 4, says.addr.bytes, 64);
	memcpy(want + 68, says.data, 128);
	gantry_cm_answer_pack(&says, bytes);
	CHECK(memcmp(bytes, want, sizeof(want)) == 0);
	CHECK_EQ(gantry_cm_answer_unpack(want, sizeof(want), &got), 0);
	CHECK(memcmp(&got, &says, sizeof(got)) == 0);
}

static void
messages_of_others_are_refused(void)
{
	struct gantry_cm_says says = {.addr = address(30, 20)}, got = {.len = 77};
	uint8_t bytes[196];

	CHECK_EQ(gantry_cm_request_unpack(NULL, 0, &got), -EPROTO, "no private data");
	gantry_cm_request_pack(&says, bytes);
	CHECK_EQ(gantry_cm_request_unpack(bytes, 55, &got), -EPROTO, "too short");
	for (size_t i = 0; i < 4; i++) {
		/* magic; version; too much data; zeros that lie behind the address */
		static const uint8_t wrong[4] = {'h', 2, 9, 45};
		uint8_t good = bytes[i];

		bytes[i] = wrong[i];
		CHECK_EQ(gantry_cm_request_unpack(bytes, 56, &got), -EPROTO);
		bytes[i] = good;
	}
	bytes[3] = 44; /* the zeros are at the end of the address */
	CHECK_EQ(gantry_cm_request_unpack(bytes, 56, &got), 0);
	got.len = 77;
	gantry_cm_answer_pack(&says, bytes);
	CHECK_EQ(gantry_cm_answer_unpack(bytes, 195, &got), -EPROTO, "too short");
	bytes[2] = 129;
	CHECK_EQ(gantry_cm_answer_unpack(bytes, 196, &got), -EPROTO, "too much data");
	CHECK_EQ(got.len, 77, "a refused message is not written");
}

static void
a_rejection_carries_its_reason(void)
{
	char text[GANTRY_CM_REASON_LEN + 1], longest[300];
	uint8_t bytes[148];

	gantry_cm_reject_pack("too many", bytes);
	CHECK_EQ(bytes[2], 8);
	CHECK_EQ(gantry_cm_reject_unpack(bytes, sizeof(bytes), text), 8);
	CHECK(strcmp(text, "too many") == 0);
	gantry_cm_reject_pack(NULL, bytes);
	CHECK_EQ(gantry_cm_reject_unpack(bytes, sizeof(bytes), text), 0);
	memset(longest, 'x', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	gantry_cm_reject_pack(longest, bytes);
	CHECK_EQ(gantry_cm_reject_unpack(bytes, sizeof(bytes), text), GANTRY_CM_REASON_LEN);
	CHECK_EQ(strlen(text), GANTRY_CM_REASON_LEN);
	/* What others send is no text, or cannot harm a terminal. */
	gantry_cm_reject_pack("a\033[2Jb", bytes);
	CHECK_EQ(gantry_cm_reject_unpack(bytes, sizeof(bytes), text), 6);
	CHECK(strcmp(text, "a?[2Jb") == 0, "%s", text);
	bytes[2] = 145;
	CHECK_EQ(gantry_cm_reject_unpack(bytes, sizeof(bytes), text), 0);
	bytes[2] = 8;
	CHECK_EQ(gantry_cm_reject_unpack(bytes, 11, text), 0, "shorter than it says");
	CHECK_EQ(gantry_cm_reject_unpack(NULL, 0, text), 0);
	CHECK(text[0] == '\0');
}

static const struct check_case cases[] = {
	{"a request has the bytes of the table", a_request_has_the_bytes_of_the_table},
	{"a request keeps an address wherever its zeros are",
		a_request_keeps_an_address_wherever_its_zeros_are},
	{"an address with too few zeros does not fit", an_address_with_too_few_zeros_does_not_fit},
	{"an answer has the bytes of the table", an_answer_has_the_bytes_of_the_table},
	{"messages of others are refused", messages_of_others_are_refused},
	{"a rejection carries its reason", a_rejection_carries_its_reason},
};

int
main(int argc, char **argv)
{
	return check_main(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
