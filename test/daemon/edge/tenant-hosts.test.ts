import type { KyselyPlugin } from 'kysely'
import { expect, onTestFinished, test } from 'vitest'
import { manualClock } from '../../../src/core/kit/index.ts'
import type { Revocations, Revoked } from '../../../src/daemon/auth/index.ts'
import { tenantHosts } from '../../../src/daemon/edge/tenant-hosts.ts'
import { emptyDatabase } from '../../support/databases.ts'
import { aTenant } from '../../support/limits-world.ts'

/** One replica's memory of hosts, over a database whose answers can be counted, come too early for a change, and be lost. */
async function aMemory() {
  const clock = manualClock()
  const { db } = await emptyDatabase('sqlite')
  onTestFinished(() => db.destroy())
  const state = { queries: 0, away: false, fresh: true, unseen: '' }
  const plugin: KyselyPlugin = {
    transformQuery: ({ node }) => {
      state.queries += 1
      if (state.away) throw new Error('away')
      return node
    },
    transformResult: async ({ result }) => {
      const { unseen } = state
      if (unseen === '') return result
      state.unseen = ''
      changed(unseen)
      return { ...result, rows: result.rows.filter(({ id }) => id !== unseen) }
    },
  }
  const listeners: ((what: Revoked | 'everything') => void)[] = []
  const revocations: Revocations = {
    position: () => 0,
    fresh: () => state.fresh,
    readNow: async () => undefined,
    onRevoked: (listener) => {
      listeners.push(listener)
      return () => undefined
    },
  }
  const tell = (what: Revoked | 'everything') => {
    for (const listener of listeners) listener(what)
  }
  const isHost = tenantHosts({ db: db.withPlugin(plugin), revocations })
  const appears = (slug: string) => aTenant(db, clock, slug)
  const changed = (subject: string) => tell({ kind: 'tenant', subject })
  const goes = (id: string) => db.deleteFrom('tenants').where('id', '=', id).execute()
  const moves = (id: string, host: string) => db.updateTable('tenants').set({ chat_domain: host }).where('id', '=', id).execute()
  await appears('rose')
  return { isHost, state, tell, changed, appears, goes, moves }
}

const rose = 'chat.rose.example'
const tulip = 'chat.tulip.example'

test('all who ask at first wait for one query, and made-up hosts cost none', async () => {
  const { isHost, state } = await aMemory()
  expect(await Promise.all(Array.from({ length: 20 }, () => isHost(rose)))).toEqual(Array(20).fill(true))
  for (let n = 0; n < 100; n++) expect(await isHost(`chat.x${n}.example`)).toBe(false)
  expect(state.queries).toBe(1)
})

test('what changed is read again by name, once, before the next answer', async () => {
  const { isHost, state, changed, appears, goes, moves } = await aMemory()
  expect(await isHost(tulip)).toBe(false)
  const id = await appears('tulip')
  changed(id)
  expect([await isHost(tulip), await isHost(rose)]).toEqual([true, true])
  expect(state.queries).toBe(2)
  await moves(id, 'chat.new.example')
  changed(id)
  expect([await isHost(tulip), await isHost('chat.new.example')]).toEqual([false, true])
  await goes(id)
  changed(id)
  expect([await isHost('chat.new.example'), await isHost(rose)]).toEqual([false, true])
  expect(state.queries).toBe(4)
})

test('two tenants that swap their hosts keep both', async () => {
  const { isHost, changed, appears, moves } = await aMemory()
  const [one, other] = [await appears('one'), await appears('other')]
  expect(await isHost('chat.one.example')).toBe(true)
  await moves(one, 'between.example')
  await moves(other, 'chat.one.example')
  await moves(one, 'chat.other.example')
  changed(one)
  changed(other)
  expect([await isHost('chat.one.example'), await isHost('chat.other.example'), await isHost('between.example')]).toEqual([
    true,
    true,
    false,
  ])
})

test('a change while tenants are being read is read too, before anybody is answered', async () => {
  const { isHost, appears, state } = await aMemory()
  // It commits and is told of after the rows were taken out of the database, and before they arrive.
  state.unseen = await appears('tulip')
  expect([await isHost(tulip), await isHost(rose), state.queries]).toEqual([true, true, 2])
})

test('after a gap in the sequence everything is read again', async () => {
  const { isHost, tell, appears, state } = await aMemory()
  await isHost(rose)
  await appears('tulip')
  tell('everything')
  expect([await isHost(tulip), state.queries]).toEqual([true, 2])
})

test('other things that are revoked cost nothing', async () => {
  const { isHost, tell, state } = await aMemory()
  await isHost(rose)
  for (const kind of ['user', 'user-session', 'admin-session', 'admin-account', 'api-token'] as const) tell({ kind, subject: 'x' })
  expect([await isHost(rose), state.queries]).toEqual([true, 1])
})

test('very many changes at once are one reading of all', async () => {
  const { isHost, changed, state } = await aMemory()
  await isHost(rose)
  for (let n = 0; n < 5000; n++) changed(`ten_${n}`)
  expect([await isHost(rose), state.queries]).toEqual([true, 2])
})

test('where memory proves nothing the database is asked each time', async () => {
  const { isHost, goes, appears, state } = await aMemory()
  const id = await appears('tulip')
  expect(await isHost(tulip)).toBe(true)
  await goes(id)
  expect(await isHost(tulip)).toBe(true) // nobody was told: this is memory
  state.fresh = false
  expect([await isHost(tulip), await isHost(rose)]).toEqual([false, true])
})

test('a database that is away fails who asks, and is asked again by the next', async () => {
  const { isHost, state, changed, appears } = await aMemory()
  state.away = true
  await expect(isHost(rose)).rejects.toThrow('away')
  state.away = false
  expect(await isHost(rose)).toBe(true)
  const id = await appears('tulip')
  changed(id)
  state.away = true
  await expect(isHost(tulip)).rejects.toThrow('away')
  state.away = false
  expect(await isHost(tulip)).toBe(true)
})
