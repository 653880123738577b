import { z } from 'zod'
import type { Actor, Clock } from '../../core/kit/index.ts'
import type { User } from '../../core/users/index.ts'
import { recordAudit } from '../audit/index.ts'
import { type Db, enqueueJob, type JobHandler } from '../db/index.ts'
import { tenantById } from '../tenants/index.ts'
import { eraseUserRecord, findUserById, userView } from '../users/index.ts'
import { replaceNames } from './replace-names.ts'

type OneUser = Readonly<{ slug: string; localpart: string }>
type ErasedUser = Readonly<{ id: string; tenantId: string; slug: string; localpart: string }>

export type PrivacyDeps = Readonly<{ db: Db; clock: Clock }> &
  Parameters<typeof eraseUserRecord>[0] &
  Readonly<{
    /** Steps of other features for an erased user, in this order. Each can be repeated. */
    eraseSteps: readonly ((user: ErasedUser, signal?: AbortSignal) => Promise<void>)[]
  }>

const topic = 'privacy.erase-user'
const Payload = z.object({ userId: z.string() })

/**
 * Erases a user for good. Its sessions end within a second and its name goes at once; jobs remove its data and its chat account, the account as soon
 * as the chat server accepts writes. A repeat runs the jobs again. Throws NOT_FOUND.
 */
export const eraseUser = (deps: Omit<PrivacyDeps, 'eraseSteps'> & Partial<PrivacyDeps>, actor: Actor, one: OneUser): Promise<User> =>
  deps.db.transaction().execute(async (tx) => {
    const { tenant, user } = await eraseUserRecord(deps, tx, one)
    await enqueueJob(tx, deps.clock, { topic, payload: { userId: user.id }, key: user.id })
    const subject = `${one.slug}/${one.localpart}`
    await recordAudit(tx, deps.clock, { actor, action: 'user.erased', subject, data: { userId: user.id } })
    return userView(tenant, user)
  })

/** The names go last: the steps before find the data of the user by its id. */
export const erasureJobs = (deps: PrivacyDeps): Readonly<Record<string, JobHandler>> => ({
  [topic]: async (payload, { signal }) => {
    const { userId } = Payload.parse(payload)
    const user = await findUserById(deps.db, userId)
    const tenant = user && (await tenantById(deps.db, user.tenantId))
    if (user?.status !== 'erased' || !tenant) return
    const erased = { id: user.id, tenantId: user.tenantId, slug: tenant.slug, localpart: user.localpart }
    for (const step of deps.eraseSteps) await step(erased, signal)
    await replaceNames(deps.db, erased, signal)
  },
})
