import { isoIn, isoNow, isProblemCode, newId, type PlatformPrincipal, problem, splitFix } from '../../core/kit/index.ts'
import { assertVendorIsPayable } from '../../core/payments/index.ts'
import type { SagaEntry, SagaError } from '../../core/saga/index.ts'
import { recordAudit } from '../audit/index.ts'
import { enqueueJob, isUniqueViolation, type JobHandler, type Tx } from '../db/index.ts'
import { findSubscription, findVendor, type ItemRecord, type Price, priceFor, type SubscriptionRecord } from '../marketplace/index.ts'
import { type TenantRecord, tenantById } from '../tenants/index.ts'
import { otherModulePrice } from './agreement.ts'
import { type Attempt, findAttempt, insertAttempt, openAttempt } from './attempts.repo.ts'
import type { Installer, PaymentsDeps, Planned } from './deps.ts'
import { assertNoFailedPayment } from './overdue.ts'
import { orProblem } from './problems.ts'
import { runAttempt } from './run-attempt.ts'
import { assertVendorGetsNoTax } from './terms.ts'

export const installTopic = 'payments.install'

/** The job takes over when the process of the request has ended, and retries. */
const takeOverAfterMs = 60_000

type Deps = Pick<PaymentsDeps, 'db' | 'clock' | 'provider' | 'automaticTax'>

/** Throws PAYMENTS_UNAVAILABLE, VENDOR_INACTIVE, NO_PAYMENT_CUSTOMER, PAYMENT_FAILED: why the tenant cannot buy the item now. */
export async function assertBuyable(deps: Deps, { tenantId }: Readonly<{ tenantId: string }>, item: ItemRecord): Promise<void> {
  const { slug, paymentCustomerId: customerId } = await buyerOf(deps, tenantId, item)
  const own = await findSubscription(deps.db, { tenantId, itemId: item.id })
  // Within its paid period the former subscription continues without a charge.
  if (own?.paymentSubscriptionId && (own.paidUntil ?? '') > isoNow(deps.clock)) return
  await assertNoFailedPayment(deps, { tenantId, slug, customerId })
}

async function buyerOf(
  deps: Omit<Deps, 'clock'>,
  tenantId: string,
  item: ItemRecord,
): Promise<TenantRecord & { paymentCustomerId: string }> {
  const { db, provider } = deps
  if (provider.name === 'none')
    throw problem(
      'PAYMENTS_UNAVAILABLE',
      'Paid items cannot be installed: the platform has no payment provider. fix: ask the operator of your platform to set one up',
    )
  const vendor = item.vendorId === null ? undefined : await findVendor(db, { id: item.vendorId })
  if (vendor) {
    assertVendorGetsNoTax(deps, vendor)
    assertVendorIsPayable({ ...vendor, accountStatus: vendor.paymentAccountStatus })
  }
  const tenant = await tenantById(db, tenantId)
  if (!tenant?.paymentCustomerId) throw noCustomer(tenant?.slug ?? tenantId)
  return { ...tenant, paymentCustomerId: tenant.paymentCustomerId }
}

const noCustomer = (slug: string) =>
  problem(
    'NO_PAYMENT_CUSTOMER',
    `Payments are not set up for ${slug} yet, so it cannot buy items. fix: ask the operator of your platform, who runs \`tenantry tenants billing ${slug} --create-customer\``,
  )

/**
 * Charges for a paid item and installs it. All checks come before the charge; after it the installation only goes forward. A repeated request
 * continues an attempt that is open. Throws also PAYMENT_FAILED, CONFLICT (another request installs it), and what the dry run throws.
 */
export async function installPaid(deps: PaymentsDeps, actor: PlatformPrincipal, accepted: Accepted): Promise<SubscriptionRecord> {
  const { item } = accepted
  const key = { tenantId: actor.tenantId, itemId: item.id }
  const attempt = (await openAttempt(deps.db, key)) ?? (await begin(deps, actor, accepted))
  const ran = await runAttempt(deps, attempt.id, actor)
  if (ran.state === 'busy') throw inProgress(item)
  if (ran.state === 'refused') throw ran.isFinished ? asProblem(ran.error) : payingBack(item, ran.error)
  if (ran.state === 'waiting') throw later(ran.error)
  const stored = ran.subscription ?? (await findSubscription(deps.db, key))
  if (!stored) throw problem('CONFLICT', `${item.name} was installed and removed meanwhile. fix: repeat the request`)
  return stored
}

/** The module of an app costs what the user accepted with the item. */
type Accepted = Planned & Readonly<{ item: ItemRecord }>

const inProgress = ({ name }: ItemRecord) =>
  problem('CONFLICT', `Another request installs ${name} at the moment. fix: list what is installed, or repeat the request in a few minutes`)

/** A repeated request finds the same attempt until then. */
const payingBack = ({ name }: ItemRecord, error: SagaError) =>
  problem(
    asProblem(error).code,
    `${splitFix(error.message).what} What was paid for ${name} is being paid back. fix: install it again when that has ended; until then the operator has an alert if it cannot end`,
  )

const asProblem = ({ code, message, retryable }: SagaError) =>
  problem(isProblemCode(code) && code !== 'COMMAND_EXPIRED' ? code : 'PAYMENT_FAILED', message, retryable === false ? { retryable } : {})

/** An operator has to remove the cause of a rejection; any other failure ends by itself. */
function later(error: SagaError | null) {
  const { what, fix } = splitFix(error?.message ?? 'retried soon')
  return problem(
    'PAYMENTS_UNAVAILABLE',
    `The installation waits (${what.replace(/\.$/, '')}). It continues by itself and is not charged twice. ` +
      `fix: ${(error?.retryable === false && fix) || 'repeat the request later'}`,
  )
}

async function begin(deps: PaymentsDeps, actor: PlatformPrincipal, { item, modulePriceCents }: Accepted): Promise<Attempt> {
  const { db, clock, random, provider, bundles } = deps
  const { tenantId } = actor
  const { paymentCustomerId: customerId, slug } = await buyerOf(deps, tenantId, item)
  if ((await bundles.plan({ tenantId }, item)).modulePriceCents !== modulePriceCents) throw otherModulePrice(item)
  if (!(await orProblem(() => provider.getCustomer(customerId)))) throw noCustomer(slug)
  const id = newId(random, 'pay')
  const agreed = { ...priceFor(item, await findSubscription(db, { tenantId, itemId: item.id }), clock), modulePriceCents }
  const journal = agreedAt(agreed)
  const attempt = { id, tenantId, itemId: item.id, customerId, journal, outcome: null, createdAt: isoNow(clock), finishedAt: null }
  try {
    await db.transaction().execute(async (tx) => {
      await insertAttempt(tx, attempt)
      const row = await findSubscription(tx, { tenantId, itemId: item.id })
      if (row?.status === 'active') throw problem('ALREADY_INSTALLED', `${item.name} is already installed`)
      await enqueueInstall(tx, deps, id)
      const data = {
        attemptId: id,
        itemId: item.id,
        item: item.slug,
        ...agreed,
      }
      await recordAudit(tx, clock, { actor, action: 'payment.install-begun', subject: actor.tenantSlug, data })
    })
  } catch (error) {
    if (isUniqueViolation(error)) throw inProgress(item)
    throw error
  }
  return attempt
}

/** Committed with the attempt: a price that changes from now on is not charged. */
const agreedAt = (agreed: Price & Planned): SagaEntry[] => [
  { step: 'check', mark: 'intent', elapsedMs: 0 },
  { step: 'check', mark: 'done', elapsedMs: 0, data: agreed },
]

const enqueueInstall = (tx: Tx, { clock }: Pick<PaymentsDeps, 'clock'>, attemptId: string): Promise<void> =>
  enqueueJob(tx, clock, {
    topic: installTopic,
    payload: { attemptId },
    queue: `payments:${attemptId}`,
    pool: 'payments',
    runAt: isoIn(clock, takeOverAfterMs),
  })

/** Continues an attempt whose request ended, every minute until it has ended. The module of an app is activated as by the request. */
export const continueInstall =
  (deps: PaymentsDeps): JobHandler =>
  async (payload) => {
    const { attemptId } = payload as { attemptId: string }
    const attempt = await findAttempt(deps.db, attemptId)
    if (!attempt || attempt.outcome === 'rolled_back') return
    const tenant = await tenantById(deps.db, attempt.tenantId)
    const actor = { kind: 'system', name: 'payments', tenantId: attempt.tenantId, tenantSlug: tenant?.slug ?? attempt.tenantId } as const
    const ran = await runAttempt(deps, attemptId, actor)
    if (ran.state === 'committed') await activate(deps, actor, attempt)
    const isOver = ran.state === 'committed' || (ran.state === 'refused' && ran.isFinished)
    if (!isOver) await deps.db.transaction().execute((tx) => enqueueInstall(tx, deps, attemptId))
  }

/** Also after a request that was killed between its commit and the activation. A failure is left to a repeated request. */
async function activate({ db, bundles, log }: PaymentsDeps, actor: Installer, { tenantId, itemId }: Attempt): Promise<void> {
  const stored = await findSubscription(db, { tenantId, itemId })
  if (stored?.status !== 'active') return
  const failure = await bundles.activate(actor, stored)
  if (failure) log.warn({ tenantId, itemId, reason: failure.message }, 'the module of an app was not activated')
}
