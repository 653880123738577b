import { expect, onTestFinished, test } from 'vitest'
import type { PlatformPrincipal } from '../../../../src/core/kit/index.ts'
import { moduleRunsContract } from '../../../../src/core/modules/index.ts'
import { serveContract } from '../../../../src/daemon/http/index.ts'
import { openConnections } from '../../../../src/daemon/modules/services/connections.ts'
import { openProxy } from '../../../../src/daemon/modules/services/proxy-request.ts'
import { egressRules } from '../../../../src/node/index.ts'
import { aRawService, echo } from '../../../support/raw-service.ts'
import { aSmallApp } from '../../../support/small-app.ts'

const path = '/api/platform/v1/module-api/attendance'
const users = ['anna', 'ben']
const userOf = (userId: string) =>
  ({ kind: 'user', userId, tenantId: 'ten_a', capabilities: [], roles: [] }) as unknown as PlatformPrincipal

test('a user whose calls of a module hang leaves it to the others of the tenant', async () => {
  const service = await aRawService({
    answer: (received, socket) => void (received.target.endsWith('/slow') || socket.write(echo(received))),
  })
  const connections = openConnections(egressRules())
  onTestFinished(connections.close)
  const proxy = openProxy(connections, 30_000)
  const served = serveContract(moduleRunsContract, {
    callModule:
      async ({ raw, actor: { tenantId }, signal }) =>
      (response) =>
        proxy({ ...raw, response, moduleId: 'attendance', tenantId, url: `${service.url}/api${raw.rest}`, headers: {}, signal }),
  })
  const { url } = await aSmallApp(served, Object.fromEntries(users.map((user) => [user, userOf(user)])))
  const over = new AbortController()
  onTestFinished(() => over.abort())
  const call = (user: string, rest: string) =>
    fetch(`${url}${path}/${rest}`, { headers: { authorization: `Bearer ${user}` }, signal: over.signal }).then(
      ({ status }) => status,
      () => 0,
    )
  const hanging = Array.from({ length: 64 }, () => call('anna', 'slow'))
  await expect.poll(() => service.received.length, { timeout: 20_000 }).toBeGreaterThan(10)
  expect(await call('ben', 'fast')).toBe(200)
  over.abort()
  expect(new Set(await Promise.all(hanging))).toEqual(new Set([429, 0]))
})
