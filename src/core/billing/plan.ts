import { z } from 'zod'
import { Plan } from '../boxes/index.ts'
import { isLive, type ProviderSubscription } from '../payments/index.ts'

type Known = Readonly<{ subscriptionId: string; isLive: boolean }> | null

/**
 * `follow`: the plan of the metadata is that of the tenant. `ignore`: not paid yet, or a former subscription. `second`: another live subscription
 * of the tenant. `ended`: the tenant has no plan subscription any more.
 */
export type PlanEvent = 'follow' | 'ignore' | 'second' | 'ended'

const PlanName = z.object({ svc_plan: Plan })

/** The effect of a subscription of a plan on its tenant; `known` is the one in force. */
export function planAfter(known: Known, found: ProviderSubscription): Readonly<{ event: PlanEvent; plan: z.infer<typeof Plan> | null }> {
  const named = PlanName.safeParse(found.metadata)
  const plan = named.success ? named.data.svc_plan : null
  const isOwn = known?.subscriptionId === found.id
  if (!isLive(found)) return { event: isOwn && known.isLive ? 'ended' : 'ignore', plan: null }
  if (found.status === 'incomplete') return { event: 'ignore', plan: null }
  if (known?.isLive && !isOwn) return { event: 'second', plan }
  return { event: 'follow', plan }
}
