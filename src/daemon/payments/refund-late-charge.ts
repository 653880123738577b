import { isoIn, isoNow } from '../../core/kit/index.ts'
import { isLive, type ProviderSubscription } from '../../core/payments/index.ts'
import { tenantById } from '../tenants/index.ts'
import { findAttempt, isLinked, openAttempt } from './attempts.repo.ts'
import type { PaymentsDeps } from './deps.ts'
import { refund } from './install-acts.ts'
import { lookAgainMs, paymentOfItem, runAlone } from './run-alone.ts'

/**
 * The charge of an installation whose answer was lost may arrive at the provider after the installation was cancelled: it is paid back, and its
 * subscription ends. Undefined for any other subscription. The subscription ends last, so that a process that is killed continues here.
 */
export async function refundLateCharge(
  deps: PaymentsDeps,
  { id, metadata, ...found }: ProviderSubscription,
): Promise<string | Readonly<{ subscriptionId: string; runAt: string }> | undefined> {
  const { db, clock, provider } = deps
  if (!isLive(found) || metadata.svc_attempt === undefined) return undefined
  const attempt = await findAttempt(db, metadata.svc_attempt)
  if (attempt?.outcome !== 'rolled_back') return undefined
  const { tenantId, journal } = attempt
  const refundNow = async () => {
    // A later installation may take it over, or has done so.
    if (await openAttempt(db, attempt)) return later
    if (await isLinked(db, id)) return taken
    const tenantSlug = (await tenantById(db, tenantId))?.slug ?? tenantId
    await refund(deps, { attempt, journal, actor: { kind: 'system', name: 'payments', tenantId, tenantSlug } })
    await provider.cancelSubscription({ key: `late-charge:${id}:${isoNow(clock)}`, id })
    return `the late charge of the installation ${attempt.id} was paid back`
  }
  const done = (await runAlone(deps, paymentOfItem(attempt), refundNow)) ?? later
  if (done === later) return { subscriptionId: id, runAt: isoIn(clock, lookAgainMs) }
  return done === taken ? undefined : done
}

const later = 'later'
const taken = 'taken over'
