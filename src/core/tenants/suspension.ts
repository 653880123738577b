import { type Problem, problem } from '../kit/index.ts'
import type { SuspensionCause } from './contract.ts'

/** The reason that a suspension by billing records. */
const planEndedReason = 'billing: the subscription of the plan ended'

/** An active tenant with a cause is resumed for a time: with `resumedUntil` it is suspended again. */
export type Standing = Readonly<{
  status: 'active' | 'suspended' | 'deleting'
  suspendedReason: string | null
  suspendedCause: SuspensionCause | null
  resumedUntil: string | null
}>
type Named = Standing & Readonly<{ slug: string }>

export const active: Standing = { status: 'active', suspendedReason: null, suspendedCause: null, resumedUntil: null }

/** True while the end of the plan alone suspends the tenant: an operator who suspends it too has put another reason there. */
export const isByPlanAlone = ({ suspendedCause, suspendedReason }: Pick<Standing, 'suspendedCause' | 'suspendedReason'>): boolean =>
  suspendedCause === 'plan_ended' && suspendedReason === planEndedReason

/** A tenant whose plan ended keeps that cause: an operator who suspends it does not pay its plan. */
export const suspendedBy = ({ suspendedCause }: Standing, reason: string): Standing => ({
  ...{ status: 'suspended', suspendedReason: reason, suspendedCause: suspendedCause ?? 'operator', resumedUntil: null },
})

/** The plan of a tenant ended. A time that an operator granted is kept, and so is the reason of an operator who has suspended it. */
export const afterPlanEnded = (before: Standing): Standing => {
  if (before.status === 'suspended') return { ...before, suspendedCause: 'plan_ended' }
  const { resumedUntil } = before
  return { ...planEnded, status: resumedUntil === null ? 'suspended' : 'active', resumedUntil }
}
const planEnded = { suspendedReason: planEndedReason, suspendedCause: 'plan_ended' } as const

/** The plan has a subscription again. It lifts the suspension that the end of the plan caused, never that of an operator. */
export const afterPlanBegun = (before: Standing): Standing =>
  before.status === 'active' || isByPlanAlone(before) ? active : { ...before, suspendedCause: 'operator' }

/** Suspended again at the end of its time. Undefined for a tenant whose time has not ended, or that has none. */
export const afterResumedTime = (before: Standing, now: string): Standing | undefined =>
  before.status !== 'active' || before.resumedUntil === null || before.resumedUntil > now
    ? undefined
    : { ...before, status: 'suspended', resumedUntil: null }

const dayMs = 86_400_000
const maxResumedDays = 90

type Resume = Readonly<{ until: string | undefined; isPaid: boolean; now: string }>

/**
 * Lifts a suspension, for a time with `until`. A Light tenant whose plan ended is resumed for a time only; a new subscription lifts it for good.
 * Throws CONFLICT, VALIDATION.
 */
export function resumed(before: Named, { until, isPaid, now }: Resume): Standing {
  if (until === undefined) {
    if (before.suspendedCause === 'plan_ended' && !isPaid)
      throw problem('CONFLICT', `${before.slug} is suspended because the subscription of its plan ended. fix: ${liftOf(before)}`)
    return active
  }
  if (before.suspendedCause === null)
    throw problem(
      'CONFLICT',
      `${before.slug} is active and was not suspended, so it needs no time. fix: tenantry tenants show ${before.slug}`,
    )
  const ms = Date.parse(until) - Date.parse(now)
  const suspendedReason = before.suspendedCause === 'plan_ended' ? planEndedReason : before.suspendedReason
  if (ms > 0 && ms <= maxResumedDays * dayMs) return { ...before, suspendedReason, status: 'active', resumedUntil: until }
  const reason = `must be in the future, and at most ${maxResumedDays} days ahead`
  throw problem('VALIDATION', `until: ${reason}`, { details: [{ path: 'until', reason }] })
}

/** The steps that lift a suspension, for operators. */
export const liftOf = ({ slug, suspendedCause }: Pick<Named, 'slug' | 'suspendedCause'>): string =>
  suspendedCause === 'plan_ended'
    ? `create a subscription of its plan at the payment provider, or resume it for a time: tenantry tenants resume ${slug} --until <date>`
    : `tenantry tenants resume ${slug}`

/** For a user whose password was proven, and for tools with a key: the cause, but never the words of an operator. */
export const tenantSuspended = ({ slug, ...standing }: Pick<Named, 'slug' | 'suspendedCause' | 'suspendedReason'>): Problem =>
  problem(
    'TENANT_SUSPENDED',
    isByPlanAlone(standing)
      ? `${slug} is suspended because the subscription of its plan ended; a new subscription lifts it. fix: ask an administrator of your organisation`
      : `${slug} is suspended by the operator of the platform, who lifts it. fix: ask an administrator of your organisation`,
  )
