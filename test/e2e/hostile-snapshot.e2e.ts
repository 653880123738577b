import { appendFile, cp, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { execa } from 'execa'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { takeBoxSnapshot } from '../../src/agent/backup/index.ts'
import { reportVersions } from '../../src/agent/boxes/index.ts'
import { takeOver } from '../../src/agent/move/index.ts'
import { dockerEnvironment, readTestbed, testbedExists } from '../testbed/testbed.ts'
import { type Conversation, converse, reachableBox } from './support/conversation.ts'
import { boxPorts } from './support/ports.ts'
import { type RealHost, realHost, soon } from './support/real-host.ts'

// The old host is compromised and writes what it likes into the snapshot of its box; real restic and a real engine on the new host.
describe.skipIf(!testbedExists())('a snapshot of a compromised host', () => {
  const slug = `mv-fir-${process.pid}`
  const address = { slug, boxId: 'box_hostile' }
  const newPorts = boxPorts()
  const publicUrl = `http://127.0.0.1:${newPorts.public}`
  let old: RealHost
  let next: RealHost
  let store: string
  let victim: string
  let talk: Conversation

  beforeAll(async () => {
    store = await mkdtemp(join(tmpdir(), 'tenantry-mv-store-'))
    victim = join(store, 'victim')
    await mkdir(victim)
    await writeFile(join(victim, 'box.conf'), 'of the host\n')
    old = await realHost('mv-e-', join(store, 'repository'))
    next = await realHost('mv-f-', join(store, 'repository'))
    const ports = boxPorts()
    const box = await old.make(slug, { ...address, publicUrl: `http://127.0.0.1:${ports.public}`, ports })
    talk = await converse(box, 3)
  })
  afterAll(async () => {
    await old?.end()
    await next?.end()
    await rm(store, { recursive: true, force: true })
  })

  /** A snapshot whose files were changed after the agent had checked and dumped the box; the box itself keeps its own. */
  async function hostileSnapshot(commandId: string, attack: (folder: string, dump: string) => Promise<unknown>): Promise<string> {
    const deps = await old.agent()
    const repository = (await old.contextOf(commandId).secrets()).snapshots!
    await deps.snapshots.prepare(repository)
    const box = (await old.boxes.find(slug))!
    const { folder } = box.project
    const aside = join(store, 'aside')
    // A compromised agent does not compare what it stored.
    const take: typeof deps.snapshots.take = async (at, { sample, ...request }, signal) => {
      // Its files are complete then.
      await sample
      await cp(folder, aside, { recursive: true, preserveTimestamps: true })
      await attack(folder, join(deps.workFolder, commandId))
      return deps.snapshots.take(at, request, signal).finally(async () => {
        for (const name of await readdir(folder)) await rm(join(folder, name), { recursive: true })
        await cp(aside, folder, { recursive: true })
        await rm(aside, { recursive: true })
      })
    }
    const containers = await deps.engine.containers(box.project)
    const images = Object.fromEntries(containers.map(({ service, image, digest }) => [service, { image, digest }]))
    const { installed } = await reportVersions(deps, box)
    const request = { box, repository, tier: 'manual', commandId, images, installed } as const
    return (await takeBoxSnapshot({ ...deps, snapshots: { ...deps.snapshots, take } }, request)).taken.snapshotId
  }

  async function taken(commandId: string, attack: (folder: string, dump: string) => Promise<unknown>) {
    const snapshotId = await hostileSnapshot(commandId, attack)
    return takeOver(await next.agent())(next.contextOf(`${commandId}-taken`), {
      ...address,
      chatDomain: `${slug}.test`,
      publicUrl,
      ownershipEpoch: 2,
      snapshotId,
      snapshotSha256: null,
      ports: newPorts,
      probe: soon,
      deadlineMs: 300_000,
    })
  }

  const nothingLeft = async () => {
    expect(await next.engine.projects(next.prefix)).toEqual([])
    expect(await readdir(join(next.folder, 'boxes')).catch(() => [])).toEqual([])
    expect(await readdir(victim)).toEqual(['box.conf'])
    expect(await readFile(join(victim, 'box.conf'), 'utf8')).toBe('of the host\n')
  }

  test('with a privileged service in the namespace of the host is refused', async () => {
    const result = await taken('privileged', async (folder) => {
      const text = await readFile(join(folder, 'compose.yaml'), 'utf8')
      await writeFile(join(folder, 'compose.yaml'), text.replace('\n  synapse:\n', '\n  synapse:\n    privileged: true\n    pid: host\n'))
    })
    expect(result).toMatchObject({
      outcome: 'failed',
      error: { code: 'COMPOSE_INVALID', message: expect.stringMatching(/privileged.*pid/) },
    })
    await nothingLeft()
  })

  test.each(['edge/conf.d', 'synapse', 'secrets'])(
    'with a link in the place of %s is refused, and nothing is written through it',
    async (path) => {
      const result = await taken(`link-${path.replace('/', '-')}`, async (folder) => {
        await rm(join(folder, path), { recursive: true })
        await symlink(victim, join(folder, path))
      })
      expect(result).toMatchObject({ outcome: 'failed', error: { code: 'FOLDER_UNSAFE', message: expect.stringMatching(/symbolic link/) } })
      await nothingLeft()
    },
  )

  test('with commands in its globals, other edge rules and other start scripts serves, and nothing of them was run', async () => {
    const result = await taken('commands', async (folder, dump) => {
      const globals = '\\! touch /tmp/owned\nalter role synapse superuser;\ncreate role evil superuser login;\n'
      await appendFile(join(dump, 'globals.sql'), globals)
      const manifest = JSON.parse(await readFile(join(dump, 'manifest.json'), 'utf8'))
      delete manifest.files['globals.sql']
      await writeFile(join(dump, 'manifest.json'), JSON.stringify(manifest))
      await writeFile(join(folder, 'edge/conf.d/box.conf'), 'broken {\n')
      await writeFile(join(folder, 'postgres/init/10-owner.sh'), '#!/bin/sh\ntouch /tmp/owned\nexit 1\n')
      await writeFile(join(folder, '.env'), 'COMPOSE_FILE=/etc/passwd\n')
    })
    expect(result).toMatchObject({ outcome: 'restored', error: null })
    const { project } = (await next.boxes.find(slug))!
    const postgres = (await next.engine.containers(project)).find(({ service }) => service === 'postgres')!.id
    const asked = async (...argv: string[]) => (await next.engine.exec(postgres, argv)).stdout.trim()
    expect(await asked('ls', '/tmp')).not.toContain('owned')
    const roles = 'select rolname from pg_roles where rolsuper or rolname = $$evil$$ order by 1'
    expect(await asked('psql', '-X', '-A', '-t', '-h', '127.0.0.1', '-U', 'postgres', '-d', 'postgres', '-c', roles)).toBe('postgres')
    const testbed = readTestbed()
    const { stdout } = await execa(testbed.docker, ['inspect', '--format', '{{.HostConfig.Privileged}}', postgres], {
      env: dockerEnvironment(testbed),
      extendEnv: false,
    })
    expect(stdout).toBe('false')
    talk.follow(reachableBox(slug, join(next.folder, 'boxes', slug), newPorts).publicUrl)
    await talk.expectComplete()
  })
})
