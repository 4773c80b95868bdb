// Kysely: its migrator, its query builder, its helpers for relations, transactions and the introspection.

import assert from 'node:assert/strict'
import { after, test } from 'node:test'

import { Kysely, PostgresDialect, sql } from 'kysely'
import { jsonArrayFrom, jsonBuildObject, jsonObjectFrom } from 'kysely/helpers/postgres'
import { Migrator } from 'kysely/migration'
import pg from 'pg'
import Cursor from 'pg-cursor'

import { connection } from './place.mjs'

const db = new Kysely({ dialect: new PostgresDialect({ pool: new pg.Pool({ ...connection, max: 4 }), cursor: Cursor }) })

after(() => db.destroy())

const migrations = {
  '2026_01_people': {
    async up(db) {
      await db.schema
        .createTable('person')
        .addColumn('id', 'serial', (column) => column.primaryKey())
        .addColumn('first_name', 'varchar(50)', (column) => column.notNull())
        .addColumn('last_name', 'varchar(50)')
        .addColumn('gender', 'varchar(50)', (column) => column.notNull())
        .addColumn('created_at', 'timestamp', (column) => column.defaultTo(sql`now()`).notNull())
        .addColumn('metadata', 'jsonb')
        .execute()
      await db.schema
        .createTable('pet')
        .addColumn('id', 'integer', (column) => column.primaryKey().generatedByDefaultAsIdentity())
        .addColumn('name', 'varchar', (column) => column.notNull().unique())
        .addColumn('owner_id', 'integer', (column) => column.references('person.id').notNull())
        .addColumn('species', 'varchar', (column) => column.notNull())
        .addColumn('price', sql`numeric(10, 2)`, (column) => column.defaultTo(0).check(sql`price >= 0`))
        .execute()
      await db.schema.createIndex('pet_owner_id_index').on('pet').column('owner_id').execute()
    },
    async down(db) {
      await db.schema.dropTable('pet').execute()
      await db.schema.dropTable('person').execute()
    },
  },
  '2026_02_toys': {
    async up(db) {
      await db.schema
        .createTable('toy')
        .ifNotExists()
        .addColumn('id', 'bigserial', (column) => column.primaryKey())
        .addColumn('name', 'text', (column) => column.notNull())
        .addColumn('pet_id', 'integer')
        .execute()
      await db.schema.alterTable('toy').addColumn('tags', sql`text[]`, (column) => column.notNull().defaultTo(sql`'{}'::text[]`)).execute()
      await db.schema.alterTable('toy').renameColumn('name', 'title').execute()
      await db.schema.createView('dog').as(db.selectFrom('pet').selectAll().where('species', '=', 'dog')).execute()
    },
    async down(db) {
      await db.schema.dropView('dog').execute()
      await db.schema.dropTable('toy').execute()
    },
  },
}

const migrator = new Migrator({ db, provider: { getMigrations: async () => migrations } })

async function migrate(work) {
  const { error, results } = await work()
  if (error) throw error
  return results.map(({ migrationName, direction, status }) => `${direction} ${migrationName}: ${status}`)
}

test('migrates up, again, down and up', async () => {
  const both = ['Up 2026_01_people: Success', 'Up 2026_02_toys: Success']
  assert.deepEqual(await migrate(() => migrator.migrateToLatest()), both)
  assert.deepEqual(await migrate(() => migrator.migrateToLatest()), [])
  assert.deepEqual(await migrate(() => migrator.migrateDown()), ['Down 2026_02_toys: Success'])
  assert.deepEqual(await migrate(() => migrator.migrateTo('2026_02_toys')), ['Up 2026_02_toys: Success'])
  const known = await migrator.getMigrations()
  assert.ok(known.every(({ executedAt }) => executedAt instanceof Date))
})

test('introspects', async () => {
  const tables = await db.introspection.getTables()
  assert.deepEqual(tables.map(({ name, isView, schema }) => [schema, name, isView]).sort(), [
    ['public', 'dog', true],
    ['public', 'person', false],
    ['public', 'pet', false],
    ['public', 'toy', false],
  ])
  const { columns } = tables.find(({ name }) => name === 'person')
  assert.deepEqual(
    columns.map(({ name, dataType, isNullable, isAutoIncrementing, hasDefaultValue }) => [name, dataType.replace('jsonb', 'json'), isNullable, isAutoIncrementing, hasDefaultValue]),
    [
      ['id', 'int4', false, true, true],
      ['first_name', 'varchar', false, false, false],
      ['last_name', 'varchar', true, false, false],
      ['gender', 'varchar', false, false, false],
      ['created_at', 'timestamp', false, false, true],
      ['metadata', 'json', true, false, false],
    ],
  )
  assert.ok((await db.introspection.getSchemas()).some(({ name }) => name === 'public'))
})

test('inserts and upserts', async () => {
  const { id } = await db
    .insertInto('person')
    .values({ first_name: 'Jennifer', last_name: 'Aniston', gender: 'woman', metadata: JSON.stringify({ likes: ['tea'] }) })
    .returning('id')
    .executeTakeFirstOrThrow()
  assert.equal(id, 1)
  const more = await db
    .insertInto('person')
    .values([
      { first_name: 'Arnold', last_name: 'Schwarzenegger', gender: 'man' },
      { first_name: 'Sylvester', last_name: sql`${'Stal'} || ${'lone'}`, gender: 'man' },
    ])
    .returningAll()
    .execute()
  assert.deepEqual(more.map((person) => [person.id, person.last_name, person.created_at instanceof Date]), [
    [2, 'Schwarzenegger', true],
    [3, 'Stallone', true],
  ])
  await db
    .insertInto('pet')
    .values([
      { name: 'Catto', owner_id: 1, species: 'cat', price: '9.50' },
      { name: 'Doggo', owner_id: 2, species: 'dog', price: '12.25' },
      { name: 'Hammo', owner_id: 2, species: 'hamster', price: null },
    ])
    .execute()
  const upserted = await db
    .insertInto('pet')
    .values({ name: 'Catto', owner_id: 3, species: 'lion', price: '100' })
    .onConflict((conflict) => conflict.column('name').doUpdateSet((eb) => ({ species: eb.ref('excluded.species'), price: eb('pet.price', '+', eb.ref('excluded.price')) })))
    .returning(['id', 'species', 'price', 'owner_id'])
    .executeTakeFirst()
  assert.deepEqual(upserted, { id: 1, species: 'lion', price: '109.50', owner_id: 1 })
  const ignored = await db
    .insertInto('pet')
    .values({ name: 'Catto', owner_id: 3, species: 'tiger' })
    .onConflict((conflict) => conflict.doNothing())
    .executeTakeFirst()
  assert.equal(ignored.numInsertedOrUpdatedRows, 0n)
  await db.insertInto('toy').columns(['title', 'pet_id']).expression(db.selectFrom('pet').select((eb) => [eb.val('ball').as('title'), 'pet.id'])).execute()
  await db.insertInto('toy').values({ title: 'rope', pet_id: 2, tags: ['long', 'a "red" one'] }).execute()
  await assert.rejects(db.insertInto('pet').values({ name: 'Catto', owner_id: 1, species: 'cat' }).execute(), { code: '23505' })
  await assert.rejects(db.insertInto('pet').values({ name: 'Freebie', owner_id: 1, species: 'cat', price: -1 }).execute(), { code: '23514' })
  await assert.rejects(db.insertInto('pet').values({ name: 'Stray', owner_id: 99, species: 'cat' }).execute(), { code: '23503' })
})

test('selects with relations', async () => {
  const people = await db
    .selectFrom('person')
    .select((eb) => [
      'person.id',
      jsonArrayFrom(
        eb.selectFrom('pet').select(['pet.id', 'pet.name']).whereRef('pet.owner_id', '=', 'person.id').orderBy('pet.name'),
      ).as('pets'),
      jsonObjectFrom(eb.selectFrom('pet').select(['pet.name']).whereRef('pet.owner_id', '=', 'person.id').where('pet.species', '=', 'dog')).as('dog'),
      jsonBuildObject({ first: eb.ref('first_name'), full: sql`first_name || ' ' || last_name` }).as('name'),
    ])
    .where('person.id', '<', 3)
    .orderBy('person.id')
    .execute()
  assert.deepEqual(people, [
    { id: 1, pets: [{ id: 1, name: 'Catto' }], dog: null, name: { first: 'Jennifer', full: 'Jennifer Aniston' } },
    {
      id: 2,
      pets: [{ id: 2, name: 'Doggo' }, { id: 3, name: 'Hammo' }],
      dog: { name: 'Doggo' },
      name: { first: 'Arnold', full: 'Arnold Schwarzenegger' },
    },
  ])
  const counted = await db
    .selectFrom('person')
    .leftJoin('pet', 'pet.owner_id', 'person.id')
    .select(({ fn }) => ['person.first_name', fn.count('pet.id').as('pets'), fn.sum('pet.price').as('price')])
    .groupBy('person.first_name')
    .having((eb) => eb.fn.count('pet.id'), '>', 0)
    .orderBy('pets', 'desc')
    .execute()
  assert.deepEqual(counted, [
    { first_name: 'Arnold', pets: '2', price: '12.25' },
    { first_name: 'Jennifer', pets: '1', price: '109.50' },
  ])
  const lateral = await db
    .selectFrom('person')
    .innerJoinLateral((eb) => eb.selectFrom('pet').select('name').whereRef('owner_id', '=', 'person.id').orderBy('id').limit(1).as('first'), (join) => join.onTrue())
    .select(['person.id', 'first.name'])
    .orderBy('person.id')
    .execute()
  assert.deepEqual(lateral, [{ id: 1, name: 'Catto' }, { id: 2, name: 'Doggo' }])
  const distinct = await db.selectFrom('pet').distinctOn('owner_id').select(['owner_id', 'name']).orderBy('owner_id').orderBy('name', 'desc').execute()
  assert.deepEqual(distinct, [{ owner_id: 1, name: 'Catto' }, { owner_id: 2, name: 'Hammo' }])
  const liked = await db
    .selectFrom('person')
    .select((eb) => ['id', eb.ref('metadata', '->').key('likes').at(0).as('like')])
    .where('metadata', 'is not', null)
    .executeTakeFirst()
  assert.deepEqual(liked, { id: 1, like: 'tea' })
  assert.deepEqual(await db.selectFrom('toy').select(['tags']).where('title', '=', 'rope').executeTakeFirst(), { tags: ['long', 'a "red" one'] })
  assert.equal((await db.selectFrom('toy').selectAll().where(sql`tags @> ${['long']}`).execute()).length, 1)
})

test('reads by pages, unions, expressions and a stream', async () => {
  const query = db.selectFrom('pet').select(['name', (eb) => eb.case().when('price', '>', 50).then('dear').else('cheap').end().as('price')])
  assert.deepEqual(await query.orderBy('id').limit(2).offset(1).execute(), [{ name: 'Doggo', price: 'cheap' }, { name: 'Hammo', price: 'cheap' }])
  const both = await db
    .with('cats', (db) => db.selectFrom('pet').select('name').where('species', 'in', ['lion', 'cat']))
    .selectFrom('cats')
    .select('name')
    .unionAll(db.selectFrom('dog').select('name'))
    .orderBy('name')
    .execute()
  assert.deepEqual(both, [{ name: 'Catto' }, { name: 'Doggo' }])
  assert.deepEqual(await db.selectFrom('person').select('id').where((eb) => eb.or([eb('first_name', 'ilike', 'arn%'), eb.exists(eb.selectFrom('pet').select('pet.id').whereRef('owner_id', '=', 'person.id').where('species', '=', 'lion'))])).orderBy('id').execute(), [{ id: 1 }, { id: 2 }])
  const streamed = []
  for await (const { name } of db.selectFrom('pet').select('name').orderBy('id').stream(2)) streamed.push(name)
  assert.deepEqual(streamed, ['Catto', 'Doggo', 'Hammo'])
})

test('updates and deletes', async () => {
  const { numUpdatedRows } = await db.updateTable('person').set({ last_name: 'Bauer' }).where('id', '=', 3).executeTakeFirst()
  assert.equal(numUpdatedRows, 1n)
  const renamed = await db
    .updateTable('pet')
    .from('person')
    .set((eb) => ({ name: sql`${eb.ref('person.first_name')} || '''s ' || ${eb.ref('pet.name')}` }))
    .whereRef('pet.owner_id', '=', 'person.id')
    .where('pet.species', '=', 'hamster')
    .returning('pet.name')
    .execute()
  assert.deepEqual(renamed, [{ name: "Arnold's Hammo" }])
  const removed = await db.deleteFrom('toy').using('pet').whereRef('toy.pet_id', '=', 'pet.id').where('pet.species', '=', 'hamster').returning('toy.title').execute()
  assert.deepEqual(removed, [{ title: 'ball' }])
  assert.equal((await db.deleteFrom('person').where('id', '=', 3).executeTakeFirst()).numDeletedRows, 1n)
  const merged = await db
    .mergeInto('toy')
    .using('pet', 'pet.id', 'toy.pet_id')
    .whenMatched()
    .thenUpdateSet({ title: 'bone' })
    .whenNotMatched()
    .thenInsertValues((eb) => ({ title: 'wheel', pet_id: eb.ref('pet.id') }))
    .executeTakeFirst()
  assert.equal(merged.numChangedRows, 4n)
})

test('commits and rolls back', async () => {
  await db.transaction().execute(async (trx) => {
    const { id } = await trx.insertInto('person').values({ first_name: 'Sly', gender: 'man' }).returning('id').executeTakeFirstOrThrow()
    await trx.insertInto('pet').values({ name: 'Slyth', owner_id: id, species: 'snake' }).execute()
  })
  const failing = db.transaction().setIsolationLevel('repeatable read').execute(async (trx) => {
    await trx.deleteFrom('toy').execute()
    throw new Error('changed my mind')
  })
  await assert.rejects(failing, /changed my mind/)
  assert.equal((await db.selectFrom('toy').select((eb) => eb.fn.countAll().as('n')).executeTakeFirst()).n, '4')
  const trx = await db.startTransaction().execute()
  const saved = await trx.savepoint('before').execute()
  assert.equal((await saved.selectFrom('pet').selectAll().execute()).length, 4)
  const back = await saved.rollbackToSavepoint('before').execute()
  await back.updateTable('pet').set({ price: 1 }).where('name', '=', 'Slyth').execute()
  await trx.commit().execute()
  assert.deepEqual(await db.selectFrom('pet').select('price').where('name', '=', 'Slyth').executeTakeFirst(), { price: '1.00' })
})
