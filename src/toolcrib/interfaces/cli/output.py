"""What the commands print: coloured on a terminal, plain elsewhere."""

from __future__ import annotations

import json
import re
import signal
import sys
import threading
import time
from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    import asyncio

PATIENCE_SECONDS = 1.0
LOOK_SECONDS = 0.3
CLEAR = "\r\x1b[2K"
STYLES = {"running": "green", "failed": "red", "starting": "yellow", "queued": "yellow"}


T = TypeVar("T")


def run(work: Coroutine[Any, Any, T]) -> T:
    """Run ``work`` to its end; SIGTERM and Ctrl-C cancel it, so that it ends what it started.

    Raises:
        click.Abort: it was cancelled so.
    """

    import asyncio

    async def cancelled_by_signals() -> T:
        task = asyncio.current_task()
        assert task is not None
        with suppress(NotImplementedError):
            asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
        return await work

    try:
        with asyncio.Runner(loop_factory=loop_factory()) as runner:
            return runner.run(cancelled_by_signals())
    except asyncio.CancelledError:
        raise click.Abort from None


def loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """uvloop's event loop where it is installed: a router on it answers more than twice as many calls."""
    try:
        import uvloop
    except ImportError:
        return None
    return uvloop.new_event_loop


def set_up_logging(verbose: bool = False) -> None:
    """Let the log of toolcrib come to standard error where ``verbose``, else nowhere: commands say what matters."""
    import logging

    logger = logging.getLogger("toolcrib")
    logger.propagate = verbose
    if verbose:
        logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stderr)
    elif not logger.handlers:
        logger.addHandler(logging.NullHandler())


def report(message: str, hint: str | None = None) -> None:
    """Write one red line about what is wrong, and the hint below it, to standard error."""
    click.secho(f"Error: {message}", fg="red", err=True)
    _print_hint(hint)


def warn(message: str, hint: str | None = None) -> None:
    """Write one yellow line about what does not stop the command, and the hint below it, to standard error."""
    click.secho(f"Warning: {message}", fg="yellow", err=True)
    _print_hint(hint)


def _print_hint(hint: str | None) -> None:
    if hint:
        # Hints are written for callers over HTTP; here the same is a command.
        hint = re.sub(r"POST /tools/(\S+?)/(start|stop)\b", r"toolcrib \2 \1", hint).replace(
            "GET /tools", "toolcrib tools"
        )
        click.secho(f"Hint: {hint}", dim=True, err=True)


def say(message: str) -> None:
    """Write a line for the person, to standard error, so that standard output stays for the result."""
    click.echo(message, err=True)


def print_line(text: str) -> None:
    """Write a line to standard output in the place of the progress that may stand there."""
    if sys.stderr.isatty():
        click.echo(CLEAR, nl=False, err=True)
    click.echo(text)


def print_json(value: Any) -> None:
    """Write ``value`` as JSON to standard output."""
    click.echo(json.dumps(value, ensure_ascii=False, indent=2))


def print_table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Write a table to standard output: framed and cut to the window on a terminal, aligned columns elsewhere."""
    from rich.cells import cell_len, set_cell_size

    if not sys.stdout.isatty():
        lines = [headings, *rows]
        widths = [max(cell_len(line[column]) for line in lines) for column in range(len(headings))]
        for line in lines:
            click.echo("  ".join(map(set_cell_size, line, widths)).rstrip())
        return
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, header_style="bold", pad_edge=False)
    for heading in headings:
        table.add_column(heading, overflow="fold", no_wrap=heading == headings[0])
    for row in rows:
        table.add_row(*(Text(cell, style=STYLES.get(cell, "")) for cell in row))
    Console().print(table)


@contextmanager
def progress(describe: Callable[[], str | None]) -> Iterator[None]:
    """Tell on standard error what is being waited for, once the ``with`` block has taken a second.

    Args:
        describe: what to say now, or None; called from a thread about three times a second. What it raises is taken
            for None.
    """
    finished = threading.Event()
    thread = threading.Thread(target=_watch, args=(describe, finished), name="toolcrib-progress", daemon=True)
    thread.start()
    try:
        yield
    finally:
        finished.set()
        thread.join(timeout=1)


def _watch(describe: Callable[[], str | None], finished: threading.Event) -> None:
    if finished.wait(PATIENCE_SECONDS):
        return
    began = time.monotonic() - PATIENCE_SECONDS
    live = sys.stderr.isatty()
    said = None
    while True:
        try:
            text = describe()
        except Exception:
            text = None
        if text and live:
            click.echo(f"{CLEAR}{text} ({time.monotonic() - began:.0f} s)", nl=False, err=True)
        elif text and text != said:
            say(text)
        said = text or said
        if finished.wait(LOOK_SECONDS):
            break
    if live and said:
        click.echo(CLEAR, nl=False, err=True)
