"""A bounds-checked position in a part of a message. It can record what was read at which position."""

from .errors import FormatError, Kind


class Cursor:
    def __init__(self, data: bytes, where: str, start: int = 0, end: int | None = None, trace: list | None = None):
        self.data = data
        self.where = where
        self.at = start
        self.end = len(data) if end is None else end
        self.trace = trace

    def fail(self, kind: Kind, problem: str) -> FormatError:
        return FormatError(kind, f"{self.where}, byte {self.at}", problem)

    def note(self, text: str) -> None:
        """Adds a heading to the trace."""
        if self.trace is not None:
            self.trace.append((self.at, 0, text))

    def take(self, size: int, label: str) -> bytes:
        if size > self.end - self.at:
            raise self.fail(Kind.BOUNDS, f"{label} needs {size} bytes, {self.end - self.at} are left")
        if self.trace is not None and size:
            self.trace.append((self.at, size, label))
        taken = self.data[self.at : self.at + size]
        self.at += size
        return taken

    def integer(self, size: int, label: str, signed: bool = False) -> int:
        value = int.from_bytes(self.take(size, label), "little", signed=signed)
        if self.trace is not None:
            self.trace[-1] = (*self.trace[-1][:2], f"{label} = {value}")
        return value

    def u8(self, label: str) -> int:
        return self.integer(1, label)

    def u16(self, label: str) -> int:
        return self.integer(2, label)

    def u32(self, label: str) -> int:
        return self.integer(4, label)

    def u64(self, label: str) -> int:
        return self.integer(8, label)

    def zero(self, size: int, label: str = "zero") -> None:
        if any(self.take(size, label)):
            self.at -= size
            raise self.fail(Kind.ZERO, f"{label} is not zero")

    def align(self, to: int) -> None:
        self.zero(-self.at % to, "padding")

    def string(self, label: str) -> str:
        raw = self.take(self.u32(f"{label} length"), label)
        try:
            text = raw.decode("utf-8")
        except UnicodeDecodeError as error:
            raise self.fail(Kind.UTF8, f"{label}: {error.reason}") from None
        if self.trace is not None and raw:
            self.trace[-1] = (*self.trace[-1][:2], f"{label} {text!r}")
        return text

    def finish(self) -> None:
        if self.at != self.end:
            raise self.fail(Kind.LEFTOVER, f"{self.end - self.at} bytes are left over")
