import type { DiskSpace } from '../backup/index.ts'
import type { BoxSettings, LocalBoxes } from '../boxes/index.ts'
import type { CommandJournal, OnceOnly } from '../journal/index.ts'
import type { ReviveDeps } from '../rebuild/index.ts'

export type MoveDeps = ReviveDeps &
  Readonly<{
    boxes: LocalBoxes
    journal: CommandJournal
    once: OnceOnly
    disk: DiskSpace
    settings: BoxSettings
    /** Dumps, and what is fetched, lie below it until their command is over. */
    workFolder: string
    portInUse(port: number): Promise<boolean>
  }>
