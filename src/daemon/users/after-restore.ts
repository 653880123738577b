import { z } from 'zod'
import type { BoxId, RestoreOutcome } from '../../core/boxes/index.ts'
import type { Clock } from '../../core/kit/index.ts'
import { boxById } from '../boxes/index.ts'
import { type Db, enqueueOutbox, type OutboxHandler, type Tx } from '../db/index.ts'
import type { Command, CommandListener } from '../hosts/index.ts'
import { chatLockTopic } from './align-chat.ts'
import { changedUsers } from './users.repo.ts'

type Needs = Readonly<{ db: Db; clock: Clock }>

const locksTopic = 'chat.locks'
const Payload = z.object({ tenantId: z.string(), after: z.string() })

/** Few at a time: what else is to be done has its turn in between. */
const atOnce = 50

/** A box that runs with the data of a snapshot has the locks of that day: whoever was disabled since could chat again. */
export const usersListener = ({ clock }: Pick<Needs, 'clock'>): CommandListener => {
  const lockAgain = async (tx: Tx, { boxId }: Command, { outcome }: Readonly<{ outcome: RestoreOutcome }>) => {
    const box = outcome === 'restored' ? await boxById(tx, boxId as BoxId) : undefined
    if (box) await enqueueOutbox(tx, clock, { topic: locksTopic, payload: { tenantId: box.tenantId, after: '' } })
  }
  return { resultHandlers: { 'tenant-box.restore': lockAgain, 'tenant-box.take_over': lockAgain } }
}

/** Has the lock of everybody said again who was ever changed, disabled or enabled: of others the chat server knows what is right. */
export const locksWork = ({ db, clock }: Needs): Readonly<Record<string, OutboxHandler>> => ({
  [locksTopic]: (payload) =>
    db.transaction().execute(async (tx) => {
      const { tenantId, after } = Payload.parse(payload)
      const users = await changedUsers(tx, { tenantId, after, limit: atOnce })
      for (const { id } of users) await enqueueOutbox(tx, clock, { topic: chatLockTopic, payload: { userId: id } })
      const last = users[atOnce - 1]
      if (last) await enqueueOutbox(tx, clock, { topic: locksTopic, payload: { tenantId, after: last.localpart } })
    }),
})
