// The daemon's database: one schema on SQLite and PostgreSQL, leases, ordered event streams, enqueueing of jobs.
// Features bring their tables and migrations; no rule of a feature is here. Inside `db.transaction()` use only the `tx`: SQLite has one
// connection, so a query on `db` there waits for its own transaction forever.
export { listenForCommits } from './commit-notifications.ts'
export type { Db, DbOrTx, Tx, WithTx } from './database.ts'
export {
  contains,
  type DialectName,
  deleteInBatches,
  deleteSome,
  dialectOf,
  forNoKeyUpdate,
  forUpdate,
  inBatches,
  isUniqueViolation,
  jsonArrayHas,
  jsonText,
  lockExclusive,
  lockShared,
  skipLocked,
} from './dialects.ts'
export { enqueueJob, insertJobs, type JobHandler } from './enqueue-job.ts'
export { acquireLease, holdLease, type Lease, releaseLease, releaseOwnLease, renewLease, renewLeases } from './leases.ts'
export { knownMigrations, migrate, migrationState, refusalOf } from './migrate.ts'
export { newestFirst } from './newest-first.ts'
export { noAnswerOf } from './no-answer.ts'
export { assertDatabaseUrl, type OpenDatabase, openDatabase } from './open-database.ts'
export { postgresEnvironment } from './postgres.ts'
export { readRow } from './read-row.ts'
export {
  appendEvent,
  appendEvents,
  deleteStream,
  eventsAfter,
  headOf,
  nextSeq,
  type StoredEvent,
  toEvent,
  writeWithEvents,
} from './streams.ts'
export { whileRenewed } from './while-renewed.ts'
export { deleteRows, executeWrites, insertRows, updateRows, type Write } from './writes.ts'
