import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { dockerEngine } from '../../../src/agent/docker/index.ts'

let folder: string
let server: Server
/** What the engine says runs; a test may change it while a client runs. */
let running: Readonly<{ id: string; startedAt: string }>[]

const labels = { 'com.docker.compose.project': 'box-oak', 'com.docker.compose.service': 'synapse' }
const listed = ({ id }: (typeof running)[number]) => ({ Id: id, Labels: labels })
const inspected = (url: string) => {
  const { id, startedAt } = running.find((one) => url.includes(one.id))!
  return { Id: id, Config: { Labels: labels, Image: 'synapse:1' }, State: { Running: true, StartedAt: startedAt }, Mounts: [] }
}

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tenantry-up-'))
  server = createServer(({ url = '' }, response) => {
    response.setHeader('content-type', 'application/json')
    response.end(
      JSON.stringify(/containers\/json/.test(url) ? running.map(listed) : running.find(({ id }) => url.includes(id)) && inspected(url)),
    )
  })
  running = []
  await new Promise<void>((resolve) => server.listen(join(folder, 'docker.sock'), resolve))
})
afterEach(async () => {
  server.closeAllConnections()
  server.close()
  await rm(folder, { recursive: true, force: true })
})

/** A docker client whose `up` does one thing for a number of times, and then succeeds. */
async function aClient(does: string, times: number, limits: Parameters<typeof dockerEngine>[0]['limits'] & {} = {}, grace = '10s') {
  const script = `#!/bin/sh
case "$*" in *config*) echo '{"services":{"synapse":{"stop_grace_period":"${grace}"}}}'; exit 0 ;; esac
echo up >> ${folder}/ups
[ $(wc -l < ${folder}/ups) -gt ${times} ] && exit 0
${does}
`
  await writeFile(join(folder, 'docker'), script)
  await chmod(join(folder, 'docker'), 0o755)
  const engine = dockerEngine({ dockerHost: `unix://${folder}/docker.sock`, docker: join(folder, 'docker'), limits })
  const up = () => engine.up({ name: 'box-oak', folder, composeFile: join(folder, 'compose.yaml') }, ['synapse'])
  return { up, ups: async () => (await readFile(join(folder, 'ups'), 'utf8')).trim().split('\n').length }
}

const fails = (says: string) => `echo '${says}' >&2; exit 1`

test('what a killed compose left to the engine is waited for', async () => {
  const { up, ups } = await aClient(fails('Conflict. The container name "/box-oak-synapse-1" is already in use by container "384a"'), 1)
  await up()
  expect(await ups()).toBe(2)
})

test('any other failure is none to be tried again', async () => {
  const { up, ups } = await aClient(fails('no such service: synapse'), 1)
  await expect(up()).rejects.toMatchObject({ code: 'COMPOSE_INVALID' })
  expect(await ups()).toBe(1)
})

describe('a client that says nothing more', () => {
  /** Never ends by itself the first time; asked again it ends at once. */
  const never = 'exec sleep 60'

  test('is ended when all runs anew, and the next one says that it is so', async () => {
    running = [{ id: 'former', startedAt: '2026-01-01T00:00:00Z' }]
    const { up, ups } = await aClient(never, 1, { composeLookMs: 50 })
    const done = up()
    await vi.waitFor(async () => expect(await ups()).toBe(1), { timeout: 10_000 })
    running = [{ id: 'newer', startedAt: '2026-01-01T00:01:00Z' }]
    await done
    expect(await ups()).toBe(2)
  })

  test('is waited for while what ran before is still there: it may be stopping', async () => {
    running = [{ id: 'former', startedAt: '2026-01-01T00:00:00Z' }]
    const { up, ups } = await aClient('sleep 1; exit 0', 1, { composeLookMs: 50 })
    await up()
    expect(await ups()).toBe(1)
  })

  test('is ended once its services had all the time they have to stop, whatever runs', async () => {
    const { up, ups } = await aClient(never, 1, { composeLookMs: 50, composeSilentMs: 100 }, '20ms')
    await up()
    expect(await ups()).toBe(2)
  })

  test('is left alone as long as it goes on to speak', async () => {
    const speaks = 'for n in 1 2 3 4 5 6 7 8 9 10; do echo "Container box-oak-synapse-1 Waiting $n"; sleep 0.1; done; exit 0'
    const { up, ups } = await aClient(speaks, 1, { composeLookMs: 300, composeSilentMs: 300 }, '0s')
    await up()
    expect(await ups()).toBe(1)
  })

  test('each time is a failure that says so', async () => {
    const { up, ups } = await aClient(never, 9, { composeLookMs: 20, composeSilentMs: 20 }, '0s')
    await expect(up()).rejects.toMatchObject({
      code: 'DOCKER_UNAVAILABLE',
      message: expect.stringMatching(/starting synapse of box-oak.*fell silent/),
    })
    expect(await ups()).toBe(4)
  }, 30_000)
})

test('the engine is the one of the settings, whatever DOCKER_HOST says', async () => {
  process.env.DOCKER_HOST = 'tcp://127.0.0.1:1'
  try {
    const { up, ups } = await aClient(fails('nothing'), 0)
    await up()
    expect(await ups()).toBe(1)
  } finally {
    delete process.env.DOCKER_HOST
  }
})
