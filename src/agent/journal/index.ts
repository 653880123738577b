// What an agent remembers of its commands: intents and outcomes written before the next act, results until the daemon has them,
// one command at a time per box, and the processes that a killed agent left behind.
// It knows nothing of what the commands do, decides nothing, and never holds a secret.
export { fileBallast, isFullDisk, withBallast } from './ballast.ts'
export { type BoxLock, type BoxLocks, fileLocks, memoryLocks } from './box-lock.ts'
export { type CommandJournal, type CommandRecord, type JournalEntry, openJournal } from './journal.ts'
export { type OnceOnly, onceOnly } from './once-only.ts'
export { readRecords } from './read-records.ts'
export { asideFolder, folderShelf, memoryShelf, type Shelf } from './shelf.ts'
export { type Stopwatch, stopwatch } from './stopwatch.ts'
export { endSurvivors, ownedEnvironment } from './survivors.ts'
