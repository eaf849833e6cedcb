"""A model behind an HTTP service that speaks JSON."""

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

from counterplan.errors import ModelError
from counterplan.models.identity import digest_of
from counterplan.models.outputs import Array, as_scores, one_per_person
from counterplan.problem.values import is_missing

LARGEST_BODY = 64 * 2**20
LONGEST_WAIT = 30.0


class Reply(NamedTuple):
    """What came back: any status at all, the headers by lower-case name, and the whole body."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class HttpModel:
    """Asks a service: POST `{"instances": [{column: value}, …]}`, expect `{"predictions": [...]}` or a bare list.

    That is the convention of MLflow, KServe and TF Serving. A prediction is a label, or a number that serves as
    score. Lost connections, timeouts, HTTP 429 and 5xx are tried again; nothing else is, and no redirect is followed.
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
        """Nothing but the address tells a service: what changes behind it is not seen."""
        self.timeout, self.retries, self.backoff, self.batch = timeout, retries, backoff, batch
        self.classes: tuple[str, ...] | None = None
        self.headers = {"Content-Type": "application/json", "Accept": "application/json", **(headers or {})}
        for header, value in self.headers.items():
            if not re.fullmatch(r"[\t -~\xa0-\xff]*", value):
                raise ModelError(f"{self.name}: header '{header}' has a character that cannot be sent (a line break?)")
        self._sleep = sleep
        self._opener = urllib.request.build_opener(_AsItIs)

    def labels(self, people: pd.DataFrame) -> Array:
        """The predictions [B], as the service gave them."""
        return one_per_person(self._predictions(people), self.name)

    def scores(self, people: pd.DataFrame, favourable: Collection[str]) -> Array:
        """The predictions as floats [B]; it is the service's own affair what is favourable."""
        return as_scores(self.labels(people), self.name)

    def _predictions(self, people: pd.DataFrame) -> list[Any]:
        body = self._ask(json.dumps({"instances": self._instances(people)}).encode())
        try:
            answer = json.loads(body)
        except (ValueError, RecursionError) as error:
            raise ModelError(f"{self.name} gave an answer that is not JSON: {_start(body)}") from error
        predictions = answer.get("predictions") if isinstance(answer, dict) else answer
        if not isinstance(predictions, list):
            raise ModelError(f"{self.name} gave an answer without a list of predictions: {_start(body)}")
        if any(isinstance(one, (list, dict)) for one in predictions):
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

    def _ask(self, question: bytes) -> bytes:
        """The body of the first good reply; tries again, at growing intervals, what may be a passing trouble."""
        tries = 0
        while True:
            wait = self.backoff * 2**tries
            cause: Exception | None = None
            try:
                reply = self._post_in_time(question)
            except (OSError, http.client.HTTPException) as error:
                cause, trouble = error, self._reason(error)
            except ValueError as error:
                raise ModelError(f"{self.name} cannot be asked: {error}") from error
            else:
                if 200 <= reply.status < 300:
                    return reply.body
                trouble = f"HTTP {reply.status}: {_start(reply.body)}"
                if 300 <= reply.status < 400:
                    where = reply.headers.get("location", "nowhere")
                    raise ModelError(f"{self.name} redirects to {where} (HTTP {reply.status}); give the final address")
                if reply.status < 500 and reply.status != 429:
                    raise ModelError(f"{self.name} refused the question with {trouble}")
                asked_for = reply.headers.get("retry-after", "")
                if re.fullmatch(r"\d+(\.\d+)?", asked_for):
                    wait = float(asked_for)
            tries += 1
            if tries > self.retries:
                raise ModelError(f"{self.name} gave no answer in {tries} tries; the last: {trouble}") from cause
            self._sleep(min(wait, LONGEST_WAIT))

    def _post_in_time(self, question: bytes) -> Reply:
        """One request, given up after `timeout`.

        It has a thread of its own, because a socket's timeout covers neither the look-up of a host's name nor
        headers that arrive byte by byte.
        """
        outcome: Future[Reply] = Future()
        deadline = time.monotonic() + self.timeout

        def post() -> None:
            try:
                outcome.set_result(self._post(question, deadline))
            except BaseException as error:
                outcome.set_exception(error)

        threading.Thread(target=post, daemon=True).start()
        return outcome.result(self.timeout)

    def _post(self, question: bytes, deadline: float) -> Reply:
        request = urllib.request.Request(self.url, question, self.headers, method="POST")
        with self._opener.open(request, timeout=self.timeout) as response:
            body = bytearray()
            expected = response.length  # None if the service sends chunks or closes the connection at the end
            while expected is None or len(body) < expected:
                chunk = response.read1(65536 if expected is None else min(65536, expected - len(body)))
                if not chunk:
                    break
                body += chunk
                if len(body) > LARGEST_BODY:
                    raise ModelError(f"{self.name} gave an answer of more than {LARGEST_BODY >> 20} MB: {_start(body)}")
                if time.monotonic() > deadline:
                    raise TimeoutError
            if expected is not None and len(body) < expected:
                raise http.client.IncompleteRead(bytes(body), expected - len(body))
            return Reply(response.status, {key.lower(): value for key, value in response.headers.items()}, bytes(body))

    def _reason(self, error: Exception) -> str:
        """Why there was no reply, without urllib's wrapping."""
        reason = getattr(error, "reason", error)
        if isinstance(reason, TimeoutError):
            return f"no answer within {self.timeout:g} s"
        return f"{type(reason).__name__}: {reason}"


class _AsItIs(urllib.request.HTTPErrorProcessor):
    """Hands over every reply whatever its status, so no redirect is followed and no error raised."""

    def http_response(self, request: Any, response: Any) -> Any:
        return response

    https_response = http_response


def _checked_name(url: str) -> str:
    """The address as messages show it: without the query, which may hold a key."""
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
    """A value of a table as JSON knows it; ValueError if there is no such thing."""
    if is_missing(value):
        return None
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, date):  # datetime and Timestamp too
        return value.isoformat()
    if isinstance(value, (str, bool, int)) or (isinstance(value, float) and np.isfinite(value)):
        return value
    raise ValueError(repr(value))


def _start(body: bytes | bytearray) -> str:
    """The first 80 characters of an answer, quoted so that they cannot upset a terminal."""
    return repr(bytes(body[:320]).decode("utf-8", "replace")[:80])
