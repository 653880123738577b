import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { rewriteImages } from '../../src/agent/boxes/index.ts'
import type { LocalBox } from '../../src/agent/ports/index.ts'
import type { ProbeComponent, ProbeResult, Service } from '../../src/core/boxes/index.ts'
import { aProvision } from '../agent/boxes/provisioning.ts'
import { readTestbed, testbedExists } from '../testbed/testbed.ts'
import { type AgentRooms, agentRooms } from './support/agent-rooms.ts'
import { boxPorts } from './support/ports.ts'

// Each way in which a box looks well and is not (SAFETY): the probe says so, says where, and says it no more after the repair.

const slug = `lc-health-${process.pid}`
const known = { slug, boxId: 'box_health', ownershipEpoch: 1 }
const ports = boxPorts()

describe.skipIf(!testbedExists())('the health of a real box', () => {
  let rooms: AgentRooms
  let box: LocalBox

  beforeAll(async () => {
    const { images } = readTestbed()
    rooms = await agentRooms('lc-health')
    await rooms.executors['tenant-box.provision'](
      rooms.contextOf('provision').context,
      aProvision({
        ...known,
        chatDomain: `${slug}.test`,
        publicUrl: `http://127.0.0.1:${ports.public}`,
        images: { edge: images.edge.ref, synapse: images['synapse-1.97.0'].ref, postgres: images.postgres.ref, minio: images.minio.ref },
        ports,
        probe: { consecutive: 1, spacingMs: 200, timeoutMs: 60_000 },
      }),
    )
    box = (await rooms.boxes.find(slug))!
  })
  afterAll(() => rooms?.end())

  const probe = () => rooms.servers.probe(box)
  const idOf = async (service: Service) => (await rooms.engine.containers(box.project)).find((one) => one.service === service)!.id
  const run = async (service: Service, ...argv: string[]) => {
    const { exitCode, stdout, stderr } = await rooms.engine.exec(await idOf(service), argv)
    if (exitCode !== 0) throw new Error(`${argv.join(' ')}: ${stderr}`)
    return stdout.trim()
  }
  const sql = (...commands: string[]) =>
    run(
      'postgres',
      'psql',
      '-X',
      '-A',
      '-t',
      '-h',
      '127.0.0.1',
      '-U',
      'postgres',
      '-d',
      'synapse',
      ...commands.flatMap((text) => ['-c', text]),
    )
  const red = ({ components }: ProbeResult) => Object.keys(components).filter((name) => !components[name as ProbeComponent].ok)
  const green = (timeout = 60_000) => expect.poll(async () => (await probe()).reason ?? 'ok', { timeout, interval: 300 }).toBe('ok')

  test('the database is UTF8 and sorts by C', async () => {
    const query = "select pg_encoding_to_char(encoding), datcollate, datctype from pg_database where datname = 'synapse'"
    expect(await sql(query)).toBe('UTF8|C|C')
  })

  test('a stop of PostgreSQL is a clean shutdown', async () => {
    const log = async () => rooms.engine.logs(await idOf('postgres'), 1000)
    const shutDowns = async () => (await log()).split('database system is shut down').length
    const before = await shutDowns()
    await rooms.engine.stop(box.project, ['postgres'])
    await rooms.engine.start(box.project, ['postgres'])
    await green()
    expect(await shutDowns()).toBe(before + 1)
    expect(await log()).not.toMatch(/was interrupted|not properly shut down/)
  })

  // So it is after a reboot of the host, where the engine starts containers in no order, and after a start by hand, which waits for no health.
  test('a chat server that starts before its database ends, and the engine starts it again until it serves', async () => {
    const restarts = async () => (await rooms.engine.containers(box.project)).find(({ service }) => service === 'synapse')?.restartCount
    await rooms.engine.stop(box.project, ['synapse', 'postgres'])
    await rooms.engine.start(box.project, ['synapse'])
    await expect.poll(restarts, { timeout: 60_000, interval: 300 }).toBeGreaterThan(1)
    await rooms.engine.start(box.project, ['postgres'])
    await green(180_000)
  })

  test('a media folder that takes no file', async () => {
    // Synapse is no root: it may not write where it owns nothing.
    await run('synapse', 'sh', '-c', 'chown -R 0:0 /media && chmod -R a-w /media')
    const sick = await probe()
    expect(red(sick)).toEqual(['objectStorage'])
    expect(sick.reason).toMatch(/^objectStorage: the media upload returned 500/)
    await run('synapse', 'sh', '-c', 'chmod -R u+w /media && chown -R 991:991 /media')
    await green()
  })

  test('an object store whose data is gone, though it says that it is live and ready', async () => {
    await run('minio', 'sh', '-c', 'rm -rf /data/.minio.sys /data/*')
    await expect.poll(async () => red(await probe()), { timeout: 60_000 }).toEqual(['objectStorage'])
    await rooms.engine.stop(box.project, ['minio'])
    await rooms.engine.start(box.project, ['minio'])
    await green()
  })

  test('an edge that could not be closed, because its fence folder is another one', async () => {
    const fence = join(box.project.folder, 'edge', 'fence')
    await rename(fence, `${fence}.old`)
    expect((await probe()).reason).toMatch(/^chatApi: the fence folder .* is missing/)
    await mkdir(fence)
    expect((await probe()).reason).toMatch(/^chatApi: the edge mounts a deleted fence folder, not .* recreate the edge/)
    await rm(fence, { recursive: true })
    await rename(`${fence}.old`, fence)
    await green()
  })

  test('pending background updates are reported and do not fail the probe', async () => {
    await sql("insert into background_updates (update_name, progress_json) values ('lc_pending', '{}')")
    const { probe: seen, report } = await rooms.executors['tenant-box.healthcheck'](rooms.contextOf('check').context, known)
    expect(seen.verdict).toBe('ok')
    expect(report.facts?.backgroundUpdates).toContain('lc_pending')
    await sql("delete from background_updates where update_name = 'lc_pending'")
  })

  test('a database that replays its log is on its way, not broken', async () => {
    await sql("alter system set restore_command = 'sleep 2; false'")
    await run('postgres', 'touch', '/var/lib/postgresql/data/recovery.signal')
    await rooms.engine.stop(box.project, ['postgres'])
    await rooms.engine.start(box.project, ['postgres'])
    await expect.poll(async () => (await probe()).verdict, { timeout: 60_000, interval: 50 }).toBe('recovering')
    await green()
    await sql('alter system reset restore_command', 'select pg_reload_conf()')
  })

  test('a chat server that changes its schema is on its way, not broken', async () => {
    const { images } = readTestbed()
    const next = images['synapse-1.163.2'].ref
    await rooms.engine.pull(next, {})
    await writeFile(box.project.composeFile, rewriteImages(await readFile(box.project.composeFile, 'utf8'), { synapse: next }))
    // An open read of the events table blocks changes of its schema.
    const holding = sql('begin; lock table events in access share mode; select pg_sleep(120)').catch(() => undefined)
    await rooms.engine.up(box.project, ['synapse'])
    await expect.poll(async () => (await probe()).verdict, { timeout: 60_000, interval: 300 }).toBe('upgrading')
    await sql("select pg_terminate_backend(pid) from pg_stat_activity where query like '%pg_sleep(120)%' and pid <> pg_backend_pid()")
    await holding
    await green()
  })
})
