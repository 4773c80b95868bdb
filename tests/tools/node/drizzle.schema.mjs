// The schema of drizzle.test.mjs, which drizzle-kit reads as well. Its types are those that DuckDB has: it stores neither
// lengths nor precisions, and no other types for `text` and `jsonb`.

import { relations, sql } from 'drizzle-orm'
import * as t from 'drizzle-orm/pg-core'

export const mood = t.pgEnum('mood', ['sad', 'ok', 'happy'])

export const users = t.pgTable(
  'users',
  {
    id: t.serial().primaryKey(),
    name: t.varchar().notNull(),
    email: t.varchar().notNull().unique(),
    mood: mood().notNull().default('ok'),
    active: t.boolean().notNull().default(true),
    settings: t.json().$type(),
    tags: t.varchar().array(),
    created: t.timestamp({ withTimezone: true }).notNull().defaultNow(),
  },
  (table) => [t.index('users_by_name').on(table.name)],
)

export const profiles = t.pgTable('profiles', {
  id: t.uuid().primaryKey().defaultRandom(),
  userId: t.integer('user_id').notNull().unique(),
  bio: t.varchar(),
  born: t.date(),
})

export const posts = t.pgTable(
  'posts',
  {
    id: t.bigserial({ mode: 'number' }).primaryKey(),
    title: t.varchar().notNull(),
    authorId: t.integer('author_id').notNull(),
    price: t.numeric({ precision: 10, scale: 2 }).notNull().default('0'),
    score: t.doublePrecision(),
    published: t.timestamp(),
  },
  (table) => [t.unique('title_of_author').on(table.title, table.authorId), t.check('price_is_positive', sql`${table.price} >= 0`)],
)

export const groups = t.pgTable('groups', { id: t.integer().primaryKey().generatedByDefaultAsIdentity(), name: t.varchar().notNull() })

export const usersToGroups = t.pgTable(
  'users_to_groups',
  { userId: t.integer('user_id').notNull(), groupId: t.integer('group_id').notNull() },
  (table) => [t.primaryKey({ columns: [table.userId, table.groupId] })],
)

export const happy = t.pgView('happy').as((query) => query.select().from(users).where(sql`${users.mood} = 'happy'`))

export const usersRelations = relations(users, ({ one, many }) => ({
  profile: one(profiles),
  posts: many(posts),
  groups: many(usersToGroups),
}))

export const profilesRelations = relations(profiles, ({ one }) => ({ user: one(users, { fields: [profiles.userId], references: [users.id] }) }))

export const postsRelations = relations(posts, ({ one }) => ({ author: one(users, { fields: [posts.authorId], references: [users.id] }) }))

export const groupsRelations = relations(groups, ({ many }) => ({ users: many(usersToGroups) }))

export const usersToGroupsRelations = relations(usersToGroups, ({ one }) => ({
  user: one(users, { fields: [usersToGroups.userId], references: [users.id] }),
  group: one(groups, { fields: [usersToGroups.groupId], references: [groups.id] }),
}))
