// The database that libpq's variables name.

const { PGHOST: host, PGPORT, PGUSER: user, PGDATABASE: database } = process.env

export const connection = { host, port: Number(PGPORT), user, database }
export const url = `postgres://${user}@${host}:${PGPORT}/${database}`
