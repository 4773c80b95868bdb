// Drizzle: drizzle-kit's push, generate, migrate and pull, and Drizzle ORM's queries by node-postgres.

import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { after, test } from 'node:test'

import { and, asc, avg, between, count, desc, eq, exists, gt, ilike, inArray, isNull, ne, not, or, sql, sum } from 'drizzle-orm'
import { drizzle } from 'drizzle-orm/node-postgres'
import { migrate } from 'drizzle-orm/node-postgres/migrator'
import pg from 'pg'

import * as schema from './drizzle.schema.mjs'
import { connection } from './place.mjs'

const { groups, happy, posts, profiles, users, usersToGroups } = schema
const pool = new pg.Pool({ ...connection, max: 4 })
const db = drizzle(pool, { schema })
const scratch = process.env.SCRATCH
const migrations = `${scratch}/migrations`

after(() => pool.end())

function kit(...words) {
  const env = { ...process.env, MIGRATIONS: migrations, NO_COLOR: '1' }
  return execFileSync(process.execPath, ['node_modules/drizzle-kit/bin.cjs', ...words, '--config', 'drizzle.config.mjs'], { env, encoding: 'utf8', timeout: 60_000, stdio: ['ignore', 'pipe', 'pipe'] })
}

async function reset() {
  await db.execute(sql`drop schema if exists drizzle cascade`)
  await db.execute(sql`drop view if exists happy`)
  for (const name of ['users', 'profiles', 'posts', 'groups', 'users_to_groups']) await db.execute(sql`drop table if exists ${sql.identifier(name)}`)
  await db.execute(sql`drop type if exists mood`)
}

test('pushes the schema, twice', async () => {
  try {
    assert.match(kit('push', '--force'), /Changes applied/)
    assert.match(kit('push', '--force'), /No changes detected/)
  } finally {
    await reset()
  }
})

test('generates and migrates, twice', async () => {
  kit('generate', '--name', 'first')
  assert.deepEqual(readdirSync(migrations).filter((name) => name.endsWith('.sql')), ['0000_first.sql'])
  kit('migrate')
  kit('migrate')
  await migrate(db, { migrationsFolder: migrations })
  const { rows } = await db.execute(sql`select count(*)::int as n from drizzle.__drizzle_migrations`)
  assert.deepEqual(rows, [{ n: 1 }])
})

test('pulls the schema', () => {
  const env = { ...process.env, MIGRATIONS: `${scratch}/pulled` }
  execFileSync(process.execPath, ['node_modules/drizzle-kit/bin.cjs', 'pull', '--config', 'drizzle.config.mjs'], { env, encoding: 'utf8', timeout: 60_000, stdio: ['ignore', 'pipe', 'pipe'] })
  const text = readFileSync(`${scratch}/pulled/schema.ts`, 'utf8')
  for (const part of ['export const users = pgTable("users"', 'pgEnum("mood"', 'serial().primaryKey()', 'primaryKey({ columns: [table.userId, table.groupId]', 'export const happy = pgView("happy"', 'numeric({ precision: 10, scale:  2 })']) {
    assert.ok(text.includes(part), `${part} is not in\n${text}`)
  }
})

test('inserts and upserts', async () => {
  const rows = await db
    .insert(users)
    .values([
      { name: 'Ann', email: 'ann@x.org', mood: 'happy', settings: { theme: 'dark', sizes: [1, 2] }, tags: ['a', 'b "c"'] },
      { name: 'Bob', email: 'bob@x.org' },
      { name: 'Cem', email: 'cem@x.org', active: false, mood: 'sad' },
    ])
    .returning()
  assert.deepEqual(rows.map(({ id, mood, tags, active }) => [id, mood, tags, active]), [
    [1, 'happy', ['a', 'b "c"'], true],
    [2, 'ok', null, true],
    [3, 'sad', null, false],
  ])
  assert.ok(rows[0].created instanceof Date)
  assert.deepEqual(rows[0].settings, { theme: 'dark', sizes: [1, 2] })
  await db.insert(profiles).values({ userId: 1, bio: 'a cook', born: '1990-05-17' })
  const published = new Date('2026-01-31T10:00:00.123Z')
  await db.insert(posts).values([
    { title: 'one', authorId: 1, price: '1.50', published },
    { title: 'two', authorId: 1, price: '2.25', score: 0.1 },
    { title: 'three', authorId: 2 },
  ])
  assert.deepEqual((await db.select({ published: posts.published }).from(posts).where(eq(posts.id, 1)))[0].published, published)
  await db.insert(groups).values([{ name: 'cooks' }, { name: 'readers' }])
  await db.insert(usersToGroups).values([{ userId: 1, groupId: 1 }, { userId: 1, groupId: 2 }, { userId: 2, groupId: 2 }])
  const [again] = await db
    .insert(users)
    .values({ name: 'Robert', email: 'bob@x.org', mood: 'happy' })
    .onConflictDoUpdate({ target: users.email, set: { name: sql`excluded.name`, mood: 'happy' } })
    .returning({ id: users.id, name: users.name })
  assert.deepEqual(again, { id: 2, name: 'Robert' })
  await db.insert(usersToGroups).values({ userId: 1, groupId: 1 }).onConflictDoNothing()
  await assert.rejects(db.insert(posts).values({ title: 'one', authorId: 1 }), ({ cause }) => cause.code === '23505')
  await assert.rejects(db.insert(posts).values({ title: 'free', authorId: 1, price: '-1' }), ({ cause }) => cause.code === '23514')
})

test('finds with relations', async () => {
  const found = await db.query.users.findMany({
    columns: { id: true, name: true },
    with: {
      profile: { columns: { bio: true } },
      posts: { columns: { title: true }, orderBy: (posts, { asc }) => [asc(posts.id)] },
      groups: { columns: {}, with: { group: { columns: { name: true } } }, orderBy: (link, { asc }) => [asc(link.groupId)] },
    },
    where: (users, { lt }) => lt(users.id, 3),
    orderBy: (users, { asc }) => [asc(users.id)],
  })
  assert.deepEqual(found, [
    { id: 1, name: 'Ann', profile: { bio: 'a cook' }, posts: [{ title: 'one' }, { title: 'two' }], groups: [{ group: { name: 'cooks' } }, { group: { name: 'readers' } }] },
    { id: 2, name: 'Robert', profile: null, posts: [{ title: 'three' }], groups: [{ group: { name: 'readers' } }] },
  ])
})

test('finds the first of each', async () => {
  const found = await db.query.users.findMany({ with: { posts: { limit: 1, orderBy: (posts, { desc }) => [desc(posts.price)] } }, orderBy: asc(users.id), limit: 2 })
  assert.deepEqual(found.map(({ posts }) => posts.map(({ title, price }) => [title, Number(price)])), [[['two', 2.25]], [['three', 0]]])
  const first = await db.query.posts.findFirst({ with: { author: true }, where: eq(posts.title, 'two'), extras: { loud: sql`upper(${posts.title})`.as('loud') } })
  assert.deepEqual([first.author.name, first.loud, first.score], ['Ann', 'TWO', 0.1])
})

test('selects, joins and groups', async () => {
  const totals = await db
    .select({ name: users.name, posts: count(posts.id), price: sum(posts.price), score: avg(posts.score) })
    .from(users)
    .leftJoin(posts, eq(posts.authorId, users.id))
    .groupBy(users.name)
    .having(({ posts }) => gt(posts, 0))
    .orderBy(desc(count(posts.id)), users.name)
  assert.deepEqual(totals.map(({ name, posts, price, score }) => [name, posts, price, score && Number(score)]), [['Ann', 2, '3.75', 0.1], ['Robert', 1, '0.00', null]])
  const joined = await db.select().from(posts).innerJoin(users, eq(posts.authorId, users.id)).where(eq(users.id, 2))
  assert.deepEqual([joined[0].posts.title, joined[0].users.email], ['three', 'bob@x.org'])
  const filtered = db
    .select({ id: users.id })
    .from(users)
    .where(and(or(ilike(users.name, 'ROB%'), inArray(users.id, [1, 3])), not(eq(users.mood, 'sad')), ne(users.id, 9), between(users.id, 1, 3)))
    .orderBy(users.id)
  assert.deepEqual(await filtered.limit(1).offset(1), [{ id: 2 }])
  assert.deepEqual(await db.select({ id: users.id }).from(users).where(and(isNull(users.settings), exists(db.select().from(posts).where(eq(posts.authorId, users.id))))), [{ id: 2 }])
  const best = db.$with('best').as(db.select({ author: posts.authorId, most: sql`max(${posts.price})`.as('most') }).from(posts).groupBy(posts.authorId))
  assert.deepEqual(await db.with(best).select().from(best).orderBy(best.author), [{ author: 1, most: '2.25' }, { author: 2, most: '0.00' }])
  assert.deepEqual((await db.select().from(happy).orderBy(happy.id)).map(({ name }) => name), ['Ann', 'Robert'])
  assert.equal(await db.$count(users, eq(users.active, true)), 2)
  assert.deepEqual(await db.selectDistinctOn([posts.authorId], { title: posts.title }).from(posts).orderBy(posts.authorId, desc(posts.price)), [{ title: 'two' }, { title: 'three' }])
  const prepared = db.select({ name: users.name }).from(users).where(eq(users.id, sql.placeholder('id'))).prepare('by_id')
  assert.deepEqual([await prepared.execute({ id: 1 }), await prepared.execute({ id: 3 })], [[{ name: 'Ann' }], [{ name: 'Cem' }]])
  assert.deepEqual(await db.select({ theme: sql`${users.settings}->>'theme'` }).from(users).where(eq(users.id, 1)), [{ theme: 'dark' }])
})

test('updates and deletes', async () => {
  const changed = await db.update(users).set({ mood: 'ok', settings: { theme: 'light' }, tags: ['z'] }).where(eq(users.id, 1)).returning({ id: users.id, settings: users.settings, tags: users.tags })
  assert.deepEqual(changed, [{ id: 1, settings: { theme: 'light' }, tags: ['z'] }])
  await db.update(posts).set({ price: sql`${posts.price} * 2` }).from(users).where(and(eq(posts.authorId, users.id), eq(users.name, 'Ann')))
  assert.deepEqual(await db.select({ price: posts.price }).from(posts).orderBy(posts.id), [{ price: '3.00' }, { price: '4.50' }, { price: '0.00' }])
  assert.deepEqual(await db.delete(posts).where(eq(posts.title, 'three')).returning({ id: posts.id }), [{ id: 3 }])
})

test('commits, rolls back and nests', async () => {
  await db.transaction(async (tx) => {
    const [{ id }] = await tx.insert(users).values({ name: 'Dov', email: 'dov@x.org' }).returning({ id: users.id })
    await tx.transaction((nested) => nested.insert(posts).values({ title: 'four', authorId: id }))
  })
  await assert.rejects(db.transaction(async (tx) => {
    await tx.delete(posts)
    tx.rollback()
  }, { isolationLevel: 'repeatable read', accessMode: 'read write' }), /Rollback/)
  assert.equal(await db.$count(posts), 3)
})
