"""Models behind HTTP services with a JSON interface."""

from __future__ import annotations

import http.client
import json
import re
import threading
import time
import urllib.request
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import Future
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import pandas as pd

from counterplan.bounded_json import parse_json
from counterplan.errors import ModelError, StorageError
from counterplan.models.http_protocols import PROTOCOLS, Predictions, plain_columns, protocol_of
from counterplan.models.identity import digest_of
from counterplan.models.outputs import Array, as_labels, as_scores, favourable_probability
from counterplan.problem.values import cut, text_of

MAX_BODY_BYTES = 64 * 2**20
MAX_WAIT = 30.0


class Reply(NamedTuple):
    """A response of any status: headers by lower-case name, and the whole body."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class HttpModel:
    """A model behind an HTTP service with a JSON interface.

    ==========  =======================================================  ===========================================
    `protocol`  request                                                  response
    ==========  =======================================================  ===========================================
    "v1"        ``{"instances": [{column: value, …}, …]}``               ``{"predictions": […]}`` or a bare list
    "v2"        ``{"inputs": [{"name", "shape", "datatype", "data"}]}``  ``{"outputs": [{"name", "shape", "data"}]}``
    "mlflow"    ``{"dataframe_split": {"columns": […], "data": […]}}``   ``{"predictions": […]}``
    ==========  =======================================================  ===========================================

    "v1" is the convention of KServe and TF Serving, "v2" the Open Inference Protocol. A prediction is a label, a number
    that serves as a score, or a list of probabilities. Lost connections, timeouts, HTTP 429 and 5xx are retried;
    redirects are not followed.

    Parameters
    ----------
    url : str
        The address. Its query is not shown in messages, since it may contain a key.
    protocol : {"v1", "v2", "mlflow"}, optional
        Default: "v2" for `/v2/models/NAME/infer`, "mlflow" for `/invocations`, otherwise "v1".
    classes : sequence, optional
        The labels that lists of probabilities are about, in their order.
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

    Examples
    --------
    The service is queried when people are planned for, not before.

    >>> from counterplan import BlackBox
    >>> from counterplan.models import HttpModel
    >>> model = HttpModel("http://localhost:8080/v1/models/loan:predict", classes=["refused", "granted"])
    >>> model.protocol, model.classes
    ('v1', ('refused', 'granted'))
    >>> box = BlackBox(model, threshold=0.7)
    """

    def __init__(
        self,
        url: str,
        *,
        protocol: str | None = None,
        classes: Sequence[Any] | None = None,
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
        self.protocol = protocol or protocol_of(url)
        if self.protocol not in PROTOCOLS:
            raise ModelError(f"{self.name}: there is no protocol {protocol!r}; there are {', '.join(PROTOCOLS)}")
        self.timeout, self.retries, self.backoff, self.batch = timeout, retries, backoff, batch
        self.classes = None if classes is None else tuple(text_of(label) for label in classes)
        self._natives = None if classes is None else as_labels(list(classes), self.name)
        self.headers = {"Content-Type": "application/json", "Accept": "application/json", **(headers or {})}
        for header, value in self.headers.items():
            if not re.fullmatch(r"[\t -~\xa0-\xff]*", value):
                raise ModelError(f"{self.name}: header '{header}' has a character that cannot be sent (a line break?)")
        self._sleep = sleep
        self._opener = urllib.request.build_opener(_AnyStatus)

    def labels(self, people: pd.DataFrame) -> Array:
        """The labels or numbers [B] of the service."""
        return self._labels(self._predictions(people))

    def scores(self, people: pd.DataFrame, favourable: Collection[str]) -> Array:
        """The probability of the favourable labels [B], or the numbers of the service."""
        return self._scores(self._predictions(people), favourable)

    def labels_and_scores(self, people: pd.DataFrame, favourable: Collection[str]) -> tuple[Array, Array | None]:
        """Both, from one request."""
        predictions = self._predictions(people)
        labels = self._labels(predictions)
        try:
            return labels, self._scores(predictions, favourable)
        except ModelError:
            return labels, None

    def _labels(self, predictions: Predictions) -> Array:
        if predictions.labels is not None or predictions.probabilities is None:
            return as_labels(predictions.labels or [], self.name)
        if self._natives is None:
            raise ModelError(
                f"{self.name} gave lists of probabilities, not one label or number each; say which labels they are "
                "about: HttpModel(url, classes=[...])"
            )
        most = predictions.probabilities.argmax(axis=1)
        if predictions.probabilities.shape[1] != len(self._natives):
            shape = predictions.probabilities.shape
            raise ModelError(f"{self.name} gave probabilities of shape {shape} for {len(self._natives)} classes")
        labels: Array = self._natives[most]
        return labels

    def _scores(self, predictions: Predictions, favourable: Collection[str]) -> Array:
        probabilities = predictions.probabilities
        if probabilities is None or not favourable:
            return as_scores(self._labels(predictions), self.name)
        if probabilities.shape[1] == 1:
            return probabilities[:, 0]
        classes = self.classes
        if classes is None and probabilities.shape[1] == 2 and predictions.labels is not None:
            classes = ("0", "1") if {*map(text_of, predictions.labels)} <= {"0", "1"} else None
        if classes is None:
            raise ModelError(
                f"{self.name} does not say which label each probability is of: HttpModel(url, classes=[...])"
            )
        return favourable_probability(probabilities, classes, favourable, self.name)

    def _predictions(self, people: pd.DataFrame) -> Predictions:
        protocol = PROTOCOLS[self.protocol]
        try:
            request = protocol.request(plain_columns(people))
        except ValueError as error:
            raise ModelError(f"{self.name}: {error}") from error
        body = self._query(json.dumps(request).encode())
        response = self._parsed(body)
        try:
            return protocol.predictions(response)
        except ValueError as error:
            raise ModelError(f"{self.name} gave a response {error}: {_start(body)}") from error

    def _parsed(self, body: bytes) -> Any:
        try:
            return parse_json(body, self.name, nan=True)
        except StorageError as error:
            raise ModelError(f"{self.name} gave a response that is not JSON: {_start(body)}") from error

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


def _start(body: bytes | bytearray) -> str:
    """The first 80 characters of a response, quoted with escapes."""
    return repr(bytes(body[:320]).decode("utf-8", "replace")[:80])
