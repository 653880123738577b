import { z } from 'zod'
import type { Branded } from '../kit/index.ts'

export type BoxId = Branded<'BoxId'>
export type HostId = Branded<'HostId'>

const slug = '[a-z][a-z0-9-]{1,38}[a-z0-9]'

/** A tenant's short name. It is also a folder, a compose project and part of volume names, so its grammar is narrow. */
export const Slug = z
  .string()
  .regex(
    new RegExp(`^${slug}$`),
    'must be 3 to 40 characters: lower-case letters, digits and hyphens, starting with a letter and not ending with a hyphen',
  )

/** Path segments that collide with slugs: no new tenant may have one; older tenants may. */
export const reservedSlugs = ['adopt', 'scan'] as const
export const isReservedSlug = (name: string): boolean => (reservedSlugs as readonly string[]).includes(name)

/** The path parameter for one box: its slug, or its id where the slug is reserved. */
export const BoxKey = z
  .string()
  .regex(
    new RegExp(`^(?:(?!${reservedSlugs.map((word) => `${word}$`).join('|')})${slug}|box_[0-9a-z]{20})$`),
    `must be the slug or the id of a box; for a box named ${reservedSlugs.join(' or ')}, the id`,
  )
export const isBoxId = (key: string): key is BoxId => key.startsWith('box_')

const label = '[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?'

/** A lower-case host name, with an optional port for test beds. */
export const ChatDomain = z
  .string()
  .max(253)
  .regex(new RegExp(`^${label}(?:\\.${label})*(?::[0-9]{1,5})?$`), 'must be a lower-case host name such as chat.school.example')

/** Phases are named by tier; a tenant's plan decides its tier. */
export const Tier = z.enum(['free', 'pro', 'enterprise'])
export type Tier = z.infer<typeof Tier>

export const Plan = z.enum(['light', 'pro', 'dedicated'])
export type Plan = z.infer<typeof Plan>

const tiers = { light: 'free', pro: 'pro', dedicated: 'enterprise' } as const satisfies Record<Plan, Tier>
export const tierOf = (plan: Plan): Tier => tiers[plan]

/** The four containers of a box. */
export const Service = z.enum(['edge', 'synapse', 'postgres', 'minio'])
export type Service = z.infer<typeof Service>

/** The components that drift compares (spec 2.10). */
export const Component = z.enum(['migrationsHead', 'postgres', 'synapse', 'minio'])
export type Component = z.infer<typeof Component>

/** The services whose version the manifest decides. */
export const VersionedService = z.enum(['postgres', 'synapse', 'minio'])
export type VersionedService = z.infer<typeof VersionedService>
