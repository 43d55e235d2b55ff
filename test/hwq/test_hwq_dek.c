/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Data encryption keys and logins. Their firmware commands and their errors equal those of libmlx5,
 * byte for byte. No object is left when a command or an allocation fails. No byte of a key or a
 * credential stays in the program's memory.
 *
 * With SOFTHCA_CRYPTO=wrapped the test wraps the keys by OpenSSL, and logs in.
 */
#include <ucontext.h>

#include "hwq_dek.h"
#include "hwq_domain.h"
#include "hwq_login.h"
#include "hwq_trace.h"
#include "hwq_verbs.h"
#include "softhca_wrap.h"

#define N_DEKS  5
#define KEY_LEN 72 /* two AES keys of 256 bits, and a tag */

static struct hwq_dev *dev;
static struct hwq_domain *domain;

/* ------------------------------------------------------------------ what hwq logs */

static char log_text[16384];
static size_t log_len;

static void
keep_log(const char *text)
{
	size_t n = strlen(text);

	emu_log_lines++;
	if (log_len + n >= sizeof(log_text))
		log_len = 0;
	memcpy(log_text + log_len, text, n + 1);
	log_len += n + 1;
}

/* ------------------------------------------------------------------ drawing */

static bool
has_crypto(void)
{
	return dev->caps.crypto_engines != 0;
}

static uint32_t
key_len(const struct hwq_dek_conf *conf)
{
	return (conf->key_size == MLX5DV_CRYPTO_KEY_SIZE_256 ? 64 : 32) +
	       (conf->has_keytag ? 8 : 0);
}

static void
draw_dek(uint64_t *rnd, struct hwq_dek_conf *conf)
{
	uint8_t key[KEY_LEN];

	memset(conf, 0, sizeof(*conf));
	conf->key_size =
		check_random(rnd) % 2 ? MLX5DV_CRYPTO_KEY_SIZE_128 : MLX5DV_CRYPTO_KEY_SIZE_256;
	conf->has_keytag = check_random(rnd) % 2;
	conf->wrapped = wrap_is_on();
	for (size_t i = 0; i < sizeof(conf->opaque); i++)
		conf->opaque[i] = (char)check_random(rnd);
	for (size_t i = 0; i < sizeof(conf->key); i++)
		conf->key[i] = (char)check_random(rnd);
	if (!conf->wrapped)
		return;
	memcpy(key, conf->key, sizeof(key));
	wrap_key(key, key_len(conf), (uint8_t *)conf->key);
}

/* Returns the attributes of a login for these settings. *credential: the caller's storage. */
static struct mlx5dv_crypto_login_attr_ex
login_attr(struct mlx5dv_crypto_login_attr *credential)
{
	*credential = wrap_login_attr();
	return (struct mlx5dv_crypto_login_attr_ex){.credential = credential->credential,
		.credential_len = sizeof(credential->credential)};
}

static void
log_in(struct hwq_login *login)
{
	struct mlx5dv_crypto_login_attr credential;
	struct mlx5dv_crypto_login_attr_ex attr;

	if (!wrap_is_on())
		return;
	attr = login_attr(&credential);
	CHECK_EQ(hwq_login_init(dev, &attr, login), 0, "logging in");
}

static void
log_out(struct hwq_login *login)
{
	if (wrap_is_on())
		CHECK_EQ(hwq_login_fini(login), 0, "logging out");
}

/* ------------------------------------------------------------------ libmlx5's commands */

static struct mlx5dv_dek *
stock_dek(const struct hwq_dek_conf *conf, struct mlx5dv_crypto_login_obj *login)
{
	struct mlx5dv_dek_init_attr attr = {.key_size = conf->key_size,
		.has_keytag = conf->has_keytag,
		.key_purpose = MLX5DV_CRYPTO_KEY_PURPOSE_AES_XTS,
		.pd = dev->pd,
		.comp_mask = MLX5DV_DEK_INIT_ATTR_CRYPTO_LOGIN,
		.crypto_login = login};

	memcpy(attr.opaque, conf->opaque, sizeof(attr.opaque));
	memcpy(attr.key, conf->key, sizeof(attr.key));
	errno = 0;
	return mlx5dv_dek_create(dev->ctx, &attr);
}

/* libmlx5 and hwq query their DEKs. `set` makes the query fail. */
static void
same_query(struct mlx5dv_dek *stock, const struct hwq_dek *dek, const struct hwq_dek_conf *conf,
	int query_errno, unsigned int spoil_at, uint8_t spoil)
{
	struct mlx5dv_dek_attr theirs = {0}, ours;
	uint8_t query[CMD_MAX];
	uint32_t id;
	int ret;

	trace.query_errno = query_errno, trace.spoil_at = spoil_at, trace.spoil = spoil;
	ret = mlx5dv_dek_query(stock, &theirs);
	memcpy(query, trace.query, sizeof(query));
	trace.query_errno = query_errno, trace.spoil_at = spoil_at, trace.spoil = spoil;
	memset(&ours, 0x5a, sizeof(ours));
	CHECK_EQ(hwq_dek_query(dek, &ours), -ret, "a query");
	/* The commands may differ only in the object's number. */
	check_bytes(trace.query, query, 8, "a query's head");
	memcpy(&id, trace.query + 8, sizeof(id));
	CHECK_EQ(be32toh(id), dek->id, "a query's object");
	check_bytes(trace.query + 12, query + 12, trace.query_len - 12u, "a query's rest");
	if (ret != 0) {
		CHECK_EQ(ours.comp_mask, 0x5a5a5a5a5a5a5a5a, "what a refused query wrote");
		return;
	}
	CHECK(ours.state == theirs.state && ours.comp_mask == 0, "state %d, not %d", ours.state,
		theirs.state);
	check_bytes(ours.opaque, conf->opaque, sizeof(ours.opaque), "the caller's own bytes");
}

static void
same_queries(struct mlx5dv_dek *stock, const struct hwq_dek *dek, const struct hwq_dek_conf *conf)
{
	/* The state is byte 24 of the answer. */
	same_query(stock, dek, conf, 0, 0, 0);
	same_query(stock, dek, conf, 0, 24, 1);
	same_query(stock, dek, conf, 0, 24, 2);
	same_query(stock, dek, conf, ENOTRECOVERABLE, 0, 0);
	for (unsigned int status = 1; status < 256; status++) {
		trace.status = (uint8_t)status;
		same_query(stock, dek, conf, EREMOTEIO, 0, 0);
	}
}

static void
same_dek_commands(void)
{
	struct mlx5dv_crypto_login_obj *login = NULL;
	struct mlx5dv_crypto_login_attr credential;
	struct mlx5dv_crypto_login_attr_ex attr;
	uint8_t theirs[CMD_MAX];
	struct hwq_dek_conf conf;
	struct mlx5dv_dek *stock;
	struct hwq_dek dek;
	uint64_t rnd = 1;
	int ret;

	if (wrap_is_on()) {
		attr = login_attr(&credential);
		login = mlx5dv_crypto_login_create(dev->ctx, &attr);
		CHECK(login != NULL, "libmlx5's login: %s", strerror(errno));
	}
	for (unsigned int i = 0; i < 64; i++) {
		draw_dek(&rnd, &conf);
		trace_start();
		stock = stock_dek(&conf, login);
		ret = stock == NULL ? errno : 0;
		CHECK_EQ(ret, has_crypto() ? 0 : EOPNOTSUPP, "libmlx5's DEK");
		memcpy(theirs, trace.cmd[0], sizeof(theirs));
		CHECK_EQ(hwq_dek_init(dev, &conf, &dek), -ret, "a DEK");
		if (ret != 0)
			continue;
		CHECK_EQ(trace.n_made, 2, "commands");
		CHECK_EQ(trace.len[1], trace.len[0], "length of a command");
		check_bytes(trace.cmd[1], theirs, trace.len[0], "a command");
		if (i < 4)
			same_queries(stock, &dek, &conf);
		CHECK_EQ(mlx5dv_dek_destroy(stock), 0, "libmlx5's DEK");
		CHECK_EQ(hwq_dek_fini(&dek), 0, "the end");
		CHECK_EQ(trace.n_made, trace.n_destroyed, "objects left");
	}
	if (login != NULL)
		CHECK_EQ(mlx5dv_crypto_login_destroy(login), 0, "libmlx5's logout");
}

/*
 * libmlx5 and hwq refuse the same attributes with the same errno, and return the same errors of the
 * device.
 */
static void
same_dek_refusals(void)
{
	struct mlx5dv_crypto_login_obj *none = NULL;
	struct hwq_dek_conf conf, good;
	struct hwq_login login;
	struct hwq_dek dek;
	uint64_t rnd = 4;

	if (!has_crypto())
		return;
	log_in(&login);
	draw_dek(&rnd, &good);
	conf = good;
	conf.wrapped = !conf.wrapped;
	CHECK_EQ(hwq_dek_init(dev, &conf, &dek), -EINVAL, "the other way of import");
	if (wrap_is_on()) {
		CHECK(stock_dek(&conf, none) == NULL && errno == EINVAL, "libmlx5's: plaintext");
		conf = good;
		conf.key[3] ^= 1;
		CHECK_EQ(hwq_dek_init(dev, &conf, &dek), -EINVAL, "not wrapped by this KEK");
	} else {
		conf = good;
		memset(conf.key, 0x11, sizeof(conf.key));
		CHECK(stock_dek(&conf, none) == NULL && errno == EINVAL, "libmlx5's: equal keys");
		CHECK_EQ(hwq_dek_init(dev, &conf, &dek), -EINVAL, "two equal AES keys");
	}
	conf = good;
	conf.key_size = (enum mlx5dv_crypto_key_size)7;
	CHECK_EQ(hwq_dek_init(dev, &conf, &dek), -EINVAL, "a size that keys do not have");
	for (unsigned int status = 1; status < 256; status++) {
		trace_start();
		trace.refuse_at = 1, trace.refuse_errno = EREMOTEIO, trace.status = (uint8_t)status;
		CHECK_EQ(hwq_dek_init(dev, &good, &dek), hwq_verbs_err_from_status((uint8_t)status),
			"errno of a status");
	}
	log_out(&login);
	if (wrap_is_on())
		CHECK_EQ(hwq_dek_init(dev, &good, &dek), -EINVAL, "without a login");
}

/* Creates caps.max_dek DEKs; one DEK more must be refused. */
static void
most_deks(void)
{
	struct hwq_dek *deks = malloc((dev->caps.max_dek + 1) * sizeof(*deks));
	struct hwq_dek_conf conf;
	struct hwq_login login;
	uint64_t rnd = 5;
	uint32_t i;

	CHECK_EQ(dev->caps.max_dek, has_crypto() ? 4096 : 0, "DEKs of the device");
	if (!has_crypto()) {
		free(deks);
		return;
	}
	log_in(&login);
	draw_dek(&rnd, &conf);
	for (i = 0; i < dev->caps.max_dek; i++)
		if (hwq_dek_init(dev, &conf, &deks[i]) != 0)
			break;
	CHECK_EQ(i, dev->caps.max_dek, "DEKs made");
	CHECK(hwq_dek_init(dev, &conf, &deks[i]) < 0, "one DEK too many");
	while (i != 0)
		CHECK_EQ(hwq_dek_fini(&deks[--i]), 0, "the end");
	log_out(&login);
	free(deks);
}

/* ------------------------------------------------------------------ logins */

/* libmlx5 and hwq log in with these attributes, one after the other. */
static void
same_login(const struct mlx5dv_crypto_login_attr_ex *attr)
{
	struct mlx5dv_crypto_login_attr_ex copy = *attr;
	struct mlx5dv_crypto_login_obj *stock;
	struct mlx5dv_crypto_login_query_attr query = {0};
	enum mlx5dv_crypto_login_state state;
	uint8_t create[CMD_MAX] = {0};
	struct hwq_login login;
	unsigned int n;
	int ret;

	trace_start();
	errno = 0;
	stock = mlx5dv_crypto_login_create(dev->ctx, &copy);
	ret = stock == NULL ? errno : 0;
	memcpy(create, trace.cmd[0], sizeof(create));
	if (stock != NULL) {
		CHECK_EQ(mlx5dv_crypto_login_query(stock, &query), 0, "libmlx5's query");
		CHECK_EQ(mlx5dv_crypto_login_destroy(stock), 0, "libmlx5's logout");
	}
	n = trace.n_made;
	trace_start();
	CHECK_EQ(hwq_login_init(dev, attr, &login), -ret, "a login");
	check_bytes(trace.cmd[0], create, CMD_MAX, "a login's command");
	if (ret != 0)
		return;
	CHECK(n == 1 && trace.n_made == 1, "commands");
	CHECK_EQ(hwq_login_query(&login, &state), 0, "a query");
	CHECK_EQ(state, query.state, "the state");
	CHECK_EQ(hwq_login_fini(&login), 0, "logging out");
	CHECK_EQ(trace.n_made, trace.n_destroyed, "objects left");
}

static void
same_logins(void)
{
	struct mlx5dv_crypto_login_attr credential = {0};
	struct mlx5dv_crypto_login_attr_ex good = {.credential = credential.credential,
						   .credential_len = sizeof(credential.credential)},
					   attr;
	struct hwq_login login;

	if (wrap_is_on())
		good = login_attr(&credential);
	same_login(&good);
	attr = good, attr.comp_mask = 1;
	same_login(&attr);
	attr = good, attr.credential_id = 1u << 24;
	same_login(&attr);
	attr = good, attr.import_kek_id = 1u << 31;
	same_login(&attr);
	attr = good, attr.credential_id = 0x123456;
	same_login(&attr);
	attr = good, attr.import_kek_id = 0x654321;
	same_login(&attr);
	credential.credential[7] ^= 1;
	same_login(&good);
	credential.credential[7] ^= 1;
	attr = good, attr.credential_len = 40;
	same_login(&attr);
	/*
	 * libmlx5 copies a credential of any length into its command; hwq must refuse this length.
	 */
	attr = good, attr.credential_len = HWQ_CREDENTIAL_MAX + 1;
	CHECK_EQ(hwq_login_init(dev, &attr, &login), wrap_is_on() ? -EINVAL : -EOPNOTSUPP,
		"a credential that is too long");
}

/* States that the device reports: valid, invalid, unknown; and a refused query. */
static void
login_states(void)
{
	static const struct {
		int query_errno;
		unsigned int spoil_at; /* the state is in the low half of byte 32 */
		uint8_t spoil, status;
		int ret;
		enum mlx5dv_crypto_login_state state;
	} rows[] = {
		{0, 0, 0, 0, 0, MLX5DV_CRYPTO_LOGIN_STATE_VALID},
		{0, 32, 1, 0, 0, MLX5DV_CRYPTO_LOGIN_STATE_INVALID},
		{0, 32, 2, 0, -EINVAL, 0},
		{ENOTRECOVERABLE, 0, 0, 0, -ENOTRECOVERABLE, 0},
		{EREMOTEIO, 0, 0, 0x08, -ENOMEM, 0},
	};
	enum mlx5dv_crypto_login_state state, untouched = (enum mlx5dv_crypto_login_state)77;
	struct mlx5dv_crypto_login_attr credential;
	struct mlx5dv_crypto_login_attr_ex attr;
	struct hwq_login login, second;

	if (!wrap_is_on())
		return;
	trace_start();
	log_in(&login);
	attr = login_attr(&credential);
	CHECK_EQ(hwq_login_init(dev, &attr, &second), -EBUSY, "a second login");
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		trace.query_errno = rows[i].query_errno;
		trace.spoil_at = rows[i].spoil_at, trace.spoil = rows[i].spoil;
		trace.status = rows[i].status;
		state = untouched;
		CHECK_EQ(hwq_login_query(&login, &state), rows[i].ret, "a query");
		CHECK_EQ(state, rows[i].ret == 0 ? rows[i].state : untouched, "the state");
	}
	trace.destroys = true, trace.refuse_at = 1, trace.refuse_errno = EPERM;
	CHECK_EQ(hwq_login_fini(&login), -EPERM, "a refused logout");
	CHECK_EQ(hwq_login_fini(&login), 0, "a second try");
}

/*
 * Creating and querying a DEK must fail without the login. Destroying and using a DEK must succeed.
 */
static void
deks_outlive_logins(void)
{
	struct mlx5dv_dek_attr attr;
	struct hwq_dek_conf conf;
	struct hwq_login login;
	struct hwq_dek dek;
	uint64_t rnd = 6;

	if (!has_crypto())
		return;
	draw_dek(&rnd, &conf);
	log_in(&login);
	CHECK_EQ(hwq_dek_init(dev, &conf, &dek), 0, "a DEK");
	log_out(&login);
	CHECK_EQ(hwq_dek_query(&dek, &attr), wrap_is_on() ? -EINVAL : 0, "without a login");
	log_in(&login);
	CHECK_EQ(hwq_dek_query(&dek, &attr), 0, "with another login");
	log_out(&login);
	CHECK_EQ(hwq_dek_fini(&dek), 0, "the end");
	/* A login that the caller has made is enough. */
	wrap_login(dev->ctx);
	CHECK_EQ(hwq_dek_init(dev, &conf, &dek), 0, "a DEK with libmlx5's login");
	if (wrap_is_on())
		CHECK_EQ(mlx5dv_crypto_logout(dev->ctx), 0, "libmlx5's logout");
	CHECK_EQ(hwq_dek_fini(&dek), 0, "the end");
}

static void
device_stays_open(void)
{
	struct hwq_dek_conf conf;
	struct hwq_login login;
	struct hwq_dek dek;
	uint64_t rnd = 7;
	struct hwq_dev *other;

	if (!has_crypto())
		return;
	draw_dek(&rnd, &conf);
	other = dev;
	dev = emu_open();
	log_in(&login);
	CHECK_EQ(hwq_dek_init(dev, &conf, &dek), 0, "a DEK");
	CHECK_EQ(hwq_dev_close(dev), -EBUSY, "a device with a DEK");
	CHECK_EQ(hwq_dek_fini(&dek), 0, "the end");
	if (wrap_is_on())
		CHECK_EQ(hwq_dev_close(dev), -EBUSY, "a device with a login");
	log_out(&login);
	CHECK_EQ(hwq_dev_close(dev), 0, "close");
	dev = other;
}

/* ------------------------------------------------------------------ pools */

static void
deks_have_users(void)
{
	struct hwq_dek_conf conf[N_DEKS];
	struct hwq_dek_pool *pool;
	struct hwq_dek *dek, *other;
	struct hwq_login login;
	uint64_t rnd = 2;

	for (unsigned int i = 0; i < N_DEKS; i++)
		draw_dek(&rnd, &conf[i]);
	CHECK_EQ(hwq_dek_pool_create(domain, 0, conf, &pool), -EINVAL, "none");
	if (!has_crypto())
		return;
	log_in(&login);
	trace_start();
	conf[3].wrapped = !conf[3].wrapped;
	CHECK_EQ(hwq_dek_pool_create(domain, N_DEKS, conf, &pool), -EINVAL, "the other import");
	conf[3].wrapped = !conf[3].wrapped;
	CHECK_EQ(trace.n_made, trace.n_destroyed, "objects left");
	CHECK_EQ(hwq_dek_pool_create(domain, N_DEKS, conf, &pool), 0, "a pool");
	dek = hwq_dek_get(pool, 4);
	other = hwq_dek_get(pool, 0);
	CHECK(dek != NULL && other != NULL && dek->id != other->id, "ids");
	CHECK(hwq_dek_get(pool, 4) == dek && hwq_dek_get(pool, N_DEKS) == NULL, "by number");
	CHECK(hwq_dek_put(other) && !hwq_dek_put(other) && hwq_dek_put(dek), "back");
	CHECK_EQ(hwq_dek_pool_destroy(pool), -EBUSY, "one DEK is not given back");
	CHECK_EQ(hwq_domain_destroy(domain), -EBUSY, "a domain that has pools");
	CHECK(hwq_dek_put(dek) && !hwq_dek_put(dek), "back");
	CHECK_EQ(hwq_dek_pool_destroy(pool), 0, "destroy");
	log_out(&login);
}

static void
every_refusal(void)
{
	struct hwq_dek_conf conf[N_DEKS];
	struct hwq_dek_pool *pool;
	struct hwq_login login;
	uint64_t rnd = 3;
	unsigned int i;

	for (i = 0; i < N_DEKS; i++)
		draw_dek(&rnd, &conf[i]);
	log_in(&login);
	for (i = 1; has_crypto() && i <= N_DEKS; i++) {
		trace_start();
		trace.refuse_at = i, trace.refuse_errno = ENOTRECOVERABLE;
		CHECK_EQ(hwq_dek_pool_create(domain, N_DEKS, conf, &pool), -ENOTRECOVERABLE,
			"the command's errno");
		CHECK(trace.n_made == i - 1 && trace.n_made == trace.n_destroyed, "objects left");
		trace_start();
		CHECK_EQ(hwq_dek_pool_create(domain, N_DEKS, conf, &pool), 0, "a pool");
		trace.destroys = true, trace.refuse_at = i, trace.refuse_errno = EPERM;
		CHECK_EQ(hwq_dek_pool_destroy(pool), -EPERM, "a destruction's errno");
		CHECK_EQ(hwq_dek_pool_destroy(pool), 0, "a second try");
		CHECK_EQ(trace.n_made, trace.n_destroyed, "objects left");
	}
	n_callocs = 0, fail_calloc_at = 1;
	CHECK_EQ(hwq_dek_pool_create(domain, N_DEKS, conf, &pool), -ENOMEM, "no memory");
	fail_calloc_at = 0;
	fail_pdn = true;
	CHECK_EQ(hwq_dek_pool_create(domain, N_DEKS, conf, &pool),
		has_crypto() ? -EPERM : -EOPNOTSUPP, "no number of the PD");
	fail_pdn = false;
	log_out(&login);
}

/* ------------------------------------------------------------------ search of the memory */

/*
 * A secret. Except while hwq uses the secret, the program stores it only masked: each byte is XORed
 * with MASK. The search looks for any PIECE consecutive bytes of the secret that start at a
 * multiple of PIECE, as bytes and as hexadecimal digits.
 */
#define MASK  0x5c
#define PIECE 8

struct secret {
	uint32_t len;
	uint8_t masked[128];
};

static uint8_t
hex_digit(uint8_t half)
{
	return (uint8_t)(half < 10 ? '0' + half : 'a' + half - 10);
}

/*
 * Returns true if the bytes at `at` are a piece of the secret, or the first digits of a piece in
 * hexadecimal.
 */
static bool
is_piece(const uint8_t *at, const uint8_t *masked)
{
	uint32_t i;

	for (i = 0; i < PIECE && (at[i] ^ MASK) == masked[i]; i++)
		;
	if (i == PIECE)
		return true;
	for (i = 0; i < PIECE && at[2 * i] == hex_digit((masked[i] ^ MASK) >> 4) &&
		    at[2 * i + 1] == hex_digit((masked[i] ^ MASK) & 15);
		i++)
		;
	return i == PIECE;
}

/*
 * Returns the number of pieces of the secret in these bytes. PIECE more bytes after them must be
 * readable.
 */
static unsigned int
count_pieces(const uint8_t *at, size_t len, const struct secret *s)
{
	bool begins[256] = {false};
	unsigned int n = 0;

	for (uint32_t i = 0; i + PIECE <= s->len; i += PIECE) {
		uint8_t first = s->masked[i] ^ MASK;

		begins[first] = begins[hex_digit(first >> 4)] = true;
	}
	for (size_t k = 0; k < len; k++) {
		if (!begins[at[k]])
			continue;
		for (uint32_t i = 0; i + PIECE <= s->len; i += PIECE)
			n += is_piece(at + k, s->masked + i);
	}
	return n;
}

/* With ASan the address space includes terabytes of ASan's own memory. */
#ifdef __SANITIZE_ADDRESS__
#define CAN_SEARCH false
#else
#define CAN_SEARCH true
#endif

#define CHUNK 65536

/* Returns the number of pieces of the secret in all memory of the program. */
static unsigned int
search(const struct secret *s)
{
	static uint8_t bytes[CHUNK + 2 * PIECE];
	FILE *maps = fopen("/proc/self/maps", "r"), *mem = fopen("/proc/self/mem", "r");
	unsigned long from, to;
	char line[512], rights[8];
	unsigned int n = 0;
	ssize_t got;

	if (maps == NULL || mem == NULL)
		EMU_DIE("reading the program's memory: %s", strerror(errno));
	while (fgets(line, sizeof(line), maps) != NULL) {
		if (sscanf(line, "%lx-%lx %7s", &from, &to, rights) != 3 || rights[0] != 'r' ||
			strstr(line, "[v") != NULL)
			continue;
		for (; from < to; from += CHUNK) {
			size_t len = to - from < CHUNK ? to - from : CHUNK;

			/*
			 * This buffer is memory of the program, so the search would find the secret
			 * in it.
			 */
			explicit_bzero(bytes, sizeof(bytes));
			got = pread(fileno(mem), bytes, len + 2 * PIECE, (off_t)from);
			if (got < 0)
				break; /* a page of the adapter, which cannot be read */
			n += count_pieces(bytes, (size_t)got < len ? (size_t)got : len, s);
		}
	}
	explicit_bzero(bytes, sizeof(bytes));
	fclose(mem);
	fclose(maps);
	return n;
}

static void
secret_draw(struct secret *s, uint32_t len, uint64_t *rnd)
{
	s->len = len;
	for (uint32_t i = 0; i < len; i++)
		s->masked[i] = (uint8_t)check_random(rnd);
}

/* Writes the unmasked secret; the caller erases it. */
static void
secret_write(const struct secret *s, void *out)
{
	for (uint32_t i = 0; i < s->len; i++)
		((uint8_t *)out)[i] = s->masked[i] ^ MASK;
}

/*
 * hwq's functions run on a separate stack. Bytes that they leave on that stack stay there, so the
 * search finds them. The search itself, and OpenSSL's wrapping, use the program's stack, which is
 * erased.
 */
static struct {
	ucontext_t back, apart;
	void (*call)(void);
	_Alignas(64) uint8_t stack[256 * 1024];
} apart;

static void
apart_call(void)
{
	apart.call();
}

static void
run_apart(void (*call)(void))
{
	CHECK_EQ(getcontext(&apart.apart), 0, "a context");
	apart.call = call;
	apart.apart.uc_stack.ss_sp = apart.stack;
	apart.apart.uc_stack.ss_size = sizeof(apart.stack);
	apart.apart.uc_link = &apart.back;
	makecontext(&apart.apart, apart_call, 0);
	CHECK_EQ(swapcontext(&apart.back, &apart.apart), 0, "to the context");
}

__attribute__((noinline)) static void
erase_stack(void)
{
	volatile uint8_t below[32768];

	for (size_t i = 0; i < sizeof(below); i++)
		below[i] = 0;
}

/* The arguments and results of the functions on the separate stack. */
static struct {
	struct hwq_dek_conf conf;
	struct mlx5dv_crypto_login_attr credential;
	struct hwq_login login;
	struct hwq_dek dek;
	int ret;
} calls;

static void
call_login(void)
{
	struct mlx5dv_crypto_login_attr_ex attr = {.credential = calls.credential.credential,
		.credential_len = sizeof(calls.credential.credential)};

	calls.ret = hwq_login_init(dev, &attr, &calls.login);
}

static void
call_dek(void)
{
	calls.ret = hwq_dek_init(dev, &calls.conf, &calls.dek);
}

static void
secret_take(struct secret *s, const void *bytes, uint32_t len)
{
	s->len = len;
	for (uint32_t i = 0; i < len; i++)
		s->masked[i] = ((const uint8_t *)bytes)[i] ^ MASK;
}

/*
 * Creates a DEK from the secret. *wrapped: the key in the form in which it is sent to the device.
 */
static int
dek_of_secret(const struct secret *s, struct secret *wrapped)
{
	uint8_t key[KEY_LEN];

	calls.conf = (struct hwq_dek_conf){.key_size = MLX5DV_CRYPTO_KEY_SIZE_256,
		.has_keytag = true,
		.wrapped = wrap_is_on()};
	secret_write(s, wrap_is_on() ? key : (uint8_t *)calls.conf.key);
	wrapped->len = 0;
	if (wrap_is_on()) {
		wrap_key(key, KEY_LEN, (uint8_t *)calls.conf.key);
		explicit_bzero(key, sizeof(key));
		secret_take(wrapped, calls.conf.key, KEY_LEN + WRAP_MORE);
	}
	run_apart(call_dek);
	explicit_bzero(&calls.conf, sizeof(calls.conf));
	erase_stack();
	return calls.ret;
}

/* The search must find every secret that is in memory, and no other bytes. */
static void
search_finds(const struct secret *key)
{
	uint8_t *control = malloc(KEY_LEN);

	erase_stack();
	CHECK_EQ(search(key), 0, "pieces before");
	secret_write(key, control);
	CHECK_EQ(search(key), KEY_LEN / PIECE, "pieces of a copy");
	explicit_bzero(control, KEY_LEN);
	free(control);
}

/*
 * This function is not inlined, so that its stack frame, which has a copy of the credential, is
 * below the caller's frame. The caller erases this stack.
 */
__attribute__((noinline)) static void
credential_write(struct secret *credential)
{
	calls.credential = wrap_login_attr();
	secret_take(credential, calls.credential.credential, sizeof(calls.credential.credential));
}

static void
no_credential_is_left(void)
{
	struct secret credential;

	credential_write(&credential);
	run_apart(call_login);
	CHECK_EQ(calls.ret, 0, "logging in");
	explicit_bzero(&calls.credential, sizeof(calls.credential));
	erase_stack();
	CHECK_EQ(search(&credential), 0, "pieces of the credential");
}

/*
 * While the DEK exists, the search finds the key, because the adapter in this process has it. After
 * that, no byte of the key may be left.
 */
static void
nothing_is_left(void)
{
	struct secret key, wrapped;
	uint64_t rnd = 8;

	if (!has_crypto() || !CAN_SEARCH)
		return;
	/* The trace would record the key, so it is off here. */
	memset(&trace, 0, sizeof(trace));
	secret_draw(&key, KEY_LEN, &rnd);
	search_finds(&key);
	if (wrap_is_on())
		no_credential_is_left();
	CHECK_EQ(dek_of_secret(&key, &wrapped), 0, "a DEK");
	CHECK_EQ(search(&wrapped), 0, "pieces of the wrapped key");
	CHECK(search(&key) != 0, "the adapter has no key");
	CHECK_EQ(hwq_dek_fini(&calls.dek), 0, "the end");
	CHECK_EQ(search(&key), 0, "pieces of the key");
	/* Keys that are refused, or that cause a log line, are erased too. */
	trace_start();
	trace.refuse_at = 1, trace.refuse_errno = ENOMEM;
	CHECK_EQ(dek_of_secret(&key, &wrapped), -ENOMEM, "a DEK that is refused");
	memset(&trace, 0, sizeof(trace));
	CHECK_EQ(search(&wrapped), 0, "pieces of a refused key, wrapped");
	CHECK_EQ(search(&key), 0, "pieces of a refused key");
	log_out(&calls.login);
}

int
main(int argc, char **argv)
{
	(void)argc;
	setenv("SOFTHCA_THREADS", "0", 1);
	/*
	 * Without this setting, the first call of each function saves the vector registers on the
	 * stack, with a key in them (ld.so(8)).
	 */
	emu_setting(argv, "LD_BIND_NOW", "1");
	dev = emu_open();
	hwq_log_set(keep_log);
	CHECK_EQ(hwq_domain_create(dev, &domain), 0, "domain");
	/* This case is the first, because the other cases leave credentials on the stack. */
	RUN("no byte of a key or credential is left in memory", nothing_is_left());
	RUN("a DEK is made and queried by libmlx5's commands", same_dek_commands());
	RUN("a refused DEK gives the error that libmlx5 gives", same_dek_refusals());
	RUN("there are as many DEKs as the device reports", most_deks());
	RUN("a login is made by libmlx5's command, and refused with libmlx5's error",
		same_logins());
	RUN("a login has the state that the device reports", login_states());
	RUN("a DEK outlives the login", deks_outlive_logins());
	RUN("a device stays open while it has DEKs or a login", device_stays_open());
	RUN("DEKs of a pool are given out by number, as often as they are needed",
		deks_have_users());
	RUN("a refused pool leaves no object", every_refusal());
	CHECK(emu_log_lines > 0, "no log line");
	CHECK_EQ(hwq_domain_destroy(domain), 0, "domain");
	CHECK_EQ(hwq_dev_close(dev), 0, "close");
	return check_failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
