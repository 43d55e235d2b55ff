/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The grammar of faults (lines of the control file and of softhca_fault()), and the names of
 * control calls.
 */
#include "fault_line.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/mlx5_user_ioctl_cmds.h>

#include "number.h"
#include "softhca.h"

/*
 * How a control call is recognised: by its ioctl method, or by its one or two write commands, and
 * by the opcode of its firmware command.
 */
struct call_name {
	const char *name;
	int object, method; /* method is NO_METHOD for a write command */
	int64_t write_cmd, write_cmd2;
	uint16_t opcode; /* opcode of a firmware command; 0: any, or no command */
	bool ends;       /* the call destroys an object */
};

#define NO_METHOD     (-1)
#define METHOD_REG_MR 5 /* UVERBS_METHOD_REG_MR, which the headers of the build machine may lack */
#define EX(cmd)       ((int64_t)IB_USER_VERBS_CMD_FLAG_EXTENDED | IB_USER_VERBS_EX_CMD_##cmd)
#define WRITE(name, cmd)                                                                           \
	{                                                                                          \
		name, NO_METHOD, 0, IB_USER_VERBS_CMD_##cmd, -1, 0, false                          \
	}
#define MAKES(name, object, method)                                                                \
	{                                                                                          \
		name, object, method, -1, -1, 0, false                                             \
	}
#define ENDS(name, object, method)                                                                 \
	{                                                                                          \
		name, object, method, -1, -1, 0, true                                              \
	}
#define DEVX(name, method, opcode)                                                                 \
	{                                                                                          \
		name, MLX5_IB_OBJECT_DEVX_OBJ, MLX5_IB_METHOD_DEVX_OBJ_##method, -1, -1, opcode,   \
			false                                                                      \
	}

static const struct call_name calls[] = {
	WRITE("alloc_pd", ALLOC_PD),
	{"reg_mr", UVERBS_OBJECT_MR, METHOD_REG_MR, IB_USER_VERBS_CMD_REG_MR, -1, 0, false},
	WRITE("rereg_mr", REREG_MR),
	WRITE("alloc_mw", ALLOC_MW),
	WRITE("create_ah", CREATE_AH),
	WRITE("create_comp_channel", CREATE_COMP_CHANNEL),
	WRITE("query_qp", QUERY_QP),
	WRITE("resize_cq", RESIZE_CQ),
	WRITE("modify_srq", MODIFY_SRQ),
	WRITE("query_srq", QUERY_SRQ),
	WRITE("open_xrcd", OPEN_XRCD),
	{"query_device", NO_METHOD, 0, IB_USER_VERBS_CMD_QUERY_DEVICE, EX(QUERY_DEVICE), 0, false},
	{"modify_cq", NO_METHOD, 0, EX(MODIFY_CQ), -1, 0, false},
	{"modify_qp", NO_METHOD, 0, IB_USER_VERBS_CMD_MODIFY_QP, EX(MODIFY_QP), 0, false},
	{"modify_wq", NO_METHOD, 0, EX(MODIFY_WQ), -1, 0, false},
	{"create_rwq_ind_table", NO_METHOD, 0, EX(CREATE_RWQ_IND_TBL), -1, 0, false},
	MAKES("create_cq", UVERBS_OBJECT_CQ, UVERBS_METHOD_CQ_CREATE),
	MAKES("create_qp", UVERBS_OBJECT_QP, UVERBS_METHOD_QP_CREATE),
	MAKES("create_srq", UVERBS_OBJECT_SRQ, UVERBS_METHOD_SRQ_CREATE),
	MAKES("create_wq", UVERBS_OBJECT_WQ, UVERBS_METHOD_WQ_CREATE),
	MAKES("alloc_dm", UVERBS_OBJECT_DM, UVERBS_METHOD_DM_ALLOC),
	MAKES("reg_dm_mr", UVERBS_OBJECT_MR, UVERBS_METHOD_DM_MR_REG),
	MAKES("advise_mr", UVERBS_OBJECT_MR, UVERBS_METHOD_ADVISE_MR),
	MAKES("alloc_uar", MLX5_IB_OBJECT_UAR, MLX5_IB_METHOD_UAR_OBJ_ALLOC),
	MAKES("reg_umem", MLX5_IB_OBJECT_DEVX_UMEM, MLX5_IB_METHOD_DEVX_UMEM_REG),
	MAKES("devx", MLX5_IB_OBJECT_DEVX, MLX5_IB_METHOD_DEVX_OTHER),
	MAKES("query_eqn", MLX5_IB_OBJECT_DEVX, MLX5_IB_METHOD_DEVX_QUERY_EQN),
	DEVX("devx_create", CREATE, 0),
	DEVX("devx_modify", MODIFY, 0),
	DEVX("devx_query", QUERY, 0),
	DEVX("create_mkey", CREATE, 0x200),
	DEVX("create_psv", CREATE, 0x600),
	DEVX("devx_create_cq", CREATE, 0x400),
	DEVX("devx_create_qp", CREATE, 0x500),
	ENDS("devx_destroy", MLX5_IB_OBJECT_DEVX_OBJ, MLX5_IB_METHOD_DEVX_OBJ_DESTROY),
	ENDS("dereg_umem", MLX5_IB_OBJECT_DEVX_UMEM, MLX5_IB_METHOD_DEVX_UMEM_DEREG),
	ENDS("free_uar", MLX5_IB_OBJECT_UAR, MLX5_IB_METHOD_UAR_OBJ_DESTROY),
	ENDS("destroy_cq", UVERBS_OBJECT_CQ, UVERBS_METHOD_CQ_DESTROY),
	ENDS("destroy_qp", UVERBS_OBJECT_QP, UVERBS_METHOD_QP_DESTROY),
	ENDS("destroy_srq", UVERBS_OBJECT_SRQ, UVERBS_METHOD_SRQ_DESTROY),
	ENDS("destroy_wq", UVERBS_OBJECT_WQ, UVERBS_METHOD_WQ_DESTROY),
	ENDS("destroy_rwq_ind_table", UVERBS_OBJECT_RWQ_IND_TBL, UVERBS_METHOD_RWQ_IND_TBL_DESTROY),
	ENDS("destroy_ah", UVERBS_OBJECT_AH, UVERBS_METHOD_AH_DESTROY),
	ENDS("dealloc_mw", UVERBS_OBJECT_MW, UVERBS_METHOD_MW_DESTROY),
	ENDS("free_dm", UVERBS_OBJECT_DM, UVERBS_METHOD_DM_FREE),
	ENDS("close_xrcd", UVERBS_OBJECT_XRCD, UVERBS_METHOD_XRCD_DESTROY),
	ENDS("dereg_mr", UVERBS_OBJECT_MR, UVERBS_METHOD_MR_DESTROY),
	ENDS("dealloc_pd", UVERBS_OBJECT_PD, UVERBS_METHOD_PD_DESTROY),
};

#define N_CALLS ((int)(sizeof(calls) / sizeof(calls[0])))

enum fault_key {
	KEY_OP = 1 << 0,
	KEY_TIMES = 1 << 1,
	KEY_QP = 1 << 2,
	KEY_SYNDROME = 1 << 3,
	KEY_VENDOR = 1 << 4,
	KEY_MS = 1 << 5,
	KEY_PORT = 1 << 6,
	KEY_DEVICE = 1 << 7,
	KEY_ERRNO = 1 << 8,
	KEY_CALL = 1 << 9,
	KEY_OPCODE = 1 << 10
};

#define KEYS_OF_OP (KEY_OP | KEY_TIMES | KEY_QP | KEY_DEVICE)
#define FORM_OF_OP "[op=N] [times=N] [qp=N] [device=N]"

static const struct {
	const char *name;
	unsigned int may, must;
	const char *form; /* grammar of this kind of fault, for error texts */
	const char *means;
} kinds[FAULT_N_KINDS] = {
	[FAULT_COMPLETE] = {"complete", KEYS_OF_OP | KEY_SYNDROME | KEY_VENDOR, KEY_SYNDROME,
		"complete syndrome=1..255 [vendor=0..255] " FORM_OF_OP,
		"The WQE does not run; it completes with this syndrome, and the queue "
		"pair fails. Without vendor the completion has the vendor syndrome that "
		"a card reports with the syndrome: see \"Vendor syndromes\"."},
	[FAULT_DROP] = {"drop", KEYS_OF_OP, 0, "drop " FORM_OF_OP,
		"The WQE runs, and makes no completion."},
	[FAULT_LATE] = {"late", KEYS_OF_OP | KEY_MS, KEY_MS, "late ms=N " FORM_OF_OP,
		"The WQE, and all WQEs after it in its queue, run and complete this "
		"time later."},
	[FAULT_RECV_COMPLETE] = {"recv_complete", KEYS_OF_OP | KEY_SYNDROME | KEY_VENDOR,
		KEY_SYNDROME, "recv_complete syndrome=1..255 [vendor=0..255] " FORM_OF_OP,
		"The message does not arrive: its receive completes with this syndrome, "
		"and the receiving queue pair fails. A reliable sender gets a remote "
		"operation error."},
	[FAULT_RECV_DROP] = {"recv_drop", KEYS_OF_OP, 0, "recv_drop " FORM_OF_OP,
		"The message arrives, and its receive makes no completion. libmlx5 "
		"counts the receives of a queue pair by their completions, so it gives "
		"the next completion the wr_id of the lost completion."},
	[FAULT_RECV_LATE] = {"recv_late", KEYS_OF_OP | KEY_MS, KEY_MS, "recv_late ms=N " FORM_OF_OP,
		"The message, and all work after it in the sender's queue, arrives and "
		"completes this time later."},
	[FAULT_QP_FATAL] = {"qp_fatal", KEYS_OF_OP, 0, "qp_fatal " FORM_OF_OP,
		"The WQE does not run: the queue pair fails, by an async event."},
	[FAULT_CQ_OVERRUN] = {"cq_overrun", KEYS_OF_OP, 0, "cq_overrun " FORM_OF_OP,
		"The WQE does not run: its send CQ fails as after an overrun, and all "
		"queue pairs of that CQ fail."},
	[FAULT_SQ_DRAINED] = {"sq_drained", KEYS_OF_OP, 0, "sq_drained " FORM_OF_OP,
		"The send queue stops in SQD before the WQE, with the async event; "
		"modify to RTS resumes it."},
	[FAULT_PORT_DOWN] = {"port_down", KEY_OP | KEY_QP | KEY_MS | KEY_PORT | KEY_DEVICE, 0,
		"port_down [port=N] [ms=N] [op=N] [qp=N] [device=N]",
		"An async event is sent, and the port's state is DOWN; requests to "
		"peers are retried until no retry is left. After the time ms the port "
		"is up again."},
	[FAULT_PORT_UP] = {"port_up", KEY_PORT | KEY_DEVICE, 0, "port_up [port=N] [device=N]",
		"The port is up at once, and an async event is sent."},
	[FAULT_DEVICE_FATAL] = {"device_fatal", KEY_OP | KEY_QP | KEY_DEVICE, 0,
		"device_fatal [op=N] [qp=N] [device=N]",
		"An async event is sent, and no WQE runs any more. Calls that destroy "
		"objects still succeed; all other calls fail with EIO."},
	[FAULT_REFUSE] = {"refuse",
		KEY_CALL | KEY_ERRNO | KEY_OP | KEY_TIMES | KEY_DEVICE | KEY_OPCODE,
		KEY_CALL | KEY_ERRNO,
		"refuse call=NAME errno=1..133 [opcode=N] [op=N] [times=N] [device=N]",
		"The control call fails with this errno. NAME is a name of the list "
		"below; opcode is that of a firmware command."},
};

static bool
parse_call(struct fault_parser *p, const char *value)
{
	int n;

	for (p->fault.call = 0; p->fault.call < N_CALLS; p->fault.call++)
		if (strcmp(calls[p->fault.call].name, value) == 0)
			return true;
	n = snprintf(p->err, sizeof(p->err), "no call \"%s\"; there are:", value);
	for (int i = 0; i < N_CALLS && n < (int)sizeof(p->err); i++)
		n += snprintf(p->err + n, sizeof(p->err) - (size_t)n, " %s", calls[i].name);
	return false;
}

static bool
parse_pair(struct fault_parser *p, const char *name, const char *value)
{
	struct fault *f = &p->fault;
	const struct {
		const char *name;
		enum fault_key key;
		uint64_t *to, min, max;
	} keys[] = {
		{"op", KEY_OP, &f->op, 1, UINT64_MAX},
		{"times", KEY_TIMES, &f->times, 1, UINT64_MAX},
		{"qp", KEY_QP, &f->qp, 1, 0xffffff},
		{"syndrome", KEY_SYNDROME, &f->syndrome, 1, 255},
		{"vendor", KEY_VENDOR, &f->vendor, 0, 255},
		{"ms", KEY_MS, &f->ms, 1, 3600000},
		{"port", KEY_PORT, &f->port, 1, SOFTHCA_MAX_PORTS},
		{"device", KEY_DEVICE, &f->device, 0, SOFTHCA_MAX_DEVICES - 1},
		{"errno", KEY_ERRNO, &f->error, 1, 133},
		{"opcode", KEY_OPCODE, &f->opcode, 1, 0xffff},
	};

	if (strcmp(name, "call") == 0 && (kinds[f->kind].may & KEY_CALL) != 0) {
		p->given |= KEY_CALL;
		return parse_call(p, value);
	}
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		if (strcmp(keys[i].name, name) != 0 || (kinds[f->kind].may & keys[i].key) == 0)
			continue;
		p->given |= keys[i].key;
		if (number_parse(value, keys[i].to) && *keys[i].to >= keys[i].min &&
			*keys[i].to <= keys[i].max)
			return true;
		snprintf(p->err, sizeof(p->err), "%s=%s: not a number from %llu to %llu", name,
			value, (unsigned long long)keys[i].min, (unsigned long long)keys[i].max);
		return false;
	}
	snprintf(p->err, sizeof(p->err), "\"%s\" is not a part of: %s", name, kinds[f->kind].form);
	return false;
}

static bool
parse_kind(struct fault_parser *p, const char *word)
{
	int n;

	for (int k = 1; k < FAULT_N_KINDS; k++) {
		if (strcmp(kinds[k].name, word) == 0) {
			p->fault.kind = (enum fault_kind)k;
			return true;
		}
	}
	n = snprintf(p->err, sizeof(p->err), "no fault \"%s\"; there are:", word);
	for (int k = 1; k < FAULT_N_KINDS && n < (int)sizeof(p->err); k++)
		n += snprintf(p->err + n, sizeof(p->err) - (size_t)n, " %s", kinds[k].name);
	return false;
}

static bool
takes_opcode(const struct fault *f)
{
	const struct call_name *name = &calls[f->call];

	return (name->object == MLX5_IB_OBJECT_DEVX_OBJ && !name->ends && name->opcode == 0) ||
	       (name->object == MLX5_IB_OBJECT_DEVX && name->method == MLX5_IB_METHOD_DEVX_OTHER);
}

static void
take_text(struct fault *f, const char *line)
{
	size_t len;

	line += strspn(line, " \t");
	len = strlen(line);
	while (len != 0 && strchr(" \t", line[len - 1]) != NULL)
		len--;
	memcpy(f->text, line, len); /* all other bytes are zeros */
}

int
fault_parse(struct fault_parser *p, const char *text)
{
	char line[FAULT_LINE_LEN], *save = NULL, *word;

	*p = (struct fault_parser){.fault = {.times = 1, .port = 1, .call = -1}};
	if (strlen(text) >= sizeof(line)) {
		snprintf(p->err, sizeof(p->err), "longer than %d bytes", FAULT_LINE_LEN - 1);
		return -EINVAL;
	}
	strcpy(line, text);
	line[strcspn(line, "#\r\n")] = '\0';
	take_text(&p->fault, line);
	for (word = strtok_r(line, " \t\r", &save); word != NULL;
		word = strtok_r(NULL, " \t\r", &save)) {
		char *eq = strchr(word, '=');

		if (p->fault.kind == FAULT_NONE) {
			if (!parse_kind(p, word))
				return -EINVAL;
			continue;
		}
		if (eq == NULL) {
			snprintf(p->err, sizeof(p->err), "\"%s\" is not NAME=VALUE", word);
			return -EINVAL;
		}
		*eq = '\0';
		if (!parse_pair(p, word, eq + 1))
			return -EINVAL;
	}
	if (p->fault.kind == FAULT_NONE)
		return 0;
	if ((kinds[p->fault.kind].must & ~p->given) != 0) {
		snprintf(p->err, sizeof(p->err), "incomplete; it is: %s",
			kinds[p->fault.kind].form);
		return -EINVAL;
	}
	if (p->fault.opcode != 0 && !takes_opcode(&p->fault)) {
		snprintf(p->err, sizeof(p->err),
			"opcode=N is for: devx devx_create devx_modify devx_query");
		return -EINVAL;
	}
	return 1;
}

int
fault_check_place(struct fault_parser *p, unsigned int n_devices, unsigned int n_ports)
{
	const struct fault *f = &p->fault;

	if (n_devices == 0 || (f->device < n_devices && f->port <= n_ports))
		return 0;
	if (f->device >= n_devices)
		snprintf(p->err, sizeof(p->err),
			"device=%llu: there is no mlx5_%llu: the setting devices is %u",
			(unsigned long long)f->device, (unsigned long long)f->device, n_devices);
	else
		snprintf(p->err, sizeof(p->err),
			"port=%llu: mlx5_%llu has no port %llu: the setting ports is %u",
			(unsigned long long)f->port, (unsigned long long)f->device,
			(unsigned long long)f->port, n_ports);
	return -EINVAL;
}

/* ---- control calls by name */

static bool
name_fits(const struct call_name *name, const struct fault_call *call)
{
	if (call->write_cmd >= 0)
		return name->write_cmd == call->write_cmd || name->write_cmd2 == call->write_cmd;
	return name->object == call->object && name->method == call->method &&
	       (name->opcode == 0 || name->opcode == call->opcode);
}

bool
fault_is_of_call(const struct fault *f, const struct fault_call *call)
{
	return f->kind == FAULT_REFUSE && name_fits(&calls[f->call], call) &&
	       (f->opcode == 0 || f->opcode == call->opcode);
}

bool
fault_call_ends(const struct fault_call *call)
{
	for (int i = 0; i < N_CALLS; i++)
		if (calls[i].ends && name_fits(&calls[i], call))
			return true;
	return false;
}

void
softhca_faults_print(FILE *to)
{
	fputs("# Lines of a file of faults (SOFTHCA_FAULTS). op=N: the Nth operation, 1 by default. "
	      "times=N: N operations\n# in a row. qp=N: only operations of this queue pair. device=N: "
	      "the adapter mlx5_N, 0 by default.\n",
		to);
	for (int k = 1; k < FAULT_N_KINDS; k++)
		fprintf(to, "\n%s\n    %s\n", kinds[k].form, kinds[k].means);
	fputs("\n# Names of calls for refuse:\n", to);
	for (int i = 0; i < N_CALLS; i++)
		fprintf(to, "%s\n", calls[i].name);
}
