import { z } from 'zod'
import { admin, adminPerson, type Contract, endpoint, Timestamp } from '../contract/index.ts'
import { HostName } from '../hosts/index.ts'

type Placeholders = Readonly<{ port: number; slug: string }>

/** The address of a box's platform listener, from the address template of its host. */
export const expandAddress = (address: string, { port, slug }: Placeholders): string =>
  address.replaceAll('{port}', String(port)).replaceAll('{slug}', slug)

type BoxAddress = Readonly<{
  slug: string
  internalUrl: string | null
  ports: Readonly<{ platform: number }> | null
  address: string | null
}>

/** The URL of a box's platform listener: from the address that an operator set for its host, else the box's own URL on loopback. */
export const platformUrl = ({ slug, internalUrl, ports, address }: BoxAddress): string | null =>
  internalUrl === null || address === null || ports === null ? internalUrl : expandAddress(address, { slug, port: ports.platform })

const isOrigin = (text: string): boolean => {
  const url = URL.parse(text)
  return url !== null && /^https?:$/.test(url.protocol) && url.origin === text && url.username === ''
}

/** One address for all boxes of a host: `http://10.0.3.7:{port}`, or `https://{slug}.boxes.example` behind a TLS proxy. */
export const PlatformAddress = z
  .string()
  .max(200)
  .refine(
    (text) => isOrigin(expandAddress(text, { port: 18_001, slug: 'slug' })),
    'must be http:// or https://, a lower-case host and a port, without a path',
  )
  .refine((text) => /\{(port|slug)\}/.test(text), 'must contain {port} or {slug} to select the box')

const HostAddress = z.object({ host: z.string(), address: z.string(), updatedAt: Timestamp, updatedBy: z.string() })

/** Where the platform reaches the chat servers of boxes that run on other machines. */
export const homeserverContract = {
  listPlatformAddresses: endpoint({
    method: 'GET',
    path: '/api/admin/v1/platform-addresses',
    auth: admin('viewer'),
    returns: z.object({ addresses: z.array(HostAddress) }),
    summary: 'List hosts whose boxes are not reached on loopback',
  }),
  setPlatformAddress: endpoint({
    method: 'PUT',
    audit: 'host.platform-address',
    path: '/api/admin/v1/hosts/:name/platform-address',
    auth: adminPerson('operator'),
    params: z.object({ name: HostName }),
    body: z.strictObject({ address: PlatformAddress.nullable() }),
    returns: z.object({ host: z.string(), address: z.string().nullable() }),
    summary: 'Set the address of a host’s platform listeners; null: loopback. Takes effect with the next call',
  }),
} as const satisfies Contract
