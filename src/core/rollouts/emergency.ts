import { z } from 'zod'
import type { Manifest, TierVersions } from '../boxes/index.ts'
import { fieldReasons } from '../contract/index.ts'
import { type Clock, printable, problem, type Random, randomText, type Secret } from '../kit/index.ts'
import { cveIdIn, minReasonLength } from './cve.ts'

/** Versions in the notation of each component, with or without the `v` of a tag; a private build may follow after a dash. */
const numbered = (such: string) =>
  z
    .string()
    .max(100)
    .overwrite((text) => text.replace(/^v(?=[0-9])/, ''))
    .regex(/^[0-9]+(\.[0-9]+){1,2}(rc[0-9]+)?([-_.][A-Za-z0-9_.-]*)?$/, `must be a version such as ${such}`)

/** The versions of an emergency; other components keep those of the manifest. */
export const EmergencyTargets = z.strictObject({
  toChatServer: numbered('1.163.2').optional(),
  toDatabase: numbered('17.6').optional(),
  toObjectStore: z
    .string()
    .max(100)
    .regex(/^RELEASE\.\d{4}-\d\d-\d\dT\d\d-\d\d-\d\dZ[A-Za-z0-9_.-]*$/, 'must be a release such as RELEASE.2025-09-07T16-13-09Z')
    .optional(),
  toMigrationsHead: z
    .string()
    .regex(/^[0-9]{4}$/, 'must be four digits, such as 0000')
    .optional(),
})
export type EmergencyTargets = z.infer<typeof EmergencyTargets>

const componentOfTarget = {
  toChatServer: 'synapse',
  toDatabase: 'postgres',
  toObjectStore: 'minio',
  toMigrationsHead: 'migrationsHead',
} as const satisfies Record<keyof EmergencyTargets, keyof TierVersions>

export const targetNames = Object.keys(componentOfTarget) as (keyof EmergencyTargets)[]
export const hasNoTarget = (targets: EmergencyTargets): boolean => targetNames.every((name) => targets[name] === undefined)

/** PostgreSQL stores no NUL, and other control characters would disturb terminals. */
const Words = z
  .string()
  .trim()
  .max(500)
  .refine((text) => printable(text) === text, 'must not hold control characters')

const EmergencyOrder = EmergencyTargets.extend({
  reason: Words.min(minReasonLength, `must have at least ${minReasonLength} characters and name the CVE`).refine(
    (reason) => cveIdIn(reason) !== undefined,
    'must name the CVE it is about, such as CVE-2026-12345',
  ),
  triggeredBy: Words.min(1, 'must name the person who decided it'),
}).refine((order) => !hasNoTarget(order), {
  path: ['toChatServer'],
  message: `is missing, as every other target: name at least one of ${targetNames.join(', ')}`,
})

/** A validated order. */
export type EmergencyOrder = z.infer<typeof EmergencyOrder>

/** The fields beside the token, not validated. `unknownFields` counts fields of no known name. */
export type UncheckedOrder = Readonly<{ order: Readonly<Record<string, unknown>>; unknownFields: number }>

/**
 * Throws VALIDATION with every invalid field. Neither values nor names of unknown fields are repeated: they may contain the token. A known
 * field that contains the token is refused, because all of them are stored.
 */
export function readEmergencyOrder({ order, unknownFields }: UncheckedOrder, token: Secret): EmergencyOrder {
  const unknown = unknownFields > 0 ? [{ path: '(whole)', reason: `has unknown fields; known are ${fieldNames.join(', ')}` }] : []
  const leaking = Object.entries(order).flatMap(([path, value]) =>
    typeof value === 'string' && value.includes(token.reveal())
      ? [{ path, reason: 'contains the approval token, which must not be stored' }]
      : [],
  )
  const read = EmergencyOrder.safeParse(order)
  const details = [...unknown, ...leaking, ...(read.success ? [] : fieldReasons(read.error))]
  if (read.success && details.length === 0) return read.data
  throw problem('VALIDATION', `no emergency was created: ${details.map(({ path, reason }) => `${path} ${reason}`).join('; ')}`, { details })
}

/** All fields of the order; the token is parsed apart. */
export const orderFields = ['reason', ...targetNames, 'triggeredBy'] as const
const fieldNames = [...orderFields, 'approvalToken']

/** The named components and their versions. */
export const namedVersions = (targets: EmergencyTargets): Partial<TierVersions> =>
  Object.fromEntries(targetNames.flatMap((name) => (targets[name] === undefined ? [] : [[componentOfTarget[name], targets[name]]])))

/** The same manifest with these versions in all tiers. */
export function emergencyManifest({ tiers, ...others }: Manifest, changes: Partial<TierVersions>): Manifest {
  const moved = (versions: TierVersions): TierVersions => ({ ...versions, ...changes })
  return { ...others, tiers: { free: moved(tiers.free), pro: moved(tiers.pro), enterprise: moved(tiers.enterprise) } }
}

/** `cve-YYYYMMDD-<random8>` (spec 2.10), by the day in UTC. */
export const newEmergencyId = (clock: Clock, random: Random): string =>
  `cve-${clock.now().toISOString().slice(0, 10).replaceAll('-', '')}-${randomText(random, 8)}`
