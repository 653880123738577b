import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { execa } from 'execa'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { takeBoxSnapshot } from '../../src/agent/backup/index.ts'
import { reportVersions } from '../../src/agent/boxes/index.ts'
import { drill, drillProjects, sweepDrills } from '../../src/agent/drill/index.ts'
import type { SnapshotTaken } from '../../src/core/boxes/index.ts'
import { dockerEnvironment, readTestbed, testbedExists } from '../testbed/testbed.ts'
import { type Conversation, converse, pollEdge, type ReachableBox } from './support/conversation.ts'
import { boxPorts } from './support/ports.ts'
import { type RealHost, realHost } from './support/real-host.ts'

describe.skipIf(!testbedExists())('a drill beside a real box', () => {
  const slug = `mv-elm-${process.pid}`
  const address = { slug, boxId: 'box_drill', ownershipEpoch: 1 }
  const ports = boxPorts()
  let host: RealHost
  let store: string
  let box: ReachableBox
  let talk: Conversation
  let snapshot: SnapshotTaken

  beforeAll(async () => {
    store = await mkdtemp(join(tmpdir(), 'tenantry-mv-store-'))
    host = await realHost('mv-d-', join(store, 'repository'))
    box = await host.make(slug, { ...address, publicUrl: `http://127.0.0.1:${ports.public}`, ports })
    talk = await converse(box, 5)
    snapshot = await aSnapshot('daily')
  })
  afterAll(async () => {
    await sweepDrills({ ...(await host.agent()), stateFolder: join(host.folder, 'state') })
    await host?.end()
    await rm(store, { recursive: true, force: true })
  })

  async function aSnapshot(commandId: string): Promise<SnapshotTaken> {
    const deps = await host.agent()
    const { snapshots } = await host.contextOf(commandId).secrets()
    const made = (await host.boxes.find(slug))!
    await deps.snapshots.prepare(snapshots!)
    const containers = await deps.engine.containers(made.project)
    const images = Object.fromEntries(containers.map(({ service, image, digest }) => [service, { image, digest }]))
    const { installed } = await reportVersions(deps, made)
    return (await takeBoxSnapshot(deps, { box: made, repository: snapshots!, tier: 'daily', commandId, images, installed })).taken
  }

  const docker = async (...args: string[]) => {
    const testbed = readTestbed()
    const { stdout } = await execa(testbed.docker, args, { env: dockerEnvironment(testbed), extendEnv: false })
    return stdout.split('\n').filter(Boolean)
  }
  const prefix = () => drillProjects(join(host.folder, 'state'))
  const nothingLeft = async () => {
    for (const list of [
      ['ps', '-a', '--format', '{{.Names}}'],
      ['volume', 'ls', '-q'],
      ['network', 'ls', '--format', '{{.Name}}'],
      ['images', '--format', '{{.Repository}}'],
    ])
      expect((await docker(...list)).filter((name) => name.includes(prefix().slice(0, -1)))).toEqual([])
    expect(await readdir(join(host.folder, 'state', 'work'))).toEqual(['daily'])
  }
  const payload = (change = {}) => ({
    ...address,
    snapshotId: snapshot.snapshotId,
    snapshotSha256: snapshot.snapshotSha256 as string | null,
    deadlineMs: 300_000,
    ...change,
  })

  test('is proven by isolated servers while the box keeps serving', async () => {
    const people = pollEdge(box, talk)
    const deps = await host.agent()
    let seen: { internal: string[]; published: string[]; outside: number; edge: number } | undefined
    const servers: typeof deps.servers = {
      ...deps.servers,
      createTemporaryAccount: async (copy, secret, signal) => {
        const containers = await deps.engine.containers(copy.project)
        const synapse = containers.find(({ service }) => service === 'synapse')!.id
        const reach = ['python3', '-c', "import socket; socket.create_connection(('1.1.1.1', 443), 3)"]
        seen = {
          internal: await docker('network', 'inspect', `${copy.project.name}_default`, '--format', '{{.Internal}}'),
          published: (
            await docker('ps', '--filter', `label=com.docker.compose.project=${copy.project.name}`, '--format', '{{.Ports}}')
          ).filter((text) => text.includes('->')),
          outside: (await deps.engine.exec(synapse, reach)).exitCode,
          edge: containers.filter(({ service }) => service === 'edge').length,
        }
        return deps.servers.createTemporaryAccount(copy, secret, signal)
      },
    }
    const result = await drill({ ...deps, servers })(host.contextOf('good'), payload())
    const answers = await people.stop()
    expect(result).toMatchObject({ ok: true, error: null, probe: { verdict: 'ok' } })
    expect(result.media?.sampled).toBeGreaterThan(0)
    expect(result.media?.sampled).toBe(Math.min(result.media?.files ?? 0, 10))
    expect(result.tables).toBeGreaterThan(100)
    expect(result.rows).toBeGreaterThan(100)
    expect(result.restoreMs).toBeGreaterThan(100)
    expect(result.durationMs).toBeGreaterThan(result.restoreMs ?? 0)
    expect(seen).toEqual({ internal: ['true'], published: [], outside: 1, edge: 0 })
    expect([...answers.keys()]).toEqual(['200'])
    await nothingLeft()
    await talk.expectComplete()
  })

  test('a damaged snapshot is found out', async () => {
    expect(await drill(await host.agent())(host.contextOf('sum'), payload({ snapshotSha256: 'f'.repeat(64) }))).toMatchObject({
      ok: false,
      error: { code: 'RESTORE_FAILED' },
    })
    const data = join(store, 'repository', 'data')
    const packs = (await readdir(data, { recursive: true, withFileTypes: true })).filter((entry) => entry.isFile())
    for (const pack of packs) {
      const path = join(pack.parentPath, pack.name)
      const bytes = await readFile(path)
      for (let at = 0; at < bytes.length - 2000; at += 997) bytes[at] = (bytes[at] ?? 0) ^ 0xff
      await rm(path)
      await writeFile(path, bytes)
    }
    const result = await drill(await host.agent())(host.contextOf('rotten'), payload())
    expect(result).toMatchObject({ ok: false, restoreMs: null })
    expect(result.error?.message).not.toMatch(/a key/)
    await nothingLeft()
    await talk.expectComplete()
  })
})
