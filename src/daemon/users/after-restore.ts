import { z } from 'zod'
import { alertOf } from '../../core/alerts/index.ts'
import type { BoxId } from '../../core/boxes/index.ts'
import { type Fault, isFault } from '../../core/homeserver/index.ts'
import { chatQueue } from '../../core/jobs/index.ts'
import type { Clock } from '../../core/kit/index.ts'
import { raiseAlert } from '../alerts/index.ts'
import { boxById } from '../boxes/index.ts'
import { enqueueJob, type JobHandler, type Tx } from '../db/index.ts'
import { homeserverProblem } from '../homeserver/index.ts'
import type { Command, CommandListener } from '../hosts/index.ts'
import type { UsersDeps } from './deps.ts'
import { markOldPasswords } from './old-passwords.ts'
import { alignUser, lockSide, nameSide, type RemakeDeps, remakeInChat, tellUnsaid } from './sync-users.ts'
import { countWithoutPassword, type UserRecord, usersAfter } from './users.repo.ts'

const topic = 'chat.users-again'
const Payload = z.object({ tenantId: z.string(), after: z.string() })

/** Few at a time: what else is to be done has its turn in between. */
const atOnce = 20

const nextPage = (tx: Tx, clock: Clock, page: z.infer<typeof Payload>): Promise<void> =>
  enqueueJob(tx, clock, { topic, payload: page, ...chatQueue({ tenantId: page.tenantId, what: 'users', key: page.tenantId }) })

/**
 * A box that runs with the data of a snapshot has the users of that day: who was disabled since could chat again, and who is newer has no account.
 * So whatever the chat server should know of each is said again.
 */
export function usersListener({ clock }: Readonly<{ clock: Clock }>): CommandListener {
  const sayAgain = async (tx: Tx, { boxId }: Command, wentBack: boolean, { snapshotId, takenAt }: Data): Promise<void> => {
    const box = wentBack ? await boxById(tx, boxId as BoxId) : undefined
    if (!box) return
    const { tenantId } = box
    await sayUsersAgain(tx, clock, { tenantId, takenAt: takenAt ?? (await momentOf(tx, tenantId, snapshotId)) })
  }
  return {
    resultHandlers: {
      'tenant-box.restore': (tx, command, { outcome, snapshotId }) => sayAgain(tx, command, outcome === 'restored', { snapshotId }),
      'tenant-box.update': (tx, command, { rolledBack, snapshotId, snapshotTakenAt: takenAt }) =>
        sayAgain(tx, command, rolledBack, { snapshotId, takenAt }),
      'tenant-box.take_over': (tx, command, { outcome, snapshotId }) => sayAgain(tx, command, outcome === 'restored', { snapshotId }),
    },
  }
}

type Data = Readonly<{ snapshotId: string | null; takenAt?: string | undefined }>

/** When a snapshot was taken; null for one that the registry does not know. */
async function momentOf(tx: Tx, tenantId: string, id: string | null): Promise<string | null> {
  if (!id) return null
  const known = tx.selectFrom('snapshots').select('taken_at').where('tenant_id', '=', tenantId).where('snapshot_id', '=', id)
  return (await known.executeTakeFirst())?.taken_at ?? null
}

type Again = Readonly<{ tenantId: string; takenAt: string | null }>
type AgainDeps = Pick<UsersDeps, 'clock' | 'resyncSpaces'>
type RestoreDeps = RemakeDeps & AgainDeps

/** Answers how many have an older password again; null where nobody knows of when the data is. */
async function sayUsersAgain(tx: Tx, clock: Clock, { tenantId, takenAt }: Again): Promise<number | null> {
  await nextPage(tx, clock, { tenantId, after: '' })
  return takenAt === null ? null : markOldPasswords(tx, clock, { tenantId, takenAt })
}

/** The same for one that went back without any command, with the rooms of its spaces. */
export async function sayAllAgain({ clock, resyncSpaces }: AgainDeps, tx: Tx, again: Again): Promise<number | null> {
  await resyncSpaces(tx, clock, again.tenantId)
  return sayUsersAgain(tx, clock, again)
}

/** Goes through a tenant's users by name. A page that breaks off is gone through again: saying it twice changes nothing. */
export const restoreWork = (deps: RestoreDeps): Readonly<Record<string, JobHandler>> => ({
  [topic]: async (payload, { signal }) => {
    const { tenantId, after } = Payload.parse(payload)
    const users = await usersAfter(deps.db, { tenantId, after, limit: atOnce })
    for (const user of users) {
      signal?.throwIfAborted()
      const fault = await sayOf(deps, user)
      if (fault) throw homeserverProblem(fault, 'its tenant')
    }
    await deps.db.transaction().execute((tx) => goOn(deps, tx, tenantId, users[atOnce - 1]))
  },
})

/** Lock and name; whoever the chat does not know is made again. The fault says that it does not answer. */
async function sayOf(deps: RemakeDeps, user: UserRecord): Promise<Fault | undefined> {
  const sides = user.displayName === null ? [lockSide] : [lockSide, nameSide]
  for (const side of sides) {
    const result = await alignUser(deps, user.id, side)
    if (isFault(result)) return result
    if (result.kind === 'absent') return remakeInChat(deps, user)
    if (result.kind === 'refused') await tellUnsaid(deps, user.id, { what: side.what, reason: result.reason })
  }
  return undefined
}

/** Their rooms were made right before they had an account, and the chat let none of them in. */
async function goOn({ clock, resyncSpaces }: RestoreDeps, tx: Tx, tenantId: string, last: UserRecord | undefined): Promise<void> {
  if (last) return nextPage(tx, clock, { tenantId, after: last.localpart })
  const count = await countWithoutPassword(tx, tenantId)
  if (count === 0) return
  await resyncSpaces(tx, clock, tenantId)
  const { slug } = await tx.selectFrom('tenants').select('slug').where('id', '=', tenantId).executeTakeFirstOrThrow()
  await raiseAlert(tx, clock, alertOf.accounts_remade({ slug, count }))
}
