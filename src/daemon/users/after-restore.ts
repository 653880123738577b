import { z } from 'zod'
import { alertOf } from '../../core/alerts/index.ts'
import type { BoxId } from '../../core/boxes/index.ts'
import { type Fault, isFault } from '../../core/homeserver/index.ts'
import type { Clock } from '../../core/kit/index.ts'
import { inChatQueue } from '../../core/outbox/index.ts'
import { raiseAlert } from '../alerts/index.ts'
import { boxById } from '../boxes/index.ts'
import { enqueueOutbox, type OutboxHandler, type Tx } from '../db/index.ts'
import { homeserverProblem } from '../homeserver/index.ts'
import type { Command, CommandListener } from '../hosts/index.ts'
import { followWholeTenant } from '../spaces/index.ts'
import { alignUser, lockSide, nameSide } from './align-chat.ts'
import { type RemakeNeeds, remakeInChat } from './remake-in-chat.ts'
import { tellUnsaid } from './tell-unsaid.ts'
import { countWithoutPassword, type UserRecord, usersAfter } from './users.repo.ts'

const topic = 'chat.users-again'
const Payload = z.object({ tenantId: z.string(), after: z.string() })

/** Few at a time: what else is to be done has its turn in between. */
const atOnce = 20

const nextPage = (tx: Tx, clock: Clock, page: z.infer<typeof Payload>): Promise<void> =>
  enqueueOutbox(tx, clock, { topic, payload: page, ...inChatQueue({ tenantId: page.tenantId, what: 'users', key: page.tenantId }) })

/**
 * A box that runs with the data of a snapshot has the users of that day: who was disabled since could chat again, and who is newer has no account.
 * So whatever the chat server should know of each is said again.
 */
export function usersListener({ clock }: Readonly<{ clock: Clock }>): CommandListener {
  const sayAgain = async (tx: Tx, { boxId }: Command, wentBack: boolean): Promise<void> => {
    const box = wentBack ? await boxById(tx, boxId as BoxId) : undefined
    if (box) await nextPage(tx, clock, { tenantId: box.tenantId, after: '' })
  }
  return {
    resultHandlers: {
      'tenant-box.restore': (tx, command, { outcome }) => sayAgain(tx, command, outcome === 'restored'),
      'tenant-box.update': (tx, command, { rolledBack }) => sayAgain(tx, command, rolledBack),
      'tenant-box.take_over': (tx, command, { outcome }) => sayAgain(tx, command, outcome === 'restored'),
    },
  }
}

/** Goes through a tenant's users by name. A page that breaks off is gone through again: saying it twice changes nothing. */
export const restoreWork = (needs: RemakeNeeds): Readonly<Record<string, OutboxHandler>> => ({
  [topic]: async (payload, { signal }) => {
    const { tenantId, after } = Payload.parse(payload)
    const users = await usersAfter(needs.db, { tenantId, after, limit: atOnce })
    for (const user of users) {
      signal?.throwIfAborted()
      const fault = await sayOf(needs, user)
      if (fault) throw homeserverProblem(fault, 'its tenant')
    }
    await needs.db.transaction().execute((tx) => goOn(needs, tx, tenantId, users[atOnce - 1]))
  },
})

/** Lock and name; whoever the chat does not know is made again. The fault says that it does not answer. */
async function sayOf(needs: RemakeNeeds, user: UserRecord): Promise<Fault | undefined> {
  const sides = user.displayName === null ? [lockSide] : [lockSide, nameSide]
  for (const side of sides) {
    const result = await alignUser(needs, user.id, side)
    if (isFault(result)) return result
    if (result.kind === 'absent') return remakeInChat(needs, user)
    if (result.kind === 'refused') await tellUnsaid(needs, user.id, { what: side.what, reason: result.reason })
  }
  return undefined
}

/** Their rooms were made right before they had an account, and the chat let none of them in. */
async function goOn({ clock }: RemakeNeeds, tx: Tx, tenantId: string, last: UserRecord | undefined): Promise<void> {
  if (last) return nextPage(tx, clock, { tenantId, after: last.localpart })
  const count = await countWithoutPassword(tx, tenantId)
  if (count === 0) return
  await followWholeTenant(tx, clock, tenantId)
  const { slug } = await tx.selectFrom('tenants').select('slug').where('id', '=', tenantId).executeTakeFirstOrThrow()
  await raiseAlert(tx, clock, alertOf.accounts_remade({ slug, count }))
}
