import { z } from 'zod'
import { Plan } from '../boxes/index.ts'
import { isLive, type ProviderSubscription } from '../payments/index.ts'

type Known = Readonly<{ subscriptionId: string; isLive: boolean }> | null

/**
 * `follow`: the plan of the metadata is that of the tenant. `ignore`: not paid yet, or a former subscription. `second`: another live subscription
 * of the tenant. `ended`: the tenant has no plan subscription any more.
 */
type PlanEvent = 'follow' | 'ignore' | 'second' | 'ended'

type PlanAfter = Readonly<{
  event: PlanEvent
  plan: z.infer<typeof Plan> | null
  /** The subscription that is stored: another one of the tenant where its own ended. */
  followed: ProviderSubscription
  /** Its customer has at most one live subscription of a plan. */
  isSingle: boolean
}>

/** An operator types it by hand. */
const PlanName = z.object({ svc_plan: z.string().trim().toLowerCase().pipe(Plan) })

/** The subscriptions are those of its customer at the provider now. */
type Found = Readonly<{ found: ProviderSubscription; all: readonly ProviderSubscription[] }>

/**
 * The effect of a subscription of a plan on its tenant; `known` is the one in force. Whichever event comes first, a tenant with a live subscription
 * is not left without one.
 */
export function planAfter(known: Known, { found, all }: Found): PlanAfter {
  const inForce = all.filter((one) => isOfTenant(one, found) && isInForce(one))
  const isOwn = known?.subscriptionId === found.id
  const decided = (event: PlanEvent, followed = found): PlanAfter => ({
    event,
    followed,
    plan: planOf(followed),
    isSingle: inForce.length < 2,
  })
  if (!isLive(found)) {
    const other = inForce.filter(({ id }) => id !== found.id).reduce(newer, undefined)
    if (!isOwn) return decided('ignore')
    if (other) return decided('follow', other)
    return decided(known.isLive ? 'ended' : 'ignore')
  }
  if (found.status === 'incomplete') return decided('ignore')
  return decided(known?.isLive && !isOwn && !hasEnded(known, all) ? 'second' : 'follow')
}

/** Null for one that has ended, and for a name that is no plan. */
export function planOf(one: Pick<ProviderSubscription, 'metadata' | 'status'>): z.infer<typeof Plan> | null {
  const named = PlanName.safeParse(one.metadata)
  return named.success && isLive(one) ? named.data.svc_plan : null
}

const isOfTenant = ({ metadata }: ProviderSubscription, found: ProviderSubscription): boolean =>
  metadata.svc_kind === 'plan' && metadata.svc_tenant === found.metadata.svc_tenant

const isInForce = (one: ProviderSubscription): boolean => isLive(one) && one.status !== 'incomplete'

const newer = (left: ProviderSubscription | undefined, right: ProviderSubscription): ProviderSubscription =>
  left && left.createdAt >= right.createdAt ? left : right

/** Its own event has not come yet. */
const hasEnded = (known: NonNullable<Known>, all: readonly ProviderSubscription[]): boolean =>
  all.some((one) => one.id === known.subscriptionId && !isLive(one))
