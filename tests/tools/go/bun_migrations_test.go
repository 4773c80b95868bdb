package tools

import (
	"context"
	"testing"
	"testing/fstest"
	"time"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/migrate"
)

// Migrations in SQL, of which two are in transactions, and one in Go.
func bunMigrations(t *testing.T) *migrate.Migrations {
	t.Helper()
	migrations := migrate.NewMigrations()
	require(t, migrations.Discover(fstest.MapFS{
		"20240501000000_shops.tx.up.sql": {Data: []byte(`
			CREATE TABLE moved_shops (id bigserial PRIMARY KEY, name varchar(80) NOT NULL UNIQUE);
			--bun:split
			COMMENT ON TABLE moved_shops IS 'where; things are sold';
			--bun:split
			INSERT INTO moved_shops (name) VALUES ('Ann''s'), ('Bob')`)},
		"20240501000000_shops.tx.down.sql": {Data: []byte("DROP TABLE moved_shops")},
		"20240502000000_city.up.sql":       {Data: []byte("ALTER TABLE moved_shops ADD COLUMN city text")},
		"20240502000000_city.down.sql":     {Data: []byte("ALTER TABLE moved_shops DROP COLUMN city")},
	}))
	migrations.Add(migrate.Migration{
		Name: "20240503000000",
		Up: func(ctx context.Context, migrator *migrate.Migrator, migration *migrate.Migration) error {
			_, err := migrator.DB().ExecContext(ctx, "UPDATE moved_shops SET city = 'Bonn'")
			return err
		},
		Down: func(ctx context.Context, migrator *migrate.Migrator, migration *migrate.Migration) error {
			_, err := migrator.DB().ExecContext(ctx, "UPDATE moved_shops SET city = NULL")
			return err
		},
	})
	return migrations
}

func TestBunMigratesTwiceAndBack(t *testing.T) {
	db := withBun(t)
	for run := range 2 {
		migrator := migrate.NewMigrator(db, bunMigrations(t), migrate.WithMarkAppliedOnSuccess(true))
		require(t, migrator.Init(ctx))
		require(t, migrator.Lock(ctx))
		group, err := migrator.Migrate(ctx)
		require(t, err)
		require(t, migrator.Unlock(ctx))
		equal(t, group.IsZero(), run == 1)
	}
	var cities []string
	require(t, db.NewSelect().Table("moved_shops").Column("city").Scan(ctx, &cities))
	equal(t, cities, []string{"Bonn", "Bonn"})
	migrator := migrate.NewMigrator(db, bunMigrations(t), migrate.WithMarkAppliedOnSuccess(true))
	status, err := migrator.MigrationsWithStatus(ctx)
	require(t, err)
	equal(t, []int{len(status), len(status.Applied()), len(status.Unapplied())}, []int{3, 3, 0})
	group, err := migrator.Rollback(ctx)
	require(t, err)
	equal(t, len(group.Migrations), 3)
	require(t, migrator.Reset(ctx))
}

type autoShop struct {
	bun.BaseModel `bun:"table:auto_shops"`

	ID   int64  `bun:",pk,autoincrement"`
	Name string `bun:",notnull,unique"`
}

type laterShop struct {
	bun.BaseModel `bun:"table:auto_shops"`

	ID    int64  `bun:",pk,autoincrement"`
	Name  string `bun:",notnull,unique"`
	City  string
	Size  int32
	Price float64
}

// The tables are made as the models say, by what the catalog tells of those that are there.
func TestBunMigratesByModels(t *testing.T) {
	db := withBun(t)
	t.Cleanup(func() {
		for _, table := range []string{"auto_shops", "bun_migrations", "bun_migration_locks"} {
			_, err := db.NewDropTable().Table(table).IfExists().Exec(ctx)
			require(t, err)
		}
	})
	directory := t.TempDir()
	for _, model := range []any{(*autoShop)(nil), (*autoShop)(nil), (*laterShop)(nil), (*laterShop)(nil)} {
		migrator, err := migrate.NewAutoMigrator(db, migrate.WithModel(model), migrate.WithMigrationsDirectoryAuto(directory),
			migrate.WithExcludeTable("bun_migrations", "bun_migration_locks"))
		require(t, err)
		_, err = migrator.Migrate(ctx)
		require(t, err)
		// The names of migrations are seconds.
		time.Sleep(1100 * time.Millisecond)
	}
	_, err := db.NewInsert().Model(&laterShop{Name: "Ann's", City: "Köln", Price: 1.5}).Exec(ctx)
	require(t, err)
	var found laterShop
	require(t, db.NewSelect().Model(&found).Scan(ctx))
	equal(t, found.City, "Köln")
}
