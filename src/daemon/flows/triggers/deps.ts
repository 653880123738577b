import type { Variables } from '../../../core/boards/index.ts'
import type { Homeservers } from '../../../core/homeserver/index.ts'
import type { Clock } from '../../../core/kit/index.ts'
import type { Logger } from '../../../node/index.ts'
import type { Db, Tx } from '../../db/index.ts'

/** A run that a trigger starts. `startedBy`: the user who wrote a message; null for times and events. */
export type TriggeredRun = Readonly<{
  tenantId: string
  boardId: string
  spaceId: string | null
  variables: Variables
  startedBy: string | null
  trigger: Readonly<{ type: 'event' | 'chat' | 'cron'; occurrence: string; sender?: string; eventId?: string }>
}>

/** Starts a run of the published version in the transaction. Throws a problem if the board does not allow it. */
export type StartRun = (tx: Tx, run: TriggeredRun) => Promise<Readonly<{ id: string }>>

/** The newest run that has not ended: this one, or one of the board in the space. */
type UnfinishedRun = (
  tx: Tx,
  board: Readonly<{ tenantId: string; boardId: string; spaceId: string; runId: string | null }>,
) => Promise<Readonly<{ startedAt: string }> | undefined>

type BotMessage = Readonly<{ tenantId: string; roomId: string; body: string; transactionId: string }>

/** Dependencies of the whole feature; each verb takes the part that it uses. */
export type TriggersDeps = Readonly<{
  db: Db
  clock: Clock
  log: Logger
  /** The name of this process in leases. */
  owner: string
  homeservers: Homeservers
  /** Zone of tenants that have none of their own. */
  timeZone: string
  startRun: StartRun
  unfinishedRun: UnfinishedRun
  /** Sends a message as the platform. The same transaction id sends nothing again. */
  sendMessage: (message: BotMessage) => Promise<string>
}>
