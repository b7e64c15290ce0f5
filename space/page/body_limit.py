"""A limit on the size of any request, whatever it claims to be."""

from __future__ import annotations

from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send


class _TooLarge(Exception):
    """More arrived than is allowed."""


class BodyLimit:
    """Middleware that answers 413 to a request of more than `largest` bytes; it reads no more."""

    def __init__(self, app: ASGIApp, largest: int) -> None:
        self.app, self.largest = app, largest

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Passes a request on, and counts what of its body is read."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        refusal = JSONResponse(
            {"detail": f"the request is larger than {self.largest:,} bytes"}, status_code=413
        )
        claimed = dict(scope["headers"]).get(b"content-length", b"0")
        if not claimed.isdigit() or int(claimed) > self.largest:
            await refusal(scope, receive, send)
            return
        arrived, answered = 0, False

        async def counted() -> Message:
            nonlocal arrived
            message = await receive()
            arrived += len(message.get("body", b""))
            if arrived > self.largest:
                raise _TooLarge
            return message

        async def watched(message: Message) -> None:
            nonlocal answered
            answered = True
            await send(message)

        try:
            await self.app(scope, counted, watched)
        except _TooLarge:
            if not answered:
                await refusal(scope, receive, send)
