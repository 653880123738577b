import { readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { manualClock } from '../../../src/core/kit/index.ts'
import type { Db } from '../../../src/daemon/db/index.ts'
import { readUntrusted } from '../../../src/daemon/edge/index.ts'
import { emptyDatabase } from '../../support/databases.ts'
import { anEdge } from '../../support/edge-world.ts'
import { aFolder } from '../../support/running-daemon.ts'

let db: Db
let clock: ReturnType<typeof manualClock>
beforeEach(async () => {
  clock = manualClock()
  ;({ db } = await emptyDatabase('sqlite'))
})
afterEach(() => db.destroy())

test.each([
  ['x-forwarded-for', '/healthz'],
  ['forwarded', '/api/public/v1/shown'],
])('a %s from nobody in particular is noted, and the request is served', async (header, target) => {
  const { ask, config } = await anEdge(db, clock)
  expect(await ask(target, { headers: { [header]: 'for=203.0.113.9' } })).toMatchObject({ status: 200 })
  await expect.poll(() => readUntrusted(config.dataDir)).toEqual({ peer: '127.0.0.1', header, at: clock.now().toISOString() })
  expect((await stat(join(config.dataDir, 'untrusted-forwarding.json'))).mode & 0o777).toBe(0o600)
})

test('a trusted proxy may send it, and who sends none is of no interest', async () => {
  const { ask, config } = await anEdge(db, clock, { env: { TENANTRY_TRUSTED_PROXIES: '127.0.0.1' } })
  await ask('/healthz', { headers: { 'x-forwarded-for': '203.0.113.9' } })
  const other = await anEdge(db, clock)
  await other.ask('/healthz')
  await ask('/healthz')
  expect([await readUntrusted(config.dataDir), await readUntrusted(other.config.dataDir)]).toEqual([undefined, undefined])
})

test('it is written once a minute at most, however many are sent', async () => {
  const { ask, config } = await anEdge(db, clock)
  const send = () => ask('/healthz', { headers: { 'x-forwarded-for': '203.0.113.9' } })
  const at = async () => (await readUntrusted(config.dataDir))?.at
  const first = clock.now().toISOString()
  for (let n = 0; n < 20; n++) await send()
  await expect.poll(at).toBe(first)
  await clock.advance(59_000)
  await send()
  await clock.advance(2000)
  expect(await at()).toBe(first)
  await send()
  await expect.poll(at).toBe(clock.now().toISOString())
})

test.each(['', '{', 'null', '{"peer":1}', '{"peer":"a","header":"b","at":"yesterday"}'])(
  'a file that holds %j says nothing',
  async (text) => {
    const folder = await aFolder('noted')
    const file = join(folder, 'untrusted-forwarding.json')
    await writeFile(file, text)
    expect(await readUntrusted(folder)).toBeUndefined()
    expect(await readFile(file, 'utf8')).toBe(text)
  },
)
