import { spawn } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { readTestbed } from '../../testbed/testbed.ts'

/** `a long password`, as htpasswd writes it. */
const account = 'puller:$2b$12$.6CP3tgNxOi.pv/7a7ar6eLh2h0Ua/c/3Q5G3ppWegI3Z9kdt5dLO'

export type GuardedRegistry = Readonly<{ registry: string; username: string; password: string; stop(): Promise<void> }>

/** A second registry over the images of the test bed, which only one account may read. */
export async function guardedRegistry(): Promise<GuardedRegistry> {
  const { cache } = readTestbed()
  const folder = await mkdtemp(join(tmpdir(), 'tenantry-registry-'))
  const registry = `127.0.0.1:${await freePort()}`
  await writeFile(join(folder, 'htpasswd'), `${account}\n`)
  const settings = `version: 0.1
log: {level: error}
storage:
  filesystem: {rootdirectory: ${cache}/registry}
  maintenance: {readonly: {enabled: true}}
auth: {htpasswd: {realm: tests, path: ${folder}/htpasswd}}
http: {addr: ${registry}}
`
  await writeFile(join(folder, 'registry.yml'), settings)
  const child = spawn(`${cache}/bin/docker-registry`, ['serve', join(folder, 'registry.yml')], { stdio: 'ignore' })
  await untilAnswers(`http://${registry}/v2/`)
  const stop = async () => {
    child.kill('SIGKILL')
    await rm(folder, { recursive: true })
  }
  return { registry, username: 'puller', password: 'a long password', stop }
}

async function untilAnswers(url: string): Promise<void> {
  for (let turn = 0; turn < 100; turn++) {
    const status = await fetch(url).then(
      (answer) => answer.status,
      () => 0,
    )
    if (status === 401) return
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  throw new Error(`${url} does not answer as it should`)
}

const freePort = () =>
  new Promise<number>((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address() as { port: number }
      server.close(() => resolve(port))
    })
  })
