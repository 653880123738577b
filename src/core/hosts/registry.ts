import { z } from 'zod'
import { isRegistry } from '../boxes/index.ts'
import { Timestamp } from '../contract/index.ts'
import { HostName } from './host.ts'

const name = '[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?(?::[0-9]{1,5})?'

/** A registry as image references name it: what stands before the first slash, `docker.io` where nothing does. */
export const RegistryName = z
  .string()
  .max(260)
  .regex(new RegExp(`^${name}$`), 'must be the host of a registry, such as docker.io or registry.example:5000')
  .refine(isRegistry, 'must have a dot or a port, or Docker takes it for a name at Docker Hub')

/** Where the same images are found, `host:port` with a path before their repositories where there is one. */
const RegistryMirror = z
  .string()
  .max(300)
  .regex(new RegExp(`^${name}(?:/[a-z0-9]+(?:[._/-][a-z0-9]+)*)?$`), 'must be a host with port and path, such as mirror.example:5000/hub')
  .refine(
    (mirror) => isRegistry(mirror.split('/')[0] ?? ''),
    'must have a dot or a port in its host, or Docker takes it for a name at Docker Hub',
  )

/** No control character may get into a header. */
const Account = z
  .string()
  .min(1)
  .max(500)
  .regex(/^[ -~\u00a0-\uffff]+$/, 'must hold no control character')

/** What is said of a registry, for one host or (null) for all that have nothing of their own. */
export const RegistryEntry = z.object({
  registry: RegistryName,
  host: HostName.nullable(),
  /** Asked first; the registry itself when the mirror does not answer or lacks an image. Its account is an entry of its own. */
  mirror: RegistryMirror.nullable(),
  username: z.string().nullable(),
  /** A password is kept; it is never shown. */
  hasPassword: z.boolean(),
  updatedAt: Timestamp,
  updatedBy: z.string(),
})
export type RegistryEntry = z.infer<typeof RegistryEntry>

/** The whole of an entry: what is left away is taken away, but a password, which stays with its user name. */
export const RegistrySetting = z
  .strictObject({
    registry: RegistryName,
    host: HostName.nullable(),
    mirror: RegistryMirror.optional(),
    username: Account.optional(),
    password: Account.optional(),
  })
  .refine(({ mirror, username }) => mirror !== undefined || username !== undefined, { message: 'give a mirror, an account, or both' })
  .refine(({ username, password }) => username !== undefined || password === undefined, {
    message: 'a password belongs to a user name',
    path: ['password'],
  })
  .refine(({ registry, mirror }) => registry !== mirror, { message: 'a registry is no mirror of itself', path: ['mirror'] })
export type RegistrySetting = z.output<typeof RegistrySetting>
