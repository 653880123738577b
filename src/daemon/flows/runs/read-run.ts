import { type AdminActor, problem, type TokenActor } from '../../../core/kit/index.ts'
import type { DbOrTx } from '../../db/index.ts'
import { useSupportAccess } from '../../support/index.ts'
import { existingTenant } from '../../tenants/index.ts'
import { findUserById } from '../../users/index.ts'
import type { RunsDeps } from './deps.ts'
import { firstSteps, type HistoryInput } from './history.repo.ts'
import { reportTextsOf } from './reports.repo.ts'
import { findRun } from './runs.repo.ts'
import { detailOf } from './show-runs.ts'

type Named = Readonly<{ slug: string; id: string }>
const maxSteps = 1000
/** Limits steps and reports, each: the answer is in memory as a whole. */
const maxCharacters = 4_000_000
const maxUsers = 100

const valuesOf = (input: HistoryInput): Readonly<Record<string, unknown>> | null =>
  input.type === 'submit' ? { ...(input.values as object) } : input.type === 'start' ? { ...input.variables } : null

/** A run with its variables, forms, approvers and reports, for an operator. Throws NOT_FOUND, FORBIDDEN (no support access). */
export async function readTenantRun({ db, clock }: Pick<RunsDeps, 'db' | 'clock'>, actor: AdminActor | TokenActor, { slug, id }: Named) {
  const tenant = await existingTenant(db, slug)
  const of = { tenantId: tenant.id, runId: id }
  const run = await findRun(db, { tenantId: tenant.id, id })
  if (!run) throw problem('NOT_FOUND', `Run ${id} of ${slug} does not exist. fix: tenantry runs list --tenant ${slug}`)
  await db.transaction().execute((tx) => useSupportAccess(tx, clock, { actor, tenant, data: { use: 'run', runId: id } }))
  const found = await firstSteps(db, of, { maxSteps, maxCharacters })
  const steps = found.steps.map(({ input, ...step }) => ({ ...step, values: valuesOf(input) }))
  const reports = (await reportTextsOf(db, of, maxCharacters)).map((report) => ({ ...report, spaceId: run.spaceId }))
  const users = await namesOfUsers(db, { tenantId: tenant.id, ids: [run.state.startedBy, ...steps.map(({ by }) => by)] })
  return { ...(await detailOf(db, run)), steps, moreSteps: found.hasMore, reports, users }
}

/** Names by id; erased users have none, and of very many the first. */
async function namesOfUsers(db: DbOrTx, { tenantId, ids }: Readonly<{ tenantId: string; ids: readonly (string | null)[] }>) {
  const names: Record<string, string> = {}
  for (const id of [...new Set(ids)].slice(0, maxUsers)) {
    const user = id === null ? undefined : await findUserById(db, id)
    if (user?.tenantId === tenantId) names[user.id] = user.displayName ?? user.localpart
  }
  return names
}
