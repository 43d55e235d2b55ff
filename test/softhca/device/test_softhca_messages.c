/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Hand-made messages to a responder, from a sender that is not a QP of this process. A responder
 * needs only the message, not the requester that sent it.
 */
#include "check.h"
#include "devices.h"
#include "fault.h"
#include "message.h"
#include "opcode_table.h"
#include "qp.h"
#include "run_init.h"
#include "sg.h"
#include "softhca.h"
#include "softhca_rig.h"

#define SENDER    0x123456u /* QP number of the sender */
#define RNR_TIMER 5

static struct rig r;
static struct run run;
static struct answer answer;

/* Prepares the responder: QP b, which is connected to the sender. */
static void
begin(void)
{
	rig_init(&r, &(struct rig_opts){.no_connect = true});
	rig_connect(&r.b, SENDER, 7, RNR_TIMER);
	run_init(&run, softhca_devices(&(unsigned int){0})->lanes);
	memset(&answer, 0, sizeof(answer));
}

static void
end(void)
{
	responder_release(&run);
	run_drop_cq(&run);
	CHECK(run.qp == NULL, "the message has no requester");
	rig_fini(&r);
}

static struct message
message(uint8_t opcode, const struct sg *payload)
{
	return (struct message){.op = &opcodes[opcode],
		.type = SOFTHCA_QP_RC,
		.qpn = SENDER,
		.dest_qpn = r.b.qpn,
		.va = (uintptr_t)r.b.buf,
		.rkey = r.b.key,
		.payload = payload};
}

static unsigned int
ask(const struct message *m)
{
	return responder_ask(&run, m, &answer);
}

static struct sg *
list(struct sg *sg, void *p, uint64_t len)
{
	sg_set(sg, p, len);
	return sg;
}

static void
case_write_and_read(void)
{
	char out[64] = "from a sender in no process of this machine", in[64] = "";
	struct message m;
	struct sg sg;

	begin();
	m = message(MLX5_OPCODE_RDMA_WRITE, list(&sg, out, sizeof(out)));
	CHECK_EQ(ask(&m), 0);
	CHECK(memcmp(r.b.buf, out, sizeof(out)) == 0, "written");
	r.b.buf[0] = 'F';
	m = message(MLX5_OPCODE_RDMA_READ, list(&sg, in, sizeof(in)));
	CHECK_EQ(ask(&m), 0);
	CHECK_EQ(in[0], 'F');
	CHECK(memcmp(in + 1, out + 1, sizeof(in) - 1) == 0, "read");
	end();
}

static void
case_atomics(void)
{
	const uint64_t start = UINT64_C(0x1122334455667788);
	struct message m;
	uint64_t now;

	begin();
	memcpy(r.b.buf, &start, sizeof(start));
	m = message(MLX5_OPCODE_ATOMIC_FA, NULL);
	m.swap_add = 5;
	CHECK_EQ(ask(&m), 0);
	CHECK_EQ(answer.old, start);
	m = message(MLX5_OPCODE_ATOMIC_CS, NULL);
	m.compare = start;
	m.swap_add = 1;
	CHECK_EQ(ask(&m), 0);
	CHECK_EQ(answer.old, start + 5);
	memcpy(&now, r.b.buf, sizeof(now));
	CHECK_EQ(now, start + 5, "a comparison that differs changes nothing");
	m.compare = start + 5;
	CHECK_EQ(ask(&m), 0);
	memcpy(&now, r.b.buf, sizeof(now));
	CHECK_EQ(now, 1);
	end();
}

/*
 * If there is no receive, the message is refused with the responder's RNR timer. When the message
 * is sent again, it arrives once.
 */
static void
case_send(void)
{
	char out[32] = "a message";
	const struct mlx5_cqe64 *cqe;
	struct message m;
	struct sg sg;

	begin();
	m = message(MLX5_OPCODE_SEND_IMM, list(&sg, out, sizeof(out)));
	m.imm = 0xabcd;
	CHECK_EQ(ask(&m), MESSAGE_RNR);
	CHECK_EQ(answer.rnr_timer, RNR_TIMER);
	rig_recv(&r.b, (uintptr_t)r.b.buf + 512, r.b.key, 64);
	CHECK_EQ(ask(&m), 0);
	responder_release(&run);
	run_drop_cq(&run);
	cqe = rig_poll(&r.b);
	CHECK(cqe != NULL, "a completion");
	if (cqe != NULL) {
		CHECK_EQ(cqe->op_own >> 4, MLX5_CQE_RESP_SEND_IMM);
		CHECK_EQ(be32toh(cqe->byte_cnt), sizeof(out));
		CHECK_EQ(be32toh(cqe->imm_inval_pkey), 0xabcd);
	}
	CHECK(rig_poll(&r.b) == NULL, "one completion");
	CHECK(memcmp(r.b.buf + 512, out, sizeof(out)) == 0, "received");
	CHECK_EQ(ask(&m), MESSAGE_RNR, "the message's receive is used up");
	end();
}

static void
case_nobody(void)
{
	char out[8] = "lost";
	struct message m;
	struct sg sg;

	begin();
	m = message(MLX5_OPCODE_RDMA_WRITE, list(&sg, out, sizeof(out)));
	m.qpn = SENDER + 1;
	CHECK_EQ(ask(&m), MESSAGE_NO_PEER, "the QP is connected to another");
	m = message(MLX5_OPCODE_RDMA_WRITE, &sg);
	m.type = SOFTHCA_QP_UC;
	CHECK_EQ(ask(&m), MESSAGE_NO_PEER, "the QP is of another type");
	m = message(MLX5_OPCODE_RDMA_WRITE, &sg);
	m.dest_qpn = r.a.qpn;
	CHECK_EQ(ask(&m), MESSAGE_NO_PEER, "the QP is in RESET");
	m.dest_qpn = 0xfffffe;
	CHECK_EQ(ask(&m), MESSAGE_NO_PEER, "no QP has that number");
	CHECK_EQ(r.b.buf[0], 0, "nothing was written");
	end();
}

/*
 * The responder fails and raises an event. After that no lock is held: the program can reset the
 * QP.
 */
static void
case_refused(void)
{
	char out[8] = "refused";
	struct message m;
	struct sg sg;

	begin();
	m = message(MLX5_OPCODE_RDMA_WRITE, list(&sg, out, sizeof(out)));
	m.va += RIG_BUF - 7; /* the last byte is one byte beyond the key */
	CHECK_EQ(ask(&m), MLX5_CQE_SYNDROME_REMOTE_ACCESS_ERR);
	CHECK_EQ(answer.vendor, VEN_KEY_BOUNDS);
	CHECK_EQ(r.b.qp_event.async[IBV_EVENT_QP_ACCESS_ERR], 1);
	CHECK_EQ(r.b.buf[RIG_BUF - 7], 0, "nothing was written");
	m = message(MLX5_OPCODE_RDMA_WRITE, &sg);
	CHECK_EQ(ask(&m), MESSAGE_NO_PEER, "the responder is in error");
	CHECK_EQ(rig_modify(&r.b, IBV_QPS_RESET), 0);
	end();
}

/* A fault delays one message by the time that the fault names. Then the message arrives. */
static void
case_later(void)
{
	char out[16] = "late";
	struct message m;
	struct sg sg;

	begin();
	rig_recv(&r.b, (uintptr_t)r.b.buf, r.b.key, 64);
	CHECK_EQ(softhca_fault("recv_late ms=7"), 0);
	m = message(MLX5_OPCODE_SEND, list(&sg, out, sizeof(out)));
	CHECK_EQ(ask(&m), MESSAGE_LATER);
	CHECK_EQ(answer.until, run_now(&run) + 7000000);
	CHECK_EQ(r.b.buf[0], 0, "the message has not arrived");
	CHECK_EQ(softhca_faults_left(), 0);
	CHECK_EQ(softhca_fault("recv_late ms=7"), 0);
	m.delayed = true;
	CHECK_EQ(ask(&m), 0);
	CHECK_EQ(r.b.buf[0], 'l', "the message has arrived");
	CHECK_EQ(softhca_faults_left(), 1, "a fault acts once on a message");
	softhca_faults_clear();
	end();
}

/*
 * A long copy, or a copy that waits for memory on demand, must run without the CQ's lock:
 * meanwhile, other QPs must be able to complete to the CQ.
 */
static void
case_long_copies(void)
{
	static char data[32769];
	static const struct {
		uint8_t opcode;
		uint32_t len;
		bool keeps;
	} copies[] = {{MLX5_OPCODE_RDMA_WRITE, 32768, true}, {MLX5_OPCODE_RDMA_WRITE, 32769, false},
		{MLX5_OPCODE_RDMA_READ, 32768, true}, {MLX5_OPCODE_RDMA_READ, 32769, false}};
	struct message m;
	struct sg sg;

	begin();
	for (unsigned int i = 0; i < 4; i++) {
		rig_recv(&r.b, (uintptr_t)r.b.buf, r.b.key, 64);
		m = message(MLX5_OPCODE_SEND, list(&sg, data, 8));
		CHECK_EQ(ask(&m), 0);
		CHECK(run.cq == r.b.cq, "a completion holds its CQ");
		m = message(copies[i].opcode, list(&sg, data, copies[i].len));
		CHECK_EQ(ask(&m), 0);
		CHECK_EQ(run.cq != NULL, copies[i].keeps);
	}
	run_hold_cq(&run, r.b.cq);
	run.use.user->may_wait(&run.use);
	CHECK(run.cq == NULL, "waiting holds no CQ");
	end();
}

static void
case_nobody_is_named(void)
{
	char out[8] = "lost";
	struct message m;
	struct sg sg;

	begin();
	m = message(MLX5_OPCODE_RDMA_WRITE, list(&sg, out, sizeof(out)));
	m.dest_qpn = 0xfffffe;
	CHECK_EQ(ask(&m), MESSAGE_NO_PEER);
	CHECK_EQ(answer.vendor, VEN_NO_PEER);
	end();
}

/*
 * An XRC message names an SRQ by its 24-bit number. The SRQ must be in the XRC domain of the
 * message's QP, otherwise the message must be refused.
 */
static void
case_xrc(void)
{
	static uint8_t wqes[16 << 6] __attribute__((aligned(64)));
	static _Atomic uint32_t record;
	struct softhca_srq_attr attr = {.pdn = RIG_PDN,
		.buf = wqes,
		.dbrec = &record,
		.n_wqe = 16,
		.log_stride = 6,
		.xrcdn = 3,
		.uidx = 0xcc};
	char out[8] = "by SRQ";
	struct message m;
	struct sg sg;

	for (unsigned int wrong = 0; wrong < 4; wrong++) {
		struct softhca_srq *srq;

		begin();
		attr.cq = r.b.cq;
		attr.event = &r.b.qp_event;
		CHECK_EQ(softhca_srq_create(softhca_devices(&(unsigned int){0}), &attr, &srq), 0);
		r.b.qp->type = SOFTHCA_QP_XRC_RECV;
		r.b.qp->xrcdn = wrong == 1 ? 4 : 3;
		m = message(MLX5_OPCODE_RDMA_WRITE, list(&sg, out, sizeof(out)));
		m.type = SOFTHCA_QP_XRC_SEND;
		m.srqn = softhca_srq_number(srq);
		if (wrong >= 2)
			m.srqn ^= wrong == 2 ? 0x1000000 : 0x800000;
		CHECK_EQ(ask(&m), wrong == 0 ? 0 : MLX5_CQE_SYNDROME_REMOTE_INVAL_REQ_ERR);
		if (wrong != 0)
			CHECK_EQ(answer.vendor, VEN_XRC_SRQ);
		CHECK_EQ(r.b.buf[0], wrong == 0 ? 'b' : 0);
		responder_release(&run);
		run_drop_cq(&run);
		CHECK_EQ(softhca_srq_destroy(srq), 0);
		end();
	}
}

/* A write with immediate must use a receive of the SRQ, even if the write is the first message. */
static void
case_write_imm_to_srq(void)
{
	static uint8_t wqes[16 << 6] __attribute__((aligned(64)));
	static _Atomic uint32_t record;
	const struct softhca_srq_attr attr = {.pdn = RIG_PDN,
		.buf = wqes,
		.dbrec = &record,
		.n_wqe = 16,
		.log_stride = 6,
		.event = &r.b.qp_event};
	char out[8] = "written";
	struct softhca_srq *srq;
	struct message m;
	struct sg sg;

	begin();
	atomic_store(&record, 0);
	CHECK_EQ(softhca_srq_create(softhca_devices(&(unsigned int){0}), &attr, &srq), 0);
	r.b.qp->srq = srq;
	m = message(MLX5_OPCODE_RDMA_WRITE_IMM, list(&sg, out, sizeof(out)));
	CHECK_EQ(ask(&m), MESSAGE_RNR);
	CHECK_EQ(r.b.buf[0], 0, "nothing moves before there is a receive");
	atomic_store(&record, htobe32(1));
	CHECK_EQ(ask(&m), 0);
	CHECK_EQ(r.b.buf[0], 'w');
	CHECK_EQ(ask(&m), MESSAGE_RNR, "its receive is used up");
	responder_release(&run);
	run_drop_cq(&run);
	CHECK(rig_poll(&r.b) != NULL, "a completion");
	r.b.qp->srq = NULL;
	CHECK_EQ(softhca_srq_destroy(srq), 0);
	end();
}

/*
 * A request may have a conversion (signature or encryption). If the request fails, its conversion
 * must end. Otherwise the next request would write its converted data to freed memory.
 */
static void
case_end_of_use(void)
{
	begin();
	CHECK(key_use_alloc(&run.use, 100) != NULL, "memory");
	run.use.after = (struct sig_after *)key_use_alloc(&run.use, 100);
	key_use_free(&run.use);
	CHECK(run.use.after == NULL, "a conversion");
	CHECK(run.use.spill == NULL, "memory");
	end();
}

static const struct check_case cases[] = {
	{"the end of a request ends its conversions", case_end_of_use},
	{"long copies do not hold a CQ", case_long_copies},
	{"a message without a receiver is reported", case_nobody_is_named},
	{"an XRC message names an SRQ of the domain", case_xrc},
	{"a write with immediate takes a receive of an SRQ", case_write_imm_to_srq},
	{"a sender outside the process writes and reads", case_write_and_read},
	{"atomics return the old value", case_atomics},
	{"a message waits for a receive, and uses one", case_send},
	{"a message without a receiver is refused", case_nobody},
	{"a responder that refuses fails, and can be reset", case_refused},
	{"a delayed message gives the time of its arrival", case_later},
};

int
main(int argc, char **argv)
{
	return check_main(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
