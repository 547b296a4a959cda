"""Masks: what they depend on, by known answers and by an implementation of its own."""

import hashlib
import hmac
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from fedrcd.errors import ProtocolError
from fedrcd.federation.masking import derivation
from fedrcd.federation.masking.derivation import MaskUse, RunKey, mask, masked, pair_chain, public_key
from fedrcd.federation.masking.ring import RINGS

pytest.importorskip("cryptography")

VECTORS = json.loads((Path(__file__).parent / "vectors.json").read_text(encoding="utf-8"))
SECRETS = {name: hashlib.sha256(name.encode()).digest() for name in ("a", "b", "c")}
KEYS = {name: public_key(secret) for name, secret in SECRETS.items()}
PAIR = (RunKey("a", KEYS["a"]), RunKey("b", KEYS["b"]))
T = hashlib.sha256(b"transcript").digest()
USE = MaskUse(1, "question", 5, RINGS["exact"])


def chain(secret=SECRETS["a"], other=KEYS["b"], transcript=T, pair=PAIR):
    return pair_chain(secret, other, transcript, pair)


def framed(*parts):
    return b"".join(len(part).to_bytes(8, "little") + part for part in (b"fedrcd-masking/1", *parts))


def hkdf(material, salt, info):
    """RFC 5869, one block of SHA-256."""
    pseudorandom = hmac.new(salt, material, hashlib.sha256).digest()
    return hmac.new(pseudorandom, info + b"\x01", hashlib.sha256).digest()


def counter_mode(key, size):
    """AES-256-CTR from single blocks."""
    from cryptography.hazmat.primitives.ciphers import Cipher
    from cryptography.hazmat.primitives.ciphers.algorithms import AES256
    from cryptography.hazmat.primitives.ciphers.modes import ECB

    block = Cipher(AES256(key), ECB()).encryptor()
    return b"".join(block.update(k.to_bytes(16, "big")) for k in range(-(-size // 16)))[:size]


@pytest.mark.parametrize("known", VECTORS, ids=lambda known: known["name"])
def test_known_answers(known):
    secret, other = bytes.fromhex(known["secret"]), bytes.fromhex(known["other key"])
    pair = tuple(RunKey(site, bytes.fromhex(key)) for site, key in known["pair"])
    transcript = bytes.fromhex(known["transcript"])
    use = MaskUse(known["round"], known["question"], known["length"], RINGS[known["ring"]])
    found = pair_chain(secret, other, transcript, pair)
    assert found.hex() == known["chain"]
    assert use.ring.to_bytes(mask(found, transcript, use)).hex() == known["mask"]


def test_another_implementation_finds_the_same():
    from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey

    shared = X25519PrivateKey.from_private_bytes(SECRETS["b"]).exchange(X25519PublicKey.from_public_bytes(KEYS["a"]))
    one = hkdf(shared, T, framed(b"chain", b"a", b"b", KEYS["a"], KEYS["b"]))
    assert one == chain() == chain(SECRETS["b"], KEYS["a"])  # either site finds it
    for name, ring in RINGS.items():
        numbers = [n.to_bytes(8, "little") for n in (1, 5, ring.bits)]
        key = hkdf(one, T, framed(b"mask", numbers[0], b"question", numbers[1], numbers[2]))
        use = replace(USE, ring=ring)
        assert ring.to_bytes(mask(one, T, use)) == counter_mode(key, 5 * ring.width), name


OTHERS = {
    "the transcript": lambda: chain(transcript=hashlib.sha256(b"another").digest()),
    "the name of the first": lambda: chain(pair=(RunKey("x", KEYS["a"]), PAIR[1])),
    "the name of the second": lambda: chain(pair=(PAIR[0], RunKey("x", KEYS["b"]))),
    "the key of the first": lambda: chain(pair=(RunKey("a", KEYS["c"]), PAIR[1])),
    "the key of the second": lambda: chain(pair=(PAIR[0], RunKey("b", KEYS["c"]))),
    "the order": lambda: chain(pair=PAIR[::-1]),
    "where one name ends": lambda: chain(pair=(RunKey("ab", KEYS["a"]), RunKey("", KEYS["b"]))),
    "the secret": lambda: chain(secret=SECRETS["c"]),
    "the other's key": lambda: chain(other=KEYS["c"]),
}
USES = {
    "the round": replace(USE, round=2),
    "the question": replace(USE, question="another"),
    "the length": replace(USE, length=6),
    "the ring": replace(USE, ring=RINGS["compact"]),
}


@pytest.mark.parametrize("what", OTHERS)
def test_a_chain_depends_on(what):
    assert OTHERS[what]() != chain()


@pytest.mark.parametrize("what", USES)
def test_a_mask_depends_on(what):
    ring = RINGS["exact"]
    base, other = ring.to_bytes(mask(chain(), T, USE)), mask(chain(), T, USES[what])
    assert other.astype("<u8").tobytes()[:40] != base[:40]


def test_a_mask_depends_on_the_transcript_beside_the_chain():
    assert (mask(chain(), T, USE) != mask(chain(), b"t" * 32, USE)).any()


def test_every_bit_of_a_chain_counts():
    first = chain()
    keystreams = {RINGS["exact"].to_bytes(mask(first, T, USE))}
    for bit in range(256):
        changed = bytearray(first)
        changed[bit // 8] ^= 1 << bit % 8
        keystreams.add(RINGS["exact"].to_bytes(mask(bytes(changed), T, USE)))
    assert len(keystreams) == 257


@pytest.mark.parametrize("size", [0, 4, 8, 15, 16, 31, 33])
def test_a_secret_of_another_size_is_refused(size):
    for attempt in (
        lambda: public_key(bytes(size)),
        lambda: chain(secret=bytes(size)),
        lambda: mask(bytes(size), T, USE),
    ):
        with pytest.raises(ProtocolError, match="256 bits"):
            attempt()
    assert derivation.KEY_BYTES * 8 >= 128


@pytest.mark.parametrize("point", [bytes(32), (1).to_bytes(32, "little")])
def test_a_key_that_leaves_no_secret_is_refused(point):
    with pytest.raises(ProtocolError, match="no point"):
        chain(other=point)


@pytest.mark.parametrize("ring", RINGS.values(), ids=RINGS)
def test_masks_cancel_over_a_cohort(ring):
    cohort = tuple(SECRETS)
    keys = [RunKey(name, KEYS[name]) for name in cohort]
    use = replace(USE, ring=ring)
    rng = np.random.default_rng(1)
    vectors = {name: rng.integers(0, 2**64, (5, ring.words), dtype=np.uint64) for name in cohort}
    plain, total = ring.zeros(5), ring.zeros(5)
    for own, name in enumerate(cohort):
        chains = {
            other: pair_chain(SECRETS[name], KEYS[other], T, tuple(keys[i] for i in sorted((own, place))))
            for place, other in enumerate(cohort)
            if other != name
        }
        hidden = masked(vectors[name], name, cohort, chains, T, use)
        assert (hidden != vectors[name]).any()
        plain, total = ring.add(plain, vectors[name]), ring.add(total, hidden)
    assert (plain == total).all()
