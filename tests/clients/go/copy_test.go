package clients

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
)

func TestCopiesIn(t *testing.T) {
	ctx, conn := connect(t)
	execute(t, conn, `create temp table taken (i integer not null, s varchar, d decimal(12, 3), b blob, t timestamp, z timestamptz,
		f double, u uuid, a integer[], y tinyint, n interval)`)
	moment := time.Date(2024, 2, 29, 1, 2, 3, 4000, time.UTC)
	columns := []string{"i", "s", "d", "b", "t", "z", "f", "u", "a", "y", "n"}
	const count = 20_000
	source := pgx.CopyFromSlice(count, func(i int) ([]any, error) {
		if i%2 == 1 {
			return []any{i, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil}, nil
		}
		number := pgtype.Numeric{Int: big.NewInt(int64(i)), Exp: -3, Valid: true}
		return []any{i, fmt.Sprint("s\t", i), number, []byte{0, 255}, moment, moment, 0.5, "00000000-0000-0000-0000-000000000007",
			[]int{i, -i}, int16(i % 100), pgtype.Interval{Months: 1, Microseconds: int64(i), Valid: true}}, nil
	})
	rows, err := conn.CopyFrom(ctx, pgx.Identifier{"taken"}, columns, source)
	require(t, err)
	equal(t, rows, int64(count))
	equal(t, value[int](t, conn, `select count(*) from taken where i % 2 = 1 and coalesce(s, d::varchar, b::varchar, t::varchar, z::varchar,
		f::varchar, u::varchar, a::varchar, y::varchar, n::varchar) is null`), count/2)
	equal(t, value[int](t, conn, `select count(*) from taken where s = 's' || chr(9) || i and d * 1000 = i and b = '\x00\xFF'::blob
		and t = timestamp '2024-02-29 01:02:03.000004' and z = timestamptz '2024-02-29 01:02:03.000004+00' and f = 0.5
		and a = [i, -i] and y = i % 100 and n = to_months(1) + to_microseconds(i)`), count/2)

	// What the client, the server, or the table cannot take.
	wrong := func(value any) error {
		_, err := conn.CopyFrom(ctx, pgx.Identifier{"taken"}, columns[:1], pgx.CopyFromRows([][]any{{1}, {value}}))
		return err
	}
	if err := wrong("x"); err == nil {
		t.Fatal("no error")
	}
	fails(t, wrong(nil), "23502")
	if _, err := conn.CopyFrom(ctx, pgx.Identifier{"nowhere"}, columns[:1], source); err == nil {
		t.Fatal("no error")
	}
	equal(t, value[int](t, conn, "select count(*) from taken"), count)

	execute(t, conn, "create temp table lines (i integer, s varchar)")
	tag, err := conn.PgConn().CopyFrom(ctx, strings.NewReader("1,x\n2,\"y,z\"\n"), "copy lines from stdin (format csv)")
	require(t, err)
	equal(t, tag.String(), "COPY 2")
	_, err = conn.PgConn().CopyFrom(ctx, io.MultiReader(strings.NewReader("1,x\n"), &broken{}), "copy lines from stdin (format csv)")
	fails(t, err, "57014")
	equal(t, value[string](t, conn, "select string_agg(s, ';' order by i) from lines"), "x;y,z")
}

type broken struct{}

func (*broken) Read([]byte) (int, error) { return 0, errors.New("broken") }

func TestCopiesOut(t *testing.T) {
	ctx, conn := connect(t)
	var text bytes.Buffer
	tag, err := conn.PgConn().CopyTo(ctx, &text, "copy (select i, 's' || i from range(20000) t(i)) to stdout")
	require(t, err)
	equal(t, tag.String(), "COPY 20000")
	equal(t, strings.Count(text.String(), "\n"), 20_000)
	var binary bytes.Buffer
	_, err = conn.PgConn().CopyTo(ctx, &binary, "copy (select 7::integer) to stdout (format binary)")
	require(t, err)
	equal(t, binary.Bytes()[19:], []byte{0, 1, 0, 0, 0, 4, 0, 0, 0, 7, 255, 255})
	_, err = conn.PgConn().CopyTo(ctx, io.Discard, "copy (select * from nowhere) to stdout")
	fails(t, err, "42P01")
	require(t, conn.Ping(ctx))
}
