import { type Actor, type Clock, isoNow, problem } from '../../core/kit/index.ts'
import {
  type InstallationEvent,
  type InstallationVerb,
  type ModuleManifest,
  maxMigrationMs,
  migrationBound,
  transition,
  usageEvent,
} from '../../core/modules/index.ts'
import { recordAudit } from '../audit/index.ts'
import { enqueueJob, headOf, type Tx } from '../db/index.ts'
import { recordEvent, streamOf } from '../events/index.ts'
import { tenantById } from '../tenants/index.ts'
import { billingTopic } from './bill-usage.ts'
import type { ModulesDeps } from './deps.ts'
import { type InstallationRecord, insertInstallation, replaceInstallation } from './installations.repo.ts'

type Deps = Pick<ModulesDeps, 'clock' | 'changed'>

/** Throws NOT_FOUND, INVALID_TRANSITION and the like; CONFLICT while a migration runs. Returns undefined if nothing is to change. */
export function decide(from: InstallationRecord | undefined, one: Readonly<{ moduleId: string; verb: InstallationVerb; now: string }>) {
  const { moduleId, verb, now } = one
  const change = transition(moduleId, { from: from ?? null, verb, now })
  if (from && isBusy(from, now)) throw busy(from)
  return change.changed ? change : undefined
}

export const isBusy = ({ busyUntil }: Pick<InstallationRecord, 'busyUntil'>, now: string): boolean => busyUntil !== null && busyUntil > now

/** A migration waits for a place and runs; then its documents are summed up, and the change commits. A call to a service takes 10 s. */
export const maxReservedMs = migrationBound.maxWaitSeconds * 1000 + maxMigrationMs + 20_000

const busy = ({ moduleId }: InstallationRecord) =>
  problem(
    'CONFLICT',
    `The data of ${moduleId} is being migrated, for ${maxReservedMs / 1000} s at most. fix: repeat the request after that`,
  )

type Change = Readonly<{
  actor: Actor
  former: InstallationRecord | null
  next: Omit<InstallationRecord, 'generation' | 'updatedAt' | 'busyUntil'>
  manifest: ModuleManifest
  emits: readonly InstallationEvent[]
  /** For the audit entries. */
  data?: Readonly<Record<string, unknown>>
}>

/**
 * Stores a change in its transaction: the row with the next generation, the position in the events, usage and billing, one event and one audit entry
 * for each step. The caller has locked the row.
 */
export async function applyChange(deps: Deps, tx: Tx, change: Change): Promise<InstallationRecord> {
  const { clock } = deps
  const { actor, former, manifest, emits, data } = change
  const now = isoNow(clock)
  const next: InstallationRecord = { ...change.next, generation: (former?.generation ?? 0) + 1, busyUntil: null, updatedAt: now }
  const { tenantId, moduleId, version } = next
  if (former !== null) await replaceInstallation(tx, next)
  else if (!(await insertInstallation(tx, next)))
    throw problem('CONFLICT', `Module ${moduleId} was installed by another request. fix: read the installation again`)
  await deps.changed(tx, { former, installation: next, manifest })
  if (emits.includes('module.activated')) await recordUsage(tx, clock, next)
  if (emits.includes('module.activated') || emits.includes('module.deactivated'))
    await enqueueJob(tx, clock, { topic: billingTopic, payload: { tenantId, moduleId }, key: `${tenantId}/${moduleId}` })
  for (const type of emits) await recordEvent(tx, clock, { tenantId, type, payload: { moduleId, version }, audience: 'tenant' })
  await setPosition(tx, former, next)
  await auditModule(tx, clock, { actor, tenantId, moduleId, actions: emits, data: { version, ...data } })
  return next
}

type Audited = Readonly<{
  actor: Actor
  tenantId: string
  moduleId: string
  actions: readonly string[]
  data: Readonly<Record<string, unknown>>
}>

/** Audit entries have the slug of the tenant as subject. Call it last. */
export async function auditModule(tx: Tx, clock: Clock, { actor, tenantId, moduleId, actions, data }: Audited): Promise<void> {
  if (actions.length === 0) return
  const subject = (await tenantById(tx, tenantId))?.slug ?? tenantId
  for (const action of actions) await recordAudit(tx, clock, { actor, action, subject, data: { tenantId, moduleId, ...data } })
}

/** An active module reads events from its activation on; any other has no position. */
async function setPosition(tx: Tx, former: InstallationRecord | null, next: InstallationRecord): Promise<void> {
  if ((former?.status === 'active') === (next.status === 'active')) return
  const { tenantId, moduleId } = next
  await tx.deleteFrom('module_positions').where('tenant_id', '=', tenantId).where('module_id', '=', moduleId).execute()
  if (next.status !== 'active') return
  const seq = await headOf(tx, streamOf(tenantId))
  const fresh = { attempt: 0, next_at: null, delivery_id: null, failing_since: null, error: null, skipped: 0, skipped_at: null }
  await tx
    .insertInto('module_positions')
    .values({ tenant_id: tenantId, module_id: moduleId, seq, ...fresh })
    .execute()
}

async function recordUsage(tx: Tx, clock: Clock, { tenantId, moduleId }: InstallationRecord): Promise<void> {
  const { billingPeriod, eventType, quantity, createdAt } = usageEvent(tenantId, moduleId, isoNow(clock))
  const period = { billing_period: billingPeriod, event_type: eventType, quantity, created_at: createdAt }
  await tx
    .insertInto('usage_events')
    .values({ tenant_id: tenantId, module_id: moduleId, ...period })
    .onConflict((c) => c.doNothing())
    .execute()
}
