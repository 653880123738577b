import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { dockerEngine } from '../../../src/agent/docker/index.ts'

let folder: string
let server: Server

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tenantry-up-'))
  server = createServer((_, response) => response.setHeader('content-type', 'application/json').end('[]'))
  await new Promise<void>((resolve) => server.listen(join(folder, 'docker.sock'), resolve))
})
afterEach(async () => {
  server.closeAllConnections()
  server.close()
  await rm(folder, { recursive: true, force: true })
})

/** A docker client whose `up` says one thing for a number of times, and then succeeds. */
async function aClient(says: string, times: number) {
  const script = `#!/bin/sh
case "$*" in *config*) echo '{"services":{}}'; exit 0 ;; esac
echo up >> ${folder}/ups
[ $(wc -l < ${folder}/ups) -gt ${times} ] && exit 0
echo '${says}' >&2
exit 1
`
  await writeFile(join(folder, 'docker'), script)
  await chmod(join(folder, 'docker'), 0o755)
  const engine = dockerEngine({ dockerHost: `unix://${folder}/docker.sock`, docker: join(folder, 'docker') })
  const up = () => engine.up({ name: 'box-oak', folder, composeFile: join(folder, 'compose.yaml') }, ['synapse'])
  return { up, ups: async () => (await readFile(join(folder, 'ups'), 'utf8')).trim().split('\n').length }
}

test('what a killed compose left to the engine is waited for', async () => {
  const { up, ups } = await aClient('Conflict. The container name "/box-oak-synapse-1" is already in use by container "384a"', 1)
  await up()
  expect(await ups()).toBe(2)
})

test('any other failure is none to be tried again', async () => {
  const { up, ups } = await aClient('no such service: synapse', 1)
  await expect(up()).rejects.toMatchObject({ code: 'COMPOSE_INVALID' })
  expect(await ups()).toBe(1)
})

test('the engine is the one of the settings, whatever DOCKER_HOST says', async () => {
  process.env.DOCKER_HOST = 'tcp://127.0.0.1:1'
  try {
    const { up, ups } = await aClient('nothing', 0)
    await up()
    expect(await ups()).toBe(1)
  } finally {
    delete process.env.DOCKER_HOST
  }
})
