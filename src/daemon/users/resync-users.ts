import { z } from 'zod'
import type { BoxId } from '../../core/boxes/index.ts'
import { type Fault, isFault } from '../../core/homeserver/index.ts'
import { chatQueue } from '../../core/jobs/index.ts'
import { type Actor, type Clock, elapsedMs, isoIn, plural, problem } from '../../core/kit/index.ts'
import type { ReconciledBox } from '../../core/users/index.ts'
import { raiseAlert } from '../alerts/index.ts'
import { recordAudit } from '../audit/index.ts'
import { assertLive, boxById, existingBox } from '../boxes/index.ts'
import { enqueueJob, type JobHandler, type Tx } from '../db/index.ts'
import { homeserverProblem } from '../homeserver/index.ts'
import type { Command, CommandListener } from '../hosts/index.ts'
import type { UsersDeps } from './deps.ts'
import { markOutdatedPasswords, recreatedKey } from './reset-password.ts'
import { lockField, nameField, type RecreateDeps, raiseSyncAlert, recreateChatAccount, syncUser } from './sync-users.ts'
import { countWithoutPassword, type UserRecord, usersAfter } from './users.repo.ts'

// A box with the data of a snapshot has the users of that time: users disabled since then could chat again, and newer users have no account.
// So all users of the tenant are synced again, and outdated passwords are reported.

const topic = 'chat.users-again'
const Payload = z.object({ tenantId: z.string(), after: z.string() })

/** Small pages, so that other jobs of the tenant run in between. */
const pageSize = 20

const enqueuePage = (tx: Tx, clock: Clock, page: z.infer<typeof Payload>): Promise<void> =>
  enqueueJob(tx, clock, { topic, payload: page, ...chatQueue({ tenantId: page.tenantId, what: 'users', key: page.tenantId }) })

/** Starts the resync in the transaction that stores the result of a restore, a rolled back update or a take-over. */
export function userResyncListener({ clock }: Readonly<{ clock: Clock }>): CommandListener {
  const resync = async (tx: Tx, { boxId }: Command, { isRestored, snapshotId, takenAt }: RestoredData): Promise<void> => {
    const box = isRestored ? await boxById(tx, boxId as BoxId) : undefined
    if (!box) return
    const { tenantId } = box
    await startResync(tx, clock, { tenantId, takenAt: takenAt ?? (await snapshotTakenAt(tx, tenantId, snapshotId)) })
  }
  return {
    resultHandlers: {
      'tenant-box.restore': (tx, command, { outcome, snapshotId }) =>
        resync(tx, command, { isRestored: outcome === 'restored', snapshotId }),
      'tenant-box.update': (tx, command, { rolledBack, snapshotId, snapshotTakenAt, report }) =>
        resync(tx, command, {
          isRestored: rolledBack,
          snapshotId,
          takenAt: snapshotTakenAt && inOwnTime(clock, snapshotTakenAt, report?.at),
        }),
      'tenant-box.take_over': (tx, command, { outcome, snapshotId }) =>
        resync(tx, command, { isRestored: outcome === 'restored', snapshotId }),
    },
  }
}

type RestoredData = Readonly<{ isRestored: boolean; snapshotId: string | null; takenAt?: string | undefined }>

/**
 * A time of the host's clock, which may be ahead: passwords set since would count as those of the data. The age at the time of the report is
 * exact, because both are of that clock.
 */
function inOwnTime(clock: Clock, takenAt: string, reportedAt = ''): string {
  const ageMs = elapsedMs(takenAt, reportedAt)
  const since = isoIn(clock, Number.isNaN(ageMs) ? 0 : -Math.max(0, ageMs))
  return takenAt < since ? takenAt : since
}

/** Null for a snapshot that the database does not know. */
async function snapshotTakenAt(tx: Tx, tenantId: string, id: string | null): Promise<string | null> {
  if (!id) return null
  const known = tx.selectFrom('snapshots').select('taken_at').where('tenant_id', '=', tenantId).where('snapshot_id', '=', id)
  return (await known.executeTakeFirst())?.taken_at ?? null
}

type Resync = Readonly<{ tenantId: string; takenAt: string | null }>

/** Returns the number of users with an outdated password; null when the age of the data is unknown. */
async function startResync(tx: Tx, clock: Clock, { tenantId, takenAt }: Resync): Promise<number | null> {
  await enqueuePage(tx, clock, { tenantId, after: '' })
  return takenAt === null ? null : markOutdatedPasswords(tx, clock, { tenantId, takenAt })
}

type ResyncDeps = Pick<UsersDeps, 'clock' | 'resyncSpaces'>
type JobDeps = RecreateDeps & ResyncDeps

/** Syncs one page of users by name. A page that was interrupted is synced again from its start. */
export const userResyncJobs = (deps: JobDeps): Readonly<Record<string, JobHandler>> => ({
  [topic]: async (payload, { signal }) => {
    const { tenantId, after } = Payload.parse(payload)
    const users = await usersAfter(deps.db, { tenantId, after, limit: pageSize })
    for (const user of users) {
      signal?.throwIfAborted()
      const fault = await resyncUser(deps, user)
      if (fault) throw homeserverProblem(fault, 'its tenant')
    }
    await deps.db.transaction().execute((tx) => continueOrFinish(deps, tx, { tenantId, last: users[pageSize - 1] }))
  },
})

/** Syncs lock and name, and recreates a missing account. Returns the fault of a server that gave no answer. */
async function resyncUser(deps: RecreateDeps, user: UserRecord): Promise<Fault | undefined> {
  const fields = user.displayName === null ? [lockField] : [lockField, nameField]
  for (const field of fields) {
    const result = await syncUser(deps, user.id, field)
    if (isFault(result)) return result
    if (result.kind === 'absent') return user.status === 'erased' ? undefined : recreateChatAccount(deps, user)
    if (result.kind === 'refused') await raiseSyncAlert(deps, user.id, { what: field.what, reason: result.reason })
  }
  return undefined
}

type Page = Readonly<{ tenantId: string; last: UserRecord | undefined }>

/** After the last page, users with a recreated account are added to their rooms again: the rooms were synced while the accounts were missing. */
async function continueOrFinish({ clock, resyncSpaces }: JobDeps, tx: Tx, { tenantId, last }: Page): Promise<void> {
  if (last) return enqueuePage(tx, clock, { tenantId, after: last.localpart })
  const count = await countWithoutPassword(tx, tenantId)
  if (count === 0) return
  await resyncSpaces(tx, clock, tenantId)
  const { slug } = await tx.selectFrom('tenants').select('slug').where('id', '=', tenantId).executeTakeFirstOrThrow()
  await raiseAlert(tx, clock, {
    kind: 'passwords_lost',
    key: recreatedKey(slug),
    subject: slug,
    title: `${plural(count, 'user')} of ${slug} cannot log in after a restore`,
    body:
      'Their accounts are newer than the snapshot, so the restored chat server did not have them. They were created again under the same ' +
      'names with random passwords; messages written since the snapshot are lost. Roles and spaces are unchanged.\n' +
      'The command below lists them; `tenantry users reset-password` sets a new password. All other users have the password of the ' +
      'time of the snapshot.',
    command: `tenantry users list ${slug} --without-password`,
  })
}

type ReconcileInput = Readonly<{ slug: string; snapshot?: string | undefined }>

/**
 * Starts the resync of a box whose data was restored without the daemon. It can be repeated: each call also counts the passwords set since, because
 * the data may have been restored again. Throws NOT_FOUND, CONFLICT for a box that is not live or an ambiguous snapshot id.
 */
export const reconcileBox = (
  deps: ResyncDeps & Pick<UsersDeps, 'db'>,
  actor: Actor,
  { slug, snapshot }: ReconcileInput,
): Promise<ReconciledBox> =>
  deps.db.transaction().execute(async (tx) => {
    const box = await existingBox(tx, slug)
    assertLive(box)
    const { tenantId } = box
    const takenAt = snapshot === undefined ? null : await takenAtOf(tx, { tenantId, slug, snapshot })
    await deps.resyncSpaces(tx, deps.clock, tenantId)
    const oldPasswords = await startResync(tx, deps.clock, { tenantId, takenAt })
    const users = await countUsers(tx, tenantId)
    const spaces = await countSpaces(tx, tenantId)
    const data = { boxId: box.id, users, spaces, takenAt, oldPasswords }
    await recordAudit(tx, deps.clock, { actor, action: 'box.reconcile', subject: slug, data })
    return { slug, users, spaces, takenAt, oldPasswords }
  })

async function takenAtOf(tx: Tx, { tenantId, slug, snapshot }: ReconcileInput & Readonly<{ tenantId: string }>): Promise<string> {
  const [found, another] = await tx
    .selectFrom('snapshots')
    .select('taken_at')
    .where('tenant_id', '=', tenantId)
    .where('snapshot_id', 'like', `${snapshot}%`)
    .limit(2)
    .execute()
  if (!found)
    throw problem('NOT_FOUND', `Snapshot ${snapshot} of ${slug} does not exist. fix: \`tenantry snapshots list --slug ${slug}\` lists them`)
  if (another) throw problem('CONFLICT', `Several snapshots of ${slug} begin with ${snapshot}. fix: give more characters of the id`)
  return found.taken_at
}

type CountQuery = Readonly<{ executeTakeFirstOrThrow(): Promise<{ count: unknown }> }>

const numberOf = async (query: CountQuery): Promise<number> => Number((await query.executeTakeFirstOrThrow()).count)

const countUsers = (tx: Tx, tenantId: string) =>
  numberOf(
    tx
      .selectFrom('users')
      .select((of) => of.fn.countAll().as('count'))
      .where('tenant_id', '=', tenantId),
  )

const countSpaces = (tx: Tx, tenantId: string) =>
  numberOf(
    tx
      .selectFrom('spaces')
      .select((of) => of.fn.countAll().as('count'))
      .where('tenant_id', '=', tenantId)
      .where('deleted_at', 'is', null),
  )
