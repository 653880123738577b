import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { api } from '../../../src/core/api.ts'
import type { EndpointShape } from '../../../src/core/contract/index.ts'
import { createPostgresDatabase } from '../../support/databases.ts'
import { aFurnishedTenant, type FurnishedTenant } from '../../support/furnished-tenant.ts'
import { hurriedClock } from '../../support/hurried-clock.ts'
import { aKey, aRunningDaemon, clientOf, type RunningDaemon } from '../../support/running-daemon.ts'

// Users of a tenant receive its events on every replica, and no other user does, whatever Last-Event-ID they send.

const streams = Object.values(api).flatMap((contract) =>
  Object.entries(contract as Record<string, EndpointShape>).filter(
    ([, { auth, returns }]) => auth.kind === 'platform' && 'event' in returns,
  ),
)

const ending: (() => void | Promise<void>)[] = []
let daemons: readonly [RunningDaemon, RunningDaemon]
let theirs: FurnishedTenant
let mine: FurnishedTenant
beforeAll(async () => {
  const env = { TENANTRY_DATABASE: await createPostgresDatabase(), TENANTRY_SECRET_KEY: aKey() }
  daemons = [await aRunningDaemon({ env, clock: hurriedClock }), await aRunningDaemon({ env, clock: hurriedClock })]
  theirs = await aFurnishedTenant(daemons[0], 'zeder', 'zwetschge')
  mine = await aFurnishedTenant(daemons[0], 'ahorn', 'amarelle')
})
afterEach(async () => {
  for (const end of ending.splice(0).reverse()) await end()
})
afterAll(() => Promise.all(daemons.map((daemon) => daemon.close())))

describe.each(streams)('%s', (_, { path }) => {
  test('the stream of a tenant contains no event of another, on the same replica and on a second', async () => {
    const [first, second] = daemons
    const listeners = [first, second].flatMap(({ url }) =>
      [mine.head, mine.member].flatMap((authorization) => ['', '1'].map((last) => [url, authorization, last] as const)),
    )
    const heard = await Promise.all(listeners.map(([url, authorization, last]) => listen(`${url}${path}`, authorization, last)))
    const control = await listen(`${second.url}${path}`, theirs.head, '')

    const hidden = await happens(first, theirs)
    const own = await happens(second, mine)
    await expect.poll(() => control.text).toContain(hidden)
    for (const one of heard) {
      await expect.poll(() => one.text).toContain(own)
      expect([hidden, ...theirs.ids, ...theirs.marks].filter((mark) => one.text.includes(mark))).toEqual([])
    }
    expect(control.text).not.toContain(own)
  })
})

/** A space that every user of its tenant may see; returns its id. */
async function happens({ url }: RunningDaemon, { head }: FurnishedTenant): Promise<string> {
  const body = { name: 'new', type: 'GROUP', visibility: 'PUBLIC' } as const
  return (await clientOf(url, head).spaces.createSpace({ body })).id
}

async function listen(url: string, authorization: string, lastEventId: string): Promise<{ text: string }> {
  const left = new AbortController()
  ending.push(() => left.abort())
  const headers = { authorization, ...(lastEventId ? { 'last-event-id': lastEventId } : {}) }
  const response = await fetch(url, { headers, signal: left.signal })
  expect(response.status).toBe(200)
  const heard = { text: '' }
  const read = async () => {
    for await (const bytes of response.body ?? []) heard.text += Buffer.from(bytes as Uint8Array).toString()
  }
  read().catch(() => undefined) // left
  return heard
}
