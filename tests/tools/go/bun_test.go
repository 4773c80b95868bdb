package tools

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"
	"github.com/uptrace/bun/driver/pgdriver"
)

type bunShop struct {
	bun.BaseModel `bun:"table:bun_shops,alias:shop"`

	ID        int64          `bun:",pk,autoincrement"`
	Name      string         `bun:",notnull,unique"`
	City      string         `bun:",nullzero"`
	Tags      []string       `bun:",array"`
	Details   map[string]any `bun:"type:jsonb,nullzero"`
	CreatedAt time.Time      `bun:",nullzero,notnull,default:current_timestamp"`
	DeletedAt time.Time      `bun:",soft_delete,nullzero"`
	Sales     []*bunSale     `bun:"rel:has-many,join:id=shop_id"`
}

type bunSale struct {
	bun.BaseModel `bun:"table:bun_sales,alias:sale"`

	ID       int64        `bun:",pk,autoincrement"`
	ShopID   int64        `bun:",notnull"`
	Shop     *bunShop     `bun:"rel:belongs-to,join:shop_id=id"`
	Amount   float64      `bun:"type:numeric(9,2),notnull"`
	Note     *string      `bun:"type:text"`
	Paid     bool         `bun:",notnull,default:false"`
	Picture  []byte       `bun:"type:bytea"`
	Marks    []int        `bun:"type:integer[],array"`
	Sold     time.Time    `bun:"type:date,nullzero"`
	Products []bunProduct `bun:"m2m:bun_sale_products,join:Sale=Product"`
}

type bunProduct struct {
	bun.BaseModel `bun:"table:bun_products,alias:product"`

	ID   string `bun:"type:uuid,pk,nullzero,default:gen_random_uuid()"`
	Code string `bun:",unique"`
}

type bunSaleProduct struct {
	bun.BaseModel `bun:"table:bun_sale_products"`

	SaleID    int64       `bun:",pk"`
	Sale      *bunSale    `bun:"rel:belongs-to,join:sale_id=id"`
	ProductID string      `bun:"type:uuid,pk"`
	Product   *bunProduct `bun:"rel:belongs-to,join:product_id=id"`
}

var (
	ctx       = context.Background()
	bunModels = []any{(*bunShop)(nil), (*bunSale)(nil), (*bunProduct)(nil), (*bunSaleProduct)(nil)}
)

func withBun(t *testing.T) *bun.DB {
	t.Helper()
	connector := pgdriver.NewConnector(pgdriver.WithAddr(address()), pgdriver.WithInsecure(true),
		pgdriver.WithUser(os.Getenv("PGUSER")), pgdriver.WithDatabase(os.Getenv("PGDATABASE")))
	db := bun.NewDB(sql.OpenDB(connector), pgdialect.New())
	db.RegisterModel((*bunSaleProduct)(nil))
	t.Cleanup(func() { require(t, db.Close()) })
	return db
}

func bunCreate(t *testing.T, db *bun.DB) {
	t.Helper()
	for _, model := range bunModels {
		query := db.NewCreateTable().Model(model).IfNotExists()
		if _, sale := model.(*bunSale); sale {
			query = query.ForeignKey(`("shop_id") REFERENCES "bun_shops" ("id")`)
		}
		_, err := query.Exec(ctx)
		require(t, err)
	}
	_, err := db.NewCreateIndex().Model((*bunSale)(nil)).Index("bun_sales_shop").Column("shop_id").IfNotExists().Exec(ctx)
	require(t, err)
}

func bunDrop(t *testing.T, db *bun.DB) {
	t.Helper()
	for index := range bunModels {
		_, err := db.NewDropTable().Model(bunModels[len(bunModels)-1-index]).IfExists().Cascade().Exec(ctx)
		require(t, err)
	}
}

// Two shops, three sales, and products of one of these.
func withBunRows(t *testing.T) *bun.DB {
	t.Helper()
	db := withBun(t)
	bunCreate(t, db)
	t.Cleanup(func() { bunDrop(t, db) })
	shops := []*bunShop{
		{Name: "Ann's", City: "Köln", Tags: []string{"old", `"x",`}, Details: map[string]any{"paper": "brown"}},
		{Name: "Bob", City: "Bonn"},
	}
	_, err := db.NewInsert().Model(&shops).Exec(ctx)
	require(t, err)
	equal(t, shops[1].ID, shops[0].ID+1)
	day := time.Date(2024, 5, 1, 0, 0, 0, 0, time.UTC)
	sales := []*bunSale{
		{ShopID: shops[0].ID, Amount: 10.5, Note: note("ß"), Picture: []byte{0, 1, 255}, Marks: []int{1, 2}, Sold: day},
		{ShopID: shops[0].ID, Amount: 2.25, Sold: day},
		{ShopID: shops[1].ID, Amount: 5, Sold: day},
	}
	_, err = db.NewInsert().Model(&sales).Exec(ctx)
	require(t, err)
	products := []*bunProduct{{Code: "pen"}, {Code: "book"}}
	_, err = db.NewInsert().Model(&products).Exec(ctx)
	require(t, err)
	for _, product := range products {
		_, err = db.NewInsert().Model(&bunSaleProduct{SaleID: sales[0].ID, ProductID: product.ID}).Exec(ctx)
		require(t, err)
	}
	return db
}

func TestBunCreatesTablesTwice(t *testing.T) {
	db := withBun(t)
	bunCreate(t, db)
	bunCreate(t, db)
	_, err := db.NewAddColumn().Model((*bunProduct)(nil)).ColumnExpr("size VARCHAR").IfNotExists().Exec(ctx)
	require(t, err)
	_, err = db.NewDropColumn().Model((*bunProduct)(nil)).Column("size").Exec(ctx)
	require(t, err)
	bunDrop(t, db)
}

func TestBunTruncates(t *testing.T) {
	db := withBunRows(t)
	_, err := db.NewTruncateTable().Model((*bunSaleProduct)(nil)).Exec(ctx)
	require(t, err)
	exists, err := db.NewSelect().Model((*bunSaleProduct)(nil)).Exists(ctx)
	require(t, err)
	equal(t, exists, false)
}

func TestBunDropsColumnsOfTablesThatOthersReferTo(t *testing.T) {
	db := withBunRows(t)
	_, err := db.NewAddColumn().Model((*bunShop)(nil)).ColumnExpr("street VARCHAR").IfNotExists().Exec(ctx)
	require(t, err)
	_, err = db.NewDropColumn().Model((*bunShop)(nil)).Column("street").Exec(ctx)
	require(t, err)
}

func TestBunSelectsWithRelations(t *testing.T) {
	db := withBunRows(t)
	var shops []bunShop
	require(t, db.NewSelect().Model(&shops).Relation("Sales", func(q *bun.SelectQuery) *bun.SelectQuery {
		return q.Order("sale.id")
	}).Order("shop.id").Scan(ctx))
	equal(t, len(shops), 2)
	equal(t, len(shops[0].Sales), 2)
	equal(t, shops[0].Tags, []string{"old", `"x",`})
	equal(t, shops[0].Details, map[string]any{"paper": "brown"})
	equal(t, time.Since(shops[0].CreatedAt).Abs() < time.Hour, true)
	sale := new(bunSale)
	require(t, db.NewSelect().Model(sale).Relation("Shop").Relation("Products", func(q *bun.SelectQuery) *bun.SelectQuery {
		return q.Order("code")
	}).Where("sale.amount > ?", 10).Limit(1).Scan(ctx))
	equal(t, sale.Shop.Name, "Ann's")
	equal(t, []string{sale.Products[0].Code, sale.Products[1].Code}, []string{"book", "pen"})
	equal(t, *sale.Note, "ß")
	equal(t, sale.Picture, []byte{0, 1, 255})
	equal(t, sale.Marks, []int{1, 2})
	equal(t, sale.Sold.Format(time.DateOnly), "2024-05-01")
}

func TestBunQueries(t *testing.T) {
	db := withBunRows(t)
	count, err := db.NewSelect().Model((*bunSale)(nil)).WhereGroup(" AND ", func(q *bun.SelectQuery) *bun.SelectQuery {
		return q.Where("amount BETWEEN ? AND ?", 2, 6).WhereOr("note IS NOT NULL")
	}).Count(ctx)
	require(t, err)
	equal(t, int(count), 3)
	var totals []struct {
		Name  string
		Total float64
		Count int
	}
	require(t, db.NewSelect().Model((*bunSale)(nil)).ColumnExpr("shop.name").ColumnExpr("sum(amount) AS total").
		ColumnExpr("count(*)").Join("JOIN bun_shops AS shop ON shop.id = sale.shop_id").Group("shop.name").
		Having("sum(amount) > ?", 1).OrderExpr("total DESC").Scan(ctx, &totals))
	equal(t, totals[0].Name, "Ann's")
	equal(t, totals[0].Total, 12.75)
	equal(t, totals[0].Count, 2)
	var names []string
	shops := func() *bun.SelectQuery { return db.NewSelect().Model((*bunShop)(nil)).Column("name").Order("name") }
	require(t, shops().Where("name IN (?)", bun.In([]string{"Bob", "Eve"})).Scan(ctx, &names))
	equal(t, names, []string{"Bob"})
	require(t, shops().Where("tags @> ?", pgdialect.Array([]string{"old"})).Scan(ctx, &names))
	equal(t, names, []string{"Ann's"})
	require(t, shops().Where("details->>'paper' = ?", "brown").Scan(ctx, &names))
	equal(t, names, []string{"Ann's"})
	rich := db.NewSelect().Model((*bunSale)(nil)).Column("shop_id").Where("amount > ?", 9)
	require(t, shops().With("rich", rich).Where("id IN (SELECT shop_id FROM rich)").Scan(ctx, &names))
	equal(t, names, []string{"Ann's"})
	require(t, shops().Where("name = 'Bob'").Union(shops().Where("name <> 'Bob'")).Scan(ctx, &names))
	equal(t, len(names), 2)
	exists, err := shops().Where("name = ?", "Eve").Exists(ctx)
	require(t, err)
	equal(t, exists, false)
	equal(t, errors.Is(db.NewSelect().Model(new(bunShop)).Where("name = ?", "Eve").Scan(ctx), sql.ErrNoRows), true)
	var page []bunSale
	count, err = db.NewSelect().Model(&page).Order("id").Limit(1).Offset(1).ScanAndCount(ctx)
	require(t, err)
	equal(t, []any{int(count), len(page), page[0].Amount}, []any{3, 1, 2.25})
	var rows []map[string]any
	require(t, db.NewSelect().TableExpr("bun_sales").Column("shop_id", "paid").Order("id").Scan(ctx, &rows))
	equal(t, len(rows), 3)
	equal(t, rows[2]["paid"], false)
	var number int
	var text string
	require(t, db.NewRaw("SELECT ?0 + 1, ?1", 41, `it's \`).Scan(ctx, &number, &text))
	equal(t, []any{number, text}, []any{42, `it's \`})
}

func TestBunUpdatesAndDeletes(t *testing.T) {
	db := withBunRows(t)
	shop := &bunShop{}
	require(t, db.NewSelect().Model(shop).Where("name = ?", "Bob").Scan(ctx))
	shop.City = "Ulm"
	result, err := db.NewUpdate().Model(shop).Column("city").WherePK().Exec(ctx)
	require(t, err)
	affected, err := result.RowsAffected()
	require(t, err)
	equal(t, affected, int64(1))
	_, err = db.NewUpdate().Model((*bunSale)(nil)).Set("paid = ?, amount = amount + ?", true, 1).Where("amount < ?", 6).Exec(ctx)
	require(t, err)
	_, err = db.NewUpdate().Model(&bunSale{Note: note("new")}).OmitZero().Where("paid").Exec(ctx)
	require(t, err)
	var sales []bunSale
	require(t, db.NewSelect().Model(&sales).Order("id").Scan(ctx))
	sales[0].Amount, sales[1].Amount = 20, 30
	changed := sales[:2]
	_, err = db.NewUpdate().Model(&changed).Column("amount").Bulk().Exec(ctx)
	require(t, err)
	var sum float64
	require(t, db.NewSelect().Model((*bunSale)(nil)).ColumnExpr("sum(amount)").Where("note IS NOT NULL").Scan(ctx, &sum))
	equal(t, sum, 56.0)
	_, err = db.NewUpdate().With("_data", db.NewValues(&changed)).Model((*bunSale)(nil)).TableExpr("_data").
		Set("amount = _data.amount + 1").Where("sale.id = _data.id").Exec(ctx)
	require(t, err)
	_, err = db.NewDelete().Model((*bunSaleProduct)(nil)).Where("TRUE").Exec(ctx)
	require(t, err)
	var gone []int64
	_, err = db.NewDelete().Model((*bunSale)(nil)).Where("amount < ?", 25).Returning("id").Exec(ctx, &gone)
	require(t, err)
	equal(t, len(gone), 2)
}

func TestBunDeletesSoftly(t *testing.T) {
	db := withBunRows(t)
	_, err := db.NewDelete().Model((*bunShop)(nil)).Where("name = ?", "Bob").Exec(ctx)
	require(t, err)
	count, err := db.NewSelect().Model((*bunShop)(nil)).Count(ctx)
	require(t, err)
	equal(t, int(count), 1)
	count, err = db.NewSelect().Model((*bunShop)(nil)).WhereDeleted().Count(ctx)
	require(t, err)
	equal(t, int(count), 1)
}

func TestBunUpserts(t *testing.T) {
	db := withBunRows(t)
	shop := &bunShop{Name: "Cid", City: "Ulm"}
	for _, city := range []string{"Ulm", "Bonn"} {
		shop.ID, shop.City = 0, city
		_, err := db.NewInsert().Model(shop).On("CONFLICT (name) DO UPDATE").Set("city = EXCLUDED.city").Exec(ctx)
		require(t, err)
	}
	count, err := db.NewSelect().Model((*bunShop)(nil)).Where("name = 'Cid' AND city = 'Bonn'").Count(ctx)
	require(t, err)
	equal(t, int(count), 1)
	result, err := db.NewInsert().Model(&bunProduct{Code: "pen"}).On("CONFLICT DO NOTHING").Returning("NULL").Exec(ctx)
	require(t, err)
	affected, err := result.RowsAffected()
	require(t, err)
	equal(t, affected, int64(0))
	products := []bunProduct{{ID: "12345678-1234-1234-1234-123456789abc", Code: "pen"}, {ID: "22345678-1234-1234-1234-123456789abc", Code: "ink"}}
	_, err = db.NewMerge().Model(new(bunProduct)).With("_data", db.NewValues(&products)).Using("_data").
		On("product.code = _data.code").
		WhenUpdate("MATCHED", func(q *bun.UpdateQuery) *bun.UpdateQuery { return q.Set("code = _data.code || '!'") }).
		WhenInsert("NOT MATCHED", func(q *bun.InsertQuery) *bun.InsertQuery {
			return q.Value("id", "_data.id").Value("code", "_data.code")
		}).Returning("NULL").Exec(ctx)
	require(t, err)
	var codes []string
	require(t, db.NewSelect().Model((*bunProduct)(nil)).Column("code").Order("code").Scan(ctx, &codes))
	equal(t, codes, []string{"book", "ink", "pen!"})
}

func TestBunUpsertsWhatOthersReferTo(t *testing.T) {
	db := withBunRows(t)
	shop := &bunShop{Name: "Bob", City: "Ulm"}
	_, err := db.NewInsert().Model(shop).On("CONFLICT (name) DO UPDATE").Set("city = EXCLUDED.city").Exec(ctx)
	require(t, err)
	equal(t, shop.ID, int64(2))
}

func TestBunTransactions(t *testing.T) {
	db := withBunRows(t)
	require(t, db.RunInTx(ctx, &sql.TxOptions{}, func(ctx context.Context, tx bun.Tx) error {
		_, err := tx.NewInsert().Model(&bunShop{Name: "Cid"}).Exec(ctx)
		require(t, err)
		// A transaction within one is a savepoint.
		return tx.RunInTx(ctx, nil, func(ctx context.Context, inner bun.Tx) error {
			_, err := inner.NewDelete().Model((*bunShop)(nil)).Where("name = 'Cid'").ForceDelete().Exec(ctx)
			return err
		})
	}))
	stop := errors.New("stop")
	equal(t, db.RunInTx(ctx, nil, func(ctx context.Context, tx bun.Tx) error {
		_, err := tx.NewInsert().Model(&bunShop{Name: "Dan"}).Exec(ctx)
		require(t, err)
		return stop
	}), stop)
	count, err := db.NewSelect().Model((*bunShop)(nil)).Count(ctx)
	require(t, err)
	equal(t, int(count), 2)
	_, err = db.NewInsert().Model(&bunShop{Name: "Bob"}).Exec(ctx)
	var failed pgdriver.Error
	equal(t, errors.As(err, &failed) && failed.IntegrityViolation(), true)
	equal(t, failed.Field('C'), "23505")
}

func TestBunGoesBackWithinATransaction(t *testing.T) {
	db := withBunRows(t)
	stop := errors.New("stop")
	require(t, db.RunInTx(ctx, nil, func(ctx context.Context, tx bun.Tx) error {
		_, err := tx.NewInsert().Model(&bunShop{Name: "Cid"}).Exec(ctx)
		require(t, err)
		equal(t, tx.RunInTx(ctx, nil, func(ctx context.Context, inner bun.Tx) error {
			_, err := inner.NewInsert().Model(&bunShop{Name: "Dan"}).Exec(ctx)
			require(t, err)
			return stop
		}), stop)
		return nil
	}))
	count, err := db.NewSelect().Model((*bunShop)(nil)).Where("name IN ('Cid', 'Dan')").Count(ctx)
	require(t, err)
	equal(t, int(count), 1)
}

func TestBunCopies(t *testing.T) {
	db := withBun(t)
	connection, err := db.Conn(ctx)
	require(t, err)
	defer connection.Close()
	_, err = connection.ExecContext(ctx, `CREATE TABLE IF NOT EXISTS bun_copies (id bigint, body text)`)
	require(t, err)
	var lines strings.Builder
	for number := range 1000 {
		fmt.Fprintf(&lines, "%d,\"line, %d\"\n", number, number)
	}
	result, err := pgdriver.CopyFrom(ctx, connection, strings.NewReader(lines.String()), `COPY bun_copies FROM STDIN WITH CSV`)
	require(t, err)
	affected, err := result.RowsAffected()
	require(t, err)
	equal(t, affected, int64(1000))
	var out bytes.Buffer
	_, err = pgdriver.CopyTo(ctx, connection, &out, `COPY (SELECT * FROM bun_copies ORDER BY id) TO STDOUT WITH CSV`)
	require(t, err)
	equal(t, out.String(), lines.String())
	_, err = connection.ExecContext(ctx, `DROP TABLE bun_copies`)
	require(t, err)
}
