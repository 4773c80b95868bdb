// Knex: its migrations and seeds from files, its schema builder, its queries and transactions.

import assert from 'node:assert/strict'
import { after, test } from 'node:test'

import knex from 'knex'

import { connection } from './place.mjs'

const db = knex({
  client: 'pg',
  connection,
  pool: { min: 0, max: 4 },
  migrations: { directory: './knex', loadExtensions: ['.mjs'], tableName: 'knex_migrations' },
  seeds: { directory: './knex/seeds', loadExtensions: ['.mjs'] },
})

after(() => db.destroy())

test('migrates up, again, back and up', async () => {
  const [batch, names] = await db.migrate.latest()
  assert.deepEqual([batch, names], [1, ['2026010101_shops.mjs', '2026010102_columns.mjs']])
  assert.deepEqual(await db.migrate.latest(), [1, []])
  assert.equal(await db.migrate.currentVersion(), '2026010102')
  assert.deepEqual(await db.migrate.down(), [1, ['2026010102_columns.mjs']])
  assert.equal(await db.schema.hasColumn('shops', 'address'), true)
  assert.deepEqual(await db.migrate.up(), [2, ['2026010102_columns.mjs']])
  assert.equal((await db.migrate.list())[0].length, 2)
  assert.deepEqual(await db.migrate.rollback(undefined, true), [2, ['2026010102_columns.mjs', '2026010101_shops.mjs']])
  await db.migrate.latest()
  assert.equal(await db.schema.hasTable('remarks'), true)
  assert.equal(await db.schema.hasTable('notes'), false)
})

test('describes columns', async () => {
  const columns = await db('sales').columnInfo()
  // DuckDB stores `text` as `varchar`.
  const found = Object.entries(columns).map(([name, { type, nullable }]) => [name, type.replace('character varying', 'text'), nullable])
  assert.deepEqual(found.sort(), [
    ['amount', 'numeric', false],
    ['day', 'date', true],
    ['id', 'bigint', false],
    ['receipt', 'bytea', true],
    ['shop_id', 'integer', false],
    ['state', 'text', true],
    ['tags', 'ARRAY', true],
    ['token', 'uuid', true],
    ['weight', 'double precision', true],
  ])
})

test('seeds twice', async () => {
  await db.seed.run()
  await db.seed.run()
  assert.deepEqual(await db('shops').pluck('id').orderBy('id'), [101, 102])
  assert.deepEqual(await db('open_shops').select(), [{ id: 101, name: 'Books' }])
  const { created_at, details, city } = await db('shops').first().where({ id: 101 })
  assert.ok(Math.abs(created_at - Date.now()) < 60000)
  assert.deepEqual([details, city], [{ floors: 2 }, 'Oslo'])
})

test('inserts and upserts', async () => {
  const [{ id }] = await db('shops').insert({ name: 'Boats', details: JSON.stringify({ floors: 1, quays: ['a'] }) }).returning('id')
  assert.equal(id, 1)
  const rows = await db('sales')
    .insert([
      { shop_id: 101, amount: 12.5, day: '2026-01-31', tags: ['new', 'a "red" one'], weight: 1.5, receipt: Buffer.from([0, 255]) },
      { shop_id: 101, amount: '7.25', day: '2026-02-28', state: 'paid' },
      { shop_id: 102, amount: 3, day: new Date(2026, 2, 1) },
    ])
    .returning(['id', 'amount', 'state'])
  assert.deepEqual(rows, [
    { id: '1', amount: '12.50', state: 'new' },
    { id: '2', amount: '7.25', state: 'paid' },
    { id: '3', amount: '3.00', state: 'new' },
  ])
  await db('shops').insert({ name: 'Boats', city: 'Bergen' }).onConflict('name').merge()
  await db('shops').insert({ name: 'Boats', city: 'Rome' }).onConflict('name').ignore()
  assert.deepEqual(await db('shops').where('name', 'Boats').select('id', 'city'), [{ id: 1, city: 'Bergen' }])
  const merged = await db('sales')
    .insert({ shop_id: 101, day: '2026-02-28', state: 'paid', amount: 1 })
    .onConflict(['shop_id', 'day', 'state'])
    .merge({ amount: db.raw('sales.amount + excluded.amount') })
    .returning('amount')
  assert.deepEqual(merged, [{ amount: '8.25' }])
  await assert.rejects(db('shops').insert({ name: 'Boats' }), { code: '23505' })
  await assert.rejects(db('shops').insert({ name: null }), { code: '23502' })
  await assert.rejects(db('sales').insert({ shop_id: 1, state: 'lost' }), { code: '23514' })
  await db.batchInsert('remarks', Array.from({ length: 1000 }, (_, i) => ({ note: `note ${i}` })), 300)
  assert.deepEqual(await db('remarks').count({ n: '*' }), [{ n: '1000' }])
})

test('selects, joins and groups', async () => {
  const sale = await db('sales').where({ id: 1 }).first()
  assert.deepEqual([sale.tags, sale.weight, [...sale.receipt], sale.token.length], [['new', 'a "red" one'], 1.5, [0, 255], 36])
  const totals = await db('shops as s')
    .leftJoin('sales as x', 's.id', 'x.shop_id')
    .groupBy('s.id', 's.name')
    .select('s.name')
    .sum({ total: 'x.amount' })
    .count({ n: 'x.id' })
    .havingRaw('count(x.id) >= ?', [0])
    .orderBy('s.id', 'desc')
  assert.deepEqual(totals, [
    { name: 'Bread', total: '3.00', n: '1' },
    { name: 'Books', total: '20.75', n: '2' },
    { name: 'Boats', total: null, n: '0' },
  ])
  const ranked = await db
    .with('dear', (query) => query.from('sales').where('amount', '>', 5).select())
    .from('dear')
    .select('id', db.raw('rank() over (partition by shop_id order by amount desc) as place'))
    .rowNumber('row', (over) => over.orderBy('id'))
    .orderBy('id')
  assert.deepEqual(ranked, [{ id: '1', place: '1', row: '1' }, { id: '2', place: '2', row: '2' }])
  const conditions = db('sales')
    .whereIn('state', ['new', 'paid'])
    .andWhereBetween('amount', [3, 10])
    .whereExists(db('shops').select(db.raw(1)).whereRaw('shops.id = sales.shop_id'))
    .whereNotNull('day')
    .andWhere((nested) => nested.where('day', '<', '2026-03-01').orWhereILike('state', 'N%'))
  assert.deepEqual(await conditions.clone().pluck('id').orderBy('id'), ['2', '3'])
  assert.deepEqual(await conditions.clone().countDistinct('shop_id as shops').first(), { shops: '2' })
  assert.deepEqual(await db('shops').whereJsonPath('details', '$.floors', '=', 2).pluck('name'), ['Books'])
  assert.deepEqual(await db('shops').jsonExtract('details', '$.floors', 'floors').where({ id: 101 }), [{ floors: 2 }])
  assert.deepEqual(await db('shops').distinctOn('city').orderBy('city').orderBy('id').pluck('id'), [1, 101])
  const united = db('shops').select('name').where({ id: 101 }).union([db('shops').select('name').where({ id: 102 })])
  assert.deepEqual((await united).map(({ name }) => name).sort(), ['Books', 'Bread'])
  const names = []
  for await (const { note } of db('remarks').select('note').orderBy('id').limit(3).stream()) names.push(note)
  assert.deepEqual(names, ['note 0', 'note 1', 'note 2'])
})

test('updates and deletes', async () => {
  assert.equal(await db('sales').where('shop_id', 101).increment('amount', 1), 2)
  const paid = await db('sales').where({ id: 1 }).update({ state: 'paid', tags: ['x'] }, ['id', 'amount', 'tags'])
  assert.deepEqual(paid, [{ id: '1', amount: '13.50', tags: ['x'] }])
  const city = await db('sales').updateFrom('shops').update({ weight: 2 }).whereRaw('shops.id = sales.shop_id').where('shops.city', 'Oslo')
  assert.equal(city, 3)
  assert.equal(await db('sales').whereIn('shop_id', db('shops').select('id').where('open', false)).del(), 1)
  assert.equal(await db('remarks').where('id', '>', 10).delete(), 990)
  await db('remarks').truncate()
  assert.deepEqual(await db('remarks').select(), [])
  const [{ updated_at: before }] = await db('shops').where({ id: 101 }).update({ updated_at: db.fn.now(6) }).returning('updated_at')
  assert.ok(before instanceof Date)
})

test('commits, rolls back and nests', async () => {
  const failing = db.transaction(async (trx) => {
    await trx('sales').del()
    throw new Error('changed my mind')
  })
  await assert.rejects(failing, /changed my mind/)
  const trx = await db.transaction({ isolationLevel: 'repeatable read' })
  await trx('remarks').insert({ note: 'kept' })
  await trx.transaction(async (nested) => {
    await nested('remarks').insert({ note: 'nested' })
  })
  await trx.commit()
  assert.deepEqual(await db('remarks').pluck('note').orderBy('id'), ['kept', 'nested'])
  assert.deepEqual(await db('sales').count('* as n').first(), { n: '2' })
})

test('alters tables', async () => {
  await db.schema.alterTable('remarks', (table) => {
    table.integer('stars').notNullable().defaultTo(3)
    table.setNullable('note')
    table.string('note', 500).notNullable().alter()
  })
  assert.deepEqual(await db('remarks').pluck('stars'), [3, 3])
  await db.schema.alterTable('remarks', (table) => table.dropColumn('stars'))
  await db.schema.alterTable('remarks', (table) => table.index(['note'], 'remarks_by_note'))
  await db.schema.alterTable('remarks', (table) => table.dropIndex([], 'remarks_by_note'))
  assert.equal(await db.schema.hasColumn('remarks', 'stars'), false)
  await db.schema.createSchemaIfNotExists('archive')
  await db.schema.withSchema('archive').createTable('plain', (table) => table.integer('i').primary())
  await db.withSchema('archive').into('plain').insert({ i: 1 })
  assert.deepEqual(await db.select('i').from('plain').withSchema('archive'), [{ i: 1 }])
  await db.schema.dropSchemaIfExists('archive', true)
})
