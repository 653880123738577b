import { once } from 'node:events'
import { connect } from 'node:net'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { admin, empty, endpoint, platform } from '../../../src/core/contract/index.ts'
import { manualClock, type PlatformPrincipal } from '../../../src/core/kit/index.ts'
import { serve } from '../../../src/daemon/http/index.ts'
import { servedApp } from '../../support/served-app.ts'

const body = z.strictObject({ text: z.string() })
const shared = { method: 'POST', body, returns: empty, audit: { none: 'a test' } } as const
const contract = {
  board: endpoint({ ...shared, path: '/board', auth: platform(), bodyLimit: 4e6, summary: 'Takes much' }),
  note: endpoint({ ...shared, path: '/note', auth: platform(), summary: 'Takes little' }),
  import: endpoint({ ...shared, path: '/import', auth: admin('viewer'), bodyLimit: 4e6, summary: 'Takes much' }),
}

const user = (userId: string, tenantId: string) =>
  ({ kind: 'user', userId, tenantId, tenantSlug: tenantId, sessionId: userId, roles: [], capabilities: [] }) as unknown as PlatformPrincipal

/** A token is `<user>.<tenant>`. */
async function started() {
  const authenticate = {
    platform: async (authorization = '') => {
      const [userId = '', tenantId = ''] = authorization.replace('Bearer ', '').split('.')
      return user(userId, tenantId)
    },
    admin: async () => ({ kind: 'admin', accountId: 'a1', name: 'anna', role: 'viewer', sessionId: 's1' }) as const,
  }
  const clock = manualClock()
  const { port, url } = await servedApp(
    Object.values(contract).map((one) => serve(one, () => undefined)),
    { authenticate, clock },
  )
  /** Sends all of a request but the end of its body, and resolves once that is under way. */
  const begin = async (path: string, token: string, headers: readonly string[] = ['content-length: 1000000']) => {
    const socket = connect(port, '127.0.0.1').on('error', () => undefined)
    const all = ['host: daemon', 'content-type: application/json', `authorization: Bearer ${token}`, ...headers]
    const isChunked = headers.includes('transfer-encoding: chunked')
    socket.write(`POST ${path} HTTP/1.1\r\n${all.join('\r\n')}\r\n\r\n${isChunked ? '9\r\n' : ''}{"text":"`)
    const answer = once(socket, 'data').then(([data]) => String(data).slice(9, 12))
    // A whole call after it was read after it.
    await fetch(`${url}/note`, { method: 'POST', headers: { authorization: 'Bearer z.z' } })
    return { socket, answer }
  }
  const whole = async (path: string, token: string, bytes: number) => {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
    return (await fetch(`${url}${path}`, { method: 'POST', headers, body: JSON.stringify({ text: 'a'.repeat(bytes) }) })).status
  }
  return { begin, whole, clock }
}

test('a user has a few large bodies under way, and small ones beside them; others have their own', async () => {
  const { begin, whole } = await started()
  const [first] = await Promise.all(Array.from({ length: 8 }, () => begin('/board', 'anna.a')))
  expect(await (await begin('/board', 'anna.a')).answer).toBe('429')
  expect(await (await begin('/board', 'anna.a', ['transfer-encoding: chunked'])).answer).toBe('429')
  const packed = ['content-length: 1000', 'content-encoding: gzip']
  expect(await (await begin('/board', 'anna.a', packed)).answer).toBe('429')
  expect(await whole('/note', 'anna.a', 10)).toBe(204)
  expect(await whole('/board', 'ben.a', 500_000)).toBe(204)
  first?.socket.destroy()
  await expect.poll(() => whole('/board', 'anna.a', 500_000)).toBe(204)
})

test('a user has a bound of small bodies under way', async () => {
  const { begin, whole } = await started()
  await Promise.all(Array.from({ length: 64 }, () => begin('/note', 'anna.a', ['content-length: 1000'])))
  expect(await (await begin('/note', 'anna.a', ['content-length: 1000'])).answer).toBe('429')
  expect(await whole('/note', 'ben.a', 10)).toBe(204)
})

test('a tenant leaves places of large bodies to others, and users to operators', async () => {
  const { begin, whole, clock } = await started()
  const slow = (tenant: string) => Array.from({ length: 40 }, (_, n) => begin('/board', `u${n >> 3}.${tenant}`))
  const bodies = await Promise.all(slow('a'))
  expect(await whole('/board', 'u9.b', 500_000)).toBe(204)
  const others = await Promise.all(slow('b'))
  expect(await whole('/board', 'u9.c', 500_000)).toBe(204)
  expect(await whole('/import', 'any', 500_000)).toBe(204)
  await expect.poll(() => clock.sleepers()).toBe(32)
  await clock.advance(10_000)
  // The first has a half of the places and the second a half of the rest: those that wait for one are refused.
  const answers: string[] = []
  for (const { answer } of [...bodies, ...others]) void answer.then((status) => answers.push(status))
  await expect.poll(() => answers).toEqual(Array(32).fill('503'))
})

test('a caller who leaves while its body waits takes no place', async () => {
  const { begin, whole } = await started()
  const bodies = await Promise.all(Array.from({ length: 40 }, (_, n) => begin('/board', `u${n >> 3}.a`)))
  for (const { socket } of bodies.slice(32)) socket.destroy()
  for (const { socket } of bodies.slice(0, 32)) socket.destroy()
  for (let n = 0; n < 40; n++) expect(await whole('/board', `v${n}.a`, 300_000)).toBe(204)
})
