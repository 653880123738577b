import type { Clock, Random } from '../../../core/kit/index.ts'
import type { OwnSpace } from '../../../core/spaces/index.ts'
import type { Logger } from '../../../node/index.ts'
import type { Db, DbOrTx } from '../../db/index.ts'
import type { storeFile } from '../../files/index.ts'
import type { StoredReport, storeReport } from '../../reports/index.ts'

type User = Readonly<{ tenantId: string; userId: string }>

/** Dependencies of a step beside its transaction. */
export type StepDeps = Readonly<{
  clock: Clock
  random: Random
  /** Zone of tenants that have none of their own; default: UTC. */
  timeZone?: string
}>

/** Dependencies of the whole feature; each verb takes the part that it uses. */
export type RunsDeps = StepDeps &
  Readonly<{
    db: Db
    log: Logger
    spacesOf: (db: DbOrTx, user: User) => Promise<readonly OwnSpace[]>
    /** Sends a message as the platform and returns its event id. The same transaction id sends nothing again. */
    sendMessage: (message: RunMessage) => Promise<string>
    /** Stores a report as files of its space; the same key stores it once. */
    storeReport: (report: Parameters<typeof storeReport>[1]) => Promise<StoredReport>
    /** Stores a file of the platform in a space; the same id stores it once. */
    storeFile: (file: Parameters<typeof storeFile>[1]) => Promise<Readonly<{ id: string }>>
    /** Erases files of forms for good; only those that this user uploaded, since then. */
    eraseFiles: (tenantId: string, files: readonly Readonly<{ id: string; uploaded: Uploaded }>[]) => Promise<void>
  }>

type Uploaded = Readonly<{ by: string; since?: string | undefined }>
type RunMessage = Readonly<{ tenantId: string; roomId: string; body: string; transactionId: string }>
