"""What a hostile client does with functions in Python, and with statements at the server's limits.

Everything here is refused or bounded by the server; nothing brings DuckDB down.
"""

from __future__ import annotations

#: Functions of a user who may create them: hostile ones, and ordinary ones that are called too often.
SETUP = """
CREATE FUNCTION doubled(i BIGINT) RETURNS TABLE (i BIGINT, d BIGINT) LANGUAGE PYTHON AS
    $$ return {'i': i, 'd': i * 2} $$;
CREATE FUNCTION named_often(t VARCHAR) RETURNS TABLE (*) LANGUAGE PYTHON PARAMETER STYLE ARROW AS
    $$ return {f'c{at}': t for at in range(1300)} $$;
CREATE AGGREGATE gathered(t VARCHAR) RETURNS BIGINT LANGUAGE PYTHON AS
    $$ return numpy.bincount(aggr_group).astype('i8') $$;
CREATE FUNCTION spins(x INTEGER) RETURNS INTEGER LANGUAGE PYTHON_MAP AS $$
import threading
def spin():
    while True: pass
for _ in range(3): threading.Thread(target=spin, daemon=True).start()
return x
$$;
CREATE FUNCTION remembers(x INTEGER) RETURNS INTEGER LANGUAGE PYTHON_MAP AS $$
import math
found = getattr(math, 'left_here', 0)
math.left_here = int(x[0])
return [found] * len(x)
$$;
CREATE FUNCTION scribbles(x BIGINT) RETURNS VARCHAR LANGUAGE PYTHON_MAP AS $$
import ctypes, random, threading
start = next(int(line.split('-')[0], 16) for line in open('/proc/self/maps') if 'colonnade-ring' in line)
words = numpy.frombuffer((ctypes.c_uint64 * (1 << 16)).from_address(start), 'u8')
def scribble():
    while True:
        # The head and the nodes of the answer: places that overlap, and sizes at their bounds.
        at = random.choice((random.randrange(32, 40), random.randrange(8192, 8232)))
        words[at] = random.choice((0, 1, 64, 262144, len(x), len(x) * 8, 2**31, 2**63, random.getrandbits(64)))
threading.Thread(target=scribble, daemon=True).start()
return [str(value) * 100 for value in x]
$$;
"""

#: Columns whose values are converted before they are sent, and which PostgreSQL's protocol has no room for.
WIDE = ("interval '1 day'", "'1'::bit", "1::uhugeint", "'12:00+01'::timetz", "age(timestamp '2020-01-01')")

STATEMENTS = [
    # Each call is within the limit, and their sum is not.
    "select * from " + ", ".join(f"doubled((select i from range(2000000) r(i))) a{at}" for at in range(12)),
    "select count(*) from named_often((select repeat('x', 1000) from range(4000)))",
    "select gathered(repeat('x', 1000)) from range(400000)",
    "select max(spins(i::integer)) from range(10) r(i)",
    "select remembers(7)",
    "select max(scribbles(i)) from range(20000) r(i)",
    *(f"select {', '.join([column] * 2000)}" for column in WIDE),
]
