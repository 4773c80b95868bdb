// The driver by ADBC's driver manager for Go, which finds it by the name "colonnade". COLONNADE_URI names a PostgreSQL
// server, with or without the extension.
package adbcclient

import (
	"context"
	"errors"
	"math"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-adbc/go/adbc"
	"github.com/apache/arrow-adbc/go/adbc/drivermgr"
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

var background = context.Background()

func connect(t *testing.T) adbc.Connection {
	t.Helper()
	database, err := drivermgr.Driver{}.NewDatabase(map[string]string{
		"driver": "colonnade",
		"uri":    os.Getenv("COLONNADE_URI"),
	})
	fatal(t, err)
	t.Cleanup(func() { fatal(t, database.Close()) })
	connection, err := database.Open(background)
	fatal(t, err)
	t.Cleanup(func() { fatal(t, connection.Close()) })
	return connection
}

// A statement that is closed when the test ends.
func statement(t *testing.T, connection adbc.Connection, sql string) adbc.Statement {
	t.Helper()
	made, err := connection.NewStatement()
	fatal(t, err)
	t.Cleanup(func() { fatal(t, made.Close()) })
	fatal(t, made.SetSqlQuery(sql))
	return made
}

// All rows of a result that has one batch.
func batch(t *testing.T, statement adbc.Statement) arrow.RecordBatch {
	t.Helper()
	reader, _, err := statement.ExecuteQuery(background)
	fatal(t, err)
	if !reader.Next() {
		t.Fatal("there is no batch: ", reader.Err())
	}
	read := reader.RecordBatch()
	read.Retain()
	t.Cleanup(read.Release)
	if reader.Next() {
		t.Fatal("there is a second batch")
	}
	fatal(t, reader.Err())
	return read
}

// The number of rows of a result, and the error that ends it.
func read(statement adbc.Statement) (int64, error) {
	reader, _, err := statement.ExecuteQuery(background)
	if err != nil {
		return 0, err
	}
	rows := int64(0)
	for reader.Next() {
		rows += reader.RecordBatch().NumRows()
	}
	return rows, reader.Err()
}

func answers(t *testing.T, connection adbc.Connection) {
	t.Helper()
	if read := batch(t, statement(t, connection, "select 7 as n")); read.Column(0).ValueStr(0) != "7" {
		t.Error(read)
	}
}

func fatal(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func expect(t *testing.T, err error, code adbc.Status, sqlstate string) {
	t.Helper()
	var failed adbc.Error
	if !errors.As(err, &failed) || failed.Code != code || string(failed.SqlState[:]) != sqlstate {
		t.Errorf("%v and %s expected: %v", code, sqlstate, err)
	}
}

func TestTypesAndValues(t *testing.T) {
	columns := []struct{ sql, kind, value string }{
		{"true", "bool", "true"},
		{"(-32768)::int2", "int16", "-32768"},
		{"2147483647", "int32", "2147483647"},
		{"(-9223372036854775808)::int8", "int64", "-9223372036854775808"},
		{"1.5::float4", "float32", "1.5"},
		{"0.1::float8", "float64", "0.1"},
		{"12345678901234567890123456789012345.678::numeric(38,3)", "decimal(38, 3)", "12345678901234567890123456789012345.678"},
		{"'ä漢🧀'::text", "utf8", "ä漢🧀"},
		{"'\\x00ff'::bytea", "binary", "AP8="},
		{"date '2024-02-29'", "date32", "2024-02-29"},
		{"time '23:59:59.000001'", "time64[us]", "23:59:59.000001"},
		{"timestamp '2024-02-29 23:59:59.000001'", "timestamp[us]", "2024-02-29T23:59:59.000001Z"},
		{"timestamptz '2024-02-29 23:59:59+02'", "timestamp[us, tz=UTC]", "2024-02-29T21:59:59Z"},
		{"array[1, null, 3]", "list<item: int32, nullable>", "[1,null,3]"},
		{"null::int4", "int32", array.NullValueStr},
	}
	var list []string
	for _, column := range columns {
		list = append(list, column.sql)
	}
	read := batch(t, statement(t, connect(t), "select "+strings.Join(list, ", ")))
	for i, column := range columns {
		if kind := read.Schema().Field(i).Type.String(); kind != column.kind {
			t.Errorf("%s: the type is %s, not %s", column.sql, kind, column.kind)
		}
		if value := read.Column(i).ValueStr(0); value != column.value {
			t.Errorf("%s: the value is %s, not %s", column.sql, value, column.value)
		}
	}
}

func TestManyBatches(t *testing.T) {
	reader, _, err := statement(t, connect(t), "select i from generate_series(1, 1000000) i").ExecuteQuery(background)
	fatal(t, err)
	batches, sum := 0, int64(0)
	for reader.Next() {
		batches++
		for _, value := range reader.RecordBatch().Column(0).(*array.Int32).Int32Values() {
			sum += int64(value)
		}
	}
	fatal(t, reader.Err())
	if batches < 2 || sum != 500000500000 {
		t.Error(batches, sum)
	}
}

func TestParameters(t *testing.T) {
	builder := array.NewInt64Builder(memory.DefaultAllocator)
	builder.AppendValues([]int64{1, math.MaxInt64}, nil)
	values := builder.NewArray()
	defer values.Release()
	schema := arrow.NewSchema([]arrow.Field{{Name: "n", Type: arrow.PrimitiveTypes.Int64}}, nil)
	given := array.NewRecordBatch(schema, []arrow.Array{values}, 2)
	defer given.Release()

	bound := statement(t, connect(t), "select $1::int8 as n")
	fatal(t, bound.Bind(background, given))
	reader, _, err := bound.ExecuteQuery(background)
	fatal(t, err)
	var seen []int64
	for reader.Next() {
		seen = append(seen, reader.RecordBatch().Column(0).(*array.Int64).Int64Values()...)
	}
	fatal(t, reader.Err())
	if len(seen) != 2 || seen[0] != 1 || seen[1] != math.MaxInt64 {
		t.Error(seen)
	}
}

func TestAnErrorBeforeTheStream(t *testing.T) {
	connection := connect(t)
	_, _, err := statement(t, connection, "select * from adbc_absent").ExecuteQuery(background)
	expect(t, err, adbc.StatusNotFound, "42P01")
	_, _, err = statement(t, connection, "selec 1").ExecuteQuery(background)
	expect(t, err, adbc.StatusInvalidArgument, "42601")
	answers(t, connection)
}

// Arrow's reader for Go has only the text of an error in a stream, so the SQLSTATE is in the text.
func TestAnErrorInTheStream(t *testing.T) {
	connection := connect(t)
	rows, err := read(statement(t, connection, "select 1000000 / (900000 - i) from generate_series(1, 1000000) i"))
	if err == nil || !strings.Contains(err.Error(), "division by zero") || !strings.HasSuffix(err.Error(), "(SQLSTATE 22012)") || rows >= 900000 {
		t.Error(rows, err)
	}
	answers(t, connection)
}

// ADBC's manager for Go does not use contexts and cannot cancel. The server can, on request of another connection.
func TestAStatementIsCancelledByAnotherConnection(t *testing.T) {
	connection, other := connect(t), connect(t)
	pid := batch(t, statement(t, connection, "select pg_backend_pid()")).Column(0).ValueStr(0)
	cancel := statement(t, other, "select pg_cancel_backend("+pid+") from pg_stat_activity where pid = "+pid+" and state = 'active'")
	sleep := statement(t, connection, "select pg_sleep(600)")
	ended := make(chan error)
	go func() {
		_, err := read(sleep)
		ended <- err
	}()
	for {
		select {
		case err := <-ended:
			if err == nil || !strings.Contains(err.Error(), "canceling statement due to user request") {
				t.Error(err)
			}
			answers(t, connection)
			return
		case <-time.After(50 * time.Millisecond):
			_, err := read(cancel)
			fatal(t, err)
		}
	}
}

// Arrow's reader for Go ends a stream only when the garbage collector finds it. The statement's next execution ends it
// at once.
func TestAResultIsGivenUp(t *testing.T) {
	connection := connect(t)
	endless := statement(t, connection, "select generate_series(1, 1000000000000)")
	reader, _, err := endless.ExecuteQuery(background)
	fatal(t, err)
	if !reader.Next() {
		t.Fatal(reader.Err())
	}
	_, _, err = statement(t, connection, "select 1").ExecuteQuery(background)
	expect(t, err, adbc.StatusInvalidState, "\x00\x00\x00\x00\x00")
	fatal(t, endless.SetSqlQuery("select 7 as n"))
	if read := batch(t, endless); read.Column(0).ValueStr(0) != "7" {
		t.Error(read)
	}
	answers(t, connection)
}

func TestATransactionIsRolledBack(t *testing.T) {
	connection := connect(t)
	_, err := statement(t, connection, "create temp table adbc_go (i int)").ExecuteUpdate(background)
	fatal(t, err)
	fatal(t, connection.(adbc.PostInitOptions).SetOption(adbc.OptionKeyAutoCommit, adbc.OptionValueDisabled))
	changed, err := statement(t, connection, "insert into adbc_go values (1), (2)").ExecuteUpdate(background)
	fatal(t, err)
	if changed != 2 {
		t.Error(changed)
	}
	fatal(t, connection.Rollback(background))
	count := batch(t, statement(t, connection, "select count(*) from adbc_go"))
	if count.Column(0).ValueStr(0) != "0" {
		t.Error(count)
	}
	fatal(t, connection.Rollback(background))
}
