import { mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { localBoxes, portInUse, provision, readBoxSecrets, readCompose, readProbeAccount } from '../../../src/agent/boxes/index.ts'
import { realistic } from '../../../src/agent/simulated/index.ts'
import { readBoxMigrations } from '../../../src/core/boxes/index.ts'
import { sha256Hex } from '../../../src/core/kit/index.ts'
import { images, moving } from '../simulated/boxes.ts'
import { Killed, killSwitch } from '../simulated/kill-switch.ts'
import { aContext, anAgent, aProvision } from './provisioning.ts'

type Agent = Awaited<ReturnType<typeof anAgent>>
const run = (agent: Agent, payload = aProvision(), context = aContext().context, deps = agent.deps) =>
  moving(agent.host.clock, () => provision(deps)(context, payload), 10_000)

const migrations = readBoxMigrations(
  ['0001-a.sql', '0002-b.sql'].map((file) => ({ file, text: `create table tenantry.t${file[3]} (id integer);` })),
)
/** With the platform's own tables in its database. */
const withTables = aProvision({ migrationsHead: '0002' })

const filesBelow = async (folder: string) =>
  (await readdir(folder, { recursive: true, withFileTypes: true }))
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name))

describe('a new box', () => {
  test('is rendered, started, proven healthy three times, reported and managed', async () => {
    const agent = await anAgent({ profile: realistic })
    const { context, delivered, steps } = aContext()
    const { report, probe } = await run(agent, aProvision(), context)
    expect(probe.verdict).toBe('ok')
    expect(report).toMatchObject({
      managed: true,
      fenced: false,
      installed: { synapse: '1.157.1', postgres: '15.14', minio: 'RELEASE.2025-09-07T16-13-09Z' },
    })
    expect(report.services.synapse).toMatchObject({ state: 'running', image: images.synapse, digest: expect.stringMatching(/^sha256:/) })
    expect(steps).toEqual(['files', 'pull', 'database', 'chat', 'probe-user', 'probe'])
    const box = await agent.deps.boxes.find('oak')
    const secrets = await readBoxSecrets(box!.project)
    expect(delivered).toEqual([
      {
        edgeSecret: secrets!.edgeSecret,
        appserviceToken: secrets!.appserviceToken,
        registrationSharedSecret: secrets!.registrationSharedSecret,
      },
    ])
    expect(await readProbeAccount(box!.project)).toMatchObject({ userId: '@tenantry-probe:chat.oak.example' })
  })

  test('gets the platform’s tables before the chat server begins, once, and none without a head', async () => {
    const agent = await anAgent()
    const { context, steps } = aContext()
    const order = async () => {
      const { report } = await run(agent, withTables, { ...context, migrations: async () => migrations })
      return report.installed.migrationsHead
    }
    expect(await order()).toBe('0002')
    expect(steps).toEqual(['files', 'pull', 'database', 'migrate', 'chat', 'probe-user', 'probe'])
    expect(await order()).toBe('0002')
    const bare = await run(await anAgent(), aProvision(), {
      ...aContext().context,
      migrations: () => Promise.reject(new Error('not expected')),
    })
    expect(bare.report.installed.migrationsHead).toBe('0000')
  })

  test('with a head that the daemon does not know does not come to be', async () => {
    const agent = await anAgent()
    const made = run(agent, aProvision({ migrationsHead: '0003' }), { ...aContext().context, migrations: async () => migrations })
    await expect(made).rejects.toMatchObject({
      code: 'PREFLIGHT_REFUSED',
      message: expect.stringMatching(/box migration 0003 does not exist/),
    })
  })

  test('keeps its secrets to itself: every file 0600 but the database’s beginning, which holds none; no placeholder left, nothing of it in the record', async () => {
    const agent = await anAgent()
    await run(agent)
    const box = (await agent.deps.boxes.find('oak'))!
    for (const path of await filesBelow(box.project.folder)) {
      expect.soft((await stat(path)).mode & 0o777, path).toBe(path.endsWith('postgres/init/10-owner.sh') ? 0o755 : 0o600)
      expect.soft(await readFile(path, 'utf8'), path).not.toMatch(/\{\{/)
    }
    const key = await readFile(join(box.project.folder, 'synapse', 'signing.key'), 'utf8')
    expect(key).toMatch(/^ed25519 a_[0-9a-z]{6} [A-Za-z0-9+/]{43}\n$/)
    expect(readCompose(await readFile(box.project.composeFile, 'utf8'), box.project.name)).toMatchObject({
      otherServices: [],
    })
    expect(JSON.stringify(box)).not.toContain((await readBoxSecrets(box.project))!.edgeSecret)
  })

  test('never runs an image that only its host knows under the tag', async () => {
    const agent = await anAgent()
    agent.host.inject({ kind: 'lying-digest', image: images.synapse, times: 1 })
    await agent.host.engine.pull(images.synapse, {})
    const digest = `sha256:${sha256Hex(images.synapse)}`
    expect(await agent.host.engine.localDigest(images.synapse)).not.toBe(digest)
    expect((await run(agent)).report.services.synapse).toMatchObject({ image: images.synapse, digest })
  })

  test('runs the digests of the manifest, or does not come to be', async () => {
    const digest = `sha256:${'1'.repeat(64)}`
    const agent = await anAgent({ images: { [images.synapse]: { digest } } })
    const report = (await run(agent, aProvision({ digests: { [images.synapse]: digest } }))).report
    expect(report.services.synapse).toMatchObject({ digest })
    const other = await anAgent()
    await expect(run(other, aProvision({ digests: { [images.synapse]: digest } }))).rejects.toMatchObject({ code: 'PULL_FAILED' })
    expect(await other.host.engine.containers((await other.deps.boxes.find('oak'))!.project)).toEqual([])
  })

  test('that is ordered twice is the same box', async () => {
    const agent = await anAgent()
    await run(agent)
    const box = (await agent.deps.boxes.find('oak'))!
    const before = {
      secrets: await readBoxSecrets(box.project),
      ids: (await agent.host.engine.containers(box.project)).map(({ id }) => id),
    }
    await run(agent)
    expect({
      secrets: await readBoxSecrets(box.project),
      ids: (await agent.host.engine.containers(box.project)).map(({ id }) => id),
    }).toEqual(before)
  })
})

describe('killed at any call', () => {
  test.each([false, true])(
    'and called again, it is the box that it would have been (the call itself done: %s)',
    async (after) => {
      const counted = killSwitch()
      const whole = await anAgent()
      await run(whole, withTables, mortal(counted), wrapped(whole, counted))
      for (let call = 1; call <= counted.calls(); call++) {
        const agent = await anAgent()
        const kill = killSwitch(call)
        const killed = run(agent, withTables, mortal(kill, after), wrapped(agent, kill, after))
        await expect(killed).rejects.toThrow(Killed)
        const secrets = await readBoxSecrets({ name: 'box-oak', folder: join(agent.folder, 'boxes/oak'), composeFile: '-' })
        const { context, delivered } = aContext()
        const { report, probe } = await run(agent, withTables, { ...context, migrations: async () => migrations })
        expect(probe.verdict).toBe('ok')
        expect(report).toMatchObject({ managed: true, installed: { migrationsHead: '0002' } })
        expect(delivered).toHaveLength(1)
        if (secrets) expect(delivered[0]!.edgeSecret).toBe(secrets.edgeSecret)
        expect(agent.host.volumeNames()).toEqual(['box-oak-media', 'box-oak-objects', 'box-oak-postgres'])
      }
    },
    120_000,
  )
})

function mortal(kill: ReturnType<typeof killSwitch>, after = false) {
  const { context } = aContext()
  return { ...context, migrations: async () => migrations, deliver: kill.wrap({ deliver: context.deliver }, after).deliver }
}

function wrapped(agent: Agent, kill: ReturnType<typeof killSwitch>, after = false) {
  const { engine, servers, boxes } = agent.deps
  return { ...agent.deps, engine: kill.wrap(engine, after), servers: kill.wrap(servers, after), boxes: kill.wrap(boxes, after) }
}

describe('refused before anything is created', () => {
  const untouched = async (agent: Agent) => {
    expect(await readdir(join(agent.folder, 'boxes')).catch(() => [])).toEqual([])
    expect(await agent.deps.boxes.list()).toEqual([])
    expect(agent.host.volumeNames()).toEqual([])
  }

  test.each([
    ['an image that this host does not allow', { images: { ...images, edge: 'evil.test/tenantry/edge:1' } }, 'IMAGE_NOT_ALLOWED'],
    ['the same port twice', { ports: { public: 1, platform: 1, probe: 2 } }, 'PORT_TAKEN'],
    ['a public URL that would end a string of the edge config', { publicUrl: 'https://a";return 200' }, 'VALIDATION'],
    ['a public URL with a path', { publicUrl: 'https://a.example/x' }, 'VALIDATION'],
  ])('%s', async (_, change, code) => {
    const agent = await anAgent()
    await expect(run(agent, aProvision(change))).rejects.toMatchObject({ code })
    await untouched(agent)
  })

  test.each(['a', 'Oak', 'oak;rm', '../oak', 'oak$(id)', 'oak\n', '-oak', 'o'.repeat(41)])('the name %j', async (slug) => {
    const agent = await anAgent()
    await expect(run(agent, aProvision({ slug }))).rejects.toThrow()
    await untouched(agent)
  })

  test('a port that something listens on', async () => {
    const agent = await anAgent()
    const server = createServer()
    const port = await new Promise<number>((resolve) =>
      server.listen(0, '127.0.0.1', () => resolve((server.address() as { port: number }).port)),
    )
    const deps = { ...agent.deps, portInUse }
    const ports = { public: port, platform: 18_002, probe: 18_003 }
    await expect(run(agent, aProvision({ ports }), aContext().context, deps)).rejects.toMatchObject({
      code: 'PORT_TAKEN',
      message: new RegExp(String(port)),
    })
    await untouched(agent)
    await new Promise((resolve) => server.close(resolve))
    expect(await portInUse(port)).toBe(false)
  })

  test('a port of another box, and the name or folder of another box', async () => {
    const agent = await anAgent()
    await run(agent)
    const elm = { slug: 'elm', boxId: 'box_elm', chatDomain: 'chat.elm.example' }
    await expect(run(agent, aProvision({ ...elm, ports: { public: 1, platform: 18_002, probe: 2 } }))).rejects.toMatchObject({
      code: 'PORT_TAKEN',
      message: /box oak/,
    })
    await expect(run(agent, aProvision({ boxId: 'box_other' }))).rejects.toMatchObject({ code: 'ALREADY_EXISTS' })
    await mkdir(join(agent.folder, 'boxes/elm'))
    await writeFile(join(agent.folder, 'boxes/elm/notes'), 'ours')
    await expect(run(agent, aProvision({ ...elm, ports: { public: 1, platform: 2, probe: 3 } }))).rejects.toMatchObject({
      code: 'ALREADY_EXISTS',
      message: /not empty/,
    })
  })

  test('an owner from before', async () => {
    const agent = await anAgent()
    await run(agent, aProvision({ ownershipEpoch: 3 }))
    await expect(run(agent, aProvision({ ownershipEpoch: 2 }))).rejects.toMatchObject({ code: 'LEASE_LOST' })
  })
})

describe('failures on the way are typed, and the next run goes on', () => {
  test.each([
    [{ kind: 'registry-down' }, 'REGISTRY_UNAVAILABLE'],
    [{ kind: 'tag-missing', image: 'synapse' }, 'PULL_FAILED'],
    [{ kind: 'disk-full', at: 'pull' }, 'DISK_FULL'],
    [{ kind: 'wrong-platform', image: 'synapse' }, 'PREFLIGHT_REFUSED'],
    [{ kind: 'engine-down' }, 'DOCKER_UNAVAILABLE'],
    [{ kind: 'probe-fails', box: 'oak' }, 'PROBE_FAILED'],
    [{ kind: 'dies-at-start', image: 'synapse', times: 1 }, 'BOX_UNHEALTHY'],
  ] as const)('%o is %s', async (fault, code) => {
    const agent = await anAgent()
    const heal = agent.host.inject(fault)
    await expect(run(agent)).rejects.toMatchObject({ code })
    heal()
    if (fault.kind === 'dies-at-start') await agent.host.engine.down({ name: 'box-oak', folder: '-', composeFile: '-' })
    expect((await run(agent)).probe.verdict).toBe('ok')
  })

  test('a registry that is away for a moment is asked again', async () => {
    const agent = await anAgent()
    agent.host.inject({ kind: 'registry-down', times: 2 })
    expect((await run(agent)).probe.verdict).toBe('ok')
  })

  test('an abort ends it', async () => {
    const agent = await anAgent({ profile: realistic })
    const abort = new AbortController()
    const running = run(agent, aProvision(), aContext(abort.signal).context)
    abort.abort()
    await expect(running).rejects.toThrow(/abort/i)
  })
})

describe('records', () => {
  test('survive the agent, and one that cannot be read is named', async () => {
    const agent = await anAgent()
    await run(agent)
    const again = localBoxes(join(agent.folder, 'state'))
    expect((await again.list()).map(({ slug }) => slug)).toEqual(['oak'])
    const known = (await again.find('oak'))!
    await writeFile(join(agent.folder, 'state/boxes/oak.json'), '{"slug":')
    await expect(again.find('oak')).rejects.toMatchObject({ code: 'CONFIG_INVALID', message: /oak\.json/ })
    await again.put({ ...known, slug: 'elm' })
    expect((await again.list()).map(({ slug }) => slug)).toEqual(['elm'])
    expect(await again.unreadable()).toEqual(['oak'])
    await again.remove('elm')
    await again.remove('oak')
    expect(await again.list()).toEqual([])
    await expect(again.find('../oak')).rejects.toMatchObject({ code: 'VALIDATION' })
  })
})
