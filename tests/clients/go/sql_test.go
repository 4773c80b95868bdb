package clients

import (
	"context"
	"database/sql"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib"
)

// The driver as most programs of Go use it: by database/sql.
func TestDatabaseSQL(t *testing.T) {
	ctx := context.Background()
	db, err := sql.Open("pgx", "")
	require(t, err)
	defer db.Close()
	db.SetMaxOpenConns(4)
	require(t, db.PingContext(ctx))
	_, err = db.ExecContext(ctx, "create or replace table go_sql (i integer, s varchar, t timestamptz, b blob)")
	require(t, err)
	insert, err := db.PrepareContext(ctx, "insert into go_sql values ($1, $2, $3, $4)")
	require(t, err)
	defer insert.Close()
	moment := time.Date(2024, 2, 29, 1, 2, 3, 4000, time.UTC)
	for i := range 10 {
		result, err := insert.ExecContext(ctx, i, sql.NullString{String: "x", Valid: i%2 == 0}, moment, []byte{0, byte(i)})
		require(t, err)
		changed, err := result.RowsAffected()
		require(t, err)
		equal(t, changed, int64(1))
	}
	tx, err := db.BeginTx(ctx, nil)
	require(t, err)
	_, err = tx.ExecContext(ctx, "delete from go_sql")
	require(t, err)
	require(t, tx.Rollback())
	rows, err := db.QueryContext(ctx, "select i, s, t, b from go_sql where i >= $1 order by i", 8)
	require(t, err)
	defer rows.Close()
	for i := 8; rows.Next(); i++ {
		var (
			number int
			text   sql.NullString
			when   time.Time
			data   []byte
		)
		require(t, rows.Scan(&number, &text, &when, &data))
		equal(t, []any{number, text.Valid, data}, []any{i, i%2 == 0, []byte{0, byte(i)}})
		if !when.Equal(moment) {
			t.Fatal(when)
		}
	}
	require(t, rows.Err())
	types, err := rows.ColumnTypes()
	if err == nil {
		equal(t, types[0].DatabaseTypeName(), "INT4")
	}
	_, err = db.ExecContext(ctx, "drop table go_sql")
	require(t, err)
}
