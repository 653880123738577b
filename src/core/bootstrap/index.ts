// The bootstrap document: everything a client needs after a login (spec 2.6).
// Decides which event makes which user's document stale. The table names every event type, so a new type does not compile without an entry.
// Caches nothing.
export { Bootstrap, type BootstrapModule, bootstrapContract } from './contract.ts'
export { type DocumentSources, isStale } from './staleness.ts'
