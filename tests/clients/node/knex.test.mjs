// Knex, against the server that libpq's variables name.

import assert from 'node:assert/strict'
import { test } from 'node:test'

import knex from 'knex'

const { PGHOST: host, PGPORT: port, PGUSER: user, PGDATABASE: database } = process.env

async function connected(work) {
  const db = knex({ client: 'pg', connection: { host, port, user, database } })
  try {
    return await work(db)
  } finally {
    await db.destroy()
  }
}

test('Knex builds schemas writes and reads', async () => {
  await connected(async (db) => {
    await db.schema.createTable('shops', (table) => {
      table.increments('id')
      table.string('name').notNullable()
      table.unique(['name'])
    })
    await db.schema.createTable('sales', (table) => {
      table.increments('id')
      // A foreign key would be an ALTER TABLE, which DuckDB lacks.
      table.integer('shop')
      table.decimal('amount', 9, 2)
      table.timestamp('at').defaultTo(db.fn.now())
      table.index(['shop'])
    })
    assert.equal(await db.schema.hasTable('shops'), true)
    assert.equal(await db.schema.hasTable('nope'), false)
    assert.equal(await db.schema.hasColumn('sales', 'amount'), true)
    const [{ id }] = await db('shops').insert({ name: "Ann's" }).returning('id')
    await db('sales').insert([{ shop: id, amount: '1.50' }, { shop: id, amount: '2.25' }])
    const rows = await db('sales').join('shops', 'shops.id', 'sales.shop').select('shops.name', 'sales.amount').orderBy('sales.id')
    assert.deepEqual(rows, [{ name: "Ann's", amount: '1.50' }, { name: "Ann's", amount: '2.25' }])
    assert.deepEqual(await db('sales').count('*'), [{ count: '2' }])
    assert.deepEqual(await db('sales').sum('amount'), [{ sum: '3.75' }])
    assert.deepEqual(await db('sales').max('amount as most').where('shop', id), [{ most: '2.25' }])
    assert.equal(await db('sales').where('amount', '>', 2).update({ amount: 3 }), 1)
    await db('shops').insert({ name: "Ann's" }).onConflict('name').ignore()
    const info = await db('sales').columnInfo()
    assert.deepEqual([info.amount.type, info.shop.type, info.id.nullable], ['numeric', 'integer', false])
    await db.schema.alterTable('sales', (table) => table.string('note'))
    assert.equal(await db.schema.hasColumn('sales', 'note'), true)
    await db.schema.dropTableIfExists('sales')
    await db.schema.dropTable('shops')
  })
})

test('Knex uses transactions and schemas', async () => {
  await connected(async (db) => {
    await db.schema.withSchema('public').createTable('kept', (table) => table.integer('i'))
    await assert.rejects(
      db.transaction(async (transaction) => {
        await transaction('kept').insert({ i: 1 })
        throw new Error('changed my mind')
      }),
      /changed my mind/,
    )
    await db.transaction((transaction) => transaction('kept').insert({ i: 2 }))
    assert.deepEqual(await db('kept').withSchema('public').select(), [{ i: 2 }])
    assert.equal(await db.schema.withSchema('public').hasTable('kept'), true)
    const { rows } = await db.raw('select version(), ?::int + 1 as next', [1])
    assert.match(rows[0].version, /^PostgreSQL 15/)
    assert.equal(rows[0].next, 2)
    await db.schema.withSchema('public').dropTable('kept')
  })
})

test('Knex migrates', async () => {
  await connected(async (db) => {
    const migrations = [
      { name: '1', up: (db) => db.schema.createTable('m', (table) => table.increments()), down: (db) => db.schema.dropTable('m') },
      { name: '2', up: (db) => db.schema.alterTable('m', (table) => table.text('t')), down: async () => {} },
    ]
    const migrationSource = { getMigrations: async () => migrations, getMigrationName: ({ name }) => name, getMigration: (m) => m }
    await db.migrate.latest({ migrationSource })
    assert.equal(await db.schema.hasColumn('m', 't'), true)
    const [done] = await db.migrate.list({ migrationSource })
    assert.equal(done.length, 2)
    await db.migrate.rollback({ migrationSource })
    assert.equal(await db.schema.hasTable('m'), false)
  })
})
