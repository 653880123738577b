import { type FieldReason, problem } from '../core/kit/index.ts'
import type { RehearsedFaults } from '../core/rollouts/index.ts'
import type { FleetCopy } from './fleet-copy.ts'

/** Throws VALIDATION for a box or host that nobody knows: a slip in a name would be heard as "nothing would stop it". */
export function refuseUnknownNames(fleet: FleetCopy, { failProbes, failPulls, offlineHosts }: RehearsedFaults): void {
  const boxes = namesIn(fleet, 'boxes', 'slug')
  const hosts = namesIn(fleet, 'hosts', 'name')
  const unknown = [
    ...missing(boxes, failProbes, 'failProbes', 'box'),
    ...missing(boxes, failPulls, 'failPulls', 'box'),
    ...missing(hosts, offlineHosts, 'offlineHosts', 'host'),
  ]
  if (unknown.length === 0) return
  const lists = unknown.some(({ path }) => !path.includes('offlineHosts')) ? '`tenantry boxes list`' : '`tenantry hosts list`'
  throw problem('VALIDATION', `${unknown.map(({ reason }) => reason).join('; ')}: ${lists} shows all`, { details: unknown })
}

const namesIn = (fleet: FleetCopy, table: string, column: string): ReadonlySet<unknown> =>
  new Set(fleet.flatMap(([name, rows]) => (name === table ? rows.map((row) => row[column]) : [])))

const missing = (known: ReadonlySet<unknown>, named: readonly string[], field: string, what: 'box' | 'host'): FieldReason[] =>
  named.flatMap((name, at) => (known.has(name) ? [] : [{ path: `faults.${field}.${at}`, reason: `there is no ${what} ${name}` }]))
