import { maintenanceOwner } from '../../../core/boxes/index.ts'
import { type Actor, problem } from '../../../core/kit/index.ts'
import { recordAudit } from '../../audit/index.ts'
import { appendEvent, type Tx } from '../../db/index.ts'
import { abandonCommand, type Command, commandsByIds } from '../../hosts/index.ts'
import { type BoxHold, holdsOf, releaseHold } from '../box-holds.ts'
import type { BoxRecord } from '../box-record.ts'
import { lockBox } from '../boxes.repo.ts'
import { readHost } from '../fleet.ts'
import { openCommands } from '../in-use.ts'
import type { LifecycleDeps } from './deps.ts'
import { endMaintenance } from './maintain-box.ts'

type Wanted = Readonly<{ slug: string; confirm: string; reason: string }>
type Released = Readonly<{ released: string; fenced: boolean; next: string[] }>

/**
 * Takes the hold of a box from somebody who is gone for good. The box itself is not touched: if it rests fenced it still does. Throws
 * NOT_FOUND, VALIDATION, CONFLICT while somebody may still come back for it.
 */
export const releaseBox = (deps: LifecycleDeps, actor: Actor, { slug, confirm, reason }: Wanted): Promise<Released> =>
  deps.db.transaction().execute(async (tx) => {
    if (confirm !== slug)
      throw problem('VALIDATION', `to release ${slug}, type ${slug} as its confirmation`, {
        details: [{ path: 'confirm', reason: `must be ${slug}` }],
      })
    const box = await lockBox(tx, slug)
    const hold = (await holdsOf(tx, deps.clock, [box.id])).get(box.id)
    if (!hold) throw problem('CONFLICT', `nobody holds the box ${slug}: \`tenantry boxes show ${slug}\` tells how it is`)
    await refuseLiving(deps, tx, box, hold)
    if (hold.holder === maintenanceOwner) await endMaintenance(tx, box)
    else await releaseHold(tx, { boxId: box.id, holder: hold.holder })
    await giveUpRestore(deps, tx, hold)
    const open = await openCommands(tx, box.id)
    const payload = { boxId: box.id, slug, holder: hold.holder, reason }
    await appendEvent(tx, deps.clock, { stream: 'admin', source: 'boxes', eventType: 'box.released', payload })
    await recordAudit(tx, deps.clock, {
      actor,
      action: 'box.released',
      subject: slug,
      data: { holder: hold.holder, until: hold.until, reason },
    })
    return { released: hold.holder, fenced: box.fenced, next: [...open.map(mayStillRun), ...nextSteps(box)] }
  })

async function refuseLiving(deps: LifecycleDeps, tx: Tx, { slug, hostId, id }: BoxRecord, { holder }: BoxHold): Promise<void> {
  if (/^(move|removal):/.test(holder))
    throw problem(
      'CONFLICT',
      `the box ${slug} is held by its ${holder.replace(':', ' ')}: end that (\`tenantry boxes show ${slug}\` tells how)`,
    )
  const online = (await readHost(deps, tx, hostId))?.status === 'online'
  if (holder === maintenanceOwner && online)
    throw problem('CONFLICT', `the box ${slug} is in maintenance: \`tenantry boxes maintenance off ${slug}\` ends it`)
  const [open] = await openCommands(tx, id)
  if (open && online)
    throw problem(
      'CONFLICT',
      `${open.kind} (${open.id}) of ${slug} is under way on an agent that is online: it says how it ends, wait for it`,
    )
}

/** A restore that waits for the host to come back must not then begin in a box that others have meanwhile. */
async function giveUpRestore({ clock, givenUp }: LifecycleDeps, tx: Tx, { holder }: BoxHold): Promise<void> {
  const id = holder.startsWith(restoring) ? holder.slice(restoring.length) : undefined
  if (id === undefined) return
  const error = { code: 'CANCELLED', message: 'the hold of its box was released before an agent took it' }
  if (!(await abandonCommand(tx, clock, { id, leaseToken: 0, error }))) return
  for (const command of await commandsByIds(tx, [id])) await givenUp(tx, command)
}

const restoring = 'restore:'

const mayStillRun = ({ kind, id }: Command): string => `${kind} (${id}) may still run: its agent had it, or fetches it when it comes back`

const nextSteps = ({ slug, fenced }: BoxRecord): string[] =>
  fenced
    ? [
        `tenantry boxes check ${slug}: is it healthy?`,
        `tenantry snapshots restore ${slug} --snapshot <id> --reason '…': bring it back to a snapshot, or`,
        `tenantry boxes move ${slug} --to <host> --reason '…': when its host is gone for good, with --old-host-is-dead <its name>`,
      ]
    : [`tenantry boxes check ${slug}: is it healthy?`, `tenantry boxes scan ${slug}: what runs in it?`]
