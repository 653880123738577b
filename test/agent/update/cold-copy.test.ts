import { mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
import { reserveBytes, type SpaceLedger, spaceLedger } from '../../../src/agent/backup/index.ts'
import { updateSteps } from '../../../src/agent/update/index.ts'
import { problem } from '../../../src/core/kit/index.ts'
import { aDisk } from '../simulated/disks.ts'
import { aContext, aPayload, aWorld, newSynapse, withoutColdCopy } from './an-update.ts'

type World = Awaited<ReturnType<typeof aWorld>>
type Options = NonNullable<Parameters<typeof aWorld>[0]>

const failing = async (options: Options = {}): Promise<World> => {
  const world = await aWorld(options)
  world.inject({ kind: 'probe-fails', image: newSynapse })
  return world
}

function once() {
  let resolve: () => void = () => undefined
  const promise = new Promise<void>((done) => {
    resolve = done
  })
  return { promise, resolve: () => resolve() }
}

async function expectAsBefore(world: World) {
  expect(world.host.traffic.content(world.box)).toMatchObject({ messages: 3, media: 1, objects: 1 })
  expect(world.host.volumeNames()).toHaveLength(3)
  expect(await world.fence()).toBeUndefined()
}

test('the rollback uses the cold copy of the database and loads nothing', async () => {
  const world = await failing()
  expect((await world.run()).outcome).toBe('rolled_back')
  expect(world.counts.finishDatabaseLoad).toBe(1)
  expect(world.counts.loadDatabase).toBeUndefined()
  await expectAsBefore(world)
})

test.each([
  ['the cold copy', (ports: Parameters<typeof withoutColdCopy>[0]) => ports],
  ['the dump', withoutColdCopy],
])('the rollback reports that the data came from %s, and its duration', async (from, around) => {
  const world = await failing()
  const details: string[] = []
  const context = aContext({ progress: ({ step, detail }) => void (step === 'restore-data' && detail && details.push(detail)) })
  const { restored } = await world.run(aPayload(), { deps: await world.agent(around), context })
  const copied = from === 'the dump' ? {} : { copiedMs: expect.any(Number) }
  expect(restored).toEqual({ from: from === 'the dump' ? 'dump' : 'cold-copy', tookMs: expect.any(Number), ...copied })
  expect(details).toEqual([expect.stringMatching(new RegExp(`^database restored from ${from} in [0-9]`))])
})

test('a committed update leaves no copy behind', async () => {
  const world = await aWorld()
  const { outcome, restored } = await world.run()
  expect([outcome, restored]).toEqual(['committed', undefined])
  expect(world.host.volumeNames()).toEqual(['box-oak-media', 'box-oak-objects', 'box-oak-postgres'])
})

test('a failed cold copy is reported and does not fail the update', async () => {
  const world = await aWorld()
  const details: string[] = []
  const context = aContext({ progress: ({ step, detail }) => void (step === 'cold-copy' && detail && details.push(detail)) })
  expect((await world.run(aPayload(), { deps: await world.agent(withoutColdCopy), context })).outcome).toBe('committed')
  expect(details).toEqual([expect.stringMatching(/no cold copy after .*the engine makes no volume/)])
})

test.each([
  ['and runs on', false],
  ['and is stopped again', true],
])('a database that somebody starts during the copy %s makes a torn one: none is kept, and the dump is loaded', async (_, stopsAgain) => {
  const world = await failing()
  const { engine } = world.host
  const deps = await world.agent((ports) => ({
    ...ports,
    engine: {
      ...ports.engine,
      volumePath: async (name) => {
        const path = await ports.engine.volumePath(name)
        if (!name.endsWith('-1') || path === undefined) return path
        await engine.start(world.box.project, ['postgres'])
        if (stopsAgain) await engine.stop(world.box.project, ['postgres'])
        return path
      },
    },
  }))
  expect((await world.run(aPayload(), { deps })).outcome).toBe('rolled_back')
  expect(world.counts.finishDatabaseLoad).toBeUndefined()
  expect(world.counts.loadDatabase).toBe(1)
  await expectAsBefore(world)
})

test('without a copy the rollback loads the dump', async () => {
  const world = await failing()
  expect((await world.run(aPayload(), { deps: await world.agent(withoutColdCopy) })).outcome).toBe('rolled_back')
  expect(world.counts.loadDatabase).toBe(1)
  await expectAsBefore(world)
})

test('where a copy would leave no room to load the dump none is made', async () => {
  let world: World | undefined
  const freeBytes = async () => (world?.counts.dumpDatabase === undefined ? 1e12 : 1e6)
  world = await failing({ change: () => ({ disk: aDisk({ freeBytes }) }) })
  expect((await world.run()).outcome).toBe('rolled_back')
  expect(world.counts.createVolume).toBeUndefined()
  expect(world.counts.loadDatabase).toBe(1)
})

test.each([
  ['without its mark', async (mark: string) => rm(mark)],
  [
    'from before a restart of the host',
    async (mark: string) => writeFile(mark, (await readFile(mark, 'utf8')).replace(/"bootId":"[^"]+"/, '"bootId":"another"')),
  ],
  [
    'whose mark cannot be read',
    async (mark: string) => {
      await rm(mark)
      await mkdir(mark)
    },
  ],
])('a copy %s is not whole: it is thrown away, and the dump is loaded', async (_, harm) => {
  const world = await failing()
  const half: typeof updateSteps.rewrite = async (run) => {
    const path = (await world.host.engine.volumePath(world.host.volumeNames().find((name) => name.endsWith('-1')) ?? '-')) as string
    await writeFile(join(path, 'content.json'), JSON.stringify({ messages: 1, schema: 84 }))
    await harm(join(`${run.dumpFolder}.copied`, 'mark.json'))
    return updateSteps.rewrite(run)
  }
  const result = await world.run(aPayload(), { steps: { ...updateSteps, rewrite: half } })
  expect(result.outcome).toBe('rolled_back')
  expect(world.counts.finishDatabaseLoad).toBeUndefined()
  expect(world.counts.loadDatabase).toBe(1)
  await expectAsBefore(world)
})

test('a copy that does not have the rows that were counted is not served: the dump is loaded into another volume', async () => {
  const world = await failing()
  const other: typeof updateSteps.rewrite = async (run) => {
    const path = (await world.host.engine.volumePath(world.host.volumeNames().find((name) => name.endsWith('-1')) ?? '-')) as string
    await writeFile(join(path, 'content.json'), JSON.stringify({ messages: 1, media: 1, schema: 84, compat: 84 }))
    return updateSteps.rewrite(run)
  }
  expect((await world.run(aPayload(), { steps: { ...updateSteps, rewrite: other } })).outcome).toBe('rolled_back')
  expect(world.counts.loadDatabase).toBe(1)
  expect(await world.compose()).toMatch(/box-oak-postgres-r[0-9a-f]{8}-2 /)
  await expectAsBefore(world)
})

test.each([
  ['is still busy', true],
  ['is done first', false],
])('PostgreSQL stops for the copy, and starts once more before the target; the store %s', async (_, isBusy) => {
  const world = await aWorld()
  const calls: string[] = []
  const [started, stored] = [once(), once()]
  const deps = await world.agent((ports) => ({
    ...ports,
    engine: {
      ...ports.engine,
      stop: async (project, services) => {
        calls.push(`stop ${services.join()}`)
        if (!isBusy && services.includes('postgres')) await stored.promise
        return ports.engine.stop(project, services)
      },
      start: async (project, services) => {
        calls.push(`start ${services.join()}`)
        await ports.engine.start(project, services)
        if (services.includes('postgres')) started.resolve()
      },
    },
    snapshots: {
      ...ports.snapshots,
      take: async (repository, request, signal) => {
        const facts = await ports.snapshots.take(repository, request, signal)
        if (isBusy && !request.warm) await started.promise
        setImmediate(stored.resolve)
        return facts
      },
    },
  }))
  await world.run(aPayload(), { deps })
  const copied = ['stop synapse,minio', 'stop synapse,minio,postgres', ...(isBusy ? ['start postgres'] : [])]
  expect(calls).toEqual([...copied, 'start postgres', 'start synapse', 'start minio'])
})

test('the database is copied while its dump goes to the store', async () => {
  const world = await aWorld()
  const deps = await world.agent((ports) => ({
    ...ports,
    snapshots: {
      ...ports.snapshots,
      take: async (...of) => {
        const facts = await ports.snapshots.take(...of)
        await vi.waitFor(() => expect(world.counts.createVolume).toBe(1))
        return facts
      },
    },
  }))
  const result = await world.run(aPayload(), { deps })
  expect(result.outcome).toBe('committed')
})

test('a store that fails during the copy fails the update: the box runs as before, and no copy is left', async () => {
  const world = await aWorld()
  const deps = await world.agent((ports) => ({
    ...ports,
    snapshots: {
      ...ports.snapshots,
      take: async () => {
        await vi.waitFor(() => expect(world.counts.createVolume).toBe(1))
        throw problem('SNAPSHOT_FAILED', 'the store is full')
      },
    },
  }))
  const result = await world.run(aPayload(), { deps })
  expect(result).toMatchObject({ outcome: 'failed', error: { code: 'SNAPSHOT_FAILED' } })
  expect(world.host.running(world.box.project.name)).toEqual(['edge', 'synapse', 'postgres', 'minio'])
  await expectAsBefore(world)
})

test('an agent killed during the copy leaves a stopped database: the next one takes the snapshot and updates', async () => {
  const world = await aWorld()
  const leaving = new AbortController()
  const around = (ports: Parameters<typeof withoutColdCopy>[0]) => ({
    ...ports,
    snapshots: {
      ...ports.snapshots,
      take: () => new Promise<never>((_, reject) => leaving.signal.addEventListener('abort', () => reject(leaving.signal.reason))),
    },
    engine: { ...ports.engine, createVolume: async () => leaving.abort(new Error('killed')) },
  })
  const first = world.run(aPayload(), { deps: await world.agent(around), context: aContext({ signal: leaving.signal }) })
  await expect(first).rejects.toThrow('killed')
  await world.host.engine.stop(world.box.project, ['postgres'])
  await rm(join(world.host.folder, 'work'), { recursive: true, force: true })
  expect((await world.run()).outcome).toBe('committed')
  expect(world.counts.dumpDatabase).toBe(2)
})

test('where room was promised to another command no copy takes it', async () => {
  const ledger = spaceLedger()
  const disk = aDisk({ freeBytes: async () => reserveBytes + 3e6, ledger })
  const world = await aWorld({ change: () => ({ disk }) })
  const details: string[] = []
  const context = aContext({ progress: ({ step, detail }) => void (step === 'cold-copy' && detail && details.push(detail)) })
  // It comes after the update was given its own.
  const dumping = (ports: Parameters<typeof withoutColdCopy>[0]) => ({
    ...ports,
    servers: {
      ...ports.servers,
      dumpDatabase: (...of: Parameters<typeof ports.servers.dumpDatabase>) => {
        ledger.reserve({ commandId: 'another', what: 'a snapshot of elm' }, new Map([['the only one', 2e6]]))
        return ports.servers.dumpDatabase(...of)
      },
    },
  })
  expect((await world.run(aPayload(), { deps: await world.agent(dumping), context })).outcome).toBe('committed')
  expect(details).toEqual(['not enough disk space for a cold copy of the database'])
})

test('an update that goes on after a crash has its room as before', async () => {
  const ledgers = [spaceLedger(), spaceLedger()]
  const world = await aWorld()
  const promised = (ledger: SpaceLedger | undefined) => ledger?.reservedForOthers('another', 'the only one')
  const deps = async (ledger: SpaceLedger | undefined) => ({ ...(await world.agent()), disk: aDisk(ledger ? { ledger } : {}) })
  const leaving = new AbortController()
  const killed = { ...updateSteps, fence: async () => leaving.abort(new Error('killed')) }
  const first = world.run(aPayload(), { deps: await deps(ledgers[0]), steps: killed, context: aContext({ signal: leaving.signal }) })
  await expect(first).rejects.toThrow('killed')
  const seen: unknown[] = []
  const snapshot = async (run: Parameters<typeof updateSteps.snapshot>[0]) => {
    seen.push(promised(ledgers[1]))
    return updateSteps.snapshot(run)
  }
  const second = await world.run(aPayload(), { deps: await deps(ledgers[1]), steps: { ...updateSteps, snapshot } })
  expect(second.outcome).toBe('committed')
  expect(seen).toEqual([{ bytes: 2e6, to: ['updating oak'] }])
  expect(promised(ledgers[0])).toEqual(seen[0])
})
