import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { localBoxes, provision } from '../../../src/agent/boxes/index.ts'
import { type ForeignPrograms, finishImport, type ImportDeps, importBox, importState, undoImport } from '../../../src/agent/import/index.ts'
import { memoryLocks, memoryStore, onceOnly, openJournal } from '../../../src/agent/journal/index.ts'
import type { CommandContext, ForeignStack, LocalBox } from '../../../src/agent/ports/index.ts'
import { seededRandom } from '../../../src/agent/simulated/index.ts'
import type { BoxCommandPayload } from '../../../src/core/boxes/index.ts'
import { anEvidence } from '../../core/boxes/import-evidence.ts'
import { anAgent, aProvision, aContext as provisionContext, templateFolder } from '../boxes/provisioning.ts'
import { around } from '../move/a-move.ts'
import { images, moving } from '../simulated/boxes.ts'
import { aDisk } from '../simulated/disks.ts'
import { type Mortal, mortalAtChange, storeWhileAlive } from '../update/mortal.ts'

// A foreign stack on a simulated host becomes a box. Wherever its agent is killed, and whatever fails, either the stack runs as before with
// everything in it, or the box does.

const patient = { consecutive: 3, spacingMs: 60_000, timeoutMs: 30 * 86_400_000 }
const address = { slug: 'oak', boxId: 'box_oak', ownershipEpoch: 1 }
const payload: BoxCommandPayload<'tenant-box.import'> = {
  ...address,
  chatDomain: 'linden.test',
  publicUrl: 'https://linden.test',
  versions: { synapse: '1.163.2', postgres: '16.14' },
  drop: [],
  images,
  ports: { public: 19_001, platform: 19_002, probe: 19_003 },
  probe: patient,
  migrationsHead: '0000',
  deadlineMs: 30 * 86_400_000,
}

/** A stack that a person wrote: here one of the box template, in a project of its own, with three messages and a picture. */
async function aStack({ inPlace = false } = {}) {
  const { host, folder, deps } = await anAgent()
  const boxes = localBoxes(join(folder, 'state'))
  const made = { ...deps, boxes, settings: { ...deps.settings, boxesFolder: join(folder, 'hand'), projectPrefix: 'hand-' } }
  await moving(host.clock, () => provision(made)(provisionContext().context, aProvision({ probe: patient })), 5_000)
  const stack = (await boxes.find('oak')) as LocalBox
  for (let message = 0; message < 3; message++) host.traffic.sendMessage(stack)
  host.traffic.uploadMedia(stack)
  // One that an earlier version completed in place is managed, at ports of its own.
  const observed: LocalBox = { ...stack, chatDomain: 'linden.test', ...(inPlace ? {} : { managed: false, ports: null }) }
  await boxes.put(observed)
  const fileStore = memoryStore()
  const agent = async (life?: Mortal): Promise<ImportDeps> => {
    const journal = await openJournal({ store: life ? storeWhileAlive(fileStore, life) : fileStore, clock: host.clock })
    const locks = memoryLocks()
    const ports = life ? around(life.touch)(host) : host
    return {
      ...{ ...deps, ...ports, boxes, journal, once: onceOnly({ journal, locks }), disk: aDisk(), stateFolder: join(folder, 'state') },
      workFolder: join(folder, 'state', 'work'),
      random: seededRandom('an import'),
      foreign: programsOf(host, observed),
      settings: { ...deps.settings, templateFolder, projectPrefix: 'box-' },
    }
  }
  return { host, folder, boxes, observed, agent }
}
type Stack = Awaited<ReturnType<typeof aStack>>

async function filesOf(host: Stack['host'], project: string) {
  const folder = (await host.engine.volumePath(`${project}-postgres`)) as string
  return { files: { folder, systemId: (await readFile(join(folder, 'global', 'pg_control'))).readBigUInt64LE(0).toString() } }
}

function programsOf(host: Stack['host'], { project }: LocalBox): ForeignPrograms {
  const containerOf = async (service: string) => {
    const { id } = (await host.engine.containers(project)).find((one) => one.service === service) ?? { id: '' }
    return { id, name: `${project.name}-${service}-1`, alwaysRestarts: false }
  }
  const stackNow = async (): Promise<ForeignStack> => ({
    project: project.name,
    last: [await containerOf('postgres')],
    stopped: [await containerOf('edge'), await containerOf('synapse'), await containerOf('minio')],
    database: {
      container: (await containerOf('postgres')).id,
      database: 'synapse',
      role: 'synapse',
      port: 5432,
      isLocal: true,
      otherSchemas: [],
      hasExtensions: false,
      ...(await filesOf(host, project.name)),
    },
    media: [{ from: (await host.engine.volumePath(`${project.name}-media`)) ?? '', inside: '' }],
    objects: (await host.engine.volumePath(`${project.name}-objects`)) ?? null,
    addresses: [],
  })
  return {
    survey: async () => ({ evidence: anEvidence(), stack: await stackNow() }),
    settings: async () => ({
      stack: {
        chat: { settings: {}, maxUploadMegabytes: 50, findings: [] },
        limits: {},
        data: { synapse: 'media', minio: 'objects' },
        findings: [],
        dataFindings: [],
      },
      ...{ secrets: undefined, probe: undefined, minioRootUser: undefined, serverName: 'linden.test', findings: [] },
    }),
    answers: async () => true,
  }
}

const aContext = (commandId: string, signal?: AbortSignal): CommandContext => ({
  ...provisionContext(signal).context,
  commandId,
})

const run = (stack: Stack, deps: ImportDeps, context: CommandContext) =>
  moving(stack.host.clock, () => importBox(deps)(context, payload), 5_000)

const all = { messages: 3, media: 1, objects: 1 }

async function expectStackRuns({ host, boxes, observed, folder }: Stack): Promise<void> {
  expect(host.running('hand-oak')).toHaveLength(4)
  expect(host.running('box-oak')).toEqual([])
  expect(host.traffic.content(observed)).toMatchObject(all)
  expect(host.traffic.sendMessage(observed)).toBe('stored')
  expect(await boxes.find('oak')).toEqual(observed)
  expect(await readdir(join(folder, 'state', 'work')).catch(() => [])).toEqual([])
}

async function expectBoxRuns({ host, boxes, observed }: Stack): Promise<void> {
  const box = (await boxes.find('oak')) as LocalBox
  expect(box).toMatchObject({ managed: true, project: { name: 'box-oak' }, imported: { observed: { project: observed.project } } })
  expect(host.running('hand-oak')).toEqual([])
  expect(host.running('box-oak')).toHaveLength(4)
  expect(host.traffic.content(box)).toMatchObject(all)
  expect(host.traffic.sendMessage(box)).toBe('stored')
}

describe.each(['before', 'after'] as const)('killed %s a change of the host', (when) => {
  test('an import ends with the box, or with the stack', { timeout: 120_000 }, async () => {
    for (let place = 1; ; place++) {
      const stack = await aStack()
      const life = mortalAtChange(place, when)
      const first = await run(stack, await stack.agent(life), aContext('the-import', life.signal)).catch((error: Error) => error)
      if (!life.died()) {
        expect(place).toBeGreaterThan(12)
        return
      }
      expect((first as Error).message).toMatch(/killed|dead/)
      expect(await run(stack, await stack.agent(), aContext('the-import'))).toMatchObject({ report: { managed: true, fenced: false } })
      await expectBoxRuns(stack)
    }
  })

  test('an import that fails returns to the stack', { timeout: 120_000 }, async () => {
    for (let place = 8; ; place++) {
      const stack = await aStack()
      stack.host.inject({ kind: 'load-fails' })
      const life = mortalAtChange(place, when)
      const failed = run(stack, await stack.agent(life), aContext('the-import', life.signal))
      const first = await failed.catch((error: Error) => error)
      if (life.died()) {
        const again = run(stack, await stack.agent(), aContext('the-import'))
        await expect(again).rejects.toThrow(/The stack runs again as before|The stack was not changed/)
      } else expect((first as Error).message).toMatch(/The stack runs again as before/)
      await expectStackRuns(stack)
      if (!life.died()) return
    }
  })
})

describe('the database', () => {
  const importWith = async (change: (deps: ImportDeps) => Partial<ImportDeps>, progress: CommandContext['progress'] = () => undefined) => {
    const stack = await aStack()
    const whole = await stack.agent()
    const deps = { ...whole, ...change(whole) }
    const context = { ...aContext('the-import'), progress }
    return { stack, deps, imported: () => run(stack, deps, context) }
  }
  const servers = (changed: (ports: ImportDeps['servers']) => Partial<ImportDeps['servers']>) => (deps: ImportDeps) => ({
    servers: { ...deps.servers, ...changed(deps.servers) },
  })

  test('is copied while the stack serves, with what is written until it is stopped', async () => {
    const calls: string[] = []
    const watched = await importWith(
      servers((ports) => ({
        dumpForeignDatabase: async () => Promise.reject(new Error('it is copied')),
        adoptCopy: async (...of) => {
          calls.push('adopt')
          await ports.adoptCopy(...of)
        },
      })),
      ({ step }) => {
        if (step === 'fence') watched.stack.host.traffic.sendMessage(watched.stack.observed)
      },
    )
    const { facts } = await watched.imported()
    expect(facts).toMatchObject({ databaseCopy: { mode: 'hot' }, events: 4 })
    expect(calls).toEqual(['adopt'])
    const box = (await watched.stack.boxes.find('oak')) as LocalBox
    expect(watched.stack.host.traffic.content(box)).toMatchObject({ messages: 4, media: 1 })
    // The log of the stack is kept no longer.
    const own = await watched.deps.servers
      .beginBackup(watched.stack.observed, 'after', new AbortController().signal)
      .catch((error) => error)
    expect(own).toMatchObject({ code: 'BOX_UNHEALTHY' })
  })

  const failing: [string, (deps: ImportDeps) => Partial<ImportDeps>, RegExp][] = [
    [
      'no backup can begin',
      servers(() => ({ beginForeignBackup: async () => Promise.reject(new Error('all replication slots are in use')) })),
      /all replication slots are in use/,
    ],
    [
      'a copy cannot be taken over',
      servers(() => ({ adoptCopy: async () => Promise.reject(new Error('a role has objects')) })),
      /a role has objects/,
    ],
    [
      'the copy has other rows',
      servers(() => ({ compareRows: async () => Promise.reject(new Error('events has 2 rows instead of 3')) })),
      /events has 2 rows/,
    ],
    [
      'the recovery ends too early',
      servers((ports) => ({
        copyReady: async (box, source) => {
          const folder = (await whereOf(box)) as string
          const bytes = await readFile(folder)
          bytes.writeBigUInt64LE(1n, 40)
          await writeFile(folder, bytes)
          return ports.copyReady(box, source)
        },
      })),
      /did not recover to the end of the log/,
    ],
  ]
  let whereOf: (box: LocalBox) => Promise<string | undefined> = async () => undefined
  test.each(failing)('is dumped where %s, and the result says so', async (_, change, reason) => {
    const { stack, deps, imported } = await importWith(change)
    whereOf = async ({ project }) => join((await deps.engine.volumePath(`${project.name}-postgres`)) ?? '', 'global', 'pg_control')
    expect((await imported()).facts.databaseCopy).toEqual({ mode: 'dump', reason: expect.stringMatching(reason) })
    await expectBoxRuns(stack)
  })

  test('is dumped where the files in its folder are of another server', async () => {
    const { stack, imported } = await importWith((deps) => ({
      foreign: {
        ...deps.foreign,
        survey: async (...of) => {
          const found = await deps.foreign.survey(...of)
          const { files } = (found.stack as ForeignStack).database as { files: { folder: string; systemId: string } }
          const database = { ...(found.stack as ForeignStack).database, files: { ...files, systemId: '1' } }
          return { ...found, stack: { ...(found.stack as ForeignStack), database } }
        },
      },
    }))
    expect((await imported()).facts.databaseCopy).toMatchObject({ mode: 'dump', reason: expect.stringMatching(/is not the data folder/) })
    await expectBoxRuns(stack)
  })
})

describe('an imported box', () => {
  const imported = async () => {
    const stack = await aStack()
    await run(stack, await stack.agent(), aContext('the-import'))
    const box = (await stack.boxes.find('oak')) as LocalBox
    stack.host.traffic.sendMessage(box)
    return { ...stack, box }
  }
  const undo = (stack: Stack, deps: ImportDeps, context: CommandContext) =>
    moving(stack.host.clock, () => undoImport(deps)(context, address), 5_000)

  test.each(['before', 'after'] as const)('returns to its stack, wherever the agent is killed (%s)', { timeout: 120_000 }, async (when) => {
    for (let place = 1; ; place++) {
      const stack = await imported()
      const life = mortalAtChange(place, when)
      const first = await undo(stack, await stack.agent(life), aContext('the-undo', life.signal)).catch((error: Error) => error)
      const ended = life.died() ? await undo(stack, await stack.agent(), aContext('the-undo')) : first
      expect(ended).toMatchObject({ report: { managed: false } })
      if (!life.died()) expect(ended).toMatchObject({ written: { events: 1 } })
      await expectStackRuns(stack)
      if (!life.died()) {
        expect(place).toBeGreaterThan(4)
        return
      }
    }
  })

  test('that was completed in place before returns to what it was', async () => {
    const stack = await aStack({ inPlace: true })
    const { ports } = stack.observed
    await moving(
      stack.host.clock,
      async () => importBox(await stack.agent())(aContext('the-import'), { ...payload, ports: ports ?? payload.ports }),
      5_000,
    )
    await expectBoxRuns(stack)
    expect(await undo(stack, await stack.agent(), aContext('the-undo'))).toMatchObject({ report: { managed: true } })
    await expectStackRuns(stack)
  })

  test('runs on where its stack does not answer', async () => {
    const stack = await imported()
    const deps = await stack.agent()
    const survey: ForeignPrograms['survey'] = async (...call) => {
      const found = await deps.foreign.survey(...call)
      return { ...found, evidence: { ...found.evidence, chat: { failure: 'No chat server runs' } } }
    }
    const silent = { ...deps, foreign: { ...deps.foreign, survey } }
    await expect(undo(stack, silent, aContext('the-undo'))).rejects.toThrow(/No chat server runs\. oak runs as before/)
    expect(stack.host.running('hand-oak')).toEqual([])
    expect(stack.host.traffic.sendMessage(stack.box)).toBe('stored')
  })

  test('is imported again after an undo, and its way back ends with the containers of the stack', async () => {
    const stack = await imported()
    const deps = await stack.agent()
    await undo(stack, deps, aContext('the-undo'))
    await moving(stack.host.clock, () => importBox(deps)(aContext('again'), payload), 5_000)
    expect(await importState(deps)(aContext('state'), address)).toMatchObject({ stack: { project: 'hand-oak', containers: { length: 4 } } })
    const { removed } = await finishImport(deps)(aContext('finish'), { ...address, volumes: false })
    expect(removed).toEqual(expect.arrayContaining(['container hand-oak-synapse-1', 'left: volume hand-oak-media']))
    expect(stack.host.volumeNames()).toContain('hand-oak-media')
    await expect(undo(stack, deps, aContext('too-late'))).rejects.toMatchObject({ code: 'CONFLICT' })
    expect(stack.host.running('box-oak')).toHaveLength(4)
  })
})
