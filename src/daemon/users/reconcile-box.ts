import { type Actor, problem } from '../../core/kit/index.ts'
import type { ReconciledBox } from '../../core/users/index.ts'
import { recordAudit } from '../audit/index.ts'
import { assertLive, existingBox } from '../boxes/index.ts'
import type { Tx } from '../db/index.ts'
import { sayAllAgain } from './after-restore.ts'
import type { UsersDeps } from './deps.ts'

type Wanted = Readonly<{ slug: string; snapshot?: string | undefined }>

/**
 * What follows each restore by itself, for a box whose data somebody brought back without the daemon: users and rooms are said to its chat again.
 * Twice does no harm; whoever got a new password in between is named too, because the data may have gone back once more. Throws NOT_FOUND, CONFLICT
 * for a box that does not run or an id that several snapshots begin with.
 */
export const reconcileBox = (
  deps: Pick<UsersDeps, 'db' | 'clock' | 'resyncSpaces'>,
  actor: Actor,
  { slug, snapshot }: Wanted,
): Promise<ReconciledBox> =>
  deps.db.transaction().execute(async (tx) => {
    const box = await existingBox(tx, slug)
    assertLive(box)
    const { tenantId } = box
    const takenAt = snapshot === undefined ? null : await takenAtOf(tx, { tenantId, slug, snapshot })
    const oldPasswords = await sayAllAgain(deps, tx, { tenantId, takenAt })
    const users = await countUsers(tx, tenantId)
    const spaces = await countSpaces(tx, tenantId)
    const data = { boxId: box.id, users, spaces, takenAt, oldPasswords }
    await recordAudit(tx, deps.clock, { actor, action: 'box.reconcile', subject: slug, data })
    return { slug, users, spaces, takenAt, oldPasswords }
  })

async function takenAtOf(tx: Tx, { tenantId, slug, snapshot }: Wanted & Readonly<{ tenantId: string }>): Promise<string> {
  const [found, another] = await tx
    .selectFrom('snapshots')
    .select('taken_at')
    .where('tenant_id', '=', tenantId)
    .where('snapshot_id', 'like', `${snapshot}%`)
    .limit(2)
    .execute()
  if (!found)
    throw problem('NOT_FOUND', `there is no snapshot ${snapshot} of ${slug}: \`tenantry snapshots list --slug ${slug}\` shows all`)
  if (another) throw problem('CONFLICT', `several snapshots of ${slug} begin with ${snapshot}: give more of its id`)
  return found.taken_at
}

type Counting = Readonly<{ executeTakeFirstOrThrow(): Promise<{ count: unknown }> }>

const numberOf = async (counting: Counting): Promise<number> => Number((await counting.executeTakeFirstOrThrow()).count)

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
