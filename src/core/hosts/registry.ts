import { z } from 'zod'
import { isRegistry } from '../boxes/index.ts'
import { Timestamp } from '../contract/index.ts'
import { HostName } from './host.ts'

const name = '[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?(?::[0-9]{1,5})?'

/** The registry part of an image reference, `docker.io` by default. */
export const RegistryName = z
  .string()
  .max(260)
  .regex(new RegExp(`^${name}$`), 'must be the host of a registry, such as docker.io or registry.example:5000')
  .refine(isRegistry, 'must contain a dot or a port; Docker treats other names as Docker Hub repositories')

/** `host:port`, optionally with a path prefix. */
export const RegistryMirror = z
  .string()
  .max(300)
  .regex(new RegExp(`^${name}(?:/[a-z0-9]+(?:[._/-][a-z0-9]+)*)?$`), 'must be a host with port and path, such as mirror.example:5000/hub')
  .refine(
    (mirror) => isRegistry(mirror.split('/')[0] ?? ''),
    'must contain a dot or a port in its host; Docker treats other names as Docker Hub repositories',
  )

/** Excludes control characters, because the value is sent in a header. */
const Account = z
  .string()
  .min(1)
  .max(500)
  .regex(/^[ -~\u00a0-\uffff]+$/, 'must not contain control characters')

/** Settings of a registry for one host, or (null) for all hosts without their own. */
export const RegistryEntry = z.object({
  registry: RegistryName,
  host: HostName.nullable(),
  /** Tried before the registry itself. Credentials of the mirror are a separate entry. */
  mirror: RegistryMirror.nullable(),
  username: z.string().nullable(),
  /** True if a password is stored; it is never shown. */
  hasPassword: z.boolean(),
  updatedAt: Timestamp,
  updatedBy: z.string(),
})
export type RegistryEntry = z.infer<typeof RegistryEntry>

/** A complete entry: omitted fields are removed, except the password while the user name is unchanged. */
export const RegistrySetting = z
  .strictObject({
    registry: RegistryName,
    host: HostName.nullable(),
    mirror: RegistryMirror.optional(),
    username: Account.optional(),
    password: Account.optional(),
  })
  .refine(({ mirror, username }) => mirror !== undefined || username !== undefined, { message: 'set a mirror, a username, or both' })
  .refine(({ username, password }) => username !== undefined || password === undefined, {
    message: 'a password needs a username',
    path: ['password'],
  })
  .refine(({ registry, mirror }) => registry !== mirror, { message: 'a registry cannot be its own mirror', path: ['mirror'] })
export type RegistrySetting = z.output<typeof RegistrySetting>
