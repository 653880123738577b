import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { fenceFile, type LocalBoxes, reportVersions, softLogoutFile } from '../../../src/agent/boxes/index.ts'
import { memoryStore } from '../../../src/agent/journal/index.ts'
import { disownBox, handOver, remove, takeBack, takeOver } from '../../../src/agent/move/index.ts'
import type { LocalBox } from '../../../src/agent/ports/index.ts'
import { quarantineReason } from '../../../src/core/boxes/index.ts'
import { problem } from '../../../src/core/kit/index.ts'
import { moving } from '../simulated/boxes.ts'
import { mortal, storeWhileAlive } from '../update/mortal.ts'
import {
  aContext,
  address,
  around,
  handOverPayload,
  type MovingHost,
  patient,
  probe,
  running,
  takeOverPayload,
  twoHosts,
} from './a-move.ts'
import { snapshotOfBox } from './a-snapshot.ts'

type Two = Awaited<ReturnType<typeof twoHosts>>

const given = async ({ clock, old }: Two, change = {}, commandId = 'hand-over') =>
  moving(clock, async () => handOver(await old.agent())(aContext(commandId), handOverPayload(change)), 5_000)
const taken = async ({ clock, next }: Two, payload: ReturnType<typeof takeOverPayload>, commandId = 'take-over') =>
  moving(clock, async () => takeOver(await next.agent())(aContext(commandId), payload), 5_000)
const back = async ({ clock, old }: Two, ownershipEpoch = 2, commandId = 'take-back', rule = patient) =>
  moving(clock, async () => takeBack(await old.agent())(aContext(commandId), { ...address, ownershipEpoch, probe: rule }), 5_000)
const removed = async ({ clock }: Two, host: MovingHost, ownershipEpoch = 2, commandId = 'remove') =>
  moving(clock, async () => remove(await host.agent())(aContext(commandId), { ...address, ownershipEpoch }), 5_000)

const nothingLeft = async ({ host, folder, boxes }: MovingHost) => {
  expect(await host.engine.projects('')).toEqual([])
  expect(host.volumeNames()).toEqual([])
  expect(host.pinnedImages()).toEqual([])
  expect(await boxes.list()).toEqual([])
  expect(await readdir(`${folder}/boxes`).catch(() => [])).toEqual([])
  expect(await readdir(`${folder}/state/work`).catch(() => [])).toEqual([])
}

test('a box moves with all that was said in it, and each host knows where it is', async () => {
  const two = await twoHosts()
  const { old, next, box } = two
  const { snapshot } = await given(two)
  expect(snapshot).toMatchObject({ tier: 'final', installed: { synapse: '1.157.1' } })
  expect(running(old, box)).toEqual(['edge'])
  expect(old.host.traffic.sendMessage(box)).toBe('fenced')
  const stopped = (await old.boxes.find('oak'))!
  expect(stopped.handedOver).toMatchObject({ holder: 'hand-over' })
  expect(await reportVersions({ ...old.host, clock: two.clock }, stopped)).toMatchObject({ handedOver: true, fenced: true })

  const result = await taken(two, takeOverPayload(snapshot))
  expect(result).toMatchObject({ outcome: 'restored', error: null, report: { ownershipEpoch: 2, managed: true, fenced: false } })
  expect(result.probes).toHaveLength(3)
  const moved = (await next.boxes.find('oak'))!
  expect(moved).toMatchObject({ ownershipEpoch: 2, managed: true, project: { name: 'next-oak' }, ports: { public: 19_001 } })
  expect(next.host.traffic.content(moved)).toMatchObject({ messages: 3, media: 1, objects: 1 })
  expect(next.host.traffic.sendMessage(moved)).toBe('stored')
  expect(next.host.pinnedImages()).toEqual([])
  expect(await readdir(`${next.folder}/state/work`)).toEqual([])

  expect((await removed(two, old)).removed).toEqual(
    expect.arrayContaining(['volume old-oak-postgres', `folder ${old.folder}/boxes/oak`, 'record oak']),
  )
  await nothingLeft(old)
})

test('on its new host it has the files that it had, but for what belongs to a place', async () => {
  const two = await twoHosts()
  const { snapshot } = await given(two)
  await taken(two, takeOverPayload(snapshot, { publicUrl: 'https://new.oak.example' }))
  const read = (folder: string, path: string) => readFile(`${folder}/boxes/oak/${path}`, 'utf8')
  for (const same of [
    'secrets/box.json',
    'secrets/probe.json',
    'synapse/signing.key',
    'synapse/appservice.yaml',
    'secrets/minio/root-password',
  ])
    expect(await read(two.next.folder, same)).toBe(await read(two.old.folder, same))
  const compose = await read(two.next.folder, 'compose.yaml')
  const asBefore = compose
    .replaceAll('next-oak', 'old-oak')
    .replace('127.0.0.1:19001:', '127.0.0.1:18001:')
    .replace('10.0.0.1:19002:', '10.0.0.1:18002:')
    .replace('127.0.0.1:19003:', '127.0.0.1:18003:')
  expect(asBefore).toBe(await read(two.old.folder, 'compose.yaml'))
  expect(await read(two.next.folder, 'synapse/homeserver.yaml')).toMatch(/^public_baseurl: "?https:\/\/new\.oak\.example\/"?$/m)
  expect(await read(two.next.folder, 'edge/conf.d/box.conf')).toContain('"base_url":"https://new.oak.example"')
})

test('a moved box softens logouts, since its old host may have served after the snapshot, and it can be moved on', async () => {
  const two = await twoHosts()
  const { snapshot } = await given(two)
  await taken(two, takeOverPayload(snapshot))
  expect(await readFile(`${two.next.folder}/boxes/oak/${softLogoutFile}`, 'utf8')).toContain('"soft_logout":true')
  const handingOn = async () => handOver(await two.next.agent())(aContext('on'), handOverPayload({ ownershipEpoch: 2 }))
  expect(await moving(two.clock, handingOn, 5_000)).toMatchObject({ snapshot: { tier: 'final' } })
})

test('a handed-over box does nothing but be taken back or removed; the same command gets the same answer', async () => {
  const two = await twoHosts()
  const first = await given(two)
  expect(await given(two)).toEqual(first)
  await expect(given(two, {}, 'another')).rejects.toMatchObject({ code: 'CONFLICT', message: expect.stringMatching(/handed over/) })
  await expect(given(two, { ownershipEpoch: 0 }, 'older')).rejects.toMatchObject({ code: 'LEASE_LOST' })
})

test('a box without a take-over is taken back under a higher epoch and opened after the proof', async () => {
  const two = await twoHosts()
  await given(two)
  const { probe: last, report } = await back(two)
  expect(last.verdict).toBe('ok')
  expect(report).toMatchObject({ ownershipEpoch: 2, fenced: false })
  expect((await two.old.boxes.find('oak'))!.handedOver).toBeUndefined()
  expect(two.old.host.traffic.content(two.box)).toMatchObject({ messages: 3, objects: 1 })
  expect(two.old.host.traffic.sendMessage(two.box)).toBe('stored')
  await expect(back(two, 3, 'again')).rejects.toMatchObject({ code: 'CONFLICT', message: expect.stringMatching(/nothing to take back/) })
})

test('a taken-back box that does not prove healthy stays fenced and stopped', async () => {
  const two = await twoHosts()
  await given(two)
  const recover = two.old.host.inject({ kind: 'probe-fails' })
  await expect(back(two, 2, 'take-back', probe)).rejects.toMatchObject({
    code: 'PROBE_FAILED',
    message: expect.stringMatching(/stays fenced and stopped/),
  })
  expect(running(two.old, two.box)).toEqual(['edge'])
  expect(two.old.host.traffic.sendMessage(two.box)).toBe('fenced')
  recover()
  await expect(back(two)).rejects.toMatchObject({ code: 'PROBE_FAILED' })
  expect((await back(two, 3, 'again')).report.ownershipEpoch).toBe(3)
})

test('a box that is taken back and proven, but not opened, says that its fence stands; a restore or a person may lift it', async () => {
  const two = await twoHosts()
  await given(two)
  const { old, box } = two
  const said = (await old.fence()) as string
  const path = fenceFile(box.project)
  const recover = async () => {
    await rm(path, { recursive: true })
    await writeFile(path, said)
  }
  const write: typeof old.fileStore.write = async (name, text) => {
    await old.fileStore.write(name, text)
    if (text.match(/"step":"open","mark":"failed"/g)?.length === 5 && !text.includes('"closed"')) await recover()
  }
  const deps = await old.agent(undefined, { ...old.fileStore, write })
  const put: typeof deps.boxes.put = async (kept) => {
    await deps.boxes.put(kept)
    if (kept.handedOver) return
    // A folder where the switch was cannot be read as one.
    await rm(path)
    await mkdir(path)
  }
  const order = { ...address, ownershipEpoch: 2, probe: patient }
  const boxes = { ...deps.boxes, put }
  const result = await moving(two.clock, () => takeBack({ ...deps, boxes })(aContext('take-back'), order), 5_000)
  expect(result).toMatchObject({ probe: { verdict: 'ok' }, error: { message: expect.stringMatching(/stays fenced.*box unfence oak/) } })
  expect(result.report.fenced).toBe(true)
  const records = await deps.journal.all()
  expect(quarantineReason('hand-over', (await old.boxes.find('oak'))!, records)).toBe('unfence')
})

test('a finished take-back is reported as done, however long the box cannot be read afterwards', async () => {
  const two = await twoHosts()
  await given(two)
  let [kept, refused] = [false, 0]
  const deps = await two.old.agent(
    around(async (name, act) => {
      if (kept && name === 'containers' && ++refused <= 20) throw problem('DOCKER_UNAVAILABLE', 'the engine restarts')
      return act()
    }),
  )
  const put: typeof deps.boxes.put = async (box) => {
    await deps.boxes.put(box)
    kept = !box.handedOver
  }
  const order = { ...address, ownershipEpoch: 2, probe: patient }
  const taking = () => takeBack({ ...deps, boxes: { ...deps.boxes, put } })(aContext('take-back'), order)
  expect(await moving(two.clock, taking, 5_000)).toMatchObject({ error: null, report: { fenced: false, ownershipEpoch: 2 } })
})

test.each(['snapshot-fails', 'dump-fails', 'store-down'] as const)(
  'a hand-over that meets %s leads back to a box that serves',
  async (kind) => {
    const two = await twoHosts()
    two.old.host.inject({ kind, times: 1 })
    await expect(given(two)).rejects.toMatchObject({ message: expect.stringMatching(/serves as before/) })
    expect(two.old.host.traffic.sendMessage(two.box)).toBe('stored')
    expect((await two.old.boxes.find('oak'))!.handedOver).toBeUndefined()
    expect(await two.old.fence()).toBeUndefined()
    expect(await readdir(`${two.old.folder}/state/work`).catch(() => [])).toEqual([])
  },
)

/** A disk that keeps a record and then says that it failed, the first time that one is written which `is` so. */
const failingAfter = (boxes: LocalBoxes, is: (box: LocalBox) => boolean): LocalBoxes => {
  let failed = false
  return {
    ...boxes,
    put: async (box) => {
      await boxes.put(box)
      if (failed || !is(box)) return
      failed = true
      throw problem('DISK_FULL', 'the folder of the record cannot be synced')
    },
  }
}

test('a hand-over whose record was written by a disk that then failed leads back to a box that takes commands', async () => {
  const two = await twoHosts()
  const deps = await two.old.agent()
  const boxes = failingAfter(deps.boxes, ({ handedOver }) => handedOver !== undefined)
  const giving = () => handOver({ ...deps, boxes })(aContext('hand-over'), handOverPayload())
  await expect(moving(two.clock, giving, 5_000)).rejects.toMatchObject({ message: expect.stringMatching(/serves as before/) })
  expect(two.old.host.traffic.sendMessage(two.box)).toBe('stored')
  expect((await two.old.boxes.find('oak'))!.handedOver).toBeUndefined()
})

test('a take-back whose record was written before a disk failure stays stopped, and the next take-back succeeds', async () => {
  const two = await twoHosts()
  await given(two)
  const rested = await two.old.boxes.find('oak')
  const deps = await two.old.agent()
  const boxes = failingAfter(deps.boxes, ({ handedOver }) => handedOver === undefined)
  const taking = () => takeBack({ ...deps, boxes })(aContext('take-back'), { ...address, ownershipEpoch: 2, probe: patient })
  await expect(moving(two.clock, taking, 5_000)).rejects.toMatchObject({
    message: expect.stringMatching(/stays fenced and stopped as before/),
  })
  expect((await two.old.boxes.find('oak'))!.handedOver).toEqual(rested!.handedOver)
  expect(running(two.old, two.box)).toEqual(['edge'])
  expect(await back(two, 2, 'take-back-2')).toMatchObject({ error: null })
  expect(two.old.host.traffic.sendMessage(two.box)).toBe('stored')
})

test('a hand-over that was killed after its record was written, and then fails, leads back to a box that takes commands', async () => {
  const two = await twoHosts()
  const dead = new AbortController()
  const putting = async (put: (box: LocalBox) => Promise<void>, signal?: AbortSignal) => {
    const deps = await two.old.agent()
    const boxes = { ...deps.boxes, put: (box: LocalBox) => (box.handedOver ? put(box) : deps.boxes.put(box)) }
    const context = aContext('hand-over', signal ? { signal } : {})
    return moving(two.clock, () => handOver({ ...deps, boxes })(context, handOverPayload()), 5_000)
  }
  const killed = putting(async (box) => {
    await two.old.boxes.put(box)
    dead.abort(new Error('killed'))
    throw dead.signal.reason
  }, dead.signal)
  await expect(killed).rejects.toThrow('killed')
  const late = putting(() => Promise.reject(problem('COMMAND_EXPIRED', 'the deadline passed')))
  await expect(late).rejects.toMatchObject({ code: 'COMMAND_EXPIRED', message: expect.stringMatching(/serves as before/) })
  expect((await two.old.boxes.find('oak'))!.handedOver).toBeUndefined()
  expect((await given(two, {}, 'again')).snapshot?.tier).toBe('final')
})

test('a failed hand-over whose box cannot be restarted stays fenced and reports it', async () => {
  const two = await twoHosts()
  two.old.host.inject({ kind: 'snapshot-fails', times: 1 })
  two.old.host.inject({ kind: 'probe-fails' })
  await expect(given(two)).rejects.toMatchObject({ code: 'SNAPSHOT_FAILED', message: expect.stringMatching(/stays fenced on this host/) })
  expect(two.old.host.traffic.sendMessage(two.box)).toBe('fenced')
  const { journal } = await two.old.agent()
  expect(quarantineReason('hand-over', (await two.old.boxes.find('oak'))!, await journal.all())).toBe('rollback')
})

test('a box in maintenance is not handed over', async () => {
  const two = await twoHosts()
  const { beginMaintenance } = await import('../../../src/agent/boxes/index.ts')
  await beginMaintenance(two, two.box, 'cables')
  await expect(given(two)).rejects.toMatchObject({ code: 'BOX_HELD' })
  expect(running(two.old, two.box)).toHaveLength(4)
  expect(await two.old.fence()).toContain('maintenance')
})

test.each([
  ['load-fails', { kind: 'load-fails' }],
  ['a pull that fails', { kind: 'pull-fails' }],
  ['a probe that fails', { kind: 'probe-fails' }],
  ['a server that dies', { kind: 'dies-at-start', image: 'synapse' }],
  ['a full disk', { kind: 'disk-full', at: 'load' }],
] as const)('a take-over that meets %s says so and leaves nothing behind', async (_, fault) => {
  const two = await twoHosts()
  const { snapshot } = await given(two)
  two.next.host.inject(fault)
  const result = await taken(two, takeOverPayload(snapshot, { probe }))
  expect(result).toMatchObject({ outcome: 'failed', report: null, error: { code: expect.any(String) } })
  await nothingLeft(two.next)
  expect((await back(two)).probe.verdict).toBe('ok')
})

test('a take-over whose cleanup fails still counts: the box must not be taken back', async () => {
  const two = await twoHosts()
  const { snapshot } = await given(two)
  const unpinless = around(async (name, act) => {
    if (name === 'unpin') throw new Error('docker hangs')
    return act()
  })
  const deps = await two.next.agent(unpinless)
  const result = await moving(two.clock, () => takeOver(deps)(aContext('take-over'), takeOverPayload(snapshot)), 5_000)
  expect(result).toMatchObject({ outcome: 'restored', error: null, report: { fenced: false } })
})

test('a proven take-over that cannot be opened belongs to its new host and is reported as fenced', async () => {
  const two = await twoHosts()
  const { snapshot } = await given(two)
  const { next } = two
  const deps = await next.agent()
  const put: typeof deps.boxes.put = async (box) => {
    await deps.boxes.put(box)
    // A folder where the switch was cannot be read as one.
    await rm(fenceFile(box.project), { force: true })
    await mkdir(fenceFile(box.project))
  }
  const boxes = { ...deps.boxes, put }
  const result = await moving(two.clock, () => takeOver({ ...deps, boxes })(aContext('take-over'), takeOverPayload(snapshot)), 5_000)
  expect(result).toMatchObject({ outcome: 'restored', error: { message: expect.stringMatching(/stays fenced.*box unfence oak/) } })
  expect(await next.boxes.find('oak')).toMatchObject({ ownershipEpoch: 2 })
  expect(quarantineReason('take-over', (await next.boxes.find('oak'))!, await deps.journal.all())).toBe('unfence')
})

test('a snapshot that is another, or damaged, is refused', async () => {
  const two = await twoHosts()
  const { snapshot } = await given(two)
  const wrong = await taken(two, takeOverPayload(snapshot && { ...snapshot, snapshotSha256: 'f'.repeat(64) }))
  expect(wrong).toMatchObject({ outcome: 'failed', error: { code: 'RESTORE_FAILED' } })
  const gone = await taken(two, takeOverPayload({ snapshotId: 'abcdef12', snapshotSha256: null }), 'gone')
  expect(gone).toMatchObject({ outcome: 'failed', error: { code: 'RESTORE_FAILED' } })
  const other = await taken(two, takeOverPayload(snapshot, { boxId: 'box_elm' }), 'other')
  expect(other).toMatchObject({ outcome: 'failed', error: { message: expect.stringMatching(/is of the box oak/) } })
  await nothingLeft(two.next)
})

test('a take-over is refused where the place is taken', async () => {
  const two = await twoHosts()
  const { snapshot } = await given(two)
  const onOld = async (change = {}) =>
    moving(two.clock, async () => takeOver(await two.old.agent())(aContext('x'), takeOverPayload(snapshot, change)), 5_000)
  await expect(onOld()).rejects.toMatchObject({ code: 'ALREADY_EXISTS', message: expect.stringMatching(/still has oak from before/) })
  await expect(onOld({ boxId: 'box_elm' })).rejects.toMatchObject({ code: 'ALREADY_EXISTS' })
  const busy = { ...(await two.next.agent()), portInUse: async () => true }
  await expect(takeOver(busy)(aContext('x'), takeOverPayload(snapshot))).rejects.toMatchObject({ code: 'PORT_TAKEN' })
  await two.next.host.engine.createVolume({ name: 'next-oak', folder: '/', composeFile: '/' }, 'postgres', 'next-oak-postgres')
  await expect(taken(two, takeOverPayload(snapshot))).rejects.toMatchObject({
    code: 'ALREADY_EXISTS',
    message: expect.stringMatching(/volumes/),
  })
  expect(two.next.host.volumeNames()).toEqual(['next-oak-postgres'])
})

test.each(['daily', 'final'] as const)('streams begin far beyond what clients know, also from a %s snapshot', async (tier) => {
  const two = await twoHosts()
  const snapshot = await snapshotOfBox(two.old, two.box, tier)
  const raised: unknown[] = []
  const deps = await two.next.agent()
  const servers = { ...deps.servers, raiseStreams: async (...args: unknown[]) => void raised.push(args[1]) }
  const result = await moving(two.clock, () => takeOver({ ...deps, servers })(aContext('t'), takeOverPayload(snapshot)), 5_000)
  expect(result.outcome).toBe('restored')
  expect(raised).toHaveLength(1)
})

test('a removal takes the files that an update copied, with their secrets', async () => {
  const two = await twoHosts()
  await given(two)
  const work = `${two.old.folder}/state/work`
  await mkdir(`${work}/hand-over.copied/box`, { recursive: true })
  await writeFile(`${work}/hand-over.copied/box/signing.key`, 'secret')
  expect((await removed(two, two.old)).removed).toContain('work hand-over.copied')
  await nothingLeft(two.old)
})

test('a box that serves is not removed; one that is not here is no failure', async () => {
  const two = await twoHosts()
  await expect(removed(two, two.old)).rejects.toMatchObject({ code: 'CONFLICT', message: expect.stringMatching(/serves its users/) })
  expect(running(two.old, two.box)).toHaveLength(4)
  expect(await removed(two, two.next)).toEqual({ removed: [] })
  await two.old.boxes.put({ ...two.box, ownershipEpoch: 5 })
  await expect(removed(two, two.old, 4, 'older')).rejects.toMatchObject({ code: 'LEASE_LOST' })
})

const withBridge = async ({ old, box }: Two) => {
  const { composeFile } = box.project
  const text = await readFile(composeFile, 'utf8')
  const bridge = '\nservices:\n  bridge: { image: "a:1", volumes: [ "bridge:/data" ] }\n'
  const volume = '\nvolumes:\n  bridge: { name: old-oak-bridge }\n'
  await writeFile(composeFile, text.replace('\nservices:\n', bridge).replace('\nvolumes:\n', volume))
  await old.host.engine.createVolume(box.project, 'bridge', 'old-oak-bridge')
}

test('a box with a service that no box has is not handed over, because no snapshot holds what is in it', async () => {
  const two = await twoHosts()
  await withBridge(two)
  await expect(given(two)).rejects.toMatchObject({ code: 'PREFLIGHT_REFUSED', message: expect.stringMatching(/1 service .*\(bridge\)/) })
  expect(two.old.host.traffic.sendMessage(two.box)).toBe('stored')
})

test('other services of a removed box’s project stay and are reported', async () => {
  const two = await twoHosts()
  await given(two)
  await withBridge(two)
  const { removed: reported } = await removed(two, two.old)
  expect(reported).toEqual(expect.arrayContaining(['volume old-oak-postgres', 'left: volume old-oak-bridge', 'record oak']))
  expect(reported).toContainEqual(expect.stringMatching(/^left: folder .*boxes\/oak/))
  expect(two.old.host.volumeNames()).toEqual(['old-oak-bridge'])
  expect(await two.old.boxes.list()).toEqual([])
})

test('a disowned box is fenced, stopped and marked, never removed', async () => {
  const two = await twoHosts()
  const disown = async (ownershipEpoch: number) => disownBox(await two.old.agent(), { ...address, ownershipEpoch })
  expect(await disown(1)).toBe(false)
  expect(running(two.old, two.box)).toHaveLength(4)
  expect(await disown(2)).toBe(true)
  expect(await disown(2)).toBe(true)
  expect(running(two.old, two.box)).toEqual(['edge'])
  expect(two.old.host.traffic.sendMessage(two.box)).toBe('fenced')
  expect(await two.old.boxes.find('oak')).toMatchObject({ ownershipEpoch: 2, handedOver: { holder: 'disowned' } })
  expect(two.old.host.volumeNames()).toHaveLength(3)
  expect((await back(two, 3)).report.fenced).toBe(false)
  expect(two.old.host.traffic.content(two.box)).toMatchObject({ messages: 3 })
})

test('a disowned box that somebody started again is stopped at the next hello', async () => {
  const two = await twoHosts()
  const disown = async () => disownBox(await two.old.agent(), { ...address, ownershipEpoch: 2 })
  await disown()
  await two.old.host.engine.start(two.box.project, ['postgres', 'synapse'])
  expect(await disown()).toBe(true)
  expect(running(two.old, two.box)).toEqual(['edge'])
})

test('a disowned box whose record was lost with the state folder is stopped by its folder, edge included', async () => {
  const two = await twoHosts()
  const { snapshot } = await given(two)
  await taken(two, takeOverPayload(snapshot))
  const { next } = two
  await rm(`${next.folder}/state`, { recursive: true })
  const enrolledAgain = () => next.agent(undefined, memoryStore())
  const disown = async (change = {}) => disownBox(await enrolledAgain(), { ...address, ownershipEpoch: 3, ...change })
  expect(await disown({ boxId: 'box_other' })).toBe(false)
  expect(next.host.running('next-oak')).toHaveLength(4)
  const busy = await enrolledAgain()
  await busy.journal.begin({ commandId: 'later', kind: 'tenant-box.remove', slug: 'oak', payload: { ...address, ownershipEpoch: 3 } })
  expect(await disownBox(busy, { ...address, ownershipEpoch: 3 })).toBe(false)
  expect(await disown()).toBe(true)
  expect(next.host.running('next-oak')).toEqual([])
  expect(next.host.volumeNames()).toHaveLength(3)
  expect(await disown()).toBe(false)
})

test('a box that a command works on is not disowned at once', async () => {
  const two = await twoHosts()
  const deps = await two.old.agent()
  const lock = await deps.locks.acquire('oak')
  await expect(disownBox(deps, { ...address, ownershipEpoch: 2 })).rejects.toMatchObject({ code: 'BOX_HELD' })
  await lock.release()
  expect(await disownBox(deps, { ...address, ownershipEpoch: 2 })).toBe(true)
})

test('a command for a box that now belongs to another host ends: its partial copy is removed and it does not resume', async () => {
  const two = await twoHosts()
  const { snapshot } = await given(two)
  const { next, clock } = two
  const life = mortal((_, name) => name === 'loadDatabase', 'after')
  const dying = await next.agent(around(life.touch), storeWhileAlive(next.fileStore, life))
  const order = takeOverPayload(snapshot)
  await moving(clock, () => takeOver(dying)(aContext('take-over', { signal: life.signal }), order), 5_000).catch(() => undefined)
  expect(await next.host.engine.projects('next-')).toEqual(['next-oak'])
  const again = await next.agent()
  expect(await disownBox(again, { ...address, ownershipEpoch: 2 })).toBe(false)
  expect(await again.journal.open()).toHaveLength(1)
  expect(await disownBox(again, { ...address, ownershipEpoch: 3 })).toBe(false)
  expect(await again.journal.open()).toEqual([])
  await nothingLeft(next)
})

test('a take-over that could not be cleared away runs nothing, and the next hello clears what is left of it', async () => {
  const two = await twoHosts()
  const { snapshot } = await given(two)
  const { next, clock } = two
  next.host.inject({ kind: 'probe-fails' })
  let probed = false
  const stuck = around(async (name, act) => {
    probed ||= name === 'probe'
    if (name === 'removeProject' && probed) throw new Error('docker hangs')
    return act()
  })
  const dying = await next.agent(stuck)
  const result = await moving(clock, () => takeOver(dying)(aContext('take-over'), takeOverPayload(snapshot, { probe })), 5_000)
  expect(result).toMatchObject({ outcome: 'restore_failed' })
  expect(next.host.running('next-oak')).toEqual([])
  expect(await next.host.engine.projects('next-')).toEqual(['next-oak'])
  expect(await disownBox(await next.agent(), { ...address, ownershipEpoch: 2 })).toBe(false)
  expect(await next.host.engine.projects('next-')).toEqual(['next-oak'])
  expect(await disownBox(await next.agent(), { ...address, ownershipEpoch: 3 })).toBe(false)
  await nothingLeft(next)
})

test('what was begun on a disowned box is over before the box is stopped: an agent killed in between does not go on with it', async () => {
  const two = await twoHosts()
  const deps = await two.old.agent(
    around(async (name, act) => {
      if (name === 'stop') throw new Error('killed')
      return act()
    }),
  )
  await deps.journal.begin({ commandId: 'update', kind: 'tenant-box.update', slug: 'oak', payload: { ...address, ownershipEpoch: 1 } })
  await expect(disownBox(deps, { ...address, ownershipEpoch: 2 })).rejects.toThrow('killed')
  expect(await (await two.old.agent()).journal.open()).toEqual([])
})
