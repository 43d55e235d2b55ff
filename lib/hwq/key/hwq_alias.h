/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Keys that functions of one card share: a host and the Arm cores of its BlueField, or two
 * functions of the same host.
 *
 *     owner                                          importer, another function of the card
 *     hwq_export_kind(dev, &kind)
 *     hwq_export_init(&mr, kind, access, &exported)
 *     hwq_export_allow(&exported, access_key)
 *        caps.vhca_id, exported.key, access_key  -->  hwq_alias_init(dev, &attr, &alias)
 *                                                     ... alias.key, and owner's addresses ...
 *                                                   hwq_alias_fini(&alias)
 *     hwq_export_fini(&exported)
 *
 * A work request of the importer names the alias, and an address of the owner's process. The
 * owner's key decides about bounds and rights. The importer may use the alias as local key of a DMA
 * MMO, a send, a write or a read, and as remote key of a message to its own queue pairs.
 *
 * The access key is the only guard: any function of the card that knows the VHCA id, the key and
 * the access key can make an alias. So it must be random, and the channel must be safe.
 *
 * The end: the owner may end its key before the alias ends. Work requests by the alias then
 * complete with a protection error. No command takes the permission back while the key exists.
 *
 * Sources: openucx/ucx, src/uct/ib/mlx5/dv/ib_mlx5dv_md.c; Linux, mlx5_ifc.h and cmd.c of mlx5_core
 * (allow_other_vhca_access, alias_context). The commands go through DEVX.
 *
 * Threads: any thread may call the functions of this file, but two threads must not use one object
 * at once.
 */
#ifndef HWQ_ALIAS_H
#define HWQ_ALIAS_H

#include <stddef.h>
#include <stdint.h>

#include <infiniband/mlx5dv.h>

#include "hwq_dev.h"
#include "hwq_mr.h"

#define HWQ_ACCESS_KEY_LEN 32u /**< bytes of an access key */

/** The kinds of keys that a device lets other functions use. */
enum hwq_export_kind {
	HWQ_EXPORT_NONE,   /**< none */
	HWQ_EXPORT_DIRECT, /**< a key over pages, which are registered once more (umem) */
	HWQ_EXPORT_KSM,    /**< an indirect key over a registration */
};

/** A key that other functions may use. Only hwq writes this struct. */
struct hwq_export {
	uint32_t key;                  /**< index << 8 | variant */
	enum hwq_export_kind kind;     /**< kind of the key */
	struct hwq_dev *dev;           /**< the device */
	struct mlx5dv_devx_obj *obj;   /**< the key; NULL: it has ended */
	struct mlx5dv_devx_umem *umem; /**< memory of a key over pages; NULL: it has ended */
};

/** What an importer has to know. */
struct hwq_alias_attr {
	uint16_t vhca_id;                       /**< hwq_dev_caps::vhca_id of the owner's device */
	uint32_t key;                           /**< hwq_export::key */
	uint8_t access_key[HWQ_ACCESS_KEY_LEN]; /**< the bytes of hwq_export_allow() */
};

/** An alias. Only hwq writes this struct. */
struct hwq_alias {
	uint32_t key;                /**< local and remote key, for the owner's addresses */
	uint32_t id;                 /**< object id, for commands */
	struct hwq_dev *dev;         /**< the device */
	struct mlx5dv_devx_obj *obj; /**< the DEVX object */
};

/**
 * Finds out which kind of key other functions may use: it makes keys over a page of its own, and
 * tries to allow them. The device's capabilities do not tell this. It is a control call of a few
 * commands.
 *
 * @param dev
 *   The device.
 * @param kind
 *   Written on success only. HWQ_EXPORT_NONE also if the device lacks hwq_dev_caps::cross_vhca.
 * @return
 *   0 on success, otherwise:
 * @retval -ENOMEM
 *   There is not enough memory.
 * @retval -errno
 *   The error of ibv_reg_mr(3).
 */
HWQ_API int hwq_export_kind(struct hwq_dev *dev, enum hwq_export_kind *kind);

/**
 * Makes a key over a registered range. Its addresses are those of the range. No other function may
 * use it before hwq_export_allow().
 *
 * @param mr
 *   The registration, of memory of this process that is pinned. It must stay until
 *   hwq_export_fini().
 * @param kind
 *   HWQ_EXPORT_KSM, or HWQ_EXPORT_DIRECT, which pins the pages a second time.
 * @param access
 *   HWQ_ACCESS_LOCAL_WRITE, _REMOTE_WRITE and _REMOTE_READ: what importers may do. Reads by a local
 *   key need no bit.
 * @param exported
 *   The caller's storage; written on success only.
 * @return
 *   0 on success. Otherwise the log has the error:
 * @retval -EINVAL
 *   `kind` is HWQ_EXPORT_NONE or unknown, or `access` has another bit.
 * @retval -EOPNOTSUPP
 *   The device lacks hwq_dev_caps::cross_vhca.
 * @retval -ENOMEM
 *   There is not enough memory.
 * @retval -errno
 *   The error of the command that the device refused.
 */
HWQ_API int hwq_export_init(const struct hwq_mr *mr, enum hwq_export_kind kind, unsigned int access,
	struct hwq_export *exported);

/**
 * Allows the functions of the card to make aliases of the key. A second call replaces the access
 * key, and aliases that exist stay.
 *
 * @param exported
 *   The key.
 * @param access_key
 *   Random bytes. hwq erases its copy.
 * @return
 *   0 on success. Otherwise the log has the error:
 * @retval -EINVAL
 *   The device does not allow a key of this kind.
 * @retval -errno
 *   The error of the command that the device refused.
 */
HWQ_API int hwq_export_allow(const struct hwq_export *exported,
	const uint8_t access_key[HWQ_ACCESS_KEY_LEN]);

/**
 * Ends the key. When it has returned 0, no byte moves by an alias of the key, and work requests by
 * such an alias fail. No later key of this process has the same index, so an old alias cannot reach
 * other memory. After an error call again.
 *
 * @param exported
 *   The key.
 * @return
 *   0 on success, otherwise:
 * @retval -errno
 *   The error of the command that the device refused, or of mlx5dv_devx_umem_dereg(3).
 */
HWQ_API int hwq_export_fini(struct hwq_export *exported);

/**
 * Makes an alias of a key of another function of the card, or of the same function.
 *
 * @param dev
 *   The device.
 * @param attr
 *   Read during the call. hwq erases its copy of the access key.
 * @param alias
 *   The caller's storage; written on success only.
 * @return
 *   0 on success. Otherwise the log has the error:
 * @retval -EOPNOTSUPP
 *   The device lacks hwq_dev_caps::cross_vhca.
 * @retval -EACCES
 *   The device made the alias in a bad state, which the log names.
 * @retval -EINVAL
 *   The card has no such function, the function has no such key or did not allow it, or the access
 *   key is wrong. The device does not say which.
 * @retval -errno
 *   The error of the command that the device refused.
 */
HWQ_API int hwq_alias_init(struct hwq_dev *dev, const struct hwq_alias_attr *attr,
	struct hwq_alias *alias);

/**
 * Asks the device for the state of an alias.
 *
 * @param alias
 *   The alias.
 * @param status
 *   Written on success only. 0: the alias is valid; the meaning of other values is not public.
 * @return
 *   0 on success, otherwise:
 * @retval -errno
 *   The error of the command.
 */
HWQ_API int hwq_alias_query(const struct hwq_alias *alias, unsigned int *status);

/**
 * Ends an alias. Work requests that use it must have completed. After an error call again.
 *
 * @param alias
 *   The alias.
 * @return
 *   0 on success, otherwise:
 * @retval -errno
 *   The error of the command that the device refused.
 */
HWQ_API int hwq_alias_fini(struct hwq_alias *alias);

#endif
