import { z } from 'zod'
import { type Contract, endpoint, open } from '../contract/index.ts'

const PublicKey = z.object({
  kty: z.literal('EC'),
  crv: z.literal('P-256'),
  x: z.string(),
  y: z.string(),
  kid: z.string(),
  alg: z.literal('ES256'),
  use: z.literal('sig'),
})
export type PublicKey = z.output<typeof PublicKey>

export const authContract = {
  jwks: endpoint({
    method: 'GET',
    path: '/.well-known/jwks.json',
    auth: open,
    perAddress: 30,
    returns: z.object({ keys: z.array(PublicKey) }),
    summary: 'The public keys that tokens of this daemon are checked with',
  }),
} as const satisfies Contract
