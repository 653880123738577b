import { z } from 'zod'
import type { Manifest, TierVersions } from '../boxes/index.ts'
import { fieldReasons } from '../contract/index.ts'
import { type Clock, printable, problem, type Random, randomText, type Secret } from '../kit/index.ts'

/** Versions as each component's makers write them; a private build may follow after a dash. */
const numbered = (such: string) =>
  z
    .string()
    .max(100)
    .regex(/^[0-9]+(\.[0-9]+){1,2}(rc[0-9]+)?([-_.][A-Za-z0-9_.-]*)?$/, `must be a version such as ${such}`)

/** The versions that an emergency brings; components that are not named stay where the manifest has them. */
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

const cve = /\bCVE-[0-9]{4}-[0-9]{4,19}\b/i

/** The first CVE id in a text, as they are written. */
export const cveIdIn = (text: string): string | undefined => cve.exec(text)?.[0].toUpperCase()

/** PostgreSQL keeps no NUL; the other control characters would move the cursor of whoever reads it. */
const Words = z
  .string()
  .trim()
  .max(500)
  .refine((text) => printable(text) === text, 'must not hold control characters')

export const minReasonLength = 20

const EmergencyOrder = EmergencyTargets.extend({
  reason: Words.min(minReasonLength, `must have at least ${minReasonLength} characters and name the CVE`).refine(
    (reason) => cveIdIn(reason) !== undefined,
    'must name the CVE it is about, such as CVE-2026-12345',
  ),
  triggeredBy: Words.min(1, 'must say who decided it'),
}).refine((order) => !hasNoTarget(order), { path: ['toChatServer'], message: `name at least one target: ${targetNames.join(', ')}` })

/** What is to be done, approved and checked. */
export type EmergencyOrder = z.infer<typeof EmergencyOrder>

/** What came in beside the token; nothing of it was looked at. `unknownFields` counts those that have no meaning here. */
export type UncheckedOrder = Readonly<{ order: Readonly<Record<string, unknown>>; unknownFields: number }>

/**
 * Throws VALIDATION with every field that does not fit. Values are never repeated, nor the names of unknown fields: somebody may have put the
 * token there. Where one of ours holds the token it is refused, because all of them are kept.
 */
export function readEmergencyOrder({ order, unknownFields }: UncheckedOrder, token: Secret): EmergencyOrder {
  const unknown =
    unknownFields > 0 ? [{ path: '(whole)', reason: `holds fields that are not known; known are ${fieldNames.join(', ')}` }] : []
  const spoilt = Object.entries(order).flatMap(([path, value]) =>
    typeof value === 'string' && value.includes(token.reveal())
      ? [{ path, reason: 'holds the approval token, which is kept nowhere' }]
      : [],
  )
  const read = EmergencyOrder.safeParse(order)
  const details = [...unknown, ...spoilt, ...(read.success ? [] : fieldReasons(read.error))]
  if (read.success && details.length === 0) return read.data
  throw problem('VALIDATION', `no emergency was created: ${details.map(({ path, reason }) => `${path} ${reason}`).join('; ')}`, { details })
}

/** All fields of the order, as they are typed; the token is read apart. */
export const orderFields = ['reason', ...targetNames, 'triggeredBy'] as const
const fieldNames = [...orderFields, 'approvalToken']

/** What an emergency is about: the named components alone. */
export const namedVersions = (targets: EmergencyTargets): Partial<TierVersions> =>
  Object.fromEntries(targetNames.flatMap((name) => (targets[name] === undefined ? [] : [[componentOfTarget[name], targets[name]]])))

/** The same manifest with these versions in all tiers. */
export function emergencyManifest({ images, tiers }: Manifest, targets: EmergencyTargets): Manifest {
  const changes = namedVersions(targets)
  const moved = (versions: TierVersions): TierVersions => ({ ...versions, ...changes })
  return { images, tiers: { free: moved(tiers.free), pro: moved(tiers.pro), enterprise: moved(tiers.enterprise) } }
}

/** `cve-YYYYMMDD-<random8>` (spec 2.10), by the day in UTC. */
export const newEmergencyId = (clock: Clock, random: Random): string =>
  `cve-${clock.now().toISOString().slice(0, 10).replaceAll('-', '')}-${randomText(random, 8)}`
