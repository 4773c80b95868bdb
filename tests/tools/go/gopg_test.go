package tools

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/go-pg/pg/v10"
	"github.com/go-pg/pg/v10/orm"
)

type pgShop struct {
	tableName struct{} `pg:"pg_shops,alias:shop"`

	ID        int64
	Name      string `pg:",notnull,unique"`
	City      string
	Tags      []string       `pg:",array"`
	Details   map[string]any `pg:"type:jsonb"`
	CreatedAt time.Time      `pg:"default:now()"`
	DeletedAt time.Time      `pg:",soft_delete"`
	Sales     []*pgSale      `pg:"rel:has-many,join_fk:shop_id"`
}

type pgSale struct {
	tableName struct{} `pg:"pg_sales,alias:sale"`

	ID       int64
	ShopID   int64   `pg:",notnull,on_delete:RESTRICT"`
	Shop     *pgShop `pg:"rel:has-one"`
	Amount   float64 `pg:"type:numeric(9,2),notnull"`
	Note     *string
	Paid     bool `pg:",use_zero"`
	Picture  []byte
	Marks    []int       `pg:",array"`
	Sold     time.Time   `pg:"type:date"`
	Products []pgProduct `pg:"many2many:pg_sale_products,fk:sale_id,join_fk:product_id"`
}

type pgProduct struct {
	tableName struct{} `pg:"pg_products,alias:product"`

	ID   string `pg:"type:uuid,default:gen_random_uuid(),pk"`
	Code string `pg:",unique"`
}

type pgSaleProduct struct {
	tableName struct{} `pg:"pg_sale_products"`

	SaleID    int64  `pg:",pk"`
	ProductID string `pg:"type:uuid,pk"`
}

func withGoPg(t *testing.T) *pg.DB {
	t.Helper()
	orm.RegisterTable((*pgSaleProduct)(nil))
	db := pg.Connect(&pg.Options{Addr: address(), User: os.Getenv("PGUSER"), Database: os.Getenv("PGDATABASE")})
	t.Cleanup(func() { require(t, db.Close()) })
	return db
}

var pgModels = []any{(*pgShop)(nil), (*pgSale)(nil), (*pgProduct)(nil), (*pgSaleProduct)(nil)}

// Two shops, three sales, and products of one of these.
func withPgRows(t *testing.T) *pg.DB {
	t.Helper()
	db := withGoPg(t)
	pgCreate(t, db)
	t.Cleanup(func() { pgDrop(t, db) })
	shops := []*pgShop{
		{Name: "Ann's", City: "Köln", Tags: []string{"old", `"x",`}, Details: map[string]any{"paper": "brown"}},
		{Name: "Bob", City: "Bonn"},
	}
	_, err := db.Model(&shops).Insert()
	require(t, err)
	day := time.Date(2024, 5, 1, 0, 0, 0, 0, time.UTC)
	sales := []*pgSale{
		{ShopID: shops[0].ID, Amount: 10.5, Note: note("ß"), Picture: []byte{0, 1, 255}, Marks: []int{1, 2}, Sold: day},
		{ShopID: shops[0].ID, Amount: 2.25, Sold: day},
		{ShopID: shops[1].ID, Amount: 5, Sold: day},
	}
	_, err = db.Model(&sales).Insert()
	require(t, err)
	products := []*pgProduct{{Code: "pen"}, {Code: "book"}}
	_, err = db.Model(&products).Insert()
	require(t, err)
	for _, product := range products {
		equal(t, len(product.ID), 36)
		_, err = db.Model(&pgSaleProduct{SaleID: sales[0].ID, ProductID: product.ID}).Insert()
		require(t, err)
	}
	return db
}

func pgCreate(t *testing.T, db *pg.DB) {
	t.Helper()
	for _, model := range pgModels {
		require(t, db.Model(model).CreateTable(&orm.CreateTableOptions{IfNotExists: true, FKConstraints: true}))
	}
	_, err := db.Exec(`CREATE INDEX IF NOT EXISTS pg_sales_shop ON pg_sales (shop_id)`)
	require(t, err)
}

func pgDrop(t *testing.T, db *pg.DB) {
	t.Helper()
	for index := range pgModels {
		model := pgModels[len(pgModels)-1-index]
		require(t, db.Model(model).DropTable(&orm.DropTableOptions{IfExists: true, Cascade: true}))
	}
}

func TestGoPgCreatesTablesTwice(t *testing.T) {
	db := withGoPg(t)
	require(t, db.Ping(context.Background()))
	pgCreate(t, db)
	pgCreate(t, db)
	pgDrop(t, db)
}

func TestGoPgSelectsWithRelations(t *testing.T) {
	db := withPgRows(t)
	var shops []pgShop
	require(t, db.Model(&shops).Relation("Sales", func(q *orm.Query) (*orm.Query, error) {
		return q.Order("sale.id"), nil
	}).Order("shop.id").Select())
	equal(t, len(shops), 2)
	equal(t, len(shops[0].Sales), 2)
	equal(t, shops[0].Tags, []string{"old", `"x",`})
	equal(t, shops[0].Details, map[string]any{"paper": "brown"})
	equal(t, time.Since(shops[0].CreatedAt).Abs() < time.Hour, true)
	sale := new(pgSale)
	require(t, db.Model(sale).Relation("Shop").Relation("Products", func(q *orm.Query) (*orm.Query, error) {
		return q.Order("code"), nil
	}).Where("sale.amount > ?", 10).First())
	equal(t, sale.Shop.Name, "Ann's")
	equal(t, []string{sale.Products[0].Code, sale.Products[1].Code}, []string{"book", "pen"})
	equal(t, *sale.Note, "ß")
	equal(t, sale.Picture, []byte{0, 1, 255})
	equal(t, sale.Marks, []int{1, 2})
	equal(t, sale.Sold.Format(time.DateOnly), "2024-05-01")
}

func TestGoPgQueries(t *testing.T) {
	db := withPgRows(t)
	count, err := db.Model((*pgSale)(nil)).Where("amount BETWEEN ? AND ?", 2, 6).WhereOr("note IS NOT NULL").Count()
	require(t, err)
	equal(t, count, 3)
	var totals []struct {
		Name  string
		Total float64
		Count int
	}
	require(t, db.Model((*pgSale)(nil)).ColumnExpr("shop.name").ColumnExpr("sum(amount) AS total").ColumnExpr("count(*)").
		Join("JOIN pg_shops AS shop ON shop.id = sale.shop_id").Group("shop.name").Having("sum(amount) > ?", 1).
		OrderExpr("total DESC").Select(&totals))
	equal(t, totals[0].Name, "Ann's")
	equal(t, totals[0].Total, 12.75)
	equal(t, totals[0].Count, 2)
	var names []string
	require(t, db.Model((*pgShop)(nil)).Column("name").Where("name IN (?)", pg.In([]string{"Bob", "Eve"})).Select(&names))
	equal(t, names, []string{"Bob"})
	require(t, db.Model((*pgShop)(nil)).Column("name").Where("? = ANY (tags)", "old").Select(&names))
	equal(t, names, []string{"Ann's"})
	require(t, db.Model((*pgShop)(nil)).Column("name").Where("details->>'paper' = ?", "brown").Select(&names))
	equal(t, names, []string{"Ann's"})
	rich := db.Model((*pgSale)(nil)).Column("shop_id").Where("amount > ?", 9)
	require(t, db.Model((*pgShop)(nil)).With("rich", rich).Column("name").Where("id IN (SELECT shop_id FROM rich)").Select(&names))
	equal(t, names, []string{"Ann's"})
	exists, err := db.Model((*pgShop)(nil)).Where("name = ?", "Eve").Exists()
	require(t, err)
	equal(t, exists, false)
	equal(t, db.Model(new(pgShop)).Where("name = ?", "Eve").First(), pg.ErrNoRows)
	seen := 0
	require(t, db.Model((*pgSale)(nil)).ForEach(func(sale *pgSale) error {
		seen++
		return nil
	}))
	equal(t, seen, 3)
	var page []pgSale
	count, err = db.Model(&page).Order("id").Limit(1).Offset(1).SelectAndCount()
	require(t, err)
	equal(t, []any{count, len(page), page[0].Amount}, []any{3, 1, 2.25})
	var number int
	var text string
	_, err = db.QueryOne(pg.Scan(&number, &text), "SELECT ?0 + 1, ?1", 41, `it's \`)
	require(t, err)
	equal(t, []any{number, text}, []any{42, `it's \`})
}

func TestGoPgUpdatesAndDeletes(t *testing.T) {
	db := withPgRows(t)
	shop := &pgShop{}
	require(t, db.Model(shop).Where("name = ?", "Bob").Select())
	shop.City = "Ulm"
	result, err := db.Model(shop).Column("city").WherePK().Update()
	require(t, err)
	equal(t, result.RowsAffected(), 1)
	result, err = db.Model((*pgSale)(nil)).Set("paid = ?, amount = amount + ?", true, 1).Where("amount < ?", 6).Update()
	require(t, err)
	equal(t, result.RowsAffected(), 2)
	result, err = db.Model(&pgSale{Note: note("new")}).Where("paid").UpdateNotZero()
	require(t, err)
	equal(t, result.RowsAffected(), 2)
	var sales []pgSale
	require(t, db.Model(&sales).Order("id").Select())
	sales[0].Amount, sales[1].Amount = 20, 30
	changed := sales[:2]
	result, err = db.Model(&changed).Column("amount").Update()
	require(t, err)
	equal(t, result.RowsAffected(), 2)
	var sum float64
	require(t, db.Model((*pgSale)(nil)).ColumnExpr("sum(amount)").Select(&sum))
	equal(t, sum, 56.0)
	_, err = db.Model((*pgSaleProduct)(nil)).Where("TRUE").Delete()
	require(t, err)
	var gone []int64
	_, err = db.Model((*pgSale)(nil)).Where("amount < ?", 25).Returning("id").Delete(&gone)
	require(t, err)
	equal(t, len(gone), 2)
}

func TestGoPgDeletesSoftly(t *testing.T) {
	db := withPgRows(t)
	_, err := db.Model((*pgShop)(nil)).Where("name = ?", "Bob").Delete()
	require(t, err)
	count, err := db.Model((*pgShop)(nil)).Count()
	require(t, err)
	equal(t, count, 1)
	count, err = db.Model((*pgShop)(nil)).Deleted().Count()
	require(t, err)
	equal(t, count, 1)
}

func TestGoPgUpserts(t *testing.T) {
	db := withPgRows(t)
	product := &pgProduct{Code: "pen"}
	inserted, err := db.Model(product).Where("code = ?code").SelectOrInsert()
	require(t, err)
	equal(t, inserted, false)
	product = &pgProduct{Code: "ink"}
	for range 2 {
		_, err = db.Model(product).OnConflict("(code) DO UPDATE").Set("code = EXCLUDED.code").Insert()
		require(t, err)
	}
	result, err := db.Model(&pgProduct{ID: product.ID, Code: "ink"}).OnConflict("DO NOTHING").Insert()
	require(t, err)
	equal(t, result.RowsAffected(), 0)
	shop := &pgShop{Name: "Cid", City: "Ulm"}
	for _, city := range []string{"Ulm", "Bonn"} {
		shop.ID, shop.City = 0, city
		_, err = db.Model(shop).OnConflict("(name) DO UPDATE").Set("city = EXCLUDED.city").Insert()
		require(t, err)
	}
	count, err := db.Model((*pgShop)(nil)).Where("name = 'Cid' AND city = 'Bonn'").Count()
	require(t, err)
	equal(t, count, 1)
}

func TestGoPgUpdatesAndReturnsWhatOthersReferTo(t *testing.T) {
	db := withPgRows(t)
	shop := &pgShop{City: "Ulm"}
	_, err := db.Model(shop).Column("city").Where("name = 'Bob'").Returning("*").Update()
	require(t, err)
	equal(t, shop.ID, int64(2))
}

func TestGoPgUpsertsWhatOthersReferTo(t *testing.T) {
	db := withPgRows(t)
	shop := &pgShop{Name: "Bob", City: "Ulm"}
	_, err := db.Model(shop).OnConflict("(name) DO UPDATE").Set("city = EXCLUDED.city").Insert()
	require(t, err)
	equal(t, shop.ID, int64(2))
}

func TestGoPgTransactions(t *testing.T) {
	db := withPgRows(t)
	require(t, db.RunInTransaction(context.Background(), func(tx *pg.Tx) error {
		_, err := tx.Model(&pgShop{Name: "Cid"}).Insert()
		return err
	}))
	stop := errors.New("stop")
	equal(t, db.RunInTransaction(context.Background(), func(tx *pg.Tx) error {
		_, err := tx.Model(&pgShop{Name: "Dan"}).Insert()
		require(t, err)
		return stop
	}), stop)
	count, err := db.Model((*pgShop)(nil)).Count()
	require(t, err)
	equal(t, count, 3)
	_, err = db.Model(&pgShop{Name: "Bob"}).Insert()
	var failed pg.Error
	equal(t, errors.As(err, &failed) && failed.IntegrityViolation(), true)
	equal(t, failed.Field('C'), "23505")
	_, err = db.Model(&pgSale{ShopID: 1000, Amount: 1}).Insert()
	equal(t, errors.As(err, &failed) && failed.Field('C') == "23503", true)
}

func TestGoPgPrepares(t *testing.T) {
	db := withPgRows(t)
	statement, err := db.Prepare(`SELECT name, city FROM pg_shops WHERE id > $1::bigint AND name <> $2 ORDER BY id`)
	require(t, err)
	defer statement.Close()
	for range 2 {
		var shops []pgShop
		_, err = statement.Query(&shops, 0, "Ann's")
		require(t, err)
		equal(t, len(shops), 1)
	}
}

func TestGoPgCopies(t *testing.T) {
	db := withPgRows(t)
	_, err := db.Exec(`CREATE TABLE IF NOT EXISTS pg_copies (id bigint, body text)`)
	require(t, err)
	t.Cleanup(func() {
		_, err := db.Exec(`DROP TABLE pg_copies`)
		require(t, err)
	})
	var lines strings.Builder
	for number := range 1000 {
		fmt.Fprintf(&lines, "%d,\"line, %d\"\n", number, number)
	}
	result, err := db.CopyFrom(strings.NewReader(lines.String()), `COPY pg_copies FROM STDIN WITH CSV`)
	require(t, err)
	equal(t, result.RowsAffected(), 1000)
	var out bytes.Buffer
	_, err = db.CopyTo(&out, `COPY (SELECT * FROM pg_copies ORDER BY id) TO STDOUT WITH CSV`)
	require(t, err)
	equal(t, out.String(), lines.String())
}

func TestGoPgTimesOut(t *testing.T) {
	db := withGoPg(t)
	ctx, cancel := context.WithTimeout(context.Background(), 200*time.Millisecond)
	defer cancel()
	_, err := db.ExecContext(ctx, "SELECT pg_sleep(20)")
	equal(t, err != nil, true)
	_, err = db.Exec("SELECT 1")
	require(t, err)
}
