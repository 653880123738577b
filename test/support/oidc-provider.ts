import { createHash, generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'

type Claims = Record<string, unknown>
type Key = Readonly<{ kid: string; privateKey: KeyObject; publicKey: KeyObject }>

const newKey = (): Key => ({ kid: randomBytes(6).toString('hex'), ...generateKeyPairSync('rsa', { modulusLength: 2048 }) })
const part = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')

function tokenOf(claims: Claims, { kid, privateKey }: Key): string {
  const text = `${part({ alg: 'RS256', kid, typ: 'JWT' })}.${part(claims)}`
  return `${text}.${sign('sha256', Buffer.from(text), privateKey).toString('base64url')}`
}

async function formOf(request: IncomingMessage): Promise<URLSearchParams> {
  let text = ''
  for await (const chunk of request) text += chunk
  return new URLSearchParams(text)
}

/** What a provider of OpenID Connect answers, with the mistakes and lies that a real one does not tell. */
export async function anOidcProvider() {
  let key = newKey()
  let published = [key]
  /** The last hand on the claims of the ID token. */
  let alter = (claims: Claims): Claims => claims
  let userInfo: Claims = {}
  const codes = new Map<string, Readonly<{ asked: URLSearchParams; claims: Claims }>>()

  const answers: Record<string, (request: IncomingMessage) => Promise<unknown>> = {
    '/.well-known/openid-configuration': async () => ({
      issuer: url(),
      authorization_endpoint: `${url()}/authorize`,
      token_endpoint: `${url()}/token`,
      jwks_uri: `${url()}/keys`,
      userinfo_endpoint: `${url()}/userinfo`,
      response_types_supported: ['code'],
      subject_types_supported: ['public'],
      id_token_signing_alg_values_supported: ['RS256'],
      authorization_response_iss_parameter_supported: true,
    }),
    '/keys': async () => ({
      keys: published.map(({ kid, publicKey }) => ({ ...publicKey.export({ format: 'jwk' }), kid, alg: 'RS256', use: 'sig' })),
    }),
    '/userinfo': async () => userInfo,
    '/token': async (request) => {
      const form = await formOf(request)
      const found = codes.get(form.get('code') ?? '')
      codes.delete(form.get('code') ?? '')
      const challenge = createHash('sha256')
        .update(form.get('code_verifier') ?? '')
        .digest('base64url')
      if (!found || found.asked.get('code_challenge') !== challenge) return { error: 'invalid_grant' }
      const now = Math.floor(Date.now() / 1000)
      const times = { iat: now, exp: now + 300, auth_time: now }
      const own = { iss: url(), aud: found.asked.get('client_id'), nonce: found.asked.get('nonce'), ...times }
      return { access_token: 'access', token_type: 'bearer', id_token: tokenOf(alter({ ...own, ...found.claims }), key) }
    },
  }

  const server = createServer((request, response) => {
    const answer = answers[new URL(request.url ?? '/', 'http://localhost').pathname]
    if (!answer) return response.writeHead(404).end()
    return answer(request).then((body) => {
      const isError = typeof body === 'object' && body !== null && 'error' in body
      response.writeHead(isError ? 400 : 200, { 'content-type': 'application/json' }).end(JSON.stringify(body))
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const url = () => `http://127.0.0.1:${port}`

  return {
    url: url(),
    /** The person logs in at the address: the query that the browser comes back with. */
    logIn(address: string, claims: Claims): string {
      const asked = new URL(address).searchParams
      const code = randomBytes(8).toString('hex')
      codes.set(code, { asked, claims })
      return new URLSearchParams({ code, state: asked.get('state') ?? '', iss: url() }).toString()
    },
    alterClaims: (change: (claims: Claims) => Claims) => {
      alter = change
    },
    setUserInfo: (claims: Claims) => {
      userInfo = claims
    },
    /** Signs with another key from now on; `secretly`: which it does not publish. */
    changeKey: ({ secretly = false } = {}) => {
      key = newKey()
      published = secretly ? published : [key]
    },
    stop: async () => {
      server.close()
      server.closeAllConnections()
    },
    start: async () => {
      server.listen(port, '127.0.0.1')
      await once(server, 'listening')
    },
  }
}
