import { timingSafeEqual } from 'node:crypto'
import { sql } from 'kysely'
import { type AdminActor, actorLabel, type Clock, isoIn, isoNow, problem, type Secret, sha256Hex } from '../../../core/kit/index.ts'
import {
  cveIdIn,
  type EmergencyOrder,
  leftOutBoxes,
  namedVersions,
  type RolloutDetail,
  readEmergencyOrder,
  type UncheckedOrder,
} from '../../../core/rollouts/index.ts'
import { recordAudit } from '../../audit/index.ts'
import { type Db, isUniqueViolation } from '../../db/index.ts'
import { emergencyCreated } from '../alerts.ts'
import { createdBefore, newRollout, queueRollout, type Repeat, repeatOf } from '../create-rollout.ts'
import type { RolloutsDeps } from '../deps.ts'
import { type PlanDeps, type Planned, planEmergency } from '../plan-rollout.ts'
import { askedOnce } from '../resolve-images.ts'
import { showRollout } from '../show-rollout.ts'

type Deps = PlanDeps & Pick<RolloutsDeps, 'rolloutBus' | 'assertSnapshotsConfigured' | 'approvalTokenSha256'>

type Input = UncheckedOrder & Readonly<{ approvalToken: Secret; idempotencyKey?: string | undefined }>

/**
 * Queues an emergency rollout (spec 4.6). Throws, in this order: RATE_LIMITED, CONFIG and AUTH for the token, CONFIG where snapshots are not
 * configured, VALIDATION for the order. Its manifest is applied when it starts. With an
 * Idempotency-Key a repeated call answers the rollout of the first.
 */
export async function createEmergency(
  deps: Deps,
  actor: AdminActor,
  { approvalToken, idempotencyKey: key, ...unchecked }: Input,
): Promise<RolloutDetail> {
  await assertApproved(deps, actor, approvalToken)
  deps.assertSnapshotsConfigured()
  const order = readEmergencyOrder(unchecked, approvalToken)
  const repeat = key === undefined ? null : repeatOf(actor, { emergency: order }, withoutToken(key, approvalToken))
  const asking = { ...deps, askRegistries: deps.askRegistries && askedOnce(deps.askRegistries) }
  const created = repeat && (await createdBefore(deps.db, repeat))
  if (created) return showRollout(deps, created)
  const planned = await planEmergency(asking, order)
  if (await store(deps, actor, { order, planned, repeat })) return showRollout(deps, planned.id)
  const other = repeat && (await createdBefore(deps.db, repeat))
  if (other) return showRollout(deps, other)
  throw problem('CONFLICT', 'the same emergency was created at the same moment. fix: retry')
}

/** The key is stored in plain text. */
function withoutToken(key: string, token: Secret): string {
  if (!key.includes(token.reveal())) return key
  const reason = 'contains the approval token, which must not be stored'
  throw problem('VALIDATION', `Idempotency-Key: ${reason}`, { details: [{ path: 'Idempotency-Key', reason }] })
}

/** Answers false, with nothing stored, when the same call was made at the same time. */
async function store(
  { db, clock, rolloutBus }: Deps,
  actor: AdminActor,
  { order, planned, repeat }: Readonly<{ order: EmergencyOrder; planned: Planned; repeat: Repeat | null }>,
): Promise<boolean> {
  const { reason, triggeredBy, ...targets } = order
  const { id, plan } = planned
  const cveId = cveIdIn(reason) as string
  const rollout = newRollout(clock, actor, { planned, options: { reason, cveId, triggeredBy, ...asEmergency } })
  const alert = emergencyCreated({
    rolloutId: id,
    cveId,
    reason,
    boxes: plan.updates,
    leftOut: leftOutBoxes(plan.boxes),
    upToDate: plan.boxes.filter(({ does, findings }) => does === 'skip' && findings.length === 0).length,
    by: `${actorLabel(actor)} (triggered by ${triggeredBy})`,
  })
  try {
    await db.transaction().execute(async (tx) => {
      await queueRollout(
        { tx, clock, rollout },
        {
          ...{ plan, repeat, actor, alert },
          fixes: namedVersions(targets),
          data: { cveId, triggeredBy, targets },
        },
      )
    })
  } catch (error) {
    if (isUniqueViolation(error)) return false
    throw error
  }
  rolloutBus.changed(id)
  return true
}

/** The first failure of a phase stops it; blocked boxes may be skipped at the start. */
const asEmergency = { failureThreshold: 1, skipRefused: false, holdAfter: null, fenceMode: 'auto' } as const

type ApprovalDeps = Readonly<{ db: Db; clock: Clock; approvalTokenSha256: string | undefined }>

/** This many wrong tokens within the window lock the account out of emergencies for the same time again. */
const maxWrongTokens = 5
const windowMs = 15 * 60_000

/**
 * Throws RATE_LIMITED for an account that tried too often, CONFIG where no token is configured, AUTH for a wrong one, in this order. The
 * comparison takes constant time.
 */
async function assertApproved(deps: ApprovalDeps, actor: AdminActor, token: Secret): Promise<void> {
  const { approvalTokenSha256: expected } = deps
  if (expected === undefined) {
    await assertNotLocked(deps, actor.accountId)
    throw problem(
      'CONFIG',
      'no approval token for emergencies is configured. fix: create one with `tenantryd approval-token`, set its hash as printed, restart the daemon',
    )
  }
  await countAttempt(deps, actor.accountId)
  const isRight = timingSafeEqual(Buffer.from(sha256Hex(token.reveal()), 'hex'), Buffer.from(expected, 'hex'))
  if (isRight) return resetAttempts(deps, actor.accountId)
  await deps.db.transaction().execute((tx) => recordAudit(tx, deps.clock, { actor, action: 'rollout.emergency.wrong_token' }))
  throw problem(
    'AUTH',
    `the approval token is wrong; after ${maxWrongTokens} wrong tokens this account is locked for ${windowMs / 60_000} minutes`,
  )
}

/**
 * Counts an attempt as wrong before its token is compared, in one statement: of a hundred at once, five are compared. Throws RATE_LIMITED
 * while the lock lasts; such attempts are not counted and do not extend it. Where the database cannot count, nothing is compared.
 */
async function countAttempt(deps: ApprovalDeps, accountId: string): Promise<void> {
  const [now, later] = [isoNow(deps.clock), isoIn(deps.clock, windowMs)]
  const { rows } = await sql`
    insert into approval_failures (account_id, failures, forget_at, locked_until) values (${accountId}, 1, ${later}, null)
    on conflict (account_id) do update set
      failures = case when approval_failures.forget_at <= ${now} then 1 else approval_failures.failures + 1 end,
      locked_until = case when approval_failures.forget_at > ${now} and approval_failures.failures + 1 >= ${maxWrongTokens} then ${later} end,
      forget_at = case when approval_failures.forget_at <= ${now} then ${later} else approval_failures.forget_at end
    where approval_failures.locked_until is null or approval_failures.locked_until <= ${now}
    returning failures`.execute(deps.db)
  if (rows.length === 0) throw await lockedOut(deps, accountId)
}

async function assertNotLocked(deps: ApprovalDeps, accountId: string): Promise<void> {
  if ((await lockLeftMs(deps, accountId)) > 0) throw await lockedOut(deps, accountId)
}

async function lockedOut(deps: ApprovalDeps, accountId: string) {
  const leftMs = await lockLeftMs(deps, accountId)
  return problem(
    'RATE_LIMITED',
    `${maxWrongTokens} wrong approval tokens: this account cannot create emergencies for ${windowMs / 60_000} minutes. fix: use another account with the role admin`,
    { retryAfterSeconds: Math.max(1, Math.ceil(leftMs / 1000)) },
  )
}

async function lockLeftMs({ db, clock }: ApprovalDeps, accountId: string): Promise<number> {
  const row = await db.selectFrom('approval_failures').select('locked_until').where('account_id', '=', accountId).executeTakeFirst()
  return row?.locked_until ? Date.parse(row.locked_until) - clock.now().getTime() : 0
}

async function resetAttempts({ db }: ApprovalDeps, accountId: string): Promise<void> {
  await db.deleteFrom('approval_failures').where('account_id', '=', accountId).execute()
}
