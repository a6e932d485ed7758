"""Sealed messages: X25519 key agreement with a fresh key per message, then ChaCha20-Poly1305.

Only the owner of the private key can open a sealed message, not even its sender; whoever changes a bit
of it, or opens it in another context (another session, another round), gets a :class:`SealError`.
"""

from __future__ import annotations

from functools import lru_cache

from ldpopt.core.errors import LdpoptError, MissingDependencyError

try:
    from cryptography.exceptions import InvalidTag
    from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
    from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
    from cryptography.hazmat.primitives.hashes import SHA256
    from cryptography.hazmat.primitives.kdf.hkdf import HKDF
except ImportError:
    raise MissingDependencyError("the protocol", "cryptography") from None

OVERHEAD = 32 + 16
"""Bytes that sealing adds: the fresh public key and the tag."""
# every message has a key of its own, so that one nonce serves them all
_NONCE = bytes(12)


class SealError(LdpoptError):
    """A message that was not sealed for this key and context, or was changed on the way."""


class Opener:
    """A private key that never leaves the object, and its public key.

    >>> curator = Opener()
    >>> curator.open(seal(curator.public, b"blood type A", b"round 1"), b"round 1")
    b'blood type A'
    """

    def __init__(self) -> None:
        self._private = X25519PrivateKey.generate()
        self.public = self._private.public_key().public_bytes_raw()

    def open(self, message: bytes, context: bytes) -> bytes:
        """Open a message that was sealed for this key in this context."""
        if len(message) < OVERHEAD:
            raise SealError(f"a sealed message has at least {OVERHEAD} bytes, not {len(message)}")
        fresh = message[:32]
        try:
            shared = self._private.exchange(X25519PublicKey.from_public_bytes(fresh))
            cipher = _cipher(shared, fresh, self.public, context)
            return cipher.decrypt(_NONCE, message[32:], context)
        except (InvalidTag, ValueError):
            raise SealError("the message was not sealed for this key and context") from None


def seal(public: bytes, content: bytes, context: bytes) -> bytes:
    """Seal a content for the owner of a public key.

    Args:
        public: the X25519 public key of the receiver, 32 bytes.
        content: what to seal.
        context: what the seal is bound to; the receiver must name the same.
    """
    fresh = X25519PrivateKey.generate()
    own = fresh.public_key().public_bytes_raw()
    cipher = _cipher(fresh.exchange(_public_key(public)), own, public, context)
    return own + cipher.encrypt(_NONCE, content, context)


@lru_cache(maxsize=16)
def _public_key(public: bytes) -> X25519PublicKey:
    return X25519PublicKey.from_public_bytes(public)


def _cipher(shared: bytes, fresh: bytes, public: bytes, context: bytes) -> ChaCha20Poly1305:
    kdf = HKDF(SHA256(), 32, salt=None, info=b"ldpopt sealed message" + fresh + public + context)
    return ChaCha20Poly1305(kdf.derive(shared))
