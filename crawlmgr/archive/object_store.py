"""Reads and writes objects of an S3-compatible store. An object is stored completely or not at all,
and its size is checked; parts of it can be read."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, TypeVar

from django.conf import settings

from crawlmgr import installation

SCHEME = "s3://"
TRIES = 4
CONNECT_SECONDS, READ_SECONDS = 10, 30
PART_BYTES = 16_000_000
"""Files larger than this are uploaded in parts; the object appears when the last part has arrived.
"""
PIECE_BYTES = 1 << 20
GONE = ("404", "NoSuchKey", "NotFound")
Answer = TypeVar("Answer")


class Unreachable(Exception):
    """The store did not respond correctly after several tries; whether the object exists is
    unknown."""


class Place(NamedTuple):
    """Bucket and key of an object."""

    bucket: str
    key: str


def place_of(address: str) -> Place:
    """Splits the address of an object into bucket and key.

    >>> place_of("s3://pages/warc/one.warc.gz")
    Place(bucket='pages', key='warc/one.warc.gz')
    """
    bucket, _slash, key = address.removeprefix(SCHEME).partition("/")
    return Place(bucket, key)


def address_for(name: str) -> str:
    """Returns the address of an archive file of this name in the configured store."""
    return f"{settings.ARCHIVE_STORE.rstrip('/')}/{name}"


def put(address: str, path: Path) -> None:
    """Uploads a file to an address, with a checksum that the store verifies, and compares the
    sizes. Raises Unreachable if the object store cannot be reached."""
    place = place_of(address)
    extra = {"ChecksumAlgorithm": "CRC32"}
    _ask(
        lambda client: client.upload_file(
            str(path), place.bucket, place.key, ExtraArgs=extra, Config=_transfer()
        )
    )
    there, here = size(address), path.stat().st_size
    if there != here:
        raise Unreachable(f"{address} has {there} bytes instead of {here}")


def size(address: str) -> int | None:
    """Returns the size of an object in bytes; None if it does not exist. Raises Unreachable if the
    object store cannot be reached."""
    place = place_of(address)
    found = _ask(lambda client: client.head_object(Bucket=place.bucket, Key=place.key))
    return None if found is None else int(found["ContentLength"])


def piece(address: str, offset: int, length: int) -> bytes | None:
    """Returns `length` bytes of an object from `offset`; None if the object is missing or too
    short. Raises Unreachable if the object store cannot be reached."""
    place, last = place_of(address), offset + length - 1

    def read(client: Any) -> bytes:
        answer = client.get_object(
            Bucket=place.bucket, Key=place.key, Range=f"bytes={offset}-{last}"
        )
        return bytes(answer["Body"].read())

    data = _ask(read)
    return data if data is not None and len(data) == length else None


def fetch(address: str, folder: Path | None = None) -> BinaryIO | None:
    """Downloads an object to a temporary file (in `folder`) and returns the file, positioned at its
    beginning; None if the object does not exist. Closing the file deletes it. Raises Unreachable if
    the store does not respond, or not completely.
    """
    place = place_of(address)

    def read(client: Any) -> BinaryIO:
        # the caller closes it
        copy = tempfile.NamedTemporaryFile(dir=folder, suffix=".warc.gz")  # noqa: SIM115
        try:
            answer = client.get_object(Bucket=place.bucket, Key=place.key)
            for part in answer["Body"].iter_chunks(PIECE_BYTES):
                copy.write(part)
            if copy.tell() != answer["ContentLength"]:
                raise Unreachable(f"{address} ended after {copy.tell()} bytes")
        except BaseException:
            copy.close()
            raise
        copy.seek(0)
        return copy  # type: ignore[return-value]  # a wrapper with the methods of BinaryIO

    return _ask(read)


def remove(address: str) -> None:
    """Deletes an object; does nothing if it does not exist. Raises Unreachable if the object store
    cannot be reached."""
    place = place_of(address)
    _ask(lambda client: client.delete_object(Bucket=place.bucket, Key=place.key))


def _ask(call: Callable[[Any], Answer]) -> Answer | None:
    """Calls `call` with the store's client and returns the result; None if the object does not
    exist. If the response was truncated, the call is repeated. Raises Unreachable if the object
    store cannot be reached."""
    try:
        with installation.needed("s3"):
            # an extra, which may be missing
            from boto3.exceptions import Boto3Error
            from botocore.exceptions import BotoCoreError, ClientError
    except installation.Missing as error:
        raise Unreachable(str(error)) from error

    trouble = ""
    for _try in range(TRIES):
        try:
            return call(_client(os.getpid(), settings.ARCHIVE_S3_ENDPOINT))
        except ClientError as error:
            if error.response.get("Error", {}).get("Code") in GONE:
                return None
            raise Unreachable(str(error)) from error
        except Boto3Error as error:
            raise Unreachable(str(error)) from error
        except BotoCoreError as error:
            trouble = str(error)
            if not _cut_off(error):
                break
    raise Unreachable(trouble)


def _cut_off(error: Exception) -> bool:
    """Tells whether an error occurred after the response had begun; botocore itself retries only
    before that."""
    return type(error).__name__ in (
        "ResponseStreamingError",
        "IncompleteReadError",
        "ReadTimeoutError",
    )


@lru_cache(maxsize=4)
def _client(process: int, endpoint: str) -> Any:
    """Returns the client of this process; a forked process creates its own. Region and credentials
    come from the environment, as for all AWS tools."""
    # an extra, which may be missing
    import boto3
    from botocore.config import Config

    retries = {"total_max_attempts": TRIES, "mode": "standard"}
    style = {"addressing_style": "path" if endpoint else "auto"}
    config = Config(
        connect_timeout=CONNECT_SECONDS, read_timeout=READ_SECONDS, retries=retries, s3=style
    )
    region = os.environ.get("AWS_DEFAULT_REGION") or "us-east-1"
    return boto3.session.Session().client(
        "s3", endpoint_url=endpoint or None, region_name=region, config=config
    )


@lru_cache(maxsize=1)
def _transfer() -> Any:
    # an extra, which may be missing
    from boto3.s3.transfer import TransferConfig

    return TransferConfig(
        multipart_threshold=PART_BYTES, multipart_chunksize=PART_BYTES, max_concurrency=2
    )
