"""An S3 bucket: list, read and delete objects, and a put that fails where the object exists.

Requests that a server refuses for a moment (503 SlowDown, 500, no answer) are sent again with a
doubling wait. `obstore` sends them; it is an extra (requirements/s3.txt) and imported on first use.

AWS_ENDPOINT_URL names another server than AWS; keys come from AWS_ACCESS_KEY_ID and
AWS_SECRET_ACCESS_KEY, else from the file of `aws configure`, else from the machine's role.
"""

import configparser
import errno
import os
import random
import re
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Final, NoReturn, TypeVar

from planner.core import Text

PATIENCE_S: Final = 60.0
"""Time for which a request of a writer is repeated [s]: a server may restart."""
GLANCE_S: Final = 10.0
"""The same for a reader, which has its local copies [s]."""
FIRST_WAIT_S: Final = 0.1
LONGEST_WAIT_S: Final = 5.0
SCHEME: Final = "s3://"
PROBE: Final = ".epochwise-conditional-put"
"""Object that shows whether a server honours `If-None-Match: *`; it stays in the bucket."""
_NAME: Final = re.compile(r"[a-z0-9][a-z0-9._-]{1,61}[a-z0-9]")
_CODE: Final = re.compile(r"<Code>(\w+)</Code>")
_STATUS: Final = re.compile(r"status code: (\d{3})")
_REASONS: Final = {
    "NoSuchBucket": ("the bucket does not exist", "Create it, or correct its name"),
    "InvalidAccessKeyId": ("the access key is unknown", "Set AWS_ACCESS_KEY_ID"),
    "SignatureDoesNotMatch": ("the secret key is wrong", "Set AWS_SECRET_ACCESS_KEY"),
    "ExpiredToken": ("the session token has expired", "Set a new AWS_SESSION_TOKEN"),
    "AccessDenied": ("access is denied", "Allow s3:ListBucket, GetObject, PutObject, DeleteObject"),
    "PermanentRedirect": ("the bucket is in another region", "Set AWS_REGION"),
    "AuthorizationHeaderMalformed": ("the bucket is in another region", "Set AWS_REGION"),
}
"""What a code of S3 means, and what to do."""
Answer = TypeVar("Answer")


class BucketError(OSError):
    """A bucket does not do what is needed: where, what, and what to do next."""

    def __init__(self, where: object, what: str, then: str) -> None:
        super().__init__(
            errno.EIO, Text("{where}: {what}. {then}.", where=where, what=what, then=then)
        )
        self.what, self.then = what, then

    def __str__(self) -> str:
        return str(self.strerror)


class _TakenError(Exception):
    """The object exists already."""


class _BusyError(Exception):
    """The server did not answer, or asked to try again; the request may have been carried out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BucketAddress:
    """A place for results: `s3://bucket/prefix`, on AWS where `endpoint` is empty."""

    bucket: str
    prefix: str
    endpoint: str

    def __str__(self) -> str:
        return f"{SCHEME}{'/'.join(p for p in (self.bucket, self.prefix) if p)}"


@dataclass(frozen=True, slots=True)
class Object:
    """What a listing says of an object; size in bytes."""

    etag: str
    size: int


def address_of(text: str, environment: Mapping[str, str]) -> BucketAddress | None:
    """Return the place that `text` names; None for a folder.

    Raises:
        BucketError: it begins with s3:// and is no place in a bucket.
    """
    if not text.startswith(SCHEME):
        return None
    bucket, _, prefix = text.removeprefix(SCHEME).partition("/")
    prefix = prefix.strip("/")
    parts = prefix.split("/") if prefix else []
    if not _NAME.fullmatch(bucket) or any(p in {"", ".", ".."} or p[0] == "." for p in parts):
        raise BucketError(text, "this is no place in a bucket", "Write s3://bucket/prefix")
    endpoint = environment.get("AWS_ENDPOINT_URL_S3") or environment.get("AWS_ENDPOINT_URL") or ""
    return BucketAddress(bucket=bucket, prefix=prefix, endpoint=endpoint.rstrip("/"))


class Bucket:
    """The objects below the prefix of an address; keys are relative to it."""

    def __init__(self, address: BucketAddress, environment: Mapping[str, str]) -> None:
        self.address = address
        self._environment = environment
        self._is_checked = False

    def list(self, below: str = "", patience_s: float = PATIENCE_S) -> dict[str, Object]:
        """Return all objects whose key begins with the folder `below`."""

        def ask() -> dict[str, Object]:
            objects = {}
            for chunk in self._api.list(self._store, below or None):
                for meta in chunk:
                    key = str(meta["path"])
                    objects[key] = Object(str(meta.get("e_tag") or ""), int(meta["size"]))
            return objects

        return self._again(ask, patience_s)

    def get(self, key: str) -> tuple[bytes, str] | None:
        """Return the bytes of an object and its ETag; None where it does not exist."""

        def ask() -> tuple[bytes, str] | None:
            try:
                result = self._api.get(self._store, key)
                return bytes(result.bytes()), str(result.meta.get("e_tag") or "")
            except FileNotFoundError as error:
                if "NoSuchBucket" in str(error):
                    raise
                return None

        return self._again(ask)

    def put_new(self, key: str, data: bytes) -> str | None:
        """Make an object and return its ETag; None where it exists: the first one stays.

        Raises:
            BucketError: the server ignores the condition, or refuses.
        """
        self.check()
        return self._put_new(key, data)

    def check(self) -> None:
        """Check once that the server honours a conditional put.

        Raises:
            BucketError: it does not; nothing may be written then.
        """
        if self._is_checked:
            return
        tries = (uuid.uuid4().bytes for _ in range(2))
        if all(self._put_new(PROBE, each) is not None for each in tries):
            raise BucketError(
                self.address,
                "this server ignores conditional puts (If-None-Match), so two writers could "
                "overwrite each other and nothing is written",
                "Use a server of docs/results-in-s3.md; reading works",
            )
        self._is_checked = True

    def replace(self, key: str, data: bytes) -> str:
        """Make an object hold exactly `data`, whatever it held; return its ETag."""

        def ask() -> str:
            made = self._api.put(self._store, key, data, use_multipart=False)
            return str(made.get("e_tag") or "")

        return self._again(ask)

    def delete(self, key: str) -> None:
        """Delete an object; one that does not exist is no error."""

        def ask() -> None:
            try:
                self._api.delete(self._store, key)
            except FileNotFoundError as error:
                if "NoSuchBucket" in str(error):
                    raise

        self._again(ask)

    def _put_new(self, key: str, data: bytes) -> str | None:
        unsure = False
        for last in _waits(PATIENCE_S):
            try:
                made = self._once(lambda: self._create(key, data))
            except _TakenError:
                there = self.get(key)
                if there is not None:  # a put of unknown outcome may have been ours
                    return there[1] if unsure and there[0] == data else None
            except _BusyError as error:
                unsure = True
                if last:
                    raise self._gave_up(error) from error
            else:
                return made
        raise self._gave_up(_BusyError("409 ConditionalRequestConflict"))

    def _create(self, key: str, data: bytes) -> str:
        made = self._api.put(self._store, key, data, mode="create", use_multipart=False)
        return str(made.get("e_tag") or "")

    def _again(self, ask: Callable[[], Answer], patience_s: float = PATIENCE_S) -> Answer:
        for last in _waits(patience_s):
            try:
                return self._once(ask)
            except _BusyError as error:
                if last:
                    raise self._gave_up(error) from error
        raise AssertionError("the last wait is marked")

    def _gave_up(self, error: Exception) -> BucketError:
        what = Text("the server gives no answer or asks to wait ({error})", error=error)
        return BucketError(self.address, what, "Check AWS_ENDPOINT_URL, or try again later")

    def _once(self, ask: Callable[[], Answer]) -> Answer:
        try:
            return ask()
        except self._api.exceptions.AlreadyExistsError as error:
            raise _TakenError from error
        except (self._api.exceptions.BaseError, FileNotFoundError) as error:
            self._raise(error)

    def _raise(self, error: Exception) -> NoReturn:
        text = str(error)
        code, status = _CODE.search(text), _STATUS.search(text)
        if code and code[1] in _REASONS:
            raise BucketError(self.address, *_REASONS[code[1]]) from error
        if status and status[1] in {"401", "403"}:
            raise BucketError(self.address, *_REASONS["AccessDenied"]) from error
        if status and status[1] == "301":
            raise BucketError(self.address, *_REASONS["PermanentRedirect"]) from error
        if status and status[1] == "501":
            what = "the server does not implement this request"
            raise BucketError(self.address, what, "Use another server") from error
        if status is None or status[1][0] == "5" or status[1] in {"408", "409", "429"}:
            first = text.splitlines()[0][:200] if status is None else status[1]
            raise _BusyError(f"{first} {code[1]}" if code else first) from error
        raise BucketError(self.address, text.splitlines()[0][:200], "Correct this") from error

    @cached_property
    def _api(self) -> Any:  # noqa: ANN401 - a module that may be absent
        try:
            import obstore
        except ModuleNotFoundError as error:
            raise BucketError(
                self.address,
                "the package obstore is not installed",
                "Run pip install -r requirements/s3.txt",
            ) from error
        return obstore

    @cached_property
    def _store(self) -> Any:  # noqa: ANN401 - of that module
        from datetime import timedelta

        _ = self._api
        from obstore.store import S3Store

        address = self.address
        more: dict[str, Any] = {"endpoint": address.endpoint} if address.endpoint else {}
        region = self._environment.get("AWS_REGION") or self._environment.get("AWS_DEFAULT_REGION")
        return S3Store(
            address.bucket,
            prefix=address.prefix or None,
            region=region or "us-east-1",
            virtual_hosted_style_request=False,
            client_options={
                "allow_http": address.endpoint.startswith("http://"),
                "timeout": timedelta(seconds=PATIENCE_S),
                "connect_timeout": timedelta(seconds=LONGEST_WAIT_S),
            },
            retry_config={"max_retries": 0, "retry_timeout": timedelta(seconds=PATIENCE_S)},
            **more,
            **self._keys(),
        )

    def _keys(self) -> dict[str, str]:
        """Return the keys of the file of `aws configure` where the environment has none.

        Raises:
            BucketError: there are none, and the server knows no roles of machines.
        """
        have = self._environment
        roles = ("AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
                 "AWS_CONTAINER_CREDENTIALS_FULL_URI")  # fmt: skip
        if have.get("AWS_ACCESS_KEY_ID") and have.get("AWS_SECRET_ACCESS_KEY"):
            keys = {"access_key_id": have["AWS_ACCESS_KEY_ID"],
                    "secret_access_key": have["AWS_SECRET_ACCESS_KEY"]}  # fmt: skip
            token = have.get("AWS_SESSION_TOKEN")
            return keys | ({"session_token": token} if token else {})
        if keys := _from_file(have):
            return keys
        no_role = self.address.endpoint or have.get("AWS_EC2_METADATA_DISABLED") == "true"
        if no_role and not any(have.get(name) for name in roles):
            raise BucketError(
                self.address, "there are no credentials",
                "Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or run `aws configure`",
            )  # fmt: skip
        return {}


def _from_file(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the keys of a profile in `~/.aws/credentials`; none where there are none."""
    place = environment.get("AWS_SHARED_CREDENTIALS_FILE") or "~/.aws/credentials"
    parser = configparser.ConfigParser(interpolation=None)
    try:
        parser.read(Path(place).expanduser(), encoding="utf-8")
        section = parser[environment.get("AWS_PROFILE") or "default"]
    except (KeyError, OSError, ValueError, configparser.Error):
        return {}
    names = ("access_key_id", "secret_access_key", "session_token")
    keys = {name: section[f"aws_{name}"] for name in names if section.get(f"aws_{name}")}
    return keys if {"access_key_id", "secret_access_key"} <= keys.keys() else {}


def _waits(patience_s: float) -> Iterator[bool]:
    """Yield for each attempt whether it is the last; wait between them."""
    end_s = time.monotonic() + patience_s
    wait_s = FIRST_WAIT_S
    while time.monotonic() + wait_s < end_s:
        yield False
        time.sleep(wait_s * random.uniform(0.5, 1.0))  # noqa: S311 - spreads writers, no secret
        wait_s = min(2 * wait_s, LONGEST_WAIT_S)
    yield True


def bucket_at(address: BucketAddress) -> Bucket:
    """Return the bucket with the settings of this process."""
    return Bucket(address, os.environ)
