package clients

import (
	"testing"

	"gorm.io/driver/postgres"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"
	"gorm.io/gorm/logger"
)

// Strings with an index are `varchar`: DuckDB keeps no lengths, and alters no table with an index.
type gormShop struct {
	ID    uint       `gorm:"primaryKey"`
	Name  string     `gorm:"type:varchar;not null;uniqueIndex"`
	Sales []gormSale `gorm:"foreignKey:ShopID"`
}

type gormSale struct {
	ID     uint `gorm:"primaryKey"`
	ShopID uint
	Amount float64 `gorm:"type:decimal(9,2)"`
	Note   *string
	Paid   bool `gorm:"default:false"`
}

// The same table with a column more.
type gormSaleLater struct {
	gormSale
	City string `gorm:"size:40"`
}

func (gormSaleLater) TableName() string { return "gorm_sales" }

func withGorm(t *testing.T) *gorm.DB {
	t.Helper()
	config := &gorm.Config{
		Logger: logger.Default.LogMode(logger.Silent),
		// DuckDB's ALTER TABLE adds no foreign keys.
		DisableForeignKeyConstraintWhenMigrating: true,
	}
	db, err := gorm.Open(postgres.Open(""), config)
	require(t, err)
	t.Cleanup(func() {
		plain, err := db.DB()
		require(t, err)
		require(t, plain.Close())
	})
	return db
}

// A second AutoMigrate finds everything there, and a third adds what is new.
func TestGormMigratesAgain(t *testing.T) {
	db := withGorm(t)
	for range 2 {
		require(t, db.AutoMigrate(&gormShop{}, &gormSale{}))
	}
	require(t, db.AutoMigrate(&gormSaleLater{}))
	migrator := db.Migrator()
	equal(t, migrator.HasTable("gorm_shops"), true)
	equal(t, migrator.HasColumn(&gormSaleLater{}, "city"), true)
	equal(t, migrator.HasIndex(&gormShop{}, "Name"), true)
	equal(t, migrator.HasColumn(&gormSale{}, "nothing"), false)
	require(t, migrator.DropTable("gorm_sales", "gorm_shops"))
}

func TestGormWritesAndReads(t *testing.T) {
	db := withGorm(t)
	require(t, db.AutoMigrate(&gormShop{}, &gormSale{}))
	note := "ß"
	shop := gormShop{Name: "Ann's", Sales: []gormSale{{Amount: 1.5, Note: &note}, {Amount: 2.25}}}
	require(t, db.Create(&shop).Error)
	equal(t, shop.ID > 0 && shop.Sales[1].ID > 0, true)
	var found gormShop
	require(t, db.Preload("Sales", func(sales *gorm.DB) *gorm.DB { return sales.Order("id") }).First(&found, "name = ?", "Ann's").Error)
	equal(t, len(found.Sales), 2)
	equal(t, *found.Sales[0].Note, note)
	require(t, db.Model(&gormSale{}).Where("amount > ?", 2).Update("paid", true).Error)
	var count int64
	require(t, db.Model(&gormSale{}).Where("paid").Count(&count).Error)
	equal(t, count, int64(1))
	again := gormShop{Name: "Ann's"}
	require(t, db.Clauses(clause.OnConflict{Columns: []clause.Column{{Name: "name"}}, DoNothing: true}).Create(&again).Error)
	err := db.Transaction(func(tx *gorm.DB) error {
		require(t, tx.Create(&gormShop{Name: "gone"}).Error)
		return gorm.ErrInvalidTransaction
	})
	equal(t, err, gorm.ErrInvalidTransaction)
	require(t, db.Model(&gormShop{}).Count(&count).Error)
	equal(t, count, int64(1))
	require(t, db.Where("shop_id = ?", shop.ID).Delete(&gormSale{}).Error)
	require(t, db.Migrator().DropTable("gorm_sales", "gorm_shops"))
}
