// Sequelize, against the server that libpq's variables name.

import assert from 'node:assert/strict'
import { test } from 'node:test'

import { DataTypes, Op, QueryTypes, Sequelize } from 'sequelize'

const { PGHOST, PGPORT, PGUSER } = process.env
// It asks the catalog for this database, so it is to be the one served.
const DATABASE = 'memory'

async function connected(work) {
  const sequelize = new Sequelize(DATABASE, PGUSER, 'none', { host: PGHOST, port: PGPORT, dialect: 'postgres', logging: false })
  try {
    await sequelize.authenticate()
    return await work(sequelize)
  } finally {
    await sequelize.close()
  }
}

function models(sequelize, prefix) {
  const Shop = sequelize.define(`${prefix}Shop`, { name: { type: DataTypes.STRING, allowNull: false } }, { timestamps: false })
  const Sale = sequelize.define(`${prefix}Sale`, {
    amount: DataTypes.DECIMAL(9, 2),
    at: DataTypes.DATE,
    note: DataTypes.TEXT,
    paid: { type: DataTypes.BOOLEAN, defaultValue: false },
  }, { timestamps: false })
  Shop.hasMany(Sale, { as: 'sales', foreignKey: 'shopId', onDelete: 'NO ACTION', onUpdate: 'NO ACTION' })
  Sale.belongsTo(Shop, { as: 'shop', foreignKey: 'shopId', onDelete: 'NO ACTION', onUpdate: 'NO ACTION' })
  return { Shop, Sale }
}

async function created(sequelize, ...models) {
  for (const model of models) await sequelize.getQueryInterface().createTable(model.getTableName(), model.getAttributes())
}

test('Sequelize syncs models again and again', async () => {
  await connected(async (sequelize) => {
    const { Shop, Sale } = models(sequelize, 'D')
    const City = sequelize.define('DCity', { name: DataTypes.STRING, land: DataTypes.STRING }, {
      timestamps: false,
      indexes: [{ fields: ['name'] }, { unique: true, fields: ['land', 'name'] }],
    })
    for (let i = 0; i < 3; i++) await sequelize.sync()
    const indexes = await sequelize.getQueryInterface().showIndex('DCities')
    assert.deepEqual(
      indexes.map((index) => [index.name, index.primary, index.unique, index.fields.map((field) => field.attribute)]).sort(),
      [
        ['DCities_pkey', true, true, ['id']],
        ['d_cities_land_name', false, true, ['land', 'name']],
        ['d_cities_name', false, false, ['name']],
      ],
    )
    await City.create({ name: 'Bern', land: 'CH' })
    await assert.rejects(City.create({ name: 'Bern', land: 'CH' }), { name: 'SequelizeUniqueConstraintError' })
    assert.equal(await City.count(), 1)
    assert.equal(await Shop.count() + await Sale.count(), 0)
    await City.drop()
  })
})

test('Sequelize creates writes and reads', async () => {
  await connected(async (sequelize) => {
    const { Shop, Sale } = models(sequelize, 'A')
    await created(sequelize, Shop, Sale)
    // A second time everything is there.
    await created(sequelize, Shop, Sale)
    const shop = await Shop.create({ name: "Ann's" })
    assert.equal(typeof shop.id, 'number')
    const at = new Date('2024-05-06T07:08:09.123Z')
    await Sale.create({ amount: '1.50', at, note: 'ß', shopId: shop.id })
    // Dates are literals here, in a form that DuckDB takes for the name of a zone.
    await Sale.bulkCreate([{ amount: '2.25', shopId: shop.id, paid: true }], { fields: ['amount', 'shopId', 'paid'] })
    const found = await Sale.findAll({ where: { amount: { [Op.gt]: 1 }, note: { [Op.ne]: null } } })
    assert.deepEqual(found.map((sale) => [sale.amount, sale.at.toISOString(), sale.note, sale.paid]), [
      ['1.50', at.toISOString(), 'ß', false],
    ])
    const joined = await Shop.findOne({ include: [{ association: 'sales' }], where: { id: shop.id } })
    assert.equal(joined.sales.length, 2)
    assert.equal(await Sale.count({ where: { shopId: shop.id } }), 2)
    assert.equal(Number(await Sale.sum('amount')), 3.75)
    await Sale.update({ note: 'x' }, { where: { paid: true } })
    assert.equal((await Sale.findOne({ where: { paid: true } })).note, 'x')
    assert.equal(await Sale.destroy({ where: { note: 'x' } }), 1)
  })
})

test('Sequelize uses transactions and plain queries', async () => {
  await connected(async (sequelize) => {
    const { Shop } = models(sequelize, 'B')
    await created(sequelize, Shop)
    await assert.rejects(
      sequelize.transaction(async (transaction) => {
        await Shop.create({ name: 'gone' }, { transaction })
        throw new Error('changed my mind')
      }),
      /changed my mind/,
    )
    assert.equal(await Shop.count(), 0)
    const rows = await sequelize.query('SELECT :a AS a, count(*) FROM "BShops"', {
      replacements: { a: 'x' },
      type: QueryTypes.SELECT,
    })
    assert.deepEqual(rows, [{ a: 'x', count: '0' }])
    await assert.rejects(Shop.create({}), /notNull Violation/)
  })
})

test('Sequelize describes tables', async () => {
  await connected(async (sequelize) => {
    const { Shop, Sale } = models(sequelize, 'C')
    await created(sequelize, Shop, Sale)
    const query = sequelize.getQueryInterface()
    const described = await query.describeTable('CSales')
    assert.equal(described.id.primaryKey, true)
    assert.equal(described.amount.type, 'NUMERIC')
    assert.equal(described.note.allowNull, true)
    assert.ok((await query.showAllTables()).includes('CShops'))
    assert.equal(await query.tableExists('CShops'), true)
    await query.addColumn('CShops', 'city', { type: DataTypes.STRING })
    assert.ok('city' in (await query.describeTable('CShops')))
    const keys = await query.getForeignKeyReferencesForTable('CSales')
    assert.deepEqual(keys.map((key) => [key.columnName, key.referencedTableName, key.referencedColumnName]), [['shopId', 'CShops', 'id']])
  })
})
