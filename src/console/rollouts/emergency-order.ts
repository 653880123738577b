import { cveIdIn, type EmergencyTargets, minReasonLength } from '../../core/rollouts/index.ts'
import { emergencyWords as text } from './emergency-words.ts'

export const targetNames = ['toChatServer', 'toDatabase', 'toObjectStore', 'toMigrationsHead'] as const
type TargetName = (typeof targetNames)[number]

/** The input of the form. */
export type Draft = Readonly<Record<'cve' | 'reason' | 'triggeredBy' | TargetName, string>>
export const emptyDraft: Draft = {
  cve: '',
  reason: '',
  triggeredBy: '',
  toChatServer: '',
  toDatabase: '',
  toObjectStore: '',
  toMigrationsHead: '',
}

export type Order = Readonly<{ cveId: string; reason: string; triggeredBy: string; targets: EmergencyTargets }>
export type OrderProblems = Readonly<Partial<Record<keyof Draft | 'targets', string | undefined>>>

/** The order, or why it is not complete; by the rules of core, as the CLI asks. The plan validates the versions. */
export function orderOf(draft: Draft): Readonly<{ order: Order | undefined; problems: OrderProblems }> {
  const cveId = cveIdIn(draft.cve)
  const reason = withCve(cveId, draft.reason.trim())
  const named = targetNames.filter((name) => draft[name].trim() !== '')
  const problems: OrderProblems = {
    ...(cveId === undefined ? { cve: text.cveInvalid } : {}),
    ...reasonProblem(cveId, reason, draft.reason.trim()),
    ...(named.length === 0 ? { targets: text.noTarget } : {}),
    ...(draft.triggeredBy.trim() === '' ? { triggeredBy: text.decidedHint } : {}),
  }
  if (Object.keys(problems).length > 0 || cveId === undefined) return { order: undefined, problems }
  const targets = Object.fromEntries(named.map((name) => [name, draft[name].trim()])) as EmergencyTargets
  return { order: { cveId, reason, triggeredBy: draft.triggeredBy.trim(), targets }, problems }
}

const withCve = (cveId: string | undefined, reason: string): string =>
  cveId === undefined || cveIdIn(reason) !== undefined ? reason : `${cveId}: ${reason}`

function reasonProblem(cveId: string | undefined, reason: string, typed: string): OrderProblems {
  const named = cveIdIn(reason)
  if (cveId !== undefined && named !== undefined && named !== cveId) return { reason: text.reasonOther(cveId) }
  return typed === '' || reason.length < minReasonLength ? { reason: text.reasonShort(minReasonLength) } : {}
}
