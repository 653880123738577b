import type { ProviderInvoice } from '../payments/index.ts'

type Invoice = Pick<ProviderInvoice, 'status' | 'isDisputed' | 'isLost' | 'total' | 'taxCents' | 'paidCents' | 'refundedCents'>
type Module = Readonly<{ id: string; priceCents: number }>
type Share = Readonly<{ id: string; state: 'billed' | 'paid' | 'refunded' | 'void'; refundedCents: number }>

/**
 * The state of each module by its invoice. A refund in part is split by price: the provider does not know which module it is for, and the
 * invoice may have tax. The parts add up to the refund.
 */
export function sharesOf(invoice: Invoice | null, modules: readonly Module[]): Share[] {
  const owedCents = modules.reduce((sum, { priceCents }) => sum + priceCents, 0)
  const refundedCents = invoice && invoice.refundedCents > 0 ? refundOf(invoice, owedCents) : 0
  const isPaid = isCollected(invoice, owedCents)
  let before = 0
  const upTo = (cents: number) => (owedCents === 0 ? 0 : Math.floor((refundedCents * cents) / owedCents))
  return modules.map(({ id, priceCents }) => {
    const share = upTo(before + priceCents) - upTo(before)
    before += priceCents
    const state = isGivenUp(invoice) ? 'void' : share >= priceCents && share > 0 ? 'refunded' : isPaid ? 'paid' : 'billed'
    return { id, state, refundedCents: share }
  })
}

/** Nothing is collected any more, or it was taken back. */
const isGivenUp = (invoice: Invoice | null): boolean =>
  invoice?.status === 'void' || invoice?.status === 'uncollectible' || invoice?.isLost === true

const refundOf = ({ paidCents, refundedCents }: Invoice, owedCents: number): number =>
  refundedCents >= paidCents ? owedCents : Math.min(owedCents, Math.ceil((refundedCents * owedCents) / Math.max(paidCents, owedCents)))

/**
 * Disputed money may be lost: it is held until the dispute is won. A credit balance, a credit note or a coupon settles an invoice without money: there
 * is none to pass on. Tax is no money for the modules.
 */
const isCollected = (invoice: Invoice | null, owedCents: number): boolean =>
  invoice?.status === 'paid' &&
  !invoice.isDisputed &&
  invoice.paidCents >= invoice.total.cents &&
  invoice.total.cents - invoice.taxCents >= owedCents

/** `countedCents`: what statements have of the module. */
type Counted = Readonly<{ id: string; dueCents: number; countedCents: number }>
type Change = Readonly<{ id: string; cents: number }>

/**
 * Counts modules for a statement whose sum is `startCents`: what is due is added, what was refunded since is deducted, and the sum never falls below
 * zero. A deduction that does not fit is left for the next statement.
 */
export function countModules(modules: readonly Counted[], startCents = 0) {
  const changed = modules.map(({ id, dueCents, countedCents }) => ({ id, cents: dueCents - countedCents }))
  const added = changed.filter(({ cents }) => cents > 0)
  let grossCents = added.reduce((sum, { cents }) => sum + cents, startCents)
  const deducted: Change[] = []
  for (const { id, cents } of changed.filter((one) => one.cents < 0)) {
    const part = Math.min(-cents, grossCents)
    grossCents -= part
    if (part > 0) deducted.push({ id, cents: -part })
  }
  return { changes: [...added, ...deducted], grossCents, deductedCents: deducted.reduce((sum, { cents }) => sum - cents, 0) }
}
