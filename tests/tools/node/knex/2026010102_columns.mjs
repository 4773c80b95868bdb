export async function up(knex) {
  await knex.schema.alterTable('shops', (table) => {
    table.string('city').defaultTo('Oslo')
    table.renameColumn('address', 'street')
  })
  await knex.schema.createView('open_shops', (view) => {
    view.columns(['id', 'name'])
    view.as(knex('shops').select('id', 'name').where('open', true))
  })
  await knex.schema.createTable('notes', (table) => {
    table.increments()
    table.text('note').comment('what was said')
  })
  await knex.schema.renameTable('notes', 'remarks')
}

export async function down(knex) {
  await knex.schema.dropView('open_shops')
  await knex.schema.dropTableIfExists('remarks')
  await knex.schema.alterTable('shops', (table) => {
    table.dropColumn('city')
    table.renameColumn('street', 'address')
  })
}
