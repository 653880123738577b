import { bytesText, duration } from '../kit/index.ts'
import type { BoxFacts } from './command-parts.ts'
import type { UpgradeRehearsal, UpgradeTimes } from './upgrade.ts'

// Without schemas, so that the console loads none.

export const upgradeWays = { 'dump-load': 'dump and load' } as const satisfies Record<UpgradeRehearsal['way'], string>

/** Undefined before all parts were measured. */
export function expectedDowntimeMs({ dumpMs, loadMs, analyzeMs, compareMs }: UpgradeTimes): number | undefined {
  const parts = [dumpMs, loadMs, analyzeMs, compareMs]
  return parts.every((part) => part !== undefined) ? parts.reduce((sum, part) => sum + part, 0) : undefined
}

const timeWords = {
  copyMs: 'copy',
  recoverMs: 'recovery',
  dumpMs: 'dump',
  loadMs: 'load',
  analyzeMs: 'ANALYZE',
  compareMs: 'comparison',
} as const

/** Each measured part with its name, in order. */
export const upgradeTimes = (times: UpgradeTimes): [name: string, ms: number][] =>
  (Object.keys(timeWords) as (keyof UpgradeTimes)[]).flatMap((key) => (times[key] === undefined ? [] : [[timeWords[key], times[key]]]))

type FormerDatabase = NonNullable<NonNullable<BoxFacts['formerDatabases']>>[number]

/** A kept volume of a former major version, without its end. */
export const formerDatabaseText = ({ volume, version, bytes }: FormerDatabase): string =>
  `PostgreSQL ${version}${bytes === null ? '' : `, ${bytesText(bytes)}`}, volume ${volume}`

/** The result in one line. */
export function upgradeText({ ok, from, to, downtimeMs, databaseBytes, findings, error }: UpgradeRehearsal): string {
  const versions = `PostgreSQL ${from ?? 'unknown'} → ${to ?? 'unknown'}`
  if (error) return `${versions}: failed: ${error.message}`
  const refusals = findings.filter(({ severity }) => severity === 'refuse').length
  if (!ok) return `${versions}: refused (${refusals} ${refusals === 1 ? 'finding' : 'findings'})`
  const size = databaseBytes === null ? '' : ` with ${bytesText(databaseBytes)}`
  return `${versions}: verified${downtimeMs === null ? '' : `, expected downtime ${duration(downtimeMs)}${size}`}`
}
