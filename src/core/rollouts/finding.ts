import { z } from 'zod'

/** What the plan, or the look at a box at its turn, may find (SAFETY, Pre-flight). What only the agent can know it refuses itself, before any outage. */
export const FindingCode = z.enum([
  // the host and its agent
  'HOST_OFFLINE',
  'CLOCK_SKEW',
  'AGENT_TOO_OLD',
  // the box as it stands
  'NOT_MANAGED',
  'NO_REPORT',
  'STALE_REPORT',
  'BOX_HELD',
  'BOX_FENCED',
  'BOX_UNHEALTHY',
  'COMPOSE_CHANGED',
  'WOULD_RECREATE',
  'OTHER_SERVICES',
  // from what to what
  'VERSION_UNKNOWN',
  'DOWNGRADE',
  'MIGRATIONS_BACK',
  'POSTGRES_MAJOR',
  'POSTGRES_TOO_OLD',
  'COLLATION',
  'SCHEMA_TOO_NEW',
  'SCHEMA_UNKNOWN',
  'BACKGROUND_UPDATES',
  // what it takes
  'NO_SPACE',
  'LONG_FENCE',
  'WINDOW_TOO_SHORT',
  // what an emergency has brought further meanwhile
  'AHEAD_OF_PLAN',
  // what an earlier attempt left behind
  'OTHER_IMAGE',
  // the way back
  'NO_EVIDENCE',
  'CHANGED_SINCE',
  'REINTRODUCES_CVE',
  'SNAPSHOT_GONE',
  'OBJECT_STORE_STAYS',
  'SYNC_POSITIONS',
])
export type FindingCode = z.infer<typeof FindingCode>

/** `refuse` keeps the box out until it is mended or waived; `warn` is told and goes on. */
export const Finding = z.object({ severity: z.enum(['refuse', 'warn']), code: FindingCode, message: z.string() })
export type Finding = z.infer<typeof Finding>

export const refusal = (code: FindingCode, message: string): Finding => ({ severity: 'refuse', code, message })
export const warning = (code: FindingCode, message: string): Finding => ({ severity: 'warn', code, message })

export const refusalsOf = <One extends Pick<Finding, 'severity'>>(findings: readonly One[]): One[] =>
  findings.filter(({ severity }) => severity === 'refuse')

/** Empty where nothing refuses it. */
export const refusalText = (findings: readonly Finding[]): string =>
  refusalsOf(findings)
    .map(({ message }) => message)
    .join('; ')
