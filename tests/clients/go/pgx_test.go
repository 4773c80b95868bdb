// Package clients has pgx, in all of its modes, read from and write to the server that libpq's variables name.
package clients

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/big"
	"os"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgconn/ctxwatch"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"
)

const endless = "select count(*) from range(100000000000000) t(i) where i % 7 = 3"

var modes = []pgx.QueryExecMode{
	pgx.QueryExecModeCacheStatement,
	pgx.QueryExecModeCacheDescribe,
	pgx.QueryExecModeDescribeExec,
	pgx.QueryExecModeExec,
	pgx.QueryExecModeSimpleProtocol,
}

func connect(t *testing.T, options ...func(*pgx.ConnConfig)) (context.Context, *pgx.Conn) {
	t.Helper()
	ctx, stop := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(stop)
	config, err := pgx.ParseConfig("")
	require(t, err)
	for _, option := range options {
		option(config)
	}
	conn, err := pgx.ConnectConfig(ctx, config)
	require(t, err)
	t.Cleanup(func() { conn.Close(context.Background()) })
	return ctx, conn
}

func require(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func equal(t *testing.T, found, expected any, where ...any) {
	t.Helper()
	if !reflect.DeepEqual(found, expected) {
		t.Fatalf("%v is not %v %v", found, expected, where)
	}
}

// The error is the server's, and has this SQLSTATE.
func fails(t *testing.T, err error, code string) *pgconn.PgError {
	t.Helper()
	var failure *pgconn.PgError
	if !errors.As(err, &failure) || failure.Code != code {
		t.Fatalf("%v is not an error %s", err, code)
	}
	return failure
}

func execute(t *testing.T, conn *pgx.Conn, statement string, arguments ...any) pgconn.CommandTag {
	t.Helper()
	tag, err := conn.Exec(context.Background(), statement, arguments...)
	require(t, err)
	return tag
}

// The only value of a query's only row.
func value[T any](t *testing.T, conn *pgx.Conn, query string, arguments ...any) T {
	t.Helper()
	rows, err := conn.Query(context.Background(), query, arguments...)
	require(t, err)
	found, err := pgx.CollectExactlyOneRow(rows, pgx.RowTo[T])
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return found
}

func TestConnects(t *testing.T) {
	ctx, conn := connect(t, func(config *pgx.ConnConfig) { config.RuntimeParams["application_name"] = "conformance" })
	require(t, conn.Ping(ctx))
	if version := conn.PgConn().ParameterStatus("server_version"); !strings.HasPrefix(version, "15.0") {
		t.Fatal(version)
	}
	equal(t, conn.PgConn().TxStatus(), byte('I'))
	equal(t, value[string](t, conn, "show application_name"), "conformance")
	equal(t, value[string](t, conn, "select current_schema()"), "main")
}

func TestReadsEveryType(t *testing.T) {
	ctx, conn := connect(t)
	file, err := os.ReadFile(os.Getenv("COLONNADE_TYPES"))
	require(t, err)
	var types []struct {
		Name, Query string
		Texts       []*string
	}
	require(t, json.Unmarshal(file, &types))
	for _, each := range types {
		t.Run(each.Name, func(t *testing.T) {
			for _, mode := range modes {
				rows, err := conn.Query(ctx, each.Query, mode, pgx.QueryResultFormats{pgx.TextFormatCode})
				require(t, err)
				at := 0
				for ; rows.Next(); at++ {
					var found *string
					if raw := rows.RawValues()[1]; raw != nil {
						text := string(raw)
						found = &text
					}
					equal(t, found, each.Texts[at], mode)
				}
				require(t, rows.Err())
				equal(t, at, len(each.Texts), mode)
			}
			readsTextAsBinary(t, ctx, conn, each.Query)
		})
	}
}

// What pgx makes of the binary form is what it makes of the text.
func readsTextAsBinary(t *testing.T, ctx context.Context, conn *pgx.Conn, query string) {
	t.Helper()
	read := func(format int16) ([]string, error) {
		rows, err := conn.Query(ctx, query, pgx.QueryResultFormats{format})
		if err != nil {
			return nil, err
		}
		return pgx.CollectRows(rows, func(row pgx.CollectableRow) (string, error) {
			description := row.FieldDescriptions()[1]
			known, ok := conn.TypeMap().TypeForOID(description.DataTypeOID)
			if raw := row.RawValues()[1]; !ok || !known.Codec.FormatSupported(pgx.TextFormatCode) || raw == nil {
				return fmt.Sprint(raw == nil), nil
			}
			value, err := known.Codec.DecodeValue(conn.TypeMap(), description.DataTypeOID, description.Format, row.RawValues()[1])
			return plain(value), err
		})
	}
	binary, err := read(pgx.BinaryFormatCode)
	var refused *pgconn.PgError
	if errors.As(err, &refused) && refused.Code == "0A000" {
		// Nanoseconds, and lists of lists of different lengths, have no binary form in PostgreSQL, and pgx reads no text of them.
		return
	}
	require(t, err)
	text, err := read(pgx.TextFormatCode)
	require(t, err)
	equal(t, binary, text)
}

// A value's text; numbers without the zeros that say how they were written.
func plain(value any) string {
	if number, ok := value.(pgtype.Numeric); ok && number.Valid && !number.NaN && number.InfinityModifier == pgtype.Finite {
		power := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(max(number.Exp, -number.Exp))), nil)
		if number.Exp >= 0 {
			return new(big.Rat).SetInt(power.Mul(power, number.Int)).String()
		}
		return new(big.Rat).SetFrac(number.Int, power).String()
	}
	if items, ok := value.([]any); ok {
		texts := make([]string, len(items))
		for at, item := range items {
			texts[at] = plain(item)
		}
		return fmt.Sprint(texts)
	}
	return fmt.Sprint(value)
}

func comesBack[T any](t *testing.T, conn *pgx.Conn, mode pgx.QueryExecMode, typeName string, given T) {
	t.Helper()
	query := "select $1::" + typeName
	found := value[T](t, conn, query, mode, given)
	if !same(found, given) {
		t.Errorf("%v as %s comes back as %v (%v)", given, typeName, found, mode)
	}
	if null := value[*T](t, conn, query, mode, (*T)(nil)); null != nil {
		t.Errorf("NULL as %s comes back as %v (%v)", typeName, *null, mode)
	}
}

func same(found, given any) bool {
	if moment, ok := given.(time.Time); ok {
		return moment.Equal(found.(time.Time))
	}
	return reflect.DeepEqual(found, given)
}

func TestValuesComeBack(t *testing.T) {
	_, conn := connect(t)
	one := int32(1)
	texts := []*string{new(string), nil}
	*texts[0] = "b,\"c\\ '"
	for _, mode := range modes {
		comesBack(t, conn, mode, "boolean", true)
		comesBack(t, conn, mode, "smallint", int16(-7))
		comesBack(t, conn, mode, "integer", int32(math.MinInt32))
		comesBack(t, conn, mode, "bigint", int64(math.MaxInt64))
		comesBack(t, conn, mode, "float", float32(1e-45))
		comesBack(t, conn, mode, "double", 0.1)
		comesBack(t, conn, mode, "varchar", "it's $1; \\ -- 'käse'")
		comesBack(t, conn, mode, "bytea", []byte{0, 1, 92, 255})
		comesBack(t, conn, mode, "timestamptz", time.Date(2024, 2, 29, 1, 2, 3, 4000, time.UTC))
		comesBack(t, conn, mode, "timestamp", time.Date(2024, 2, 29, 1, 2, 3, 4000, time.UTC))
		comesBack(t, conn, mode, "date", time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC))
		comesBack(t, conn, mode, "time", pgtype.Time{Microseconds: 3_723_000_004, Valid: true})
		comesBack(t, conn, mode, "interval", pgtype.Interval{Months: 14, Days: -3, Microseconds: 5, Valid: true})
		comesBack(t, conn, mode, "uuid", pgtype.UUID{Bytes: [16]byte{0, 1, 2, 255}, Valid: true})
		comesBack(t, conn, mode, "decimal(38, 10)", pgtype.Numeric{Int: big.NewInt(-12345), Exp: -10, Valid: true})
		comesBack(t, conn, mode, "json", `{"a": [1.0, null]}`)
		comesBack(t, conn, mode, "integer[]", []*int32{&one, nil})
		comesBack(t, conn, mode, "varchar[]", texts)
		comesBack(t, conn, mode, "double[]", []float64{0.5, -1})
		if mode != pgx.QueryExecModeExec && mode != pgx.QueryExecModeSimpleProtocol {
			// The others do not ask the server what these are.
			comesBack(t, conn, mode, "json", map[string]any{"a": []any{1.0, nil}})
			comesBack(t, conn, mode, "integer[][]", [][]int32{{1, 2}, {3, 4}})
		}
	}
}

func TestStatementsAreDescribed(t *testing.T) {
	ctx, conn := connect(t)
	execute(t, conn, "create temp table described (i integer, d decimal(9, 2), s varchar)")
	statement, err := conn.Prepare(ctx, "insert", "insert into described values ($1, $2, $3) returning d")
	require(t, err)
	equal(t, statement.ParamOIDs, []uint32{pgtype.Int4OID, pgtype.NumericOID, pgtype.TextOID})
	equal(t, statement.Fields[0].DataTypeOID, uint32(pgtype.NumericOID))
	equal(t, value[string](t, conn, "insert", 7, "1.25", "x"), "1.25")
	require(t, conn.Deallocate(ctx, "insert"))
	_, err = conn.Exec(ctx, "insert", 7, "1.25", "x")
	fails(t, err, "42601")
	for _, mode := range modes {
		var number int
		require(t, conn.QueryRow(ctx, "select i from described where d > $1::decimal(9, 2) and s = $2", mode, "1.2", "x").Scan(&number))
		equal(t, number, 7, mode)
	}
	// A statement that was cached and no longer fits is an error once, and is then prepared anew.
	execute(t, conn, "alter table described alter i type varchar")
	_, err = conn.Exec(ctx, "select i from described where d > $1::decimal(9, 2) and s = $2", "1.2", "x")
	fails(t, err, "0A000")
	equal(t, value[string](t, conn, "select i from described where d > $1::decimal(9, 2) and s = $2", "1.2", "x"), "7")
	require(t, conn.DeallocateAll(ctx))
}

func TestWrites(t *testing.T) {
	ctx, conn := connect(t)
	execute(t, conn, "create temp table written (i integer primary key, s varchar not null)")
	for _, mode := range modes {
		execute(t, conn, "delete from written")
		equal(t, execute(t, conn, "insert into written select i, 's' || i from range($1::bigint) t(i)", mode, 10).String(), "INSERT 0 10", mode)
		equal(t, execute(t, conn, "update written set s = $1 where i < $2", mode, "x", 4).RowsAffected(), int64(4), mode)
		equal(t, execute(t, conn, "delete from written where i = any($1::integer[])", mode, []int32{1, 2, 99}).RowsAffected(), int64(2), mode)
		rows, err := conn.Query(ctx, "update written set s = s || i where i < 4 returning i", mode)
		require(t, err)
		found, err := pgx.CollectRows(rows, pgx.RowTo[int])
		require(t, err)
		equal(t, len(found), 2, mode)
		equal(t, rows.CommandTag().String(), "UPDATE 2", mode)
	}
}

func TestBatches(t *testing.T) {
	ctx, conn := connect(t)
	for _, mode := range modes {
		execute(t, conn, "create or replace temp table batched (i integer)")
		batch := &pgx.Batch{}
		if mode == pgx.QueryExecModeSimpleProtocol || mode == pgx.QueryExecModeExec {
			// These have no way to say the mode of a batch.
			continue
		}
		for i := range 100 {
			batch.Queue("insert into batched values ($1)", i)
		}
		sum := 0
		batch.Queue("select sum(i) from batched").QueryRow(func(row pgx.Row) error { return row.Scan(&sum) })
		require(t, conn.SendBatch(ctx, batch).Close())
		equal(t, sum, 4950)
		// It is one transaction.
		wrong := &pgx.Batch{}
		wrong.Queue("insert into batched values ($1)", 1000)
		wrong.Queue("select 1 / 0::integer, error('x')")
		wrong.Queue("insert into batched values ($1)", 1001)
		if err := conn.SendBatch(ctx, wrong).Close(); err == nil {
			t.Fatal("no error")
		}
		equal(t, value[int](t, conn, "select count(*) from batched"), 100)
	}
}

func TestPipelines(t *testing.T) {
	ctx, conn := connect(t)
	pipeline := conn.PgConn().StartPipeline(ctx)
	pipeline.SendPrepare("twice", "select $1::integer * 2", nil)
	for i := range 10 {
		pipeline.SendQueryPrepared("twice", [][]byte{fmt.Append(nil, i)}, nil, nil)
	}
	require(t, pipeline.Sync())
	pipeline.SendQueryParams("select * from nowhere", nil, nil, nil, nil)
	pipeline.SendQueryPrepared("twice", [][]byte{[]byte("1")}, nil, nil)
	require(t, pipeline.Sync())
	pipeline.SendQueryPrepared("twice", [][]byte{[]byte("21")}, nil, nil)
	pipeline.SendDeallocate("twice")
	require(t, pipeline.Sync())
	var found []string
	for {
		results, err := pipeline.GetResults()
		if err != nil {
			found = append(found, fails(t, err, "42P01").Code)
			continue
		}
		switch results := results.(type) {
		case nil:
			require(t, pipeline.Close())
			equal(t, found, strings.Fields("prepared 0 2 4 6 8 10 12 14 16 18 sync 42P01 sync 42 closed sync"))
			return
		case *pgconn.StatementDescription:
			equal(t, results.ParamOIDs, []uint32{pgtype.Int4OID})
			found = append(found, "prepared")
		case *pgconn.ResultReader:
			for results.NextRow() {
				found = append(found, string(results.Values()[0]))
			}
			_, err := results.Close()
			require(t, err)
		case *pgconn.CloseComplete:
			found = append(found, "closed")
		case *pgconn.PipelineSync:
			found = append(found, "sync")
		}
	}
}

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

func TestTransactions(t *testing.T) {
	ctx, conn := connect(t)
	execute(t, conn, "create temp table kept (i integer)")
	count := func() int { return value[int](t, conn, "select count(*) from kept") }
	require(t, pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, "insert into kept values ($1)", 1)
		return err
	}))
	equal(t, count(), 1)
	err := pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, "insert into kept values (2)")
		require(t, err)
		_, err = tx.Exec(ctx, "select * from nowhere")
		fails(t, err, "42P01")
		equal(t, conn.PgConn().TxStatus(), byte('E'))
		_, err = tx.Exec(ctx, "select 1")
		fails(t, err, "25P02")
		return err
	})
	fails(t, err, "25P02")
	equal(t, count(), 1)
	// A transaction within one is a savepoint: it can be kept, and undone if it only read.
	require(t, pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		require(t, pgx.BeginFunc(ctx, tx, func(inner pgx.Tx) error {
			_, err := inner.Exec(ctx, "insert into kept values (3)")
			return err
		}))
		inner, err := tx.Begin(ctx)
		require(t, err)
		_, err = inner.Exec(ctx, "select * from nowhere")
		fails(t, err, "42P01")
		return inner.Rollback(ctx)
	}))
	equal(t, count(), 2)
	_, err = conn.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.Serializable})
	fails(t, err, "0A000")
	tx, err := conn.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly})
	require(t, err)
	_, err = tx.Exec(ctx, "create table never as select 1 as i")
	fails(t, err, "25006")
	require(t, tx.Rollback(ctx))
	equal(t, conn.PgConn().TxStatus(), byte('I'))
}

func TestCancels(t *testing.T) {
	// A request to cancel, after which the connection is as good as before.
	_, conn := connect(t, func(config *pgx.ConnConfig) {
		config.BuildContextWatcherHandler = func(conn *pgconn.PgConn) ctxwatch.Handler {
			return &pgconn.CancelRequestContextWatcherHandler{Conn: conn, DeadlineDelay: time.Minute}
		}
	})
	for _, mode := range modes {
		ctx, stop := context.WithTimeout(context.Background(), 300*time.Millisecond)
		_, err := conn.Exec(ctx, endless, mode)
		fails(t, err, "57014")
		stop()
		equal(t, value[int](t, conn, "select 1"), 1)
	}
	// By default pgx gives the connection up.
	_, conn = connect(t)
	ctx, stop := context.WithTimeout(context.Background(), 300*time.Millisecond)
	defer stop()
	_, err := conn.Exec(ctx, endless)
	if !errors.Is(err, context.DeadlineExceeded) || !conn.IsClosed() {
		t.Fatal(err)
	}
	// And the server's own limit.
	_, conn = connect(t, func(config *pgx.ConnConfig) { config.RuntimeParams["statement_timeout"] = "300" })
	_, err = conn.Exec(context.Background(), endless)
	fails(t, err, "57014")
	equal(t, value[int](t, conn, "select 1"), 1)
}

func TestErrors(t *testing.T) {
	ctx, conn := connect(t)
	_, err := conn.Exec(ctx, "select i\nfrom missing", pgx.QueryExecModeSimpleProtocol)
	missing := fails(t, err, "42P01")
	equal(t, []any{missing.Severity, missing.Position}, []any{"ERROR", int32(15)})
	execute(t, conn, "create temp table erroneous (i integer primary key, s varchar not null)")
	for _, mode := range modes {
		for statement, code := range map[string]string{
			"selec 1":                       "42601",
			"select nothing from erroneous": "42703",
			"select nothing(1)":             "42883",
			"select 'x'::integer":           "22P02",
			"insert into erroneous values (1, 'a'), (1, 'b')": "23505",
			"insert into erroneous values (2, null)":          "23502",
			"copy erroneous to '/tmp/file'":                   "42501",
		} {
			_, err := conn.Exec(ctx, statement, mode)
			fails(t, err, code)
			equal(t, value[int](t, conn, "select 1", mode), 1)
		}
	}
}

func TestPools(t *testing.T) {
	ctx := context.Background()
	config, err := pgxpool.ParseConfig("")
	require(t, err)
	config.MaxConns = 8
	pool, err := pgxpool.NewWithConfig(ctx, config)
	require(t, err)
	defer pool.Close()
	var group sync.WaitGroup
	for i := range 200 {
		group.Add(1)
		go func() {
			defer group.Done()
			var found int
			if err := pool.QueryRow(ctx, "select $1::integer * 2", i).Scan(&found); err != nil || found != i*2 {
				t.Error(i, found, err)
			}
		}()
	}
	group.Wait()
	if most := pool.Stat().TotalConns(); most > 8 {
		t.Fatal(most)
	}
	// A connection that comes back within a transaction is not used again.
	conn, err := pool.Acquire(ctx)
	require(t, err)
	_, err = conn.Exec(ctx, "begin")
	require(t, err)
	conn.Release()
	require(t, pool.Ping(ctx))
}

func TestLogsInWithAPasswordOverTLS(t *testing.T) {
	ctx, conn := connect(t)
	if _, ok := conn.PgConn().Conn().(*tls.Conn); !ok {
		t.Fatal("not encrypted")
	}
	equal(t, value[int](t, conn, "select count(*) from range(100000)"), 100_000)
	config, err := pgx.ParseConfig("")
	require(t, err)
	config.Password = "wrong"
	_, err = pgx.ConnectConfig(ctx, config)
	fails(t, err, "28P01")
	// A request to cancel is encrypted, too.
	stopped := make(chan error)
	go func() {
		_, err := conn.Exec(ctx, endless)
		stopped <- err
	}()
	for {
		require(t, conn.PgConn().CancelRequest(ctx))
		select {
		case err := <-stopped:
			fails(t, err, "57014")
			return
		case <-time.After(50 * time.Millisecond):
		}
	}
}
