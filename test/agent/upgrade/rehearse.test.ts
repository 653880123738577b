import { readFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { rehearseUpgrade, sweepRehearsals, upgradeProjects } from '../../../src/agent/upgrade/index.ts'
import { aContext, address, type Deps, running, twoHosts } from '../move/a-move.ts'
import { killedOnce } from '../move/killed-once.ts'
import { moving } from '../simulated/boxes.ts'

const commandId = 'upgrade-1'
const image = 'registry.test/tenantry/postgres:17.6'

async function rehearsed() {
  const { old, box, clock } = await twoHosts()
  const run = async (
    deps?: Deps,
    change: Partial<Parameters<ReturnType<typeof rehearseUpgrade>>[1]> = {},
    context = aContext(commandId),
  ) => {
    const agent = deps ?? (await old.agent())
    const payload = { ...address, ownershipEpoch: 1, image, deadlineMs: 30 * 86_400_000, ...change }
    return moving(clock, () => rehearseUpgrade(agent)(context, payload), 1_000)
  }
  return { old, box, clock, run }
}
type World = Awaited<ReturnType<typeof rehearsed>>

const left = ({ old }: World) => old.host.engine.projects(upgradeProjects(`${old.folder}/state`))

async function expectUntouched(world: World) {
  const { old, box } = world
  expect(await left(world)).toEqual([])
  expect(old.host.volumeNames()).toHaveLength(3)
  expect(old.host.pinnedImages()).toEqual([])
  expect(running(old, box)).toEqual(['edge', 'synapse', 'postgres', 'minio'])
  expect(await old.fence()).toBeUndefined()
  expect(old.host.traffic.content(box)).toMatchObject({ messages: 3, media: 1, objects: 1 })
}

const good = { ok: true, error: null, findings: [], way: 'dump-load', to: '17.6', tables: 3, rows: 5 }

test('a copy is upgraded and compared, and nothing is left of it', async () => {
  const world = await rehearsed()
  const result = await world.run()
  expect(result).toMatchObject({ ...good, image, from: expect.stringMatching(/^15\./) })
  const { dumpMs = 0, loadMs = 0, analyzeMs = 0, compareMs = 0 } = result.times
  expect(result.downtimeMs).toBe(dumpMs + loadMs + analyzeMs + compareMs)
  expect(result.durationMs).toBeGreaterThanOrEqual(result.downtimeMs ?? 0)
  await expectUntouched(world)
  expect(await world.run()).toEqual(result)
})

test('both servers have no network, no port, and never restart', async () => {
  const world = await rehearsed()
  const deps = await world.old.agent()
  const texts: string[] = []
  const upgrades: Deps['servers']['upgrades'] = {
    ...deps.servers.upgrades,
    dump: async (servers, jobs, signal) => {
      for (const { project } of [servers.former, servers.next]) texts.push(await readFile(project.composeFile, 'utf8'))
      return deps.servers.upgrades.dump(servers, jobs, signal)
    },
  }
  await world.run({ ...deps, servers: { ...deps.servers, upgrades } })
  expect(texts).toHaveLength(2)
  expect(texts[0]).toMatch(/"network_mode":"container:[^"]+"/)
  expect(texts[1]).toMatch(/"network_mode":"none"/)
  for (const text of texts) {
    expect(text).toMatch(/"restart":"no"/)
    expect(text).not.toMatch(/"ports"|"networks"|bind/)
  }
})

test.each([
  ['a running database', { facts: { largeObjects: 1 } }, 'LARGE_OBJECTS'],
  ['a new image', { target: { extensions: [] } }, 'EXTENSION_MISSING'],
] as const)('a refusal about %s ends it before anything is copied', async (_, change, code) => {
  const world = await rehearsed()
  const deps = await world.old.agent()
  const { upgrades } = deps.servers
  const changed: Deps['servers']['upgrades'] = {
    ...upgrades,
    facts: async (...of) => ({ ...(await upgrades.facts(...of)), ...('facts' in change ? change.facts : {}) }),
    target: async (...of) => ({ ...(await upgrades.target(...of)), ...('target' in change ? { extensions: [] } : {}) }),
  }
  const beginBackup = () => Promise.reject(new Error('it is copied'))
  const result = await world.run({ ...deps, servers: { ...deps.servers, beginBackup, upgrades: changed } })
  expect(result).toMatchObject({ ok: false, error: null, downtimeMs: null, findings: [{ severity: 'refuse', code }] })
  await expectUntouched(world)
})

test('the same major version is refused', async () => {
  const world = await rehearsed()
  const result = await world.run(undefined, { image: 'registry.test/tenantry/postgres:15.19' })
  expect(result).toMatchObject({ ok: false, findings: [{ code: 'NOT_NEWER' }] })
  await expectUntouched(world)
})

test('a loaded database that differs is refused', async () => {
  const world = await rehearsed()
  const deps = await world.old.agent()
  const { upgrades } = deps.servers
  const content: typeof upgrades.content = async (server, box, signal) => {
    const found = await upgrades.content(server, box, signal)
    return server.project.name.endsWith('-next') ? { ...found, rows: { ...found.rows, events: 2 } } : found
  }
  const result = await world.run({ ...deps, servers: { ...deps.servers, upgrades: { ...upgrades, content } } })
  expect(result).toMatchObject({ ok: false, error: null, findings: [{ code: 'CONTENT_DIFFERS' }] })
  await expectUntouched(world)
})

test.each([
  [{ kind: 'dump-fails', times: 1 }, 'SNAPSHOT_FAILED', /the dump with the new PostgreSQL failed/],
  [{ kind: 'load-fails', times: 1 }, 'RESTORE_FAILED', /the load with the new PostgreSQL failed/],
  [{ kind: 'disk-full', at: 'load', times: 1 }, 'DISK_FULL', /No disk space/],
  [{ kind: 'dies-at-start', image: 'postgres:17', times: 9 }, 'BOX_UNHEALTHY', /exited at its start/],
] as const)('a failure is a result: %j', async (fault, code, message) => {
  const world = await rehearsed()
  world.old.host.inject(fault)
  expect(await world.run()).toMatchObject({ ok: false, error: { code, message: expect.stringMatching(message) } })
  await expectUntouched(world)
})

test('an image that this host may not run, a full disk and a passed deadline end it', async () => {
  const world = await rehearsed()
  expect(await world.run(undefined, { image: 'evil.example/postgres:17' })).toMatchObject({ error: { code: 'IMAGE_NOT_ALLOWED' } })
  const deps = await world.old.agent()
  let asked = 0
  const freeBytes = async () => (asked++ === 0 ? 1e12 : 1e6)
  const full = await world.run({ ...deps, disk: { ...deps.disk, freeBytes } }, {}, aContext('upgrade-2'))
  expect(full).toMatchObject({ ok: false, error: { code: 'DISK_FULL', message: expect.stringMatching(/rehearsal of oak needs/) } })
  const servers = { ...deps.servers, databaseReady: async () => false }
  expect(await world.run({ ...deps, servers }, { deadlineMs: 60_000 }, aContext('upgrade-3'))).toMatchObject({
    error: { code: 'COMMAND_EXPIRED' },
  })
  await expectUntouched(world)
})

test('the box is free for other commands meanwhile, but not for a second rehearsal', async () => {
  const world = await rehearsed()
  const deps = await world.old.agent()
  const seen: string[] = []
  const upgrades: Deps['servers']['upgrades'] = {
    ...deps.servers.upgrades,
    load: async (...of) => {
      await (await deps.locks.acquire('oak')).release()
      seen.push(await world.run(deps, {}, aContext('upgrade-2')).then(String, (error) => error.code))
      await deps.servers.upgrades.load(...of)
    },
  }
  expect((await world.run({ ...deps, servers: { ...deps.servers, upgrades } })).ok).toBe(true)
  expect(seen).toEqual(['BOX_HELD'])
})

test.each(['before', 'after'] as const)(
  'killed at every change of the host, %s its effect, it comes to the same end and leaves nothing',
  async (when) => {
    for (let place = 1; ; place++) {
      const world = await rehearsed()
      const result = await killedOnce(world.old, { place, when }, (deps, signal) =>
        world.run(deps, {}, aContext(commandId, signal ? { signal } : {})),
      )
      if (!result) {
        expect(place).toBeGreaterThan(9)
        return
      }
      expect(result).toMatchObject(good)
      await expectUntouched(world)
    }
  },
  120_000,
)

test('what it left whose command is over or unknown goes when the agent starts; an open one is left to its command', async () => {
  const world = await rehearsed()
  const deps = await world.old.agent()
  const life = new AbortController()
  const upgrades: Deps['servers']['upgrades'] = {
    ...deps.servers.upgrades,
    load: async () => {
      life.abort(new Error('killed'))
      life.signal.throwIfAborted()
    },
  }
  const dying = world.run({ ...deps, servers: { ...deps.servers, upgrades } }, {}, aContext(commandId, { signal: life.signal }))
  await expect(dying).rejects.toThrow('killed')
  expect(await left(world)).toHaveLength(2)
  expect(await sweepRehearsals(await world.old.agent())).toEqual([])
  const forgetful = await world.old.agent((same) => same, { ...world.old.fileStore, names: async () => [] })
  expect(await sweepRehearsals({ ...forgetful, stateFolder: '/var/lib/other' })).toEqual([])
  expect(await sweepRehearsals(forgetful)).toHaveLength(2)
  await expectUntouched(world)
})
