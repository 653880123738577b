import type { BoxCommandKind, BoxCommandPayload, BoxDetail, BoxId, HostId, Plan } from '../../core/boxes/index.ts'
import { isFinal } from '../../core/hosts/index.ts'
import { type Actor, isoNow, newId, problem, type Random, type TenantId } from '../../core/kit/index.ts'
import { recordAudit } from '../audit/index.ts'
import { type Db, isUniqueViolation, type Tx } from '../db/index.ts'
import { type CommandBus, commandsByIds, enqueueCommand, type Host, hostByName } from '../hosts/index.ts'
import { assertNotDeleting, createTenant, deleteTenant, lockTenant, tenantBySlug } from '../tenants/index.ts'
import type { BoxRecord } from './box-record.ts'
import { boxBySlug, insertBox } from './boxes.repo.ts'
import type { BoxTable } from './boxes.tables.ts'
import { type DescribeDeps, describeBox } from './show-boxes.ts'

export type SetUpDeps = DescribeDeps & Readonly<{ db: Db; random: Random; bus: CommandBus }>

/** Input of both provisioning and adoption. */
export type NewBox = Readonly<{ slug: string; name: string; plan: Plan; chatDomain: string; host: string; canary: boolean }>

type Place = Pick<BoxTable, 'public_url' | 'internal_url' | 'first_port' | 'folder' | 'project'>

/** Provisioning or adoption. `place` chooses where a new box goes; a begun box keeps its place. */
export type SetUp<Kind extends BoxCommandKind> = Readonly<{
  kind: Kind
  action: string
  deadlineMs: number
  place(tx: Tx, hostId: HostId): Promise<Place>
  /** How the begun box differs from the input; undefined when it matches. */
  differenceOf(begun: BoxRecord): string | undefined
  /** True when a failed attempt left nothing on its host, so that a corrected call may replace it. */
  isReplaceable(begun: BoxRecord): boolean
  payload(tx: Tx, box: BoxRecord): Promise<BoxCommandPayload<Kind>>
}>

type Accepted = Readonly<{ box: BoxDetail; commandId: string }>

/** Retries when another box took the slug or the ports at the same time. */
const maxAttempts = 3

/**
 * Registers tenant and box and enqueues the command, in one transaction. The call is idempotent: for a box that is not ready it returns the open command
 * or starts a new attempt; for a ready box it returns the box if the input is the same.
 * Throws ALREADY_EXISTS, CONFLICT, NOT_FOUND (host), HOST_REVOKED, PORT_TAKEN.
 */
export async function setUpBox<Kind extends BoxCommandKind>(
  deps: SetUpDeps,
  actor: Actor,
  { input, setUp }: Readonly<{ input: NewBox; setUp: SetUp<Kind> }>,
): Promise<Accepted> {
  for (let left = maxAttempts; ; left--) {
    try {
      const accepted = await deps.db.transaction().execute((tx) => begin(deps, tx, { actor, input, setUp }))
      deps.bus.queued(accepted.hostId)
      return { box: accepted.box, commandId: accepted.commandId }
    } catch (error) {
      if (!isUniqueViolation(error)) throw error
      if (left <= 1) throw problem('CONFLICT', `other boxes were created on ${input.host} at the same time. fix: retry`)
    }
  }
}

type Request<Kind extends BoxCommandKind> = Readonly<{ input: NewBox; host: Host; setUp: SetUp<Kind> }>

async function begin<Kind extends BoxCommandKind>(
  deps: SetUpDeps,
  tx: Tx,
  { actor, input, setUp }: Omit<Request<Kind>, 'host'> & Readonly<{ actor: Actor }>,
): Promise<Accepted & { hostId: HostId }> {
  const host = assertHostUsable(await hostByName(tx, input.host))
  const request: Request<Kind> = { input, host, setUp }
  await lockTenant(tx, input.slug) // an existing tenant gets one box, also from concurrent calls
  const found = await boxBySlug(tx, input.slug)
  const begun = found && (await mayReplace(tx, found, request)) ? await deleteBegun(deps, tx, found) : found
  if (begun && !wasMadeBy(begun, request)) assertSameBox(begun, request)
  if (begun && (begun.live || (await isUnderWay(tx, begun))))
    return { box: await describeBox(deps, tx, begun), commandId: begun.setUp.commandId, hostId: host.id }
  const box = begun ? await nextAttempt(tx, begun, setUp.kind) : await register(deps, tx, request)
  const { id: commandId } = await enqueueCommand(tx, deps.clock, {
    id: box.setUp.commandId,
    hostId: box.hostId,
    boxId: box.id,
    kind: setUp.kind,
    payload: await setUp.payload(tx, box),
    deadlineMs: setUp.deadlineMs,
  })
  const answer = { box: await describeBox(deps, tx, box), commandId, hostId: host.id }
  const { name, plan, chatDomain } = input
  const data = { host: host.name, name, plan, chatDomain, attempt: box.setUp.attempt, commandId }
  await recordAudit(tx, deps.clock, { actor, action: setUp.action, subject: box.slug, data })
  return answer
}

function assertHostUsable(host: Host): Host {
  if (host.status === 'revoked') throw problem('HOST_REVOKED', `host ${host.name} was revoked. fix: enrol it again, or use another host`)
  if (host.status === 'frozen') throw problem('CONFLICT', `host ${host.name} is frozen: two agents used its key. fix: enrol it again`)
  return host
}

/** True for a repeated call: a client that missed the result must not get ALREADY_EXISTS. */
const wasMadeBy = <Kind extends BoxCommandKind>(begun: BoxRecord, request: Request<Kind>): boolean =>
  begun.live &&
  !begun.removal &&
  begun.setUp.commandId === setUpCommand(begun.id, request.setUp.kind, begun.setUp.attempt) &&
  differenceOf(begun, request) === undefined

function assertSameBox<Kind extends BoxCommandKind>(begun: BoxRecord, request: Request<Kind>): void {
  const { slug } = begun
  if (begun.removal)
    throw problem(
      'CONFLICT',
      `box ${slug} was removed and its data is retained. fix: \`tenantry boxes remove ${slug}\` with --undo or --now`,
    )
  if (begun.live) throw problem('ALREADY_EXISTS', `box ${begun.slug} of ${begun.tenantName} already exists. fix: choose another slug`)
  const other = differenceOf(begun, request)
  if (other) throw problem('CONFLICT', `box ${begun.slug} was started with ${other}. fix: repeat the original call, or choose another slug`)
}

const differenceOf = <Kind extends BoxCommandKind>(begun: BoxRecord, { input, host, setUp }: Request<Kind>): string | undefined =>
  (begun.hostId !== host.id && 'another host') ||
  (begun.chatDomain !== input.chatDomain && `the chat domain ${begun.chatDomain}`) ||
  (begun.plan !== input.plan && `the plan ${begun.plan}`) ||
  (begun.tenantName !== input.name && `the name ${begun.tenantName}`) ||
  setUp.differenceOf(begun)

/** A failed attempt that left nothing is replaced by the corrected call, so that a typing error does not use up the slug. */
const mayReplace = async <Kind extends BoxCommandKind>(tx: Tx, begun: BoxRecord, request: Request<Kind>) =>
  !begun.live &&
  !begun.removal &&
  request.setUp.isReplaceable(begun) &&
  differenceOf(begun, request) !== undefined &&
  !(await isUnderWay(tx, begun))

async function deleteBegun(deps: SetUpDeps, tx: Tx, { id, slug, tenantId }: BoxRecord): Promise<undefined> {
  const untouched = tx.deleteFrom('boxes').where('id', '=', id).where('live', '=', 0).where('removal', 'is', null)
  if ((await untouched.executeTakeFirst()).numDeletedRows === 0n) throw concurrentChange(slug)
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
  { input, host, setUp }: Request<Kind>,
): Promise<BoxRecord> {
  const tenant = (await tenantWithoutBox(tx, input)) ?? (await createTenant({ clock, random }, tx, input))
  const id = newId<BoxId>(random, 'box')
  const row = { ...emptyBox, id, host_id: host.id, slug: input.slug, canary: input.canary ? 1 : 0, created_at: isoNow(clock) }
  const place = await setUp.place(tx, host.id)
  await insertBox(tx, { ...row, ...place, tenant_id: tenant.id satisfies TenantId, set_up_command: setUpCommand(id, setUp.kind, 1) })
  return (await boxBySlug(tx, input.slug)) as BoxRecord
}

/** The existing tenant of the slug, which outlives its box. Throws CONFLICT when the input describes another tenant. */
async function tenantWithoutBox(tx: Tx, { slug, name, plan, chatDomain }: NewBox): Promise<{ id: TenantId } | undefined> {
  const tenant = await tenantBySlug(tx, slug)
  if (!tenant) return undefined
  assertNotDeleting(tenant)
  const boxed = await boxBySlug(tx, slug)
  if (boxed) return undefined
  if (tenant.name === name && tenant.plan === plan && tenant.chatDomain === chatDomain) return tenant
  throw problem(
    'CONFLICT',
    `tenant ${slug} exists with other data (${tenant.name}, ${tenant.plan}, ${tenant.chatDomain}). fix: use the same data, or choose another slug`,
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
  if (numUpdatedRows === 0n) throw concurrentChange(box.slug)
  return (await boxBySlug(tx, box.slug)) as BoxRecord
}

const concurrentChange = (slug: string) =>
  problem('CONFLICT', `${slug} was changed at the same time. fix: check \`tenantry boxes show ${slug}\`, then retry`)
