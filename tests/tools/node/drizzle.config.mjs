import { url } from './place.mjs'

export default { dialect: 'postgresql', schema: './drizzle.schema.mjs', out: process.env.MIGRATIONS, dbCredentials: { url } }
