export async function seed(knex) {
  await knex('sales').del()
  await knex('shops').del()
  await knex('shops').insert([
    { id: 101, name: 'Books', street: 'High Street 1', details: { floors: 2 } },
    { id: 102, name: 'Bread', street: "Baker's Lane", open: false },
  ])
}
