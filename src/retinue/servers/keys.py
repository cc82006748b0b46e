"""Keys of callers: what each opens, kept as hashes in the user's state directory; and secrets that seal."""

import hashlib
import hmac
import logging
import secrets
import time
from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated, Final, Literal

from pydantic import Field, StringConstraints

from retinue.agents.private_file import PrivateFile
from retinue.contract.definition import Effect
from retinue.contract.model import Count, Model
from retinue.errors import AccessDenied, InvalidInput, RetinueError, Unauthenticated, UnknownName

_LOGGER: Final = logging.getLogger("retinue.servers")

KeyName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9._-]{1,64}$")]

_PREFIX: Final = "rtn_"
"""What every key begins with, so that scanners for leaked secrets can find it."""


class ApiKey(Model):
    """What the holder of a key may do.

    Attributes:
        agents: Patterns of the names of agents: `git_*`.
        doors: The doors it opens: `http`, `a2a`, `mcp`; all when empty.
        effects: What agents may touch for its holder.
        approve: Its holder answers approvals, of anybody's runs.
        max_cost_usd: US dollars a run.
        max_tokens: Tokens a run.
        rate: Requests a minute.
        concurrent: Runs at once.
        expires_ns: When it stops to work, nanoseconds since 1970 UTC.
    """

    name: KeyName
    agents: tuple[str, ...] = ("*",)
    doors: tuple[str, ...] = ()
    effects: tuple[Effect, ...] = ("read",)
    approve: bool = False
    max_cost_usd: Annotated[float, Field(ge=0)] | None = None
    max_tokens: Count | None = None
    rate: Annotated[int, Field(ge=1)] | None = None
    concurrent: Annotated[int, Field(ge=1)] | None = None
    created_ns: Count = 0
    expires_ns: Count | None = None

    def opens(self, agent: str, door: str) -> bool:
        """Whether its holder may reach `agent` through `door`."""
        return (not self.doors or door in self.doors) and any(fnmatchcase(agent, each) for each in self.agents)

    def has_expired(self, now_ns: int) -> bool:
        """Whether it has stopped to work."""
        return self.expires_ns is not None and self.expires_ns <= now_ns


class _KeyFile(Model):
    """The file: keys by the SHA-256 of the secret. A secret is 256 bits of chance, so no slow hash is needed."""

    format: Literal[1] = 1
    keys: dict[str, ApiKey] = Field(default_factory=dict[str, ApiKey])


class _SealFile(Model):
    """The file of secrets that seal. None of them opens a door."""

    format: Literal[1] = 1
    keys: list[str] = Field(default_factory=list[str])


class KeyStore:
    """The keys of one user. Changes by other processes are seen at the next request.

    Args:
        state: The user's state directory.
        clock: Nanoseconds since 1970 UTC.
    """

    def __init__(self, state: Path, *, clock: Callable[[], int] = time.time_ns) -> None:
        self._file = PrivateFile(state / "keys.json", _KeyFile(), name="key store", command="retinue keys add NAME")
        self._seals = PrivateFile(state / "seals.json", _SealFile(), name="store of seals", command="retinue serve")
        self._clock = clock
        self._version: tuple[int, int, int] | None = None
        self._keys: dict[str, ApiKey] = {}

    def add(self, key: ApiKey) -> str:
        """Keep a new key and give its secret, which is not kept.

        Raises:
            InvalidInput: There is one of that name.
            AccessDenied: The store cannot be written.
        """
        secret = _PREFIX + secrets.token_urlsafe(32)
        with self._file.change() as store:
            if any(each.name == key.name for each in store.keys.values()):
                raise InvalidInput(
                    f"There is a key called {key.name!r} already.",
                    hint=f"Choose another name, or revoke it: `retinue keys revoke {key.name}`.",
                    path="/name",
                )
            store.keys[_digest(secret)] = key.model_copy(update={"created_ns": self._clock()})
        return secret

    def list(self) -> list[ApiKey]:
        """All keys, by name, those that have expired too.

        Raises:
            RetinueError: The store cannot be read.
        """
        return sorted(self._file.read().keys.values(), key=lambda key: key.name)

    def revoke(self, name: str) -> None:
        """Delete a key.

        Raises:
            UnknownName: There is none of that name.
        """
        with self._file.change() as store:
            digests = [digest for digest, key in store.keys.items() if key.name == name]
            if not digests:
                names = tuple(key.name for key in store.keys.values())
                raise UnknownName(
                    f"There is no key {name[:80]!r}.", hint="See `retinue keys list`.", suggestions=names, path="/name"
                )
            for digest in digests:
                del store.keys[digest]

    def find(self, secret: str) -> ApiKey:
        """The key of a secret.

        Raises:
            Unauthenticated: There is none, or it has expired; both are said in the same words.
            RetinueError: The store cannot be read.
        """
        self._refresh()
        digest = _digest(secret)
        # All of them are compared, so that the time does not tell which is near.
        matches = [key for name, key in self._keys.items() if hmac.compare_digest(name, digest)]
        if not matches or matches[0].has_expired(self._clock()):
            raise Unauthenticated("This key is not known, or has expired.", hint="Ask the operator for a new one.")
        return matches[0]

    def has_keys(self) -> bool:
        """Whether there is any key that has not expired; false when the store cannot be read."""
        try:
            keys = self.list()
        except RetinueError:
            return False
        return any(not key.has_expired(self._clock()) for key in keys)

    def seals(self) -> Sequence[str]:
        """Secrets that seal what clients are given to send back: the first one seals, all open.

        One is made if there is none. Where it cannot be kept, what it sealed is lost with the process.
        """
        new = [secrets.token_urlsafe(32)]
        try:
            with self._seals.change() as file:
                file.keys[:] = file.keys or new
                return file.keys
        except AccessDenied as error:
            _LOGGER.warning("no question can be answered after a restart: %s", error)
            return new

    def _refresh(self) -> None:
        try:
            status = self._file.path.stat()
        except OSError:
            version = None
        else:
            version = (status.st_ino, status.st_mtime_ns, status.st_size)
        if version != self._version or version is None:
            self._keys, self._version = self._file.read().keys, version


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode(errors="replace")).hexdigest()
