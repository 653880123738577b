// The daemon's database: one schema on SQLite and PostgreSQL, ownership by leases, ordered streams, follow-up work.
// Rooms bring their tables and migrations; no room's rule lives here. Inside `db.transaction()` use only the `tx`:
// SQLite has one connection, and a query on `db` there would wait for its own transaction for ever.
export { yieldToEventLoop } from './breathe.ts'
export { contains } from './containing.ts'
export type { Db, DbOrTx, Tx } from './database.ts'
export {
  dialectOf,
  forNoKeyUpdate,
  forUpdate,
  inBatches,
  isUniqueViolation,
  listenForCommits,
  lockExclusive,
  lockShared,
  type OpenDatabase,
  openDatabase,
  skipLocked,
} from './dialects.ts'
export { enqueueJob, type JobHandler } from './enqueue-job.ts'
export { acquireLease, holdLease, type Lease, releaseLease, releaseOwnLease, renewLease } from './leases.ts'
export { migrate, migrationState } from './migrate.ts'
export { noAnswerOf } from './no-answer.ts'
export { type PlaceOf, placesFor, prepared, preparedFor, preparedList, preparedRows } from './prepared.ts'
export { onOneConnection } from './say.ts'
export { appendEvent, appendEvents, eventsAfter, headOf, nextSeq, type StoredEvent, toEvent } from './streams.ts'
