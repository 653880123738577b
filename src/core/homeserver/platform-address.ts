import { z } from 'zod'

type Place = Readonly<{ port: number; slug: string }>

/** Where the platform listener of a box is, by the address of its host. */
export const fillAddress = (address: string, { port, slug }: Place): string =>
  address.replaceAll('{port}', String(port)).replaceAll('{slug}', slug)

type Placed = Readonly<{ slug: string; internalUrl: string | null; ports: Readonly<{ platform: number }> | null; address: string | null }>

/** Where a box is reached: as an operator said of its host, else as its row says, on loopback. */
export const platformUrl = ({ slug, internalUrl, ports, address }: Placed): string | null =>
  internalUrl === null || address === null || ports === null ? internalUrl : fillAddress(address, { slug, port: ports.platform })

const isOrigin = (text: string): boolean => {
  const url = URL.parse(text)
  return url !== null && /^https?:$/.test(url.protocol) && url.origin === text && url.username === ''
}

/** One address for all boxes of a host: `http://10.0.3.7:{port}`, or `https://{slug}.boxes.example` where a TLS proxy stands before them. */
export const PlatformAddress = z
  .string()
  .max(200)
  .refine(
    (text) => isOrigin(fillAddress(text, { port: 18_001, slug: 'slug' })),
    'must be http:// or https://, a lower-case host and a port, without a path',
  )
  .refine((text) => /\{(port|slug)\}/.test(text), 'must name the box by {port} or {slug}')
