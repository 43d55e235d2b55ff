# SPDX-License-Identifier: BSD-3-Clause
"""Writes the file that rdma-core's test_mlx5_crypto reads, and returns the settings of the adapter that belong to the
file.

python3-cryptography wraps the keys and encrypts: the expected values do not come from the adapter.
"""
import json
import struct

from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.keywrap import aes_key_wrap

UNIT = 512  # length of the test's data units


def pattern(length, step):
    return bytes((i * step + 1) & 0xff for i in range(length))


KEK = pattern(16, 3)
CREDENTIAL = pattern(40, 5)
KEY = pattern(32, 7)
KEY_256 = pattern(64, 11)


def encrypted(plain):
    """Encrypts data units by AES-XTS with KEY; the tweak of the first data unit is 0."""
    out = b''
    for unit in range(len(plain) // UNIT):
        cipher = Cipher(algorithms.AES(KEY), modes.XTS(struct.pack('<QQ', unit, 0)))
        out += cipher.encryptor().update(plain[unit * UNIT:(unit + 1) * UNIT])
    return out


def numbers(data, form):
    """Returns the numbers that the test packs into these bytes, in network order or in the machine's order."""
    size = struct.calcsize(form[-1])
    return list(struct.unpack(f'{form[:-1]}{len(data) // size}{form[-1]}', data))


def write(path):
    """Writes the file. Returns the environments of the two profiles, which the tests use one after the other."""
    info = {
        'credential': numbers(aes_key_wrap(KEK, CREDENTIAL), '!Q'),
        'wrapped_key': numbers(aes_key_wrap(KEK, KEY), '!Q'),
        'wrapped_256_bits_key': numbers(aes_key_wrap(KEK, KEY_256), '!Q'),
        'plaintext_key': numbers(KEY, 'I'),
        'plaintext_256_bits_key': numbers(KEY_256, 'I'),
        'encrypted_data_for_512_c': numbers(encrypted(b'c' * 512), '!Q'),
        'encrypted_data_for_1024_c': numbers(encrypted(b'c' * 1024), '!Q'),
    }
    with open(path, 'w', encoding='ascii') as f:
        json.dump([info], f)
    return [{'MLX5_CRYPTO_TEST_INFO': path, 'SOFTHCA_CRYPTO': 'plaintext'},
            {'MLX5_CRYPTO_TEST_INFO': path, 'SOFTHCA_CRYPTO': 'wrapped', 'SOFTHCA_CRYPTO_KEK': KEK.hex(),
             'SOFTHCA_CRYPTO_CREDENTIAL': CREDENTIAL.hex()}]
