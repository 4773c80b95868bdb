// node-postgres (pg) and its cursors, streams and pools, against the server that libpq's variables name.

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { setTimeout as wait } from 'node:timers/promises'
import { test } from 'node:test'

import pg from 'pg'
import copy from 'pg-copy-streams'
import Cursor from 'pg-cursor'
import QueryStream from 'pg-query-stream'

const ENDLESS = 'select count(*) from range(100000000000000) t(i) where i % 7 = 3'
// Values as they arrive.
const RAW = { getTypeParser: () => (text) => text }

async function connected(work, options = {}) {
  const client = new pg.Client({ ssl: false, ...options })
  await client.connect()
  try {
    return await work(client)
  } finally {
    await client.end()
  }
}

// The only value of a query's only row.
async function value(client, text, values) {
  const { rows } = await client.query({ text, values, rowMode: 'array' })
  assert.equal(rows.length, 1)
  return rows[0][0]
}

async function fails(promise, code) {
  const error = await promise.then(
    () => assert.fail(`no error ${code}`),
    (error) => error,
  )
  assert.equal(error.code, code, error.message)
  return error
}

test('connects', async () => {
  await connected(
    async (client) => {
      assert.match(await value(client, 'select version()'), /^PostgreSQL 15\.0 /)
      assert.equal(await value(client, 'show server_version_num'), '150000')
      assert.equal(await value(client, 'show application_name'), 'conformance')
      assert.equal(await value(client, 'select current_database()'), await value(client, 'select current_catalog'))
      assert.equal(await value(client, 'select current_schema()'), 'public')
      assert.equal(await value(client, 'show timezone'), 'UTC')
    },
    { application_name: 'conformance' },
  )
})

test('columns have their tables', async () => {
  await connected(async (client) => {
    await client.query('create temp table placed (a int, b text)')
    const { fields } = await client.query('select b, a + 1 as c from placed where a = $1', [1])
    const oid = Number(await value(client, "select oid from pg_class where relname = 'placed'"))
    assert.deepEqual(fields.map(({ tableID, columnID }) => [tableID, columnID]), [[oid, 2], [0, 0]])
  })
})

test('reads every type', async () => {
  const types = JSON.parse(readFileSync(process.env.COLONNADE_TYPES, 'utf8'))
  await connected(async (client) => {
    for (const { name, query, texts } of types) {
      const simple = await client.query({ text: query, rowMode: 'array', types: RAW })
      assert.deepEqual(simple.rows.map((row) => row[1]), texts, name)
      const prepared = await client.query({ name, text: query, rowMode: 'array', types: RAW })
      assert.deepEqual(prepared.rows.map((row) => row[1]), texts, name)
      // And with the parsers that everybody has; JSON has a null of its own.
      const parsed = await client.query({ text: query, rowMode: 'array' })
      assert.deepEqual(parsed.rows.map((row) => row[1] === null), texts.map((text) => text === null || text === 'null'), name)
    }
  })
})

test('values arrive as those of JavaScript', async () => {
  const moment = new Date('2024-02-29T01:02:03.004Z')
  await connected(async (client) => {
    for (const [expression, expected] of [
      ['true', true],
      ['-7::smallint', -7],
      ['2147483647', 2147483647],
      ['9007199254740993::bigint', '9007199254740993'],
      ['0.1::double', 0.1],
      ["'nan'::float", NaN],
      ['1.50::decimal(9, 2)', '1.50'],
      ["'käse'", 'käse'],
      [String.raw`'\x00\xFF'::blob`, Buffer.from([0, 255])],
      [String.raw`'\x00ff'::bytea`, Buffer.from([0, 255])],
      ["timestamptz '2024-02-29 01:02:03.004+00'", moment],
      ["uuid '00112233-4455-6677-8899-aabbccddeeff'", '00112233-4455-6677-8899-aabbccddeeff'],
      [`'{"a": [1, null]}'::json`, { a: [1, null] }],
      ['[1, NULL, 3]', [1, null, 3]],
      [`['a', 'b,"c', NULL, '']`, ['a', 'b,"c', null, '']],
      ['[[1, 2], [3, 4]]', [[1, 2], [3, 4]]],
      ['[0.5::double]', [0.5]],
      ["[timestamptz '2024-02-29 01:02:03.004+00']", [moment]],
      ['NULL', null],
    ]) {
      assert.deepEqual(await value(client, `select ${expression}`), expected, expression)
    }
    const interval = await value(client, "select interval '14 months 3 days 04:05:06.5'")
    assert.deepEqual({ ...interval }, { years: 1, months: 2, days: 3, hours: 4, minutes: 5, seconds: 6, milliseconds: 500 })
  })
})

test('parameters', async () => {
  const moment = new Date('2024-02-29T01:02:03.004Z')
  await connected(async (client) => {
    for (const [type, given, expected = given] of [
      ['boolean', true],
      ['integer', -7],
      ['bigint', 2n ** 62n, (2n ** 62n).toString()],
      ['double', 1e-7],
      ['decimal(38, 3)', '12345678901234567890.125'],
      ['varchar', "it's $1; \\ -- 'x'"],
      ['blob', Buffer.from([0, 1, 255])],
      ['timestamptz', moment],
      ['date', '0001-01-01', undefined],
      ['json', { a: ['x', null] }],
      ['integer[]', [1, null, 3]],
      ['varchar[]', ['a', 'b,"c\\', null, '']],
      ['integer[][]', [[1, 2], [3, 4]]],
      ['blob[]', [Buffer.from([0, 92, 255])]],
      ['uuid', '00112233-4455-6677-8899-aabbccddeeff'],
    ]) {
      const found = await value(client, `select $1::${type}`, [given])
      if (expected !== undefined) assert.deepEqual(found, type === 'date' ? found : expected, type)
      assert.equal(await value(client, `select $1::${type}`, [null]), null, type)
      assert.equal(await value(client, `select $1::${type}`, [undefined]), null, type)
    }
    assert.equal(await value(client, "select $1::date::varchar", ['0001-01-01']), '0001-01-01')
    // What the statement says of them.
    assert.equal(await value(client, 'select i + $1 from range(3) t(i) where i > $2', [10, 1]), '12')
    assert.equal(await value(client, 'select $1', ['text']), 'text')
    await fails(client.query('select $1::int', ['x']), '22P02')
    await fails(client.query('select $1::int', [1, 2]), '08P01')
    assert.equal(await value(client, 'select 1'), 1)
  })
})

test('named prepared statements', async () => {
  await connected(async (client) => {
    await client.query('create temp table named (i integer, s varchar)')
    const insert = { name: 'insert', text: 'insert into named values ($1, $2) returning i' }
    for (let i = 0; i < 20; i += 1) {
      const { rows, rowCount, command } = await client.query({ ...insert, values: [i, `s${i}`] })
      assert.deepEqual([rows, rowCount, command], [[{ i }], 1, 'INSERT'])
    }
    const find = { name: 'find', text: 'select s from named where i = $1' }
    await fails(client.query({ ...find, values: ['x'] }), '22P02')
    assert.equal(await value(client, find.text, [7]), 's7')
    for (const i of [3, 4, 3]) {
      assert.deepEqual((await client.query({ ...find, values: [i] })).rows, [{ s: `s${i}` }])
    }
    await assert.rejects(client.query({ name: 'find', text: 'select 1' }), /unique/)
    await client.query('alter table named add column extra integer')
    assert.deepEqual((await client.query({ ...find, values: [3] })).rows, [{ s: 's3' }])
  })
})

test('several statements in one string', async () => {
  await connected(async (client) => {
    const results = await client.query("select 1 as a; create temp table several as select 2 as b; select 'x' as c, 3 as d")
    assert.deepEqual(results.map(({ command }) => command), ['SELECT', 'SELECT', 'SELECT'])
    assert.deepEqual(results[2].rows, [{ c: 'x', d: 3 }])
    assert.deepEqual(results[2].fields.map(({ name, dataTypeID }) => [name, dataTypeID]), [['c', 25], ['d', 23]])
    const { rows } = await client.query('')
    assert.deepEqual(rows, [])
  })
})

test('writes', async () => {
  await connected(async (client) => {
    await client.query('create temp table written (i integer primary key, s varchar not null)')
    const count = async (text, values) => (await client.query(text, values)).rowCount
    assert.equal(await count("insert into written select i, 's' || i from range(10) t(i)"), 10)
    assert.equal(await count('update written set s = $1 where i < $2', ['x', 4]), 4)
    assert.equal(await count('delete from written where i = any($1)', [[1, 2, 99]]), 2)
    assert.equal(await count('select * from written'), 8)
    const { rows } = await client.query('update written set s = s || i where i < 4 returning i, s')
    assert.deepEqual(rows.sort((a, b) => a.i - b.i), [{ i: 0, s: 'x0' }, { i: 3, s: 'x3' }])
  })
})

test('cursors', async () => {
  await connected(async (client) => {
    const cursor = client.query(new Cursor('select i::integer as i from range($1::bigint) t(i)', [1000]))
    let seen = 0
    for (let rows; (rows = await cursor.read(300)).length > 0; seen += rows.length) {
      assert.deepEqual(rows[0], { i: seen })
    }
    assert.equal(seen, 1000)
    const abandoned = client.query(new Cursor('select * from range(1000000000)'))
    assert.equal((await abandoned.read(10)).length, 10)
    await abandoned.close()
    assert.equal(await value(client, 'select 1'), 1)
    await client.query('begin')
    const wrong = client.query(new Cursor('select 1 / (i - 5), error(i::varchar) from range(10) t(i)'))
    await assert.rejects(wrong.read(100))
    await wrong.close()
    await client.query('rollback')
    assert.equal(await value(client, 'select 1'), 1)
  })
})

test('streams of rows', async () => {
  await connected(async (client) => {
    let sum = 0
    for await (const { i } of client.query(new QueryStream('select i::integer as i from range(50000) t(i)'))) sum += i
    assert.equal(sum, (50000 * 49999) / 2)
    const stream = client.query(new QueryStream('select * from range(1000000000)', [], { batchSize: 10 }))
    for await (const _ of stream) break
    assert.equal(await value(client, 'select 1'), 1)
  })
})

test('transactions', async () => {
  await connected(async (client) => {
    await client.query('create or replace table node_transactions (i integer)')
    await connected(async (other) => {
      const seen = () => value(other, 'select count(*)::integer from node_transactions')
      await client.query('begin')
      await client.query('insert into node_transactions values ($1)', [1])
      assert.equal(await seen(), 0)
      await client.query('commit')
      assert.equal(await seen(), 1)
      await client.query('begin')
      await client.query('insert into node_transactions values (2)')
      await fails(client.query('select * from nowhere'), '42P01')
      await fails(client.query('select 1'), '25P02')
      assert.equal((await client.query('commit')).command, 'ROLLBACK')
      assert.equal(await seen(), 1)
      await client.query('begin isolation level repeatable read')
      assert.equal(await value(client, 'select count(*)::integer from node_transactions'), 1)
      await other.query('insert into node_transactions values (3)')
      assert.equal(await value(client, 'select count(*)::integer from node_transactions'), 1)
      await client.query('savepoint s')
      await fails(client.query('select * from nowhere'), '42P01')
      await client.query('rollback to savepoint s')
      assert.equal(await value(client, 'select count(*)::integer from node_transactions'), 1)
      await client.query('rollback')
      assert.equal(await seen(), 2)
      await other.query('drop table node_transactions')
    })
  })
})

test('copies in', async () => {
  await connected(async (client) => {
    await client.query('create temp table taken (i integer, s varchar)')
    const rows = function* () {
      for (let i = 0; i < 20000; i += 1) yield `${i}\ts${i}\\t\n`
    }
    const stream = client.query(copy.from('copy taken from stdin'))
    await pipeline(Readable.from(rows()), stream)
    assert.equal(stream.rowCount, 20000)
    await pipeline(Readable.from(['i,s\n', '-1,"a, ""b"""\n']), client.query(copy.from('copy taken (i, s) from stdin with (format csv, header)')))
    assert.equal(await value(client, 'select count(*)::integer from taken'), 20001)
    assert.equal(await value(client, 'select s from taken where i = -1'), 'a, "b"')
    assert.equal(await value(client, 'select s from taken where i = 7'), 's7\t')
    await fails(pipeline(Readable.from(['1\tx\n', 'y\tx\n']), client.query(copy.from('copy taken from stdin'))), '22P02')
    await fails(pipeline(Readable.from(['1\tx\n']), client.query(copy.from('copy nowhere from stdin'))), '42P01')
    // A source that breaks says CopyFail.
    const broken = new Readable({ read() { this.destroy(new Error('broken')) } })
    await assert.rejects(pipeline(broken, client.query(copy.from('copy taken from stdin'))), /broken/)
    assert.equal(await value(client, 'select count(*)::integer from taken'), 20001)
  })
})

test('copies out', async () => {
  await connected(async (client) => {
    const copied = async (text) => {
      const parts = []
      for await (const part of client.query(copy.to(text))) parts.push(part)
      return Buffer.concat(parts)
    }
    const text = (await copied("copy (select i, 's' || i, NULL from range(20000) t(i)) to stdout")).toString()
    const lines = text.split('\n')
    assert.equal(lines.length, 20001)
    assert.equal(lines[19999], '19999\ts19999\t\\N')
    assert.equal((await copied("copy (select 'a,b' as x) to stdout (format csv, header)")).toString(), 'x\n"a,b"\n')
    const binary = await copied('copy (select 7::integer) to stdout (format binary)')
    assert.deepEqual(binary.subarray(19), Buffer.from([0, 1, 0, 0, 0, 4, 0, 0, 0, 7, 255, 255]))
    await fails(copied('copy (select * from nowhere) to stdout'), '42P01')
    await assert.rejects(copied("copy (select case when i = 9000 then error('late') end from range(10000) t(i)) to stdout"), /late/)
    assert.equal(await value(client, 'select 1'), 1)
  })
})

test('cancels', async () => {
  await connected(async (client) => {
    for (let times = 0; times < 3; times += 1) {
      const query = new pg.Query(ENDLESS)
      const answer = new Promise((resolve, reject) => query.on('end', resolve).on('error', reject))
      client.query(query)
      // A request that comes before its query has no effect.
      let over = false
      const failure = fails(answer, '57014').finally(() => { over = true })
      while (!over) {
        new pg.Client({ ssl: false }).cancel(client, query)
        await wait(50)
      }
      await failure
      assert.equal(await value(client, 'select 1'), 1)
    }
  })
  const limited = { statement_timeout: 300, application_name: 'limited' }
  await connected(async (client) => {
    assert.match(await value(client, 'show statement_timeout'), /^300/)
    await fails(client.query(ENDLESS), '57014')
    assert.equal(await value(client, 'select 1'), 1)
  }, limited)
})

test('errors', async () => {
  await connected(async (client) => {
    const missing = await fails(client.query('select i\nfrom missing'), '42P01')
    assert.deepEqual([missing.severity, missing.position], ['ERROR', '15'])
    assert.match(missing.message, /missing does not exist/)
    await client.query('create temp table erroneous (i integer primary key, s varchar not null check (s <> \'no\'))')
    for (const [text, code] of [
      ['selec 1', '42601'],
      ['select nothing from erroneous', '42703'],
      ['select nothing(1)', '42883'],
      ['select 1::integer + 2147483647::integer', '22003'],
      ["select 'x'::integer", '22P02'],
      ["select '2024-02-30'::date", '22008'],
      ["insert into erroneous values (1, 'a'), (1, 'b')", '23505'],
      ['insert into erroneous values (2, NULL)', '23502'],
      ["insert into erroneous values (3, 'no')", '23514'],
      ["copy erroneous to '/tmp/file'", '42501'],
      ['select * from erroneous for update', '0A000'],
    ]) {
      await fails(client.query(text), code)
      await fails(client.query({ name: code + text, text }), code)
      assert.equal(await value(client, 'select 1'), 1)
    }
    const notices = []
    client.on('notice', ({ severity, code }) => notices.push([severity, code]))
    await client.query('commit')
    assert.deepEqual(notices, [['WARNING', '25P01']])
  })
})

test('pools', async () => {
  const pool = new pg.Pool({ max: 8, ssl: false })
  const answers = Array.from({ length: 200 }, (_, i) => pool.query('select $1::integer * 2 as double', [i]))
  assert.deepEqual((await Promise.all(answers)).map(({ rows }) => rows[0].double), Array.from({ length: 200 }, (_, i) => i * 2))
  await Promise.all(Array.from({ length: 20 }, () => fails(pool.query('select * from nowhere'), '42P01')))
  assert.ok(pool.totalCount <= 8)
  await pool.end()
})

test('questions of mappers to the catalog', async () => {
  await connected(async (client) => {
    await client.query('create table node_catalog (id integer primary key, name varchar not null, price decimal(9, 2) default 1.5)')
    // knex, Sequelize, TypeORM.
    const tables = 'select * from information_schema.tables where table_name = $1 and table_schema = current_schema()'
    assert.equal((await client.query(tables, ['node_catalog'])).rowCount, 1)
    const columns = `select column_name, data_type, is_nullable, column_default, numeric_precision, numeric_scale
      from information_schema.columns where table_schema = $1 and table_name = $2 order by ordinal_position`
    const { rows } = await client.query(columns, ['public', 'node_catalog'])
    assert.deepEqual(rows.map((row) => [row.column_name, row.is_nullable]), [['id', 'NO'], ['name', 'NO'], ['price', 'YES']])
    const types = `SELECT typname, typtype, oid, typarray FROM pg_type
      WHERE (typtype = 'b' AND typarray IS NOT NULL AND typarray != 0) OR typtype = 'e'`
    assert.ok((await client.query(types)).rows.some(({ typname, oid }) => typname === 'int4' && Number(oid) === 23))
    const schema = await client.query('SELECT * FROM current_schema()')
    assert.equal(Object.values(schema.rows[0])[0], 'public')
    const attributes = `select attname from pg_catalog.pg_attribute a join pg_catalog.pg_class c on a.attrelid = c.oid
      where c.relname = $1 and attnum > 0 and not attisdropped order by attnum`
    assert.deepEqual((await client.query(attributes, ['node_catalog'])).rows.map(({ attname }) => attname), ['id', 'name', 'price'])
    await client.query('drop table node_catalog')
  })
})

test('logs in with a password over TLS', async () => {
  const ssl = { ca: readFileSync(process.env.PGSSLROOTCERT, 'utf8') }
  for (const enableChannelBinding of [false, true]) {
    await connected(async (client) => {
      assert.equal(client.connection.stream.encrypted, true)
      assert.equal(await value(client, 'select count(*)::integer from range(100000)'), 100000)
    }, { ssl, enableChannelBinding })
  }
  await fails(new pg.Client({ ssl, password: 'wrong' }).connect(), '28P01')
  await assert.rejects(new pg.Client({ ssl: { ca: [] } }).connect(), /certificate/)
})
