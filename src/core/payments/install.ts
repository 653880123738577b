import type { Saga } from '../saga/index.ts'
import { isLive, type ProviderSubscription } from './records.ts'

/** `check`: refusals are recorded for it. The transaction of `install` commits. */
export type InstallStep = 'check' | 'price' | 'charge' | 'install' | 'cancel' | 'refund'

const refusedAs = () => 'check' as const

/** From the charge on, an installation that fails is retried; after this it is cancelled and refunded. */
export const installDeadlineMs = 24 * 60 * 60_000

/** A paid installation. Provider errors are retried; a refusal by the provider or the deadline cancels and refunds. */
export const installSaga: Saga<InstallStep, null> = {
  name: 'installation',
  steps: [
    { name: 'check' },
    { name: 'price', isRetried: true, refusedAs },
    { name: 'charge', isRetried: true, refusedAs },
    { name: 'install', isRetried: true, refusedAs },
  ],
  finish: [],
  compensation: [{ name: 'cancel' }, { name: 'refund' }],
}

type Attempt = Readonly<{ id: string; tenantId: string; itemId: string }>

/** Metadata of the subscription: recovery finds it by the attempt, webhooks by the kind. */
export const metadataOf = ({ id, tenantId, itemId }: Attempt) => ({
  svc_kind: 'item',
  svc_tenant: tenantId,
  svc_item: itemId,
  svc_attempt: id,
})

export const isOfAttempt = ({ metadata }: ProviderSubscription, { id }: Pick<Attempt, 'id'>): boolean => metadata.svc_attempt === id

/** The live subscription of the tenant and item, whichever attempt created it: there is never a second one. */
export const liveSubscriptionOf = (subscriptions: readonly ProviderSubscription[], { tenantId, itemId }: Attempt) =>
  subscriptions.find(
    (one) => isLive(one) && one.metadata.svc_kind === 'item' && one.metadata.svc_tenant === tenantId && one.metadata.svc_item === itemId,
  )

/** `step` is carried out once for each `n`, which rises after an answer that the provider saved as an error. */
export const installKey = (attemptId: string, step: InstallStep, n: number): string => `install:${attemptId}:${step}:${n}`

/** One meter per item: two subscriptions that share a meter would both be billed for all usage. */
export const usageMeterOf = (itemId: string): string => `svc_item_${itemId}`

/** Reports run on the 1st, and a daemon may be down for days: invoices of usage follow on the 5th. */
export const usageAnchor = { dayOfMonth: 5, hour: 12 } as const
