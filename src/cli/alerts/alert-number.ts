import { problem } from '../../core/kit/index.ts'

/** Alerts have numbers, which are short to type. Throws USAGE. */
export function alertNumber(given: string): number {
  const id = Number(given)
  if (Number.isInteger(id) && id > 0) return id
  throw problem('USAGE', `${given}: give the number of an alert; \`tenantry alerts list\` shows them`)
}
