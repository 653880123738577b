import { maintenanceOwner } from '../../../core/boxes/index.ts'
import { type Actor, problem } from '../../../core/kit/index.ts'
import { recordAudit } from '../../audit/index.ts'
import { appendEvent, type Tx, type WithTx } from '../../db/index.ts'
import { abandonCommand, type Command, commandsByIds } from '../../hosts/index.ts'
import { type BoxHold, holdsOf, releaseHold } from '../box-holds.ts'
import type { BoxRecord } from '../box-record.ts'
import { lockBox } from '../boxes.repo.ts'
import { readHost } from '../fleet.ts'
import { openCommands } from '../in-use.ts'
import type { LifecycleDeps } from './deps.ts'
import { endMaintenance } from './maintain-box.ts'

type Input = Readonly<{ slug: string; confirm: string; reason: string }>
type Released = Readonly<{ released: string; fenced: boolean; next: string[] }>

/**
 * Force-releases a stale hold. The box itself is not changed: a fenced box stays fenced. Throws NOT_FOUND, VALIDATION, and CONFLICT while the owner of
 * the hold may still finish.
 */
export const releaseBox = (deps: LifecycleDeps, actor: Actor, { slug, confirm, reason }: Input): Promise<Released> =>
  deps.db.transaction().execute(async (tx) => {
    if (confirm !== slug)
      throw problem('VALIDATION', `confirmation does not match: expected ${slug}`, {
        details: [{ path: 'confirm', reason: `must be ${slug}` }],
      })
    const box = await lockBox(tx, slug)
    const hold = (await holdsOf(tx, deps.clock, [box.id])).get(box.id)
    if (!hold) throw problem('CONFLICT', `box ${slug} has no hold. State: \`tenantry boxes show ${slug}\``)
    await assertHoldStale({ ...deps, tx }, box, hold)
    if (hold.holder === maintenanceOwner) await endMaintenance(tx, box)
    else await releaseHold(tx, { boxId: box.id, holder: hold.holder })
    await abandonCommandOf(deps, tx, hold)
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

async function assertHoldStale(deps: WithTx<LifecycleDeps>, { slug, hostId, id }: BoxRecord, { holder }: BoxHold): Promise<void> {
  const { tx } = deps
  if (/^(move|removal):/.test(holder))
    throw problem('CONFLICT', `box ${slug} is on hold: ${holder.replace(':', ' ')}. fix: finish it (see \`tenantry boxes show ${slug}\`)`)
  const online = (await readHost(deps, tx, hostId))?.status === 'online'
  if (holder === maintenanceOwner && online)
    throw problem('CONFLICT', `box ${slug} is in maintenance. fix: \`tenantry boxes maintenance off ${slug}\``)
  const [open] = await openCommands(tx, id)
  if (open && online)
    throw problem('CONFLICT', `${open.kind} (${open.id}) of ${slug} is running and its agent is online. fix: wait until it finishes`)
}

/** Cancels a restore or restart that no agent has fetched: it must not begin later in a box that is released. */
async function abandonCommandOf({ clock, onCommandAbandoned }: LifecycleDeps, tx: Tx, { holder }: BoxHold): Promise<void> {
  const id = /^(?:restore|restart):(.+)$/.exec(holder)?.[1]
  if (id === undefined) return
  const error = { code: 'CANCELLED', message: 'the hold of its box was released before an agent fetched the command' }
  if (!(await abandonCommand(tx, clock, { id, leaseToken: 0, error }))) return
  for (const command of await commandsByIds(tx, [id])) await onCommandAbandoned(tx, command)
}

const mayStillRun = ({ kind, id }: Command): string => `${kind} (${id}) may still run: its agent has it, or fetches it when it reconnects`

const nextSteps = ({ slug, fenced }: BoxRecord): string[] =>
  fenced
    ? [
        `if its agent lost its state folder: tenantry boxes adopt ${slug} --again`,
        `check its health: tenantry boxes check ${slug}`,
        `restore a snapshot: tenantry snapshots restore ${slug} --snapshot <id> --reason '…'`,
        `or, if its host is permanently lost: tenantry boxes move ${slug} --to <host> --reason '…' --old-host-is-dead <its name>`,
      ]
    : [`check its health: tenantry boxes check ${slug}`, `read its versions: tenantry boxes scan ${slug}`]
