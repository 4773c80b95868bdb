// Package clients has pgx, in all of its modes, read from and write to the server that libpq's variables name.
package clients

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
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
	equal(t, value[string](t, conn, "select current_schema()"), "public")
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
