// MikroORM: its schema generator twice, migrations, and entity manager.

import assert from 'node:assert/strict'
import { symlinkSync } from 'node:fs'
import { after, before, test } from 'node:test'

import { Migrator } from '@mikro-orm/migrations'
import { Collection, EntitySchema, MikroORM, raw, wrap } from '@mikro-orm/postgresql'

import { connection } from './place.mjs'

class Author {
  books = new Collection(this)
  constructor(name, email) {
    this.name = name
    this.email = email
  }
}

class Book {
  tags = new Collection(this)
  constructor(title, author) {
    this.title = title
    this.author = author
  }
}

class Tag {
  books = new Collection(this)
  constructor(name) {
    this.name = name
  }
}

// DuckDB adds no foreign keys and no checks to tables, and MikroORM makes all of them so.
const schemaGenerator = { createForeignKeyConstraints: false, disableForeignKeys: false }

// Strings are `varchar`, because DuckDB stores neither lengths nor another type for `text`.
const AuthorSchema = new EntitySchema({
  class: Author,
  tableName: 'author',
  properties: {
    id: { type: 'number', primary: true },
    name: { type: 'string', columnType: 'varchar', index: true },
    email: { type: 'string', columnType: 'varchar', unique: true },
    age: { type: 'smallint', nullable: true },
    active: { type: 'boolean', default: true },
    settings: { type: 'json', nullable: true },
    identities: { type: 'string[]', nullable: true },
    mood: { enum: true, nativeEnumName: 'mood', items: ['sad', 'ok', 'happy'], default: 'ok' },
    born: { type: 'date', nullable: true },
    createdAt: { type: 'datetime', onCreate: () => new Date(), length: 6 },
    version: { type: 'number', version: true },
    books: { kind: '1:m', entity: () => Book, mappedBy: 'author' },
  },
})

const BookSchema = new EntitySchema({
  class: Book,
  properties: {
    uuid: { type: 'uuid', primary: true, defaultRaw: 'gen_random_uuid()' },
    title: { type: 'string', columnType: 'varchar' },
    price: { type: 'decimal', precision: 10, scale: 2, default: 0 },
    pages: { type: 'bigint', nullable: true },
    cover: { type: 'blob', nullable: true },
    score: { type: 'double', nullable: true },
    author: { kind: 'm:1', entity: () => Author },
    tags: { kind: 'm:n', entity: () => Tag, inversedBy: 'books', fixedOrder: true },
  },
  uniques: [{ properties: ['title', 'author'] }],
})

const TagSchema = new EntitySchema({
  class: Tag,
  properties: { id: { type: 'number', primary: true }, name: { type: 'string', columnType: 'varchar', unique: true }, books: { kind: 'm:n', entity: () => Book, mappedBy: 'tags' } },
})

const options = {
  host: connection.host,
  port: connection.port,
  user: connection.user,
  dbName: connection.database,
  entities: [AuthorSchema, BookSchema, TagSchema],
  extensions: [Migrator],
  migrations: { path: `${process.env.SCRATCH}/migrations`, emit: 'js', snapshot: false, disableForeignKeys: false },
  schemaGenerator,
  debug: process.env.DEBUG_SQL === '1',
}

let orm

before(async () => {
  // For the imports of the migrations.
  symlinkSync(`${import.meta.dirname}/node_modules`, `${process.env.SCRATCH}/node_modules`)
  orm = await MikroORM.init(options)
})

after(() => orm.close(true))

test('creates the schema and updates it, twice', async () => {
  await orm.schema.update()
  assert.equal(await orm.schema.getUpdateSchemaSQL(), '')
  await orm.schema.update()
  await orm.schema.drop()
  await orm.schema.create()
})

test('persists and populates', async () => {
  const em = orm.em.fork()
  const ann = new Author('Ann', 'ann@x.org')
  Object.assign(ann, { age: 40, settings: { theme: 'dark', sizes: [1, 2] }, identities: ['a', 'b "c"'], mood: 'happy', born: '1985-05-17' })
  const sea = new Book('The sea', ann)
  Object.assign(sea, { price: '1.50', pages: 300n, cover: Buffer.from([0, 255]), score: 0.1 })
  const hills = new Book('The hills', ann)
  sea.tags.add(new Tag('water'), new Tag('blue'))
  hills.tags.add(sea.tags[0])
  em.persist([sea, hills, new Author('Bob', 'bob@x.org')])
  await em.flush()
  assert.deepEqual([ann.id, ann.version, sea.uuid.length], [1, 1, 36])
  const other = orm.em.fork()
  const [found] = await other.find(Author, { name: 'Ann' }, { populate: ['books.tags'], orderBy: { books: { title: 'desc' } } })
  assert.deepEqual(found.books.getItems().map(({ title, price, tags }) => [title, price, tags.getItems().map(({ name }) => name)]), [
    ['The sea', '1.50', ['water', 'blue']],
    ['The hills', '0.00', ['water']],
  ])
  assert.deepEqual([found.settings, found.identities, found.mood, found.born, found.age], [{ theme: 'dark', sizes: [1, 2] }, ['a', 'b "c"'], 'happy', '1985-05-17', 40])
  assert.deepEqual([...found.books[0].cover, found.books[0].score, found.books[0].pages], [0, 255, 0.1, 300n])
  assert.ok(found.createdAt instanceof Date)
  const joined = await orm.em.fork().findOneOrFail(Author, 1, { populate: ['books'], strategy: 'joined' })
  assert.equal(joined.books.length, 2)
})

test('finds by conditions', async () => {
  const em = orm.em.fork()
  const titles = async (where, options) => (await em.find(Book, where, { orderBy: { title: 'asc' }, ...options })).map(({ title }) => title)
  assert.deepEqual(await titles({ author: { name: { $like: 'A%' } }, price: { $gt: 1 } }), ['The sea'])
  assert.deepEqual(await titles({ tags: { name: { $in: ['blue', 'red'] } } }), ['The sea'])
  assert.deepEqual(await titles({ $or: [{ title: { $ilike: '%HILLS' } }, { score: { $ne: null } }] }), ['The hills', 'The sea'])
  assert.deepEqual(await titles({ author: { settings: { theme: 'dark' } } }), ['The hills', 'The sea'])
  assert.deepEqual(await titles({ author: { identities: { $contains: ['a'] } } }, { limit: 1, offset: 1 }), ['The sea'])
  const [page, total] = await em.findAndCount(Book, { author: { books: { title: /sea$/ } } }, { limit: 1, orderBy: { title: 'desc' } })
  assert.deepEqual([page[0].title, total], ['The sea', 2])
  assert.equal(await em.count(Author, { books: { $some: { price: { $gte: '1.5' } } } }), 1)
  assert.equal(await em.count(Author, { books: { $none: {} } }), 1)
})

test('updates, upserts and removes', async () => {
  const em = orm.em.fork()
  const ann = await em.findOneOrFail(Author, { email: 'ann@x.org' }, { populate: ['books'] })
  ann.name = 'Anna'
  ann.settings.theme = 'light'
  for (const book of ann.books) book.pages = 100n
  await em.flush()
  assert.equal(ann.version, 2)
  assert.equal(await em.nativeUpdate(Author, { name: 'Bob' }, { age: 33 }), 1)
  const bob = await em.upsert(Author, { email: 'bob@x.org', name: 'Robert', createdAt: new Date() })
  assert.deepEqual([bob.id, bob.name, bob.age], [2, 'Robert', 33])
  const several = await em.upsertMany(Tag, [{ name: 'water' }, { name: 'green' }])
  assert.deepEqual(several.map(({ name }) => name), ['water', 'green'])
  assert.equal(await em.nativeDelete(Tag, { name: 'green' }), 1)
  await assert.rejects(em.insert(Author, { email: 'bob@x.org', name: 'Bob', createdAt: new Date() }), { name: 'UniqueConstraintViolationException' })
  await assert.rejects(em.insert(Author, { email: 'x', name: null, createdAt: new Date() }), { name: 'NotNullConstraintViolationException' })
  const hills = await em.findOneOrFail(Book, { title: 'The hills' }, { populate: ['tags'] })
  hills.tags.removeAll()
  em.remove(hills)
  await em.flush()
  assert.equal(await em.count(Book), 1)
  wrap(bob).assign({ mood: 'sad' })
  await em.flush()
  assert.equal((await orm.em.fork().findOneOrFail(Author, 2)).mood, 'sad')
})

test('builds queries', async () => {
  const em = orm.em.fork()
  const rows = await em
    .createQueryBuilder(Author, 'a')
    .select(['a.name', raw('count(b.uuid) as books'), raw('sum(b.price) as price')])
    .leftJoin('a.books', 'b')
    .groupBy(['a.id', 'a.name'])
    .orderBy({ 'a.name': 'asc' })
    .execute('all', false)
  assert.deepEqual(rows.map((row) => ({ ...row })), [{ name: 'Anna', books: '1', price: '1.50' }, { name: 'Robert', books: '0', price: null }])
  const inner = em.createQueryBuilder(Book, 'b').select('b.author')
  const found = await em.createQueryBuilder(Author, 'a').select('*').where({ id: { $in: inner } }).getResultList()
  assert.deepEqual(found.map(({ name }) => name), ['Anna'])
  const [{ one }] = await em.execute('select ?::int + 1 as one', [0])
  assert.equal(one, 1)
})

test('commits, rolls back and nests', async () => {
  const em = orm.em.fork()
  await em.transactional(async (em) => {
    em.persist(new Author('Cem', 'cem@x.org'))
    await em.transactional(async (em) => {
      em.persist(new Author('Dov', 'dov@x.org'))
    })
  })
  const failing = em.transactional(async (em) => {
    em.persist(new Author('Eve', 'eve@x.org'))
    await em.flush()
    throw new Error('changed my mind')
  }, { isolationLevel: 'repeatable read' })
  await assert.rejects(failing, /changed my mind/)
  assert.deepEqual((await orm.em.fork().find(Author, {}, { orderBy: { id: 1 } })).map(({ name }) => name), ['Anna', 'Robert', 'Cem', 'Dov'])
})

test('migrates up, again, down and up', async () => {
  await orm.schema.drop()
  const { fileName } = await orm.migrator.create()
  assert.equal((await orm.migrator.getPending()).length, 1)
  assert.deepEqual((await orm.migrator.up()).map(({ name }) => `${name}.js`), [fileName])
  assert.deepEqual(await orm.migrator.up(), [])
  assert.equal((await orm.migrator.getExecuted()).length, 1)
  assert.equal(await orm.migrator.checkSchema(), false)
  await orm.migrator.down()
  await orm.migrator.up()
  const em = orm.em.fork()
  em.persist(new Author('Ann', 'ann@x.org'))
  await em.flush()
  assert.equal(await em.count(Author), 1)
})

test('updates a changed schema', async () => {
  const Wider = new EntitySchema({ name: 'Tag', tableName: 'tag', properties: { id: { type: 'number', primary: true }, name: { type: 'string', columnType: 'varchar', unique: true }, note: { type: 'string', columnType: 'varchar', nullable: true }, size: { type: 'integer', default: 1 } } })
  const wider = await MikroORM.init({ ...options, entities: [Wider] })
  try {
    await wider.schema.update({ safe: true, dropTables: false })
    await wider.em.fork().insert('Tag', { name: 'wide' })
    const found = await wider.em.fork().findOneOrFail('Tag', { name: 'wide' })
    assert.deepEqual([found.note, found.size], [null, 1])
  } finally {
    await wider.close()
  }
})
