import { request } from 'node:http'
import { expect, test, vi } from 'vitest'
import { z } from 'zod'
import { admin, type Contract, empty, endpoint, platform } from '../../../src/core/contract/index.ts'
import { manualClock, problem } from '../../../src/core/kit/index.ts'
import { serve } from '../../../src/daemon/http/index.ts'
import { servedApp } from '../../support/served-app.ts'

const change = (path: string, auth: ReturnType<typeof platform> | ReturnType<typeof admin>) =>
  endpoint({ method: 'POST', path, auth, body: z.strictObject({ n: z.number() }), returns: empty, summary: 'Changes something' })

const contract = {
  own: change('/own', platform()),
  managed: change('/managed', platform('manageSpaces')),
  operated: change('/operated', admin('operator')),
} satisfies Contract

/** Somebody whose body comes in two parts; what they may do is changed in between. */
async function aSlowCaller() {
  const clock = manualClock()
  const may = { call: true, capabilities: ['manageSpaces'], role: 'operator' }
  const asked = { times: 0, done: 0 }
  const known = async <Who>(who: () => Who): Promise<Who> => {
    asked.times += 1
    if (!may.call) throw problem('UNAUTHENTICATED', 'the session has ended')
    return who()
  }
  const done = () => {
    asked.done += 1
    return undefined
  }
  const user = { kind: 'user', userId: 'usr_1', tenantId: 'ten_1', roles: [] }
  const person = { kind: 'admin', accountId: 'a1', name: 'anna', sessionId: 's1' }
  const authenticate = {
    platform: () => known(() => ({ ...user, capabilities: [...may.capabilities] }) as never),
    admin: () => known(() => ({ ...person, role: may.role }) as never),
  }
  const routes = Object.values(contract).map((one) => serve(one as typeof contract.own, done))
  const { port } = await servedApp(routes, { authenticate, clock })
  const call = (path: string, meanwhile: () => Promise<void> | void) =>
    new Promise<number | undefined>((answered, failed) => {
      const headers = { 'content-type': 'application/json', 'content-length': 7, authorization: 'Bearer good' }
      const sent = request({ host: '127.0.0.1', port, path, method: 'POST', agent: false, headers }, (answer) => {
        answer.resume().on('end', () => answered(answer.statusCode))
      })
      sent.on('error', failed).write('{"n"')
      vi.waitFor(() => expect(asked.times).toBe(1))
        .then(meanwhile)
        .then(() => sent.end(':1}'), failed)
    })
  return { clock, may, asked, call }
}

test.each(['/own', '/managed', '/operated'])('%s: who lost their session while the body came does nothing any more', async (path) => {
  const { clock, may, asked, call } = await aSlowCaller()
  const status = await call(path, () => {
    may.call = false
    return clock.advance(300)
  })
  expect([status, asked.done]).toEqual([401, 0])
})

test.each([
  ['/managed', { capabilities: [] }],
  ['/operated', { role: 'viewer' }],
] as const)('%s: who lost a role while the body came is refused', async (path, less) => {
  const { clock, may, asked, call } = await aSlowCaller()
  const status = await call(path, () => {
    Object.assign(may, less)
    return clock.advance(300)
  })
  expect([status, asked.done]).toEqual([403, 0])
})

test('who lost nothing is served, and is asked a second time only after a wait', async () => {
  for (const [waitMs, times] of [
    [0, 1],
    [300, 2],
  ] as const) {
    const { clock, asked, call } = await aSlowCaller()
    expect(await call('/managed', () => clock.advance(waitMs))).toBe(204)
    expect(asked).toEqual({ times, done: 1 })
  }
})
