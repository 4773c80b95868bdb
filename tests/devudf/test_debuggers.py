"""Debuggers and profilers find the lines of a function's file, on the inputs of a query."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from types import FrameType
from typing import Any

import psycopg
import pytest

from tests.devudf.projects import Project, buggy
from tests.devudf.terminal import Terminal

Session = psycopg.Connection[Any]


def test_pdb_stops_in_the_file_on_the_inputs_of_the_query(connection: Session, project: Project) -> None:
    file = buggy(connection, project)
    terminal = Terminal(project, "debug", "buggy", "--sql", "SELECT buggy(i::INTEGER) FROM range(3) t(i)")
    shown = terminal.until("(Pdb) ")
    assert f"> {file}(4)buggy()" in shown
    assert "-> doubled = i * 2" in shown
    terminal.say("p i")
    assert "array([0, 1, 2], dtype=int32)" in terminal.until("(Pdb) ")
    terminal.say("n")
    terminal.until("(Pdb) ")
    terminal.say("p doubled.sum()")
    assert "6" in terminal.until("(Pdb) ")
    terminal.say("c")
    # The error opens the debugger where it happened.
    shown = terminal.until("(Pdb) ")
    assert "NameError: name 'values' is not defined" in shown
    assert f"> {file}(5)buggy()" in shown
    terminal.say("q")
    assert terminal.process.wait(60) == 1
    os.close(terminal.controller)


@pytest.mark.parametrize(
    ("body", "line"),
    [
        ("\n    '''Twice.'''\n    # a comment\n    return i * 2\n", 6),
        ("\n    global kept\n    kept = max(number for number in i)\n    return i * 2\n", 5),
        (" return i * 2 ", 4),
    ],
)
def test_pdb_stops_at_the_first_line_that_runs(connection: Session, project: Project, body: str, line: int) -> None:
    connection.execute(f"CREATE FUNCTION twice(i INTEGER) RETURNS INTEGER LANGUAGE PYTHON_MAP AS $${body}$$".encode())
    project.done("pull")
    terminal = Terminal(project, "debug", "twice", "--sql", "SELECT twice(i::INTEGER) FROM range(3) t(i)")
    assert f"> {project.file('twice.py')}({line})twice()" in terminal.until("(Pdb) ")
    terminal.say("c")
    assert "(3 results)" in terminal.until("(3 results)")
    assert terminal.process.wait(60) == 0
    os.close(terminal.controller)


class Adapter:
    """An editor, as far as it speaks the Debug Adapter Protocol to a process that waits for a debugger."""

    def __init__(self, port: int) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=20)
        self.stream = self.socket.makefile("rwb")
        self.sequence = 0

    def close(self) -> None:
        self.stream.close()
        self.socket.close()

    def send(self, command: str, **arguments: Any) -> None:
        self.sequence += 1
        request = {"seq": self.sequence, "type": "request", "command": command, "arguments": arguments}
        body = json.dumps(request).encode()
        self.stream.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        self.stream.flush()

    def until(self, kind: str, name: str) -> dict[str, Any]:
        """The body of the next event, or of the answer to a request."""
        while True:
            length = 0
            while line := self.stream.readline().strip():
                if line.lower().startswith(b"content-length:"):
                    length = int(line.split(b":")[1])
            assert length, "the debugged process has ended"
            message = json.loads(self.stream.read(length))
            if (message["type"], message.get("event") or message.get("command")) == (kind, name):
                assert message.get("success", True), message
                return message.get("body") or {}

    def ask(self, command: str, **arguments: Any) -> dict[str, Any]:
        self.send(command, **arguments)
        return self.until("response", command)


def test_an_editor_stops_at_a_breakpoint_and_reads_a_variable(connection: Session, project: Project) -> None:
    pytest.importorskip("debugpy", reason="debugpy is not installed")
    file = buggy(connection, project)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    query = "SELECT buggy(i::INTEGER) FROM range(3) t(i)"
    command, environment = project.command("debug", "buggy", "--sql", query, "--listen", port)
    with subprocess.Popen(
        command, cwd=project.root, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stderr is not None
        try:
            while f"waiting for a debugger on 127.0.0.1:{port}" not in (line := process.stderr.readline()):
                assert line, "the command has ended"
            editor = Adapter(port)
            editor.ask("initialize", adapterID="test", pathFormat="path", linesStartAt1=True, columnsStartAt1=True)
            editor.send("attach", justMyCode=True)
            editor.until("event", "initialized")
            (point,) = editor.ask("setBreakpoints", source={"path": str(file)}, breakpoints=[{"line": 5}])[
                "breakpoints"
            ]
            assert point["verified"]
            editor.ask("configurationDone")
            thread = editor.until("event", "stopped")["threadId"]
            frame = editor.ask("stackTrace", threadId=thread)["stackFrames"][0]
            assert (frame["source"]["path"], frame["line"], frame["name"]) == (str(file), 5, "buggy")
            found = editor.ask("evaluate", expression="doubled.tolist()", frameId=frame["id"], context="watch")
            assert found["result"] == "[0, 2, 4]"
            editor.ask("continue", threadId=thread)
            editor.close()
            # The function's error; the debugger's own process still has the pipe.
            assert process.wait(60) == 1
        finally:
            process.kill()


def test_a_tracer_sees_the_lines_of_the_file(connection: Session, project: Project) -> None:
    """Coverage and profilers use the same interface."""
    file = buggy(connection, project)
    lines: list[int] = []

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        if frame.f_code.co_filename != str(file) or frame.f_code.co_name != "buggy":
            return None
        if event == "line":
            lines.append(frame.f_lineno)
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        project.failed("run", "buggy", "--sql", "SELECT buggy(i::INTEGER) FROM range(3) t(i)")
    finally:
        sys.settrace(before)
    assert lines == [4, 5]
