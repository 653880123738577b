// Where the bytes of files are: a folder, or a bucket that all daemons reach. Keys are made of ids, never of names that people give.
// It stores an object completely or not at all. Permissions and quotas belong to the features that use it.
export { type Kept, type ObjectStore, wholeContent } from './object-store.ts'
export { objectPlace, openObjectStore } from './open-object-store.ts'
