import { expect, test } from 'vitest'
import { api } from '../../src/core/api.ts'
import type { EndpointShape } from '../../src/core/contract/index.ts'
import { systemClock } from '../../src/node/index.ts'
import { aPlatformUser } from '../support/platform-user.ts'
import { aRunningDaemon, clientOf, loggedIn } from '../support/running-daemon.ts'

// Every list in pages, from the contract: an empty page for a wrong cursor would look like the end of the list.

const lists: EndpointShape[] = Object.values(api)
  .flatMap((contract): EndpointShape[] => Object.values(contract))
  .filter(({ query }) => query?.safeParse({ cursor: {} }).error?.issues.some(({ path }) => path[0] === 'cursor'))

test('a cursor that no page returned is refused, in every list', async () => {
  const daemon = await aRunningDaemon({ clock: { ...systemClock, monotonicMs: () => systemClock.monotonicMs() * 1000 } })
  const user = await aPlatformUser(daemon, { tenant: 'one', roles: ['tenant-admin'] })
  const person = await loggedIn(daemon, 'admin')
  const admin = clientOf(daemon.url, person)
  const { key } = await admin.automation.createAutomationKey({ body: { name: 'tool', tenants: ['one'] } })
  const spaces = clientOf(daemon.url, user).spaces
  const { id: spaceId } = await spaces.createSpace({ body: { name: 'Class', type: 'CLASSROOM', visibility: 'PRIVATE' } })
  const { id: tenantId } = await admin.tenants.showTenant({ params: { slug: 'one' } })

  const listed: string[] = []
  for (const { path, auth } of lists) {
    const filled = path.replace(':slug', 'one').replace(':spaceId', spaceId).replace(/:\w+/g, 'missing')
    const search = new URLSearchParams({
      cursor: '?',
      ...(auth.kind === 'automation' && { tenantId }),
      ...(path.endsWith('/:slug/sessions') && { user: 'anna' }),
    })
    const authorization = auth.kind === 'platform' ? user : person
    const response = await fetch(`${daemon.url}${filled}?${search}`, { headers: { authorization, 'x-automation-key': key } })
    if (response.ok) listed.push(path)
    await response.body?.cancel()
  }
  expect(lists.length).toBeGreaterThan(40)
  expect(listed).toEqual([])
  await daemon.close()
})
