// The bootstrap document: what a client has to know after a login (spec 2.6), and which stored events make whose document stale.
// Every type of event stands in that table, so none can be added without saying what it does to documents. It keeps no document.
export { Bootstrap, type BootstrapModule, bootstrapContract } from './contract.ts'
export { isStale, type MadeOf } from './staleness.ts'
