package clients

import (
	"context"
	"crypto/tls"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgconn/ctxwatch"
	"github.com/jackc/pgx/v5/pgxpool"
)

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
