import { problem } from '../../core/kit/index.ts'

/** Throws USAGE. */
export function followupNumber(given: string): number {
  const id = Number(given)
  if (Number.isSafeInteger(id) && id > 0) return id
  throw problem('USAGE', `${given}: give the number of follow-up work; \`tenantry followups list\` shows them`)
}
