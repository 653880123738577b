import type { BoxCommandKind, BoxCommandPayload, BoxDetail, BoxId, HostId, Plan } from '../../core/boxes/index.ts'
import { isFinal } from '../../core/hosts/index.ts'
import { type Actor, isoNow, newId, problem, type Random, type TenantId } from '../../core/kit/index.ts'
import { recordAudit } from '../audit/index.ts'
import { type Db, isUniqueViolation, type Tx } from '../db/index.ts'
import { type CommandBus, commandsByIds, enqueueCommand, type Host, hostByName } from '../hosts/index.ts'
import { createTenant, deleteTenant, lockTenant, tenantBySlug } from '../tenants/index.ts'
import type { BoxRecord } from './box-record.ts'
import { boxBySlug, insertBox } from './boxes.repo.ts'
import type { BoxTable } from './boxes.tables.ts'
import { type DescribeDeps, describeBox } from './show-boxes.ts'

export type SetUpDeps = DescribeDeps & Readonly<{ db: Db; random: Random; bus: CommandBus }>

/** What is the same whether a box is made or adopted. */
export type NewBox = Readonly<{ slug: string; name: string; plan: Plan; chatDomain: string; host: string; canary: boolean }>

type Place = Pick<BoxTable, 'public_url' | 'internal_url' | 'first_port' | 'folder' | 'project'>

/** The two ways to a box. `place` decides where a new one goes; a box that was begun keeps its place. */
export type SetUp<Kind extends BoxCommandKind> = Readonly<{
  kind: Kind
  action: string
  deadlineMs: number
  place(tx: Tx, hostId: HostId): Promise<Place>
  /** Why the begun box is not the one asked for; undefined when it is. */
  otherThan(begun: BoxRecord): string | undefined
  /** True when a failed beginning left nothing on its host: then a corrected call takes its place. */
  leftNothing(begun: BoxRecord): boolean
  payload(tx: Tx, box: BoxRecord): Promise<BoxCommandPayload<Kind>>
}>

type Accepted = Readonly<{ box: BoxDetail; commandId: string }>

/** Tries again when another box took the slug or the ports in the same moment; then it is there to be seen. */
const tries = 3

/**
 * Registers tenant and box and sends the command, in one transaction. The same slug again goes on with a box that is not ready yet: with the
 * command that is still open, else with a new attempt; one that is ready is answered as it is to the very call that made it. Throws
 * ALREADY_EXISTS, CONFLICT, NOT_FOUND (host), HOST_REVOKED, PORT_TAKEN.
 */
export async function setUpBox<Kind extends BoxCommandKind>(
  deps: SetUpDeps,
  actor: Actor,
  wanted: NewBox,
  way: SetUp<Kind>,
): Promise<Accepted> {
  for (let left = tries; ; left--) {
    try {
      const accepted = await deps.db.transaction().execute((tx) => begin(deps, tx, actor, wanted, way))
      deps.bus.queued(accepted.hostId)
      return { box: accepted.box, commandId: accepted.commandId }
    } catch (error) {
      if (!isUniqueViolation(error)) throw error
      if (left <= 1) throw problem('CONFLICT', `other boxes were made on ${wanted.host} at the same moment: try again`)
    }
  }
}

async function begin<Kind extends BoxCommandKind>(
  deps: SetUpDeps,
  tx: Tx,
  actor: Actor,
  wanted: NewBox,
  way: SetUp<Kind>,
): Promise<Accepted & { hostId: HostId }> {
  const host = usable(await hostByName(tx, wanted.host))
  await lockTenant(tx, wanted.slug) // one that is there gets one box, also from two who look at the same moment
  const found = await boxBySlug(tx, wanted.slug)
  const begun = found && (await mayReplace(tx, found, wanted, host, way)) ? await forget(deps, tx, found) : found
  if (begun && !wasMadeBy(begun, wanted, host, way)) refuseOther(begun, wanted, host, way)
  if (begun && (begun.live || (await isUnderWay(tx, begun))))
    return { box: await describeBox(deps, tx, begun), commandId: begun.setUp.commandId, hostId: host.id }
  const box = begun ? await nextAttempt(tx, begun, way.kind) : await register(deps, tx, wanted, host, way)
  const { id: commandId } = await enqueueCommand(tx, deps.clock, {
    id: box.setUp.commandId,
    hostId: box.hostId,
    boxId: box.id,
    kind: way.kind,
    payload: await way.payload(tx, box),
    deadlineMs: way.deadlineMs,
  })
  const answer = { box: await describeBox(deps, tx, box), commandId, hostId: host.id }
  const { name, plan, chatDomain } = wanted
  const data = { host: host.name, name, plan, chatDomain, attempt: box.setUp.attempt, commandId }
  await recordAudit(tx, deps.clock, { actor, action: way.action, subject: box.slug, data })
  return answer
}

function usable(host: Host): Host {
  if (host.status === 'revoked') throw problem('HOST_REVOKED', `the host ${host.name} was revoked: enrol it again, or use another`)
  if (host.status === 'frozen') throw problem('CONFLICT', `the host ${host.name} is frozen: two agents used its key; enrol it again first`)
  return host
}

/** Whoever did not hear that their box is ready says the same again, and must not be told to make another. */
const wasMadeBy = <Kind extends BoxCommandKind>(begun: BoxRecord, wanted: NewBox, host: Host, way: SetUp<Kind>): boolean =>
  begun.live &&
  !begun.removal &&
  begun.setUp.commandId === setUpCommand(begun.id, way.kind, begun.setUp.attempt) &&
  differenceOf(begun, wanted, host, way) === undefined

function refuseOther<Kind extends BoxCommandKind>(begun: BoxRecord, wanted: NewBox, host: Host, way: SetUp<Kind>): void {
  const { slug } = begun
  if (begun.removal)
    throw problem(
      'CONFLICT',
      `the box ${slug} was removed and its data are kept: \`tenantry boxes remove ${slug}\` with --undo or --now decides`,
    )
  if (begun.live) throw problem('ALREADY_EXISTS', `the box ${begun.slug} of ${begun.tenantName} exists: choose another slug`)
  const other = differenceOf(begun, wanted, host, way)
  if (other) throw problem('CONFLICT', `the box ${begun.slug} was begun with ${other}: repeat the call as it was, or choose another slug`)
}

const differenceOf = <Kind extends BoxCommandKind>(begun: BoxRecord, wanted: NewBox, host: Host, way: SetUp<Kind>): string | undefined =>
  (begun.hostId !== host.id && 'another host') ||
  (begun.chatDomain !== wanted.chatDomain && `the chat domain ${begun.chatDomain}`) ||
  (begun.plan !== wanted.plan && `the plan ${begun.plan}`) ||
  (begun.tenantName !== wanted.name && `the name ${begun.tenantName}`) ||
  way.otherThan(begun)

/** A mistyped folder must not use a slug up: what failed without a trace gives way to the call that mends it. */
const mayReplace = async <Kind extends BoxCommandKind>(tx: Tx, begun: BoxRecord, wanted: NewBox, host: Host, way: SetUp<Kind>) =>
  !begun.live &&
  !begun.removal &&
  way.leftNothing(begun) &&
  differenceOf(begun, wanted, host, way) !== undefined &&
  !(await isUnderWay(tx, begun))

async function forget(deps: SetUpDeps, tx: Tx, { id, slug, tenantId }: BoxRecord): Promise<undefined> {
  const untouched = tx.deleteFrom('boxes').where('id', '=', id).where('live', '=', 0).where('removal', 'is', null)
  if ((await untouched.executeTakeFirst()).numDeletedRows === 0n) throw changedMeanwhile(slug)
  const earlier = await tx.selectFrom('boxes').select('id').where('tenant_id', '=', tenantId).executeTakeFirst()
  if (!earlier) await deleteTenant(deps, tx, tenantId)
  return undefined
}

const isUnderWay = async (tx: Tx, { setUp }: BoxRecord) =>
  (await commandsByIds(tx, [setUp.commandId])).some(({ status }) => !isFinal(status))

const setUpCommand = (boxId: BoxId, kind: BoxCommandKind, attempt: number) => `${boxId}.${kind.replace('tenant-box.', '')}.${attempt}`

async function register<Kind extends BoxCommandKind>(
  { clock, random }: SetUpDeps,
  tx: Tx,
  wanted: NewBox,
  host: Host,
  way: SetUp<Kind>,
): Promise<BoxRecord> {
  const tenant = (await tenantWithoutBox(tx, wanted)) ?? (await createTenant({ clock, random }, tx, wanted))
  const id = newId<BoxId>(random, 'box')
  const row = { ...emptyBox, id, host_id: host.id, slug: wanted.slug, canary: wanted.canary ? 1 : 0, created_at: isoNow(clock) }
  const place = await way.place(tx, host.id)
  await insertBox(tx, { ...row, ...place, tenant_id: tenant.id satisfies TenantId, set_up_command: setUpCommand(id, way.kind, 1) })
  return (await boxBySlug(tx, wanted.slug)) as BoxRecord
}

/** A tenant outlives its box: a new one under the same slug is for the same tenant. Throws CONFLICT when it is described otherwise. */
async function tenantWithoutBox(tx: Tx, { slug, name, plan, chatDomain }: NewBox): Promise<{ id: TenantId } | undefined> {
  const tenant = await tenantBySlug(tx, slug)
  if (!tenant) return undefined
  const boxed = await boxBySlug(tx, slug)
  if (boxed) return undefined
  if (tenant.name === name && tenant.plan === plan && tenant.chatDomain === chatDomain) return tenant
  throw problem(
    'CONFLICT',
    `the tenant ${slug} had a box before (${tenant.name}, ${tenant.plan}, ${tenant.chatDomain}): repeat these, or choose another slug`,
  )
}

const emptyBox = {
  live: 0,
  managed: 0,
  fenced: 0,
  ownership_epoch: 1,
  findings: '[]',
  set_up_attempt: 1,
  installed_migrations_head: 'unknown',
  installed_postgres: 'unknown',
  installed_synapse: 'unknown',
  installed_minio: 'unknown',
  database_bytes: null,
  last_report: null,
  reported_at: null,
  last_probe: null,
  drift_report: null,
  drift_severity: 'unknown',
  drift_revision: 0,
  last_drift_check_at: null,
} as const satisfies Partial<BoxTable>

async function nextAttempt(tx: Tx, box: BoxRecord, kind: BoxCommandKind): Promise<BoxRecord> {
  const attempt = box.setUp.attempt + 1
  const { numUpdatedRows } = await tx
    .updateTable('boxes')
    .set({ set_up_attempt: attempt, set_up_command: setUpCommand(box.id, kind, attempt) })
    .where('id', '=', box.id)
    .where('set_up_attempt', '=', box.setUp.attempt)
    .where('live', '=', 0)
    .where('removal', 'is', null)
    .executeTakeFirst()
  if (numUpdatedRows === 0n) throw changedMeanwhile(box.slug)
  return (await boxBySlug(tx, box.slug)) as BoxRecord
}

const changedMeanwhile = (slug: string) =>
  problem('CONFLICT', `somebody else began ${slug} anew, or removed it, at the same moment: look at it again`)
