// The agent's memory of its commands: intents and outcomes written before the next act, and results until the daemon has them. Also one command
// at a time per box, the disk reserve, and the processes that a killed agent left behind.
// It does not know what the commands do, decides nothing, and never stores a secret.

export type { CommandRecord, JournalEntry } from './command-record.ts'
export { fileDiskReserve, isFullDisk, withDiskReserve } from './disk-reserve.ts'
export { damagedFolder, type FileStore, folderStore, memoryStore } from './file-store.ts'
export { type CommandJournal, openJournal, type Stopwatch, stopwatch } from './journal.ts'
export { type BoxLock, type BoxLocks, fileLocks, memoryLocks, type OnceOnly, onceOnly } from './once-only.ts'
export { readRecords } from './record-text.ts'
export { endSurvivors, ownedEnvironment } from './survivors.ts'
