// Where the bytes of files are: a folder, or a bucket that all daemons reach. Keys are made of ids, never of names that people give.
// It keeps an object whole or not at all. It knows nobody who may read one and counts against no quota: that is decided by who keeps it.
export type { Kept, ObjectStore } from './object-store.ts'
export { objectPlace, openObjectStore } from './open-object-store.ts'
