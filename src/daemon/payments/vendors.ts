import type { NewAlert } from '../../core/alerts/index.ts'
import { type Actor, canonicalJson, isoIn, isoNow, printable, problem, sha256Hex } from '../../core/kit/index.ts'
import { accountStateOf, type ProviderAccount } from '../../core/payments/index.ts'
import { closeAlerts, raiseAlert } from '../alerts/index.ts'
import { recordAudit } from '../audit/index.ts'
import { enqueueJob, type JobHandler, type Tx } from '../db/index.ts'
import { findVendor, isAccountGone, lockVendor, replaceVendor, storeAccountGone } from '../marketplace/index.ts'
import type { PaymentsDeps } from './deps.ts'
import { createOnce } from './prices.ts'
import { orProblem } from './problems.ts'
import { returnUrlsOf } from './return-page.ts'
import { lookAgainMs, runAlone, stateOfAccount } from './run-alone.ts'
import { termsTopic } from './terms.ts'

type Deps = Pick<PaymentsDeps, 'db' | 'clock' | 'random' | 'provider' | 'baseUrl'>
type One = Readonly<{ id: string }>
const system = { kind: 'system', name: 'payments' } as const

export const vendorTopic = 'payments.vendor'

const existingVendor = async ({ db }: Pick<Deps, 'db'>, { id }: One) => {
  const vendor = await findVendor(db, { id })
  if (!vendor) throw problem('NOT_FOUND', `Vendor ${id} does not exist. fix: \`tenantry marketplace vendors list\``)
  return vendor
}

/** The account of a vendor at the provider, created if it is missing. `gone`: a former one that the provider does not have any more. */
async function ensureAccount(deps: Deps, { id, gone = null }: One & Readonly<{ gone?: string | null }>): Promise<string> {
  const { db, clock, provider } = deps
  const { name, contactEmail: email, country, paymentAccountId } = await existingVendor(deps, { id })
  if (paymentAccountId !== null && paymentAccountId !== gone) return paymentAccountId
  const input = { name, email, country, metadata: { svc_vendor: id } }
  // The key of the former account would return it again. Other fields are another request.
  const account = await createOnce(
    `account:${id}:${sha256Hex(canonicalJson(input)).slice(0, 16)}${gone === null ? '' : `:${gone}`}`,
    (key) => provider.createAccount({ key, ...input }),
    async () => null,
  )
  return db.transaction().execute(async (tx) => {
    const locked = await lockVendor(tx, id)
    if (!locked || locked.paymentAccountId !== paymentAccountId) return locked?.paymentAccountId ?? account.id
    const state = { paymentAccountStatus: 'pending', chargesEnabled: false, payoutsEnabled: false } as const
    await replaceVendor(tx, { ...locked, ...state, paymentAccountId: account.id, updatedAt: isoNow(clock) })
    await storeAccountGone(tx, { id, isGone: false })
    await closeAlerts(tx, clock, { subject: id, kinds: ['vendor_restricted'], because: 'the vendor has a new account' })
    await recordAudit(tx, clock, {
      actor: system,
      action: 'payment.account-created',
      subject: id,
      data: { accountId: account.id, former: paymentAccountId },
    })
    return account.id
  })
}

/** Creates the account of a new vendor. */
export const createAccount =
  (deps: Deps): JobHandler =>
  async (payload) => {
    if (deps.provider.name === 'none') return
    await ensureAccount(deps, payload as One)
  }

/**
 * A hosted page for one use, on which the vendor completes the account. A vendor whose account is known to be gone gets a new one. Throws
 * NOT_FOUND, CONFLICT, PAYMENTS_UNAVAILABLE.
 */
export async function onboardVendor(deps: Deps, actor: Actor, { id }: One) {
  const { db, clock, provider, baseUrl } = deps
  const link = await orProblem(async () => {
    const known = await ensureAccount(deps, { id })
    const accountId = (await provider.getAccount(known)) ? known : await replaceAccount(deps, { id, gone: known })
    return provider.createAccountLink({ accountId, ...returnUrlsOf({ baseUrl }) })
  })
  await db.transaction().execute((tx) => recordAudit(tx, clock, { actor, action: 'payment.onboarding-link', subject: id, data: {} }))
  return link
}

/** The key of another account or mode finds no account either, so one is replaced only after a sync has stored that it is gone. */
async function replaceAccount(deps: Deps, { id, gone }: One & Readonly<{ gone: string }>): Promise<string> {
  if (await isAccountGone(deps.db, id)) return ensureAccount(deps, { id, gone })
  throw problem(
    'CONFLICT',
    `The payment provider does not find the account ${gone} of vendor ${id}. fix: check that TENANTRY_STRIPE_SECRET_KEY is of the right account; if the vendor's account was deleted, run \`tenantry marketplace vendors sync ${id}\`, then onboard again`,
  )
}

/**
 * Reads the account of a vendor from the provider, and sends its terms to live subscriptions that differ. It creates none. Throws NOT_FOUND,
 * CONFLICT, PAYMENTS_UNAVAILABLE.
 */
export async function syncVendor(deps: Deps, actor: Actor, { id }: One) {
  const { paymentAccountId: accountId } = await existingVendor(deps, { id })
  if (accountId === null)
    throw problem(
      'CONFLICT',
      `Vendor ${id} has no payment account, so there is nothing to read. fix: \`tenantry marketplace vendors onboard ${id}\` creates it`,
    )
  await orProblem(async () => {
    if ((await readAccount(deps, actor, { id, accountId })) === undefined)
      throw problem('CONFLICT', `The account of vendor ${id} is being read at the moment. fix: repeat the request in a minute`)
    // Subscriptions whose terms were changed at the provider get those of the vendor again.
    await deps.db
      .transaction()
      .execute((tx) => enqueueJob(tx, deps.clock, { topic: termsTopic, payload: { vendorId: id }, pool: 'payments' }))
  })
  return existingVendor(deps, { id })
}

/** Applies an event of an account: reads it again and stores its state. Returns what happened, or when to look again. */
export async function syncAccount(deps: Deps, accountId: string): Promise<string | Readonly<{ runAt: string }>> {
  const vendor = await findVendor(deps.db, { paymentAccountId: accountId })
  if (!vendor) return 'no vendor has the account'
  const status = await readAccount(deps, system, { id: vendor.id, accountId })
  return status === undefined ? { runAt: isoIn(deps.clock, lookAgainMs) } : `vendor ${vendor.id} is ${status}`
}

/** Undefined while another process reads the account: a state that was read before another one must not be stored after it. */
const readAccount = (deps: Deps, actor: Actor, { id, accountId }: One & Readonly<{ accountId: string }>): Promise<string | undefined> =>
  runAlone(deps, stateOfAccount(accountId), async () => apply(deps, actor, { id, account: await deps.provider.getAccount(accountId) }))

type Read = Readonly<{ id: string; account: ProviderAccount | null }>

/** An account that the provider does not have any more restricts its vendor. */
const apply = ({ db, clock }: Deps, actor: Actor, { id, account }: Read): Promise<string> =>
  db.transaction().execute(async (tx: Tx) => {
    const vendor = await lockVendor(tx, id)
    if (!vendor) return 'gone'
    await storeAccountGone(tx, { id, isGone: account === null })
    const paymentAccountStatus = account ? accountStateOf(account, vendor.paymentAccountStatus) : 'restricted'
    const state = {
      paymentAccountStatus,
      chargesEnabled: account?.chargesEnabled ?? false,
      payoutsEnabled: account?.payoutsEnabled ?? false,
    }
    const isSame = vendor.paymentAccountStatus === paymentAccountStatus && vendor.chargesEnabled === state.chargesEnabled
    if (isSame && vendor.payoutsEnabled === state.payoutsEnabled) return paymentAccountStatus
    await replaceVendor(tx, { ...vendor, ...state, updatedAt: isoNow(clock) })
    if (paymentAccountStatus === 'restricted')
      await raiseAlert(tx, clock, restrictedAlert({ id, name: vendor.name, pastDue: account?.pastDue ?? [] }))
    else await closeAlerts(tx, clock, { subject: id, kinds: ['vendor_restricted'], because: `the account is ${paymentAccountStatus}` })
    // Live subscriptions of its items wait for an account that can be paid, such as the one after a deleted one.
    if (paymentAccountStatus === 'active') await enqueueJob(tx, clock, { topic: termsTopic, payload: { vendorId: id }, pool: 'payments' })
    await recordAudit(tx, clock, {
      actor,
      action: 'payment.account-changed',
      subject: id,
      data: { ...state, pastDue: account?.pastDue ?? [] },
    })
    return paymentAccountStatus
  })

/** The provider disabled the account of a vendor, or waits for data of it. */
const restrictedAlert = ({ id, name, pastDue }: One & Readonly<{ name: string; pastDue: readonly string[] }>): NewAlert => ({
  kind: 'vendor_restricted',
  subject: id,
  title: `The payment account of the vendor ${printable(name).slice(0, 50)} is restricted`,
  body:
    'Tenants cannot install its paid items (VENDOR_INACTIVE). Live subscriptions continue; without transfers their payments fail.\n' +
    (pastDue.length > 0 ? `The provider waits for: ${pastDue.join(', ').slice(0, 300)}.\n` : '') +
    'Send the vendor a link to complete its account. The alert closes when the account is active.',
  command: `tenantry marketplace vendors onboard ${id}`,
  standing: true,
})
