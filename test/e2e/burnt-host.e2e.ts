import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { execa } from 'execa'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { readMessages, sendMessage, sync } from '../testbed/matrix-client.ts'
import { dockerEnvironment, testbedExists } from '../testbed/testbed.ts'
import { aBucket } from './support/a-bucket.ts'
import { type Conversation, converse, type ReachableBox, reachableBox } from './support/conversation.ts'
import { type Fleet, logOnFailure, startFleet } from './support/fleet.ts'
import { eventually, type Program, program, run } from './support/programs.ts'

// The programs as they are shipped, with a bucket as store: a host is destroyed while people write, and another one takes its box.
describe.skipIf(!testbedExists())('an operator brings a box back from a host that is lost', () => {
  const slug = `burnt-${process.pid}`
  /** What the store may lack (docs/snapshots.md). */
  const mayLackMs = 60_000
  let bucket: Awaited<ReturnType<typeof aBucket>>
  let fleet: Fleet
  let secondFolder: string
  let second: Program
  let box: ReachableBox
  let talk: Conversation
  let token: string
  let lostAt: number
  /** Each message with the time at which the chat server had acknowledged it. */
  const acknowledged: { text: string; at: number }[] = []

  beforeAll(async () => {
    bucket = await aBucket(`burnt-store-${process.pid}`)
    fleet = await startFleet({
      TENANTRY_SNAPSHOTS_ARCHIVE_PRO: 'on',
      TENANTRY_SNAPSHOT_STORE: bucket.repository.replace('s3:http://', 's3+http://').replace('/north/v1', ''),
      TENANTRY_SNAPSHOT_STORE_CREDENTIALS_ACCESS_KEY_ID: bucket.env.AWS_ACCESS_KEY_ID,
      TENANTRY_SNAPSHOT_STORE_CREDENTIALS_SECRET_ACCESS_KEY: bucket.env.AWS_SECRET_ACCESS_KEY,
      TENANTRY_AGENTS_LONG_POLL_MS: '5000',
      TENANTRY_AGENTS_OFFLINE_AFTER_MS: '15000',
    })
    await fleet.applySynapse('1.157.1')
    second = await anotherHost('host-2')
    box = await fleet.provision(slug, 'pro')
    talk = await converse(box, 3)
    await fleet.must('snapshots', 'take', slug, '--wait')
  })
  logOnFailure(() => fleet)
  afterAll(async () => {
    await second?.kill('SIGKILL')
    await fleet?.end()
    await bucket?.remove()
    if (secondFolder) await rm(secondFolder, { recursive: true, force: true })
  })

  /** Its folder is below that of the fleet, which removes its boxes too. */
  async function anotherHost(name: string): Promise<Program> {
    secondFolder = await mkdtemp(join(tmpdir(), 'tenantry-second-'))
    const { testbed, folder } = fleet
    const env = {
      TENANTRY_AGENT_STATE_DIR: join(secondFolder, 'agent'),
      TENANTRY_AGENT_BOXES_DIR: join(folder, 'boxes-2'),
      TENANTRY_AGENT_PROJECT_PREFIX: 'second-',
      TENANTRY_AGENT_DOCKER_HOST: testbed.dockerHost,
      TENANTRY_AGENT_DOCKER_CONFIG: testbed.dockerConfig,
      TENANTRY_AGENT_RESTIC: testbed.restic,
      TENANTRY_AGENT_IMAGES: `${testbed.registry}/tenantry/*`,
    }
    const invited = (await fleet.must('hosts', 'invite', name, '--json')).json<{ token: string }>()
    await writeFile(join(secondFolder, 'invite'), invited.token, { mode: 0o600 })
    const enrolled = await run('tenantry-agent', ['enrol', '--url', fleet.url, '--token-file', join(secondFolder, 'invite')], env)
    expect(enrolled).toMatchObject({ exitCode: 0 })
    const agent = program('tenantry-agent', ['run'], env, join(secondFolder, 'agent.log'))
    agent.start()
    await online(name)
    return agent
  }
  const status = async (name: string) => {
    const { hosts } = await fleet.api.hosts.listHosts({})
    return hosts.find((host) => host.name === name)?.status
  }
  const online = (name: string) => eventually(`${name} is online`, async () => (await status(name)) === 'online')

  const docker = async (...args: string[]) => {
    const { testbed } = fleet
    const { stdout } = await execa(testbed.docker, args, { env: dockerEnvironment(testbed), extendEnv: false })
    return stdout.split('\n').filter(Boolean)
  }
  /** The host with all that it has: its agent, its containers and their volumes. */
  async function destroyHost(): Promise<void> {
    const ofBox = ['--filter', `label=com.docker.compose.project=box-${slug}`]
    await fleet.agent.kill('SIGKILL')
    await docker('rm', '--force', '--volumes', ...(await docker('ps', '--all', '--quiet', ...ofBox)))
    await docker('volume', 'rm', '--force', ...(await docker('volume', 'ls', '--quiet', ...ofBox)))
    await rm(fleet.boxFolder(slug), { recursive: true })
  }

  test('two people write until the host is destroyed', async () => {
    await eventually('the archive has a base', async () => {
      const { archive } = await fleet.api.boxes.showBox({ params: { slug } })
      return (archive?.from ?? null) !== null
    })
    token = (await sync(talk.ben)).nextBatch
    let isOver = false
    const write = async (name: 'anna' | 'ben') => {
      for (let n = 1; !isOver; n++) {
        const text = `${name} says ${n}`
        await sendMessage(talk[name], talk.roomId, text).then(
          () => acknowledged.push({ text, at: Date.now() }),
          () => undefined,
        )
        await new Promise((next) => setTimeout(next, 150))
      }
    }
    const begun = Date.now()
    const writing = [write('anna'), write('ben')]
    await eventually('messages of a minute are in the store', async () => {
      const { archive } = await fleet.api.boxes.showBox({ params: { slug } })
      return archive?.to != null && Date.parse(archive.to) > begun + 45_000 && Date.now() > begun + mayLackMs + 30_000
    })
    lostAt = Date.now()
    await destroyHost()
    isOver = true
    await Promise.all(writing)
    expect(acknowledged.filter(({ at }) => at < lostAt - mayLackMs).length).toBeGreaterThan(50)
    await eventually('host-1 is offline', async () => (await status('host-1')) === 'offline')
  })

  test('one command brings it to another host, and says before what it lacks', async () => {
    const begun = Date.now()
    const ran = await fleet.must('snapshots', 'restore', slug, '--to', 'latest', '--host', 'host-2', '--reason', 'host-1 burned', '--yes')
    console.info(`restored on another host in ${Math.round((Date.now() - begun) / 1000)} s`)
    expect(ran.stderr).toMatch(/DATA LOSS: everything of the last/)
    expect(await fleet.api.boxes.showBox({ params: { slug } })).toMatchObject({ host: 'host-2' })
  })

  test('clients continue with their tokens, and only the last minute is missing', async () => {
    const { ports } = await fleet.api.boxes.showBox({ params: { slug } })
    const { publicUrl } = reachableBox(slug, join(fleet.folder, 'boxes-2', slug), ports as { public: number; platform: number })
    talk.follow(publicUrl)
    const { messages } = await sync(talk.ben, { since: token })
    expect(messages.length).toBeGreaterThan(0)
    const found = new Set((await readMessages(talk.anna, talk.roomId)).map(({ body }) => body))
    const missing = acknowledged.filter(({ text }) => !found.has(text))
    console.info(
      `${missing.length} of ${acknowledged.length} messages are missing, the first one ${(lostAt - (missing[0]?.at ?? lostAt)) / 1000} s old`,
    )
    expect(missing.filter(({ at }) => at < lostAt - mayLackMs)).toEqual([])
    const { nextBatch } = await sync(talk.ben)
    await sendMessage(talk.anna, talk.roomId, 'we are back')
    expect((await sync(talk.ben, { since: nextBatch })).messages.map(({ body }) => body)).toEqual(['we are back'])
  })
})
