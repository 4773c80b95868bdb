// TypeORM: synchronize twice, migrations, repositories, relations, the query builder and transactions.

import 'reflect-metadata'

import assert from 'node:assert/strict'
import { after, test } from 'node:test'

import { Between, DataSource, EntitySchema, ILike, In, IsNull, LessThan, Like, MoreThan, Not, Table, TableColumn, TableIndex } from 'typeorm'

import { connection } from './place.mjs'

// DuckDB adds no foreign keys to tables, and TypeORM makes all of them so.
const link = { createForeignKeyConstraints: false }

// DuckDB stores no lengths, and no other types for `text` and `jsonb`.
const User = new EntitySchema({
  name: 'User',
  tableName: 'users',
  columns: {
    id: { type: Number, primary: true, generated: true },
    name: { type: 'varchar' },
    email: { type: 'varchar', unique: true },
    age: { type: 'int', nullable: true },
    active: { type: 'boolean', default: true },
    settings: { type: 'json', nullable: true },
    tags: { type: 'varchar', array: true, nullable: true },
    mood: { type: 'enum', enum: ['sad', 'ok', 'happy'], default: 'ok' },
    created: { type: 'timestamptz', createDate: true },
    updated: { type: 'timestamptz', updateDate: true },
    deleted: { type: 'timestamptz', deleteDate: true, nullable: true },
    version: { type: 'int', version: true },
  },
  relations: {
    profile: { type: 'one-to-one', target: 'Profile', inverseSide: 'user' },
    photos: { type: 'one-to-many', target: 'Photo', inverseSide: 'user', cascade: ['insert', 'update'] },
    groups: { type: 'many-to-many', target: 'Group', inverseSide: 'users', joinTable: { name: 'users_groups' }, cascade: true, ...link },
  },
  indices: [{ name: 'users_by_name', columns: ['name', 'age'] }],
})

const Profile = new EntitySchema({
  name: 'Profile',
  columns: {
    id: { type: 'uuid', primary: true, generated: 'uuid' },
    bio: { type: 'varchar', default: '' },
    born: { type: 'date', nullable: true },
  },
  relations: { user: { type: 'one-to-one', target: 'User', inverseSide: 'profile', joinColumn: true, ...link } },
})

const Photo = new EntitySchema({
  name: 'Photo',
  columns: {
    id: { type: 'bigint', primary: true, generated: 'increment' },
    title: { type: String },
    views: { type: 'int', default: 0 },
    price: { type: 'decimal', precision: 10, scale: 2, default: 0 },
    data: { type: 'bytea', nullable: true },
    taken: { type: 'timestamp', nullable: true },
  },
  relations: { user: { type: 'many-to-one', target: 'User', inverseSide: 'photos', joinColumn: { name: 'user_id' }, ...link } },
  uniques: [{ columns: ['title', 'user'] }],
  checks: [{ expression: '"views" >= 0' }],
})

const Group = new EntitySchema({
  name: 'Group',
  columns: { id: { type: Number, primary: true, generated: 'identity', generatedIdentity: 'BY DEFAULT' }, name: { type: String } },
  relations: { users: { type: 'many-to-many', target: 'User', inverseSide: 'groups' } },
})

const { user: username, ...address } = connection
const options = { type: 'postgres', ...address, username, entities: [User, Profile, Photo, Group], logging: false }
const source = new DataSource(options)

after(() => source.destroy())

test('synchronizes, twice', async () => {
  await source.initialize()
  await source.synchronize()
  assert.deepEqual((await source.driver.createSchemaBuilder().log()).upQueries.map(({ query }) => query), [])
  await source.synchronize()
})

test('saves and finds with relations', async () => {
  const users = source.getRepository(User)
  const cooks = await source.getRepository(Group).save({ name: 'cooks' })
  const ann = await users.save({
    name: 'Ann',
    email: 'ann@x.org',
    age: 40,
    settings: { theme: 'dark', sizes: [1, 2] },
    tags: ['a', 'b "c"'],
    mood: 'happy',
    photos: [{ title: 'sea', views: 3, price: '1.50', data: Buffer.from([0, 255]), taken: new Date(2026, 0, 31, 10) }, { title: 'hills' }],
    groups: [cooks, { name: 'readers' }],
  })
  assert.deepEqual([ann.id, ann.version, ann.active, ann.photos[0].id, cooks.id], [1, 1, true, '1', 1])
  assert.ok(ann.created instanceof Date && ann.updated instanceof Date)
  await source.getRepository(Profile).save({ bio: 'a cook', born: '1985-05-17', user: ann })
  await users.save([{ name: 'Bob', email: 'bob@x.org' }, { name: 'Cem', email: 'cem@x.org', age: 20, active: false }])
  const found = await users.findOneOrFail({ where: { id: 1 }, relations: { profile: true, photos: true, groups: true }, order: { photos: { id: 'ASC' }, groups: { id: 'ASC' } } })
  assert.deepEqual(found.photos.map(({ title, views, price }) => [title, views, price]), [['sea', 3, '1.50'], ['hills', 0, '0.00']])
  assert.deepEqual([...found.photos[0].data], [0, 255])
  assert.deepEqual(found.photos[0].taken, new Date(2026, 0, 31, 10))
  assert.deepEqual([found.groups.map(({ name }) => name), found.profile.bio, found.profile.born], [['cooks', 'readers'], 'a cook', '1985-05-17'])
  assert.deepEqual([found.settings, found.tags, found.mood], [{ theme: 'dark', sizes: [1, 2] }, ['a', 'b "c"'], 'happy'])
  const photos = await source.getRepository(Photo).find({ relations: { user: { profile: true } }, where: { user: { profile: { bio: Like('%cook') } } }, order: { id: 'DESC' } })
  assert.deepEqual(photos.map(({ title, user }) => [title, user.name]), [['hills', 'Ann'], ['sea', 'Ann']])
  const [page, total] = await users.findAndCount({ relations: { photos: true }, order: { id: 'ASC' }, skip: 0, take: 2 })
  assert.deepEqual([page.map(({ name, photos }) => [name, photos.length]), total], [[['Ann', 2], ['Bob', 0]], 3])
  const separate = await users.find({ relations: { photos: true, groups: true }, relationLoadStrategy: 'query', where: { id: 1 } })
  assert.deepEqual([separate[0].photos.length, separate[0].groups.length], [2, 2])
})

test('finds by conditions', async () => {
  const users = source.getRepository(User)
  const names = async (where) => (await users.find({ select: { name: true }, where, order: { id: 'ASC' } })).map(({ name }) => name)
  assert.deepEqual(await names({ age: IsNull() }), ['Bob'])
  assert.deepEqual(await names([{ age: Between(30, 50) }, { name: ILike('c%') }]), ['Ann', 'Cem'])
  assert.deepEqual(await names({ id: In([2, 3]), active: Not(true) }), ['Cem'])
  assert.deepEqual(await names({ age: MoreThan(10), created: LessThan(new Date(Date.now() + 60_000)) }), ['Ann', 'Cem'])
  assert.equal(await users.countBy({ active: true }), 2)
  assert.equal(await users.existsBy({ name: 'Ann' }), true)
  assert.equal(await users.sum('age'), 60)
  assert.equal(await users.maximum('age', { active: true }), 40)
})

test('updates, upserts and increments', async () => {
  const users = source.getRepository(User)
  const bob = await users.findOneByOrFail({ email: 'bob@x.org' })
  bob.age = 33
  bob.settings = { theme: 'light' }
  await users.save(bob)
  assert.equal(bob.version, 2)
  assert.equal((await users.update({ name: 'Cem' }, { age: 21, tags: ['x'] })).affected, 1)
  await users.upsert([{ name: 'Robert', email: 'bob@x.org', age: 34 }, { name: 'Dov', email: 'dov@x.org' }], ['email'])
  const rows = await users.find({ select: { id: true, name: true, age: true, tags: true }, order: { id: 'ASC' } })
  assert.deepEqual(rows.map(({ name, age, tags }) => [name, age, tags]), [['Ann', 40, ['a', 'b "c"']], ['Robert', 34, null], ['Cem', 21, ['x']], ['Dov', null, null]])
  const photos = source.getRepository(Photo)
  await photos.increment({ title: 'sea' }, 'views', 2)
  assert.equal((await photos.findOneByOrFail({ title: 'sea' })).views, 5)
  await assert.rejects(users.insert({ name: 'Ann', email: 'ann@x.org' }), ({ driverError }) => driverError.code === '23505')
  await assert.rejects(photos.insert({ title: 'none', views: -1 }), ({ driverError }) => driverError.code === '23514')
})

test('builds queries', async () => {
  const counted = await source
    .createQueryBuilder(User, 'user')
    .leftJoin('user.photos', 'photo')
    .select('user.name', 'name')
    .addSelect('COUNT(photo.id)', 'photos')
    .addSelect('SUM(photo.price)', 'price')
    .groupBy('user.name')
    .having('COUNT(photo.id) > :least', { least: 0 })
    .orderBy('photos', 'DESC')
    .getRawMany()
  assert.deepEqual(counted, [{ name: 'Ann', photos: '2', price: '1.50' }])
  const mapped = await source
    .createQueryBuilder(User, 'user')
    .leftJoinAndSelect('user.photos', 'photo', 'photo.views > :views', { views: 1 })
    .where('user.id IN (:...ids)', { ids: [1, 2] })
    .andWhere((query) => `EXISTS ${query.subQuery().select('1').from(Photo, 'p').where('p.user_id = user.id').getQuery()}`)
    .orderBy('user.id')
    .take(5)
    .getMany()
  assert.deepEqual(mapped.map(({ name, photos }) => [name, photos.length]), [['Ann', 1]])
  await source.createQueryBuilder().relation(User, 'groups').of(2).add(1)
  assert.equal((await source.createQueryBuilder().relation(User, 'groups').of(2).loadMany()).length, 1)
  const inserted = await source.createQueryBuilder().insert().into(Group).values([{ name: 'a' }, { name: 'b' }]).returning('id').execute()
  assert.equal(inserted.raw.length, 2)
  const changed = await source.createQueryBuilder().update(Group).set({ name: () => "name || '!'" }).where('name IN (:...names)', { names: ['a', 'b'] }).returning(['name']).execute()
  assert.deepEqual(changed.raw.map(({ name }) => name).sort(), ['a!', 'b!'])
  const stream = await source.createQueryBuilder(Group, 'g').select('g.name', 'name').orderBy('g.id').getRawMany()
  assert.deepEqual(stream.map(({ name }) => name), ['cooks', 'readers', 'a!', 'b!'])
})

test('removes, softly as well', async () => {
  const users = source.getRepository(User)
  await users.softDelete({ name: 'Cem' })
  assert.equal(await users.count(), 3)
  assert.equal(await users.count({ withDeleted: true }), 4)
  await users.restore({ name: 'Cem' })
  assert.equal(await users.count(), 4)
  await users.remove(await users.findOneByOrFail({ name: 'Dov' }))
  assert.equal((await source.getRepository(Photo).delete({ title: 'hills' })).affected, 1)
  const ann = await users.findOneOrFail({ where: { id: 1 }, relations: { groups: true } })
  ann.groups = ann.groups.filter(({ name }) => name === 'cooks')
  await users.save(ann)
  assert.deepEqual(await source.query('select count(*)::int as n from users_groups where "usersId" = $1', [1]), [{ n: 1 }])
})

test('commits, rolls back and nests', async () => {
  await source.transaction(async (manager) => {
    await manager.save(Group, { name: 'kept' })
    await manager.transaction((nested) => nested.save(Group, { name: 'nested' }))
  })
  await assert.rejects(
    source.transaction('REPEATABLE READ', async (manager) => {
      await manager.delete(Group, { name: 'kept' })
      throw new Error('changed my mind')
    }),
    /changed my mind/,
  )
  const runner = source.createQueryRunner()
  await runner.startTransaction()
  await runner.manager.insert(Group, { name: 'lost' })
  await runner.rollbackTransaction()
  await runner.release()
  const names = (await source.getRepository(Group).find({ order: { id: 'ASC' } })).map(({ name }) => name)
  assert.deepEqual(names.slice(-2), ['kept', 'nested'])
})

class First1700000000001 {
  async up(runner) {
    await runner.createTable(
      new Table({
        name: 'questions',
        columns: [
          { name: 'id', type: 'int', isPrimary: true, isGenerated: true, generationStrategy: 'increment' },
          { name: 'name', type: 'varchar', length: '200', isNullable: false },
          { name: 'asked', type: 'timestamp', default: 'now()' },
        ],
      }),
      true,
    )
  }

  async down(runner) {
    await runner.dropTable('questions')
  }
}

class Second1700000000002 {
  async up(runner) {
    await runner.addColumn('questions', new TableColumn({ name: 'stars', type: 'int', default: 3 }))
    await runner.renameColumn('questions', 'name', 'text')
    await runner.query(`INSERT INTO questions (text) VALUES ('why?')`)
    await runner.createIndex('questions', new TableIndex({ name: 'questions_by_text', columnNames: ['text'] }))
  }

  async down(runner) {
    await runner.dropIndex('questions', 'questions_by_text')
    await runner.renameColumn('questions', 'text', 'name')
    await runner.dropColumn('questions', 'stars')
  }
}

test('migrates up, again, down and up', async () => {
  const migrating = await new DataSource({ ...options, entities: [], migrations: [First1700000000001, Second1700000000002] }).initialize()
  try {
    assert.equal(await migrating.showMigrations(), true)
    assert.deepEqual((await migrating.runMigrations()).map(({ name }) => name), ['First1700000000001', 'Second1700000000002'])
    assert.deepEqual(await migrating.runMigrations({ transaction: 'each' }), [])
    await migrating.undoLastMigration()
    assert.equal((await migrating.runMigrations({ transaction: 'each' })).length, 1)
    assert.deepEqual(await migrating.query('select text, stars from questions'), [{ text: 'why?', stars: 3 }, { text: 'why?', stars: 3 }])
    const runner = migrating.createQueryRunner()
    const table = await runner.getTable('questions')
    assert.deepEqual(table.columns.map(({ name, type, isNullable, isGenerated }) => [name, type, isNullable, isGenerated]), [
      ['id', 'integer', false, true],
      ['text', 'character varying', false, false],
      ['asked', 'timestamp without time zone', false, false],
      ['stars', 'integer', false, false],
    ])
    assert.deepEqual(table.indices.map(({ name, columnNames }) => [name, columnNames]), [['questions_by_text', ['text']]])
    await runner.release()
  } finally {
    await migrating.destroy()
  }
})

test('synchronizes changes, and drops', async () => {
  const Wider = new EntitySchema({ ...Group.options, columns: { ...Group.options.columns, note: { type: 'varchar', nullable: true }, size: { type: 'int', default: 1 } }, relations: {} })
  const wider = await new DataSource({ ...options, entities: [Wider], synchronize: true }).initialize()
  try {
    assert.deepEqual(await wider.getRepository(Wider).findOne({ where: { name: 'cooks' } }), { id: 1, name: 'cooks', note: null, size: 1 })
  } finally {
    await wider.destroy()
  }
  await source.dropDatabase()
  assert.deepEqual(await source.query(`select table_name from information_schema.tables where table_schema = 'public'`), [])
})
