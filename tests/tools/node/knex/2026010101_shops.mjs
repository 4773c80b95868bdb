// The migrations of knex.test.mjs. Foreign keys need an ALTER TABLE, which DuckDB lacks.

export async function up(knex) {
  await knex.schema.createTable('shops', (table) => {
    table.increments('id').primary()
    table.string('name', 100).notNullable().unique()
    table.text('address')
    table.jsonb('details')
    table.boolean('open').notNullable().defaultTo(true)
    table.timestamps(true, true)
  })
  await knex.schema.createTable('sales', (table) => {
    table.bigIncrements('id')
    table.integer('shop_id').notNullable()
    table.decimal('amount', 10, 2).notNullable().defaultTo(0)
    table.enum('state', ['new', 'paid', 'sent']).defaultTo('new')
    table.uuid('token').defaultTo(knex.fn.uuid())
    table.date('day')
    table.specificType('tags', 'text[]')
    table.double('weight')
    table.binary('receipt')
    // In this order, because DuckDB adds no constraint to a table with an index.
    table.unique(['shop_id', 'day', 'state'])
    table.index(['shop_id'])
  })
}

export async function down(knex) {
  await knex.schema.dropTable('sales')
  await knex.schema.dropTable('shops')
}
