"""Models behind HTTP services with a JSON interface."""

from __future__ import annotations

import http.client
import json
import re
import threading
import time
import urllib.request
from collections.abc import Callable, Collection, Mapping
from concurrent.futures import Future
from datetime import date
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import numpy as np
import pandas as pd

from counterplan.bounded_json import parse_json
from counterplan.errors import ModelError, StorageError
from counterplan.models.identity import digest_of
from counterplan.models.outputs import Array, as_labels, as_scores
from counterplan.problem.values import cut, is_missing

MAX_BODY_BYTES = 64 * 2**20
MAX_WAIT = 30.0


class Reply(NamedTuple):
    """A response of any status: headers by lower-case name, and the whole body."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class HttpModel:
    """A model behind an HTTP service: POST `{"instances": [{column: value}, …]}`, returns `{"predictions": [...]}`.

    This is the convention of MLflow, KServe and TF Serving; a bare list is accepted too. A prediction is a label, or a
    number that serves as a score. Lost connections, timeouts, HTTP 429 and 5xx are retried; redirects are not followed.

    Parameters
    ----------
    url : str
        The address. Its query is not shown in messages, since it may contain a key.
    timeout : float, default=10.0
        Seconds for one request.
    retries : int, default=3
        Further attempts after a failure.
    backoff : float, default=0.5
        Seconds before the first retry; doubles with every retry.
    batch : int, default=1000
        The largest number of rows per request.
    headers : mapping, optional
        Additional headers, such as an authorization.
    sleep : callable, optional
        Replaces `time.sleep` in tests.
    """

    def __init__(
        self,
        url: str,
        *,
        timeout: float = 10.0,
        retries: int = 3,
        backoff: float = 0.5,
        batch: int = 1000,
        headers: Mapping[str, str] | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.url = url
        self.name = _checked_name(url)
        query = urlsplit(url).query
        self.identity = digest_of([query.encode()]) if query else ""
        """A service is identified by its address; changes behind it are not detected."""
        self.timeout, self.retries, self.backoff, self.batch = timeout, retries, backoff, batch
        self.classes: tuple[str, ...] | None = None
        self.headers = {"Content-Type": "application/json", "Accept": "application/json", **(headers or {})}
        for header, value in self.headers.items():
            if not re.fullmatch(r"[\t -~\xa0-\xff]*", value):
                raise ModelError(f"{self.name}: header '{header}' has a character that cannot be sent (a line break?)")
        self._sleep = sleep
        self._opener = urllib.request.build_opener(_AnyStatus)

    def labels(self, people: pd.DataFrame) -> Array:
        """The predictions [B] of the service."""
        return as_labels(self._predictions(people), self.name)

    def scores(self, people: pd.DataFrame, favourable: Collection[str]) -> Array:
        """The predictions as floats [B]; `favourable` is ignored."""
        return as_scores(self.labels(people), self.name)

    def _predictions(self, people: pd.DataFrame) -> list[Any]:
        body = self._query(json.dumps({"instances": self._instances(people)}).encode())
        try:
            response = parse_json(body, self.name, nan=True)
        except StorageError as error:
            raise ModelError(f"{self.name} gave a response that is not JSON: {_start(body)}") from error
        predictions = response.get("predictions") if isinstance(response, dict) else response
        if not isinstance(predictions, list):
            raise ModelError(f"{self.name} gave a response without a list of predictions: {_start(body)}")
        if any(isinstance(prediction, (list, dict)) for prediction in predictions):
            raise ModelError(f"{self.name} gave predictions that are not one label or number each: {_start(body)}")
        return predictions

    def _instances(self, people: pd.DataFrame) -> list[dict[str, Any]]:
        """The people as plain JSON values, one object per row."""
        columns = {}
        for column, values in people.items():
            try:
                columns[str(column)] = [_plain(value) for value in values.astype(object)]
            except ValueError as error:
                raise ModelError(f"{self.name}: column '{column}' holds {error}, which JSON cannot") from error
        return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]

    def _query(self, payload: bytes) -> bytes:
        """The body of the first successful response; transient failures are retried with exponential backoff."""
        tries = 0
        while True:
            wait = self.backoff * 2**tries
            cause: Exception | None = None
            try:
                reply = self._post_with_deadline(payload)
            except (OSError, http.client.HTTPException) as error:
                cause, failure = error, self._reason(error)
            except ValueError as error:
                raise ModelError(f"{self.name} cannot be queried: {error}") from error
            else:
                if 200 <= reply.status < 300:
                    return reply.body
                failure = f"HTTP {reply.status}: {_start(reply.body)}"
                if 300 <= reply.status < 400:
                    target = cut(reply.headers.get("location", "nowhere"), 200)
                    raise ModelError(f"{self.name} redirects to {target} (HTTP {reply.status}); give the final address")
                if reply.status < 500 and reply.status != 429:
                    raise ModelError(f"{self.name} refused the query with {failure}")
                retry_after = reply.headers.get("retry-after", "")
                if re.fullmatch(r"[0-9]{1,9}(\.[0-9]{1,9})?", retry_after):
                    wait = float(retry_after)
            tries += 1
            if tries > self.retries:
                raise ModelError(f"{self.name} gave no response in {tries} attempts; the last: {failure}") from cause
            self._sleep(min(wait, MAX_WAIT))

    def _post_with_deadline(self, payload: bytes) -> Reply:
        """One request, abandoned after `timeout`.

        It runs in its own thread, because a socket's timeout covers neither name resolution nor headers that arrive
        byte by byte.
        """
        outcome: Future[Reply] = Future()
        deadline = time.monotonic() + self.timeout

        def post() -> None:
            try:
                outcome.set_result(self._post(payload, deadline))
            except BaseException as error:
                outcome.set_exception(error)

        threading.Thread(target=post, daemon=True).start()
        return outcome.result(self.timeout)

    def _post(self, payload: bytes, deadline: float) -> Reply:
        request = urllib.request.Request(self.url, payload, self.headers, method="POST")
        with self._opener.open(request, timeout=self.timeout) as response:
            body = bytearray()
            expected = response.length  # None if the service sends chunks or closes the connection at the end
            while expected is None or len(body) < expected:
                chunk = response.read1(65536 if expected is None else min(65536, expected - len(body)))
                if not chunk:
                    break
                body += chunk
                if len(body) > MAX_BODY_BYTES:
                    raise ModelError(
                        f"{self.name} gave a response of more than {MAX_BODY_BYTES >> 20} MB: {_start(body)}"
                    )
                if time.monotonic() > deadline:
                    raise TimeoutError
            if expected is not None and len(body) < expected:
                raise http.client.IncompleteRead(bytes(body), expected - len(body))
            return Reply(response.status, {key.lower(): value for key, value in response.headers.items()}, bytes(body))

    def _reason(self, error: Exception) -> str:
        """The cause of a failed request, without urllib's wrapper."""
        reason = getattr(error, "reason", error)
        if isinstance(reason, TimeoutError):
            return f"no response within {self.timeout:g} s"
        return f"{type(reason).__name__}: {cut(reason, 200)}"


class _AnyStatus(urllib.request.HTTPErrorProcessor):
    """Returns responses of any status, without following redirects or raising errors."""

    def http_response(self, request: Any, response: Any) -> Any:
        return response

    https_response = http_response


def _checked_name(url: str) -> str:
    """Validate the address and remove the query, which may contain a key."""
    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:
        usable = False
    if not usable or not re.fullmatch(r"[!-~]+", url):
        raise ModelError(f"'{url}' is not an http:// or https:// address")
    if "@" in parts.netloc:
        raise ModelError(f"an address cannot hold a password ({parts.hostname}); send it with headers=")
    return f"{parts.scheme}://{parts.netloc}{parts.path}"


def _plain(value: Any) -> Any:
    """Convert a table's value to JSON; ValueError if that is impossible."""
    if is_missing(value):
        return None
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, date):  # datetime and Timestamp too
        return value.isoformat()
    if isinstance(value, (str, bool, int)) or (isinstance(value, float) and np.isfinite(value)):
        return value
    raise ValueError(cut(repr(value)))


def _start(body: bytes | bytearray) -> str:
    """The first 80 characters of a response, quoted with escapes."""
    return repr(bytes(body[:320]).decode("utf-8", "replace")[:80])
